-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The keys and arguments of every script of a lock.
--
-- KEYS[1]  the record; what extends a lease declares it alone, because a slot that is being moved answers TRYAGAIN to a
--          script with an absent key
-- KEYS[2]  the fence counter, KEYS[3] the queue, KEYS[4] its entries: everything but renew
-- ARGV[1]  what to do (lock.lua)
-- ARGV[2]  the token
local record, fences, queue, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local what, token = ARGV[1], ARGV[2] or ''
-- How many of the record and its queue exist (there.lua). The release of a mutex checks for the queue by itself.
local there, waited_for

-- The server's time (clock.lua).
local now, clock

-- Of the queue (queue.lua), for the quick hand-off of a mutex, too: the longest lease of a grant that is still to be
-- confirmed, in milliseconds. The others are in microseconds.
local unconfirmed <const> = 2000
-- The first two living entries poll at this interval, a third of that lease; the others poll rarely.
local poll_often <const> = 667000
local poll_rarely <const> = 5000000
-- An entry that comes to the front and would poll later than `poll_often` by this is notified.
local slack <const> = 100000
-- No poll is due later than this after now, unless the clock was stepped back.
local latest_poll <const> = 5100000
-- An entry is silent when its poll is late by this. It is removed when it has been silent for `keeps_place`.
local silent_after <const> = 1000000
local keeps_place <const> = 10000000
-- If no script has run on a queue for longer than this, none could run: that is longer than `poll_often`, and shorter
-- than `silent_after`. A pause matters to entries for as long after it as `remembered`.
local may_pause <const> = 900000
local remembered <const> = 16000000

-- What each kind of lock defines. An ask distinguishes the entries of one kind: a reader from a writer, one owner from
-- another. Making a function costs time, even if it is never called. So a kind answers its most frequent calls before
-- the rest of the script begins.
-- A number that is known beforehand is passed as a string, because Redis writes each number that Lua passes with
-- printf.
--
-- kind                  its name
-- fence_of(t)           the fence of the token's hold as a decimal string, nil if it has none
-- admits(ask)           can a hold with this ask be granted now?
-- reenters(ask)         can it be granted past all entries that wait? (nil: no ask can)
-- enter(t, ask, lease)  grants the hold and returns its fence
-- leave(t)              removes the hold of a token that has one; its first write is one that memory pressure does not
--                       refuse, and the record stays in place for the next hold
-- rest(t, left)         the same, but the hold's place stays taken for `left` more milliseconds, with no client as its
--                       holder: from then on its token has `rests` in front
-- finish()              deletes the record if leave has removed the last hold
-- lengthen(t, lease)    the hold's lease, never shortened; returns what is left of it in milliseconds
-- refresh(t)            the fence of a hold whose client passes it on: a new one, unless the kind's holds share one
-- goes_on(ask)          may it be passed on, if no other entry waits? (nil: always)
-- mark(t, fence)        its client is to be notified when another client waits (nil: the kind has no such mark)
-- left_for(ask)         milliseconds until this ask may be granted at the earliest, -1: no end is known
-- occupied()            is there any hold?
-- depth()               what the reply of a grant adds: how many times the owner has the lock (nil: nothing)
local kind, fence_of, admits, reenters, enter, leave, rest, finish, lengthen, refresh, goes_on, mark
local left_for, occupied, depth

-- No client makes a token that begins so.
local rests <const> = '~'

-- Set by a kind that has made room by itself.
local made_room = false

-- acquire: the token of the holder if its client is to be notified when an entry of another client waits (nil: it is
-- not), see mutex.lua.
local listener

-- The record of a mutex.
local record_form <const> = '^leasehold:(.+):(%d+)$'
