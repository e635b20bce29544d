-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- What a kind with several holds knows of its record, and the forms of what it reads there (members.lua).
local exists, latest, members, soonest, about = false, '0', 0, 0, ''
local changed = false
local shares_fence, about_for, count
-- The key may live longer than its longest member by this, in microseconds. So where many hold the lock for short
-- times, not every release has to look for the longest one (members.lua).
local tolerance <const> = 100000
local header_form <const> = '^(%S+) (%d+) (%d+) (%d+) ?(.*)$'
local member_form <const> = '^(%d+) (%d+) ?(.*)$'
local field_form <const> = '^leasehold:(.*)$'

-- The channel on which a free lock is announced, for programs that do not wait in the queue; nil: none.
local unlock_channel
