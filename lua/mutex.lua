-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The mutex: one string, the lock record, with the lease as its expiry:
--   leasehold:<token>:<fence>
-- A record of any other form belongs to a client in another language; it is respected and never touched. Two marks say
-- that the holder's client is to be notified when another client waits: an `l` at the end of the token, whose hold may
-- linger, and a 0 at the beginning of the fence, which `want` has put there.

-- include: call tags
kind = 'mutex'
local my = 'leasehold:' .. token .. ':'

-- The quick form of a release, the first part: no client waits. Most releases end here, so it comes before all
-- functions: making one takes longer than most calls. (A plain `find` makes no copy of the record's beginning.)
local releases_hold = false
if what == 'release' and queue then
  releases_hold = string.find(redis.call('GET', record) or '', my, 1, true) == 1
  if releases_hold and not ARGV[3] and redis.call('EXISTS', queue) == 0 then
    redis.call('DEL', record)
    return 1
  end
end
-- include: fence

-- The second part, the hand-off, from here to "The end of the quick form". Nearly all other releases end in it: only
-- this client waits and keeps the lock, or the front of the queue is alive and is granted the lock. It does what
-- lock.lua does, but without functions; and where the client keeps the lock, it leaves entries of this client that have
-- been silent for long. lock.lua does the rest: a queue of another kind, one with silent entries. There are quick forms
-- of the waiting in the queue and of a confirmation, too. test/simulation/hand_off.cpp holds the forms together:
-- whatever is changed in one is changed in the other.
if releases_hold then
  -- The first three of the others: until a hold is confirmed, its own entry is in the queue.
  local front, entered = redis.call('ZRANGE', queue, '0', '3'), false
  for i = 1, #front do
    entered = entered or front[i] == token
    front[i] = front[entered and i + 1 or i]
  end
  front[4] = nil
-- include: clock
  local client, alone = ARGV[3] and string.match(token, '^[^.]+.'), ARGV[3]
  for i, t in ipairs(front) do
    alone = alone and (i == 3 or string.sub(t, 1, #client) == client)
  end
  if alone and #front < 3 and not entered then
    local left = string.format('%d', math.max(redis.call('PTTL', record), tonumber(ARGV[3])))
    local fence = next_fence(fences, now, true)
    redis.call('SET', record, my .. fence, 'PX', left)
    return '1 ' .. fence .. ' ' .. left .. clock
  end
  front[#front + 1] = token
  local texts = redis.call('HMGET', entries, '#mutex', '#ran', unpack(front))
  front[#front] = nil
  -- queue.lua handles pauses.
  local since = now - (tonumber(texts[2]) or 0)
  local quick = front[1] and not alone and texts[1] and since >= 0 and since <= may_pause
  local stamps, leases, dues = {}, {}, {}
  for i, t in ipairs(front) do
    local due
    stamps[i], leases[i], due = string.match(texts[i + 2] or '', '^(%S+) (%S+) (%S+)$')
    dues[i] = tonumber(due)
    quick = quick and dues[i] and now <= dues[i] + silent_after and dues[i] <= now + latest_poll
  end
  if quick then
    if entered or texts[#front + 3] then
      redis.call('ZREM', queue, token)
      redis.call('HDEL', entries, token)
    end
    local fence = next_fence(fences, now, true)
    if since > 250000 then
      redis.call('HSET', entries, '#ran', string.format('%d', now))
    end
    local lease = string.format('%d', math.min(tonumber(leases[1]), unconfirmed))
    redis.call('SET', record, 'leasehold:' .. front[1] .. ':' .. fence, 'PX', lease)
    for i, t in ipairs(front) do
      -- The entries behind it come to the front, and poll often from now on if they can be notified (queue.lua).
      local rarely = dues[i] > now + poll_often + (i == 1 and 0 or slack)
      local message = i == 1 and 'granted ' .. t .. ' ' .. fence .. ' ' .. stamps[i] .. ' ' .. lease or
        rarely and 'watch ' .. t
      if message then
-- include: publish
        if rarely and type(sent) == 'number' then
          redis.call('HSET', entries, t, stamps[i] .. ' ' .. leases[i] .. ' ' .. string.format('%d', now + poll_often))
        end
      end
    end
    return 1
  end
end
-- The end of the quick form.

-- include: there
-- include: clock
local held = there ~= 0 and redis.call('GET', record)
waited_for = waited_for or there == 1 and not held
local vacant = false
if what == 'acquire' and not held and not waited_for and now <= tonumber(ARGV[4]) then
  local fence = next_fence(fences, now)
  redis.call('SET', record, my .. fence, 'PX', ARGV[3])
  return '1 ' .. fence .. ' ' .. ARGV[3] .. clock
end
if what == 'acquire' and held then
  local its, lingers, wants = string.match(held, '^leasehold:([^:.~][^:.]*%.%d+(l?)):(0?)%d+$')
  listener = its and (lingers == 'l' or wants == '0') and its
end

-- The quick form of joining a queue, and of a poll. The front of the queue is alive, apart from the entry of a holder
-- that has not confirmed yet.
if what == 'acquire' and held and (ARGV[5] or '') ~= '' and now <= tonumber(ARGV[4]) then
  local front = waited_for and redis.call('ZRANGE', queue, '0', '2') or {}
  local n = #front
  front[n + 1] = token
  local texts = redis.call('HMGET', entries, '#mutex', '#ran', unpack(front))
  -- queue.lua handles pauses, and lock.lua entries that are left of a queue.
  local since = now - (tonumber(texts[2]) or 0)
  local quick = string.sub(held, 1, #my) ~= my
  if waited_for then
    quick = quick and texts[1] and since >= 0 and since <= may_pause
  else
    quick = quick and not texts[2] and not texts[3]
  end
  local waiting, dues, watching, holder = {}, {}, {}, string.match(held, '^leasehold:([^:]*):')
  -- The first entry of another client has the listener notified, which lock.lua does.
  local its, is_new = listener and string.match(listener, '^[^.]+.'), true
  local told = not listener or string.sub(token, 1, #its) == its
  for i = 1, n do
    local text = texts[i + 2] or ''
    local due = tonumber(string.match(text, '^%S+ %S+ (%S+)$'))
    if front[i] == token then
      quick, is_new, due = quick and told and due, false, now + poll_often
    end
    quick = quick and due and now <= due + silent_after and due <= now + latest_poll
    if front[i] ~= holder then
      waiting[#waiting + 1], dues[#dues + 1] = i, due
      told = told or string.sub(front[i], 1, #its) ~= its
    end
  end
  if is_new and texts[n + 3] then
    is_new = not redis.call('ZSCORE', queue, token)
  end
  -- (Clients with tagged keys do not see this queue.)
  if quick and told and (string.sub(fences, 12, 13) ~= '0}' or redis.call('GET', fences) ~= tags_mark) then
    if waited_for then
      redis.call('PEXPIRE', queue, '60000')
      redis.call('PEXPIRE', entries, '60000')
    end
    -- The first two poll often, and so does this entry if one of them is late, because that one may be dead.
    local often = #waiting < 2
    for i = 1, 2 do
      local w, due = waiting[i], dues[i]
      often = often or due < now - slack or front[w] == token
      if w and due > now + poll_often + slack then
        watching[#watching + 1] = w
      end
    end
    if is_new then
      local last = string.format('%d', (texts[1] or 0) + 1)
      redis.call('ZADD', queue, last, token)
      redis.call('HSET', entries, '#mutex', last)
    end
    local due = string.format('%d', now + (often and poll_often or poll_rarely))
    redis.call('HSET', entries, '#ran', string.format('%d', now), token, ARGV[5] .. ' ' .. ARGV[3] .. ' ' .. due)
    if not waited_for then
      redis.call('PEXPIRE', queue, '60000')
      redis.call('PEXPIRE', entries, '60000')
    end
    local left = redis.call('PTTL', record)
    if left == -1 and ARGV[7] == '1' then
      redis.call('PEXPIRE', record, ARGV[3])
      left = ARGV[3]
    end
    for _, w in ipairs(watching) do
      local t = front[w]
      local message = 'watch ' .. t
-- include: publish
      if type(sent) == 'number' then
        local stamp_and_lease = string.match(texts[w + 2], '^%S+ %S+ ')
        redis.call('HSET', entries, t, stamp_and_lease .. string.format('%d', now + poll_often))
      end
    end
    return (often and '2 0 ' or '3 0 ') .. string.format('%d', left) .. clock
  end
end

local mine = held and string.sub(held, 1, #my) == my and string.match(held, '^0?(.+)$', #my + 1)

-- The quick form of a confirmation: its entry leaves the queue, and those that come to the front poll often.
if mine and waited_for and what == 'confirm' and tonumber(ARGV[3]) > 0 then
  local front = redis.call('ZRANGE', queue, '0', '2')
  local texts = redis.call('HMGET', entries, '#mutex', '#ran', unpack(front))
  -- queue.lua handles pauses.
  local since = now - (tonumber(texts[2]) or 0)
  local alive, entered, waiting = texts[1] and since >= 0 and since <= may_pause, false, {}
  for i, t in ipairs(front) do
    local due = tonumber(string.match(texts[i + 2] or '', '^%S+ %S+ (%S+)$'))
    if t == token then
      entered = true
    else
      alive = alive and due and now <= due + silent_after and due <= now + latest_poll
      waiting[#waiting + 1] = due and due > now + poll_often + slack and i or 0
    end
  end
  if alive and entered then
    local left = math.max(redis.call('PTTL', record), tonumber(ARGV[3]))
    redis.call('PEXPIRE', record, string.format('%d', left))
    redis.call('ZREM', queue, token)
    redis.call('HDEL', entries, token)
    if #front == 1 then
      redis.call('DEL', entries)
    elseif since > 250000 then
      redis.call('HSET', entries, '#ran', string.format('%d', now))
    end
    for i = 1, 2 do
      local t = front[waiting[i]]
      if t then
        local message = 'watch ' .. t
-- include: publish
        if type(sent) == 'number' then
          local stamp_and_lease = string.match(texts[waiting[i] + 2], '^%S+ %S+ ')
          redis.call('HSET', entries, t, stamp_and_lease .. string.format('%d', now + poll_often))
        end
      end
    end
    return '1 ' .. mine .. ' ' .. string.format('%d', left) .. clock
  end
end

-- Three more that need no functions: a renewal; and while no client waits, an attempt on a lock that is held, and a
-- release by a token that does not have it.
if mine and what == 'renew' and (not ARGV[4] or ARGV[4] == mine) then
  -- As in lengthen.
  local left, lease = redis.call('PTTL', record), tonumber(ARGV[3])
  if lease > 0 and left < lease then
    redis.call('PEXPIRE', record, ARGV[3])
    left = lease
  end
  return '1 ' .. mine .. ' ' .. string.format('%d', left) .. clock
end
if not mine and not waited_for and what == 'release' then
  return held and 0 or -1
end
if not mine and not waited_for and held and what == 'acquire' and ARGV[5] == '' and now <= tonumber(ARGV[4]) then
  local left = redis.call('PTTL', record)
  if left ~= -1 then
    return '0 0 ' .. string.format('%d', left) .. clock
  end
end

-- rest:
-- A confirmation always writes, even if it lengthens nothing: WAIT only covers what the connection's own commands have
-- propagated (docs/protocol.md, "Replicas").
function lengthen(_, lease)
  local left = redis.call('PTTL', record)
  if lease > 0 and (left < lease or what == 'confirm') then
    left = math.max(left, lease)
    redis.call('PEXPIRE', record, string.format('%d', left))
  end
  return left
end

function fence_of(t)
  local its = 'leasehold:' .. t .. ':'
  return held and string.sub(held, 1, #its) == its and string.match(held, '^0?(.+)$', #its + 1) or nil
end

-- inspect -> {holds, fence, milliseconds left (-1: no expiry), entries in the queue, "", and of the hold: token,
-- milliseconds left, ""}
if what == 'inspect' then
-- include: untagged
  local waiters = redis.call('ZCARD', queue)
  if not held then
    return {0, '0', 0, waiters, ''}
  end
  local holder, fence = string.match(held, record_form)
  local left = redis.call('PTTL', record)
  return {1, fence or '0', left, waiters, '', holder or held, left, ''}
end

function enter(t, _, lease)
  local fence = next_fence(fences, now)
  held, vacant = 'leasehold:' .. t .. ':' .. fence, false
  redis.call('SET', record, held, 'PX', string.format('%d', lease))
  return fence
end

-- raise: lock.lua
if mine and what == 'raise' then
-- include: raise
  mine = raise_fence(fences, mine, ARGV[3], ARGV[4])
  redis.call('SET', record, 'leasehold:' .. token .. ':' .. mine, 'KEEPTTL')
  return '1 ' .. mine .. ' ' .. string.format('%d', redis.call('PTTL', record)) .. clock
end

function admits()
  return not held
end

function finish()
  if vacant then
    redis.call('DEL', record)
  end
end

function left_for()
  return redis.call('PTTL', record)
end

-- An acquire and a confirmation do without the others.
if what ~= 'acquire' and what ~= 'confirm' then
  -- The SET of the next grant overwrites the record. Never DEL and then SET: a slot that is being moved refuses that
  -- half-way.
  function leave()
    redis.call('PEXPIRE', record, '2000')
    held, vacant = false, true
  end

  -- PEXPIRE is the first write, because memory pressure may refuse SET.
  function rest(t, left)
    redis.call('PEXPIRE', record, left)
    held = 'leasehold:' .. rests .. t .. ':' .. fence_of(t)
    redis.call('SET', record, held, 'PX', left)
  end

  -- A hold that goes on keeps its mark.
  function refresh(t)
    local left, marked = redis.call('PTTL', record), what == 'refresh' and string.find(held, ':0%d+$')
    redis.call('PEXPIRE', record, left)
    local fence = enter(t, '', left)
    if marked then
      mark(t, fence)
    end
    return fence
  end

  function mark(t, fence)
    if not string.find(held, ':0%d+$') and not string.find(t, '^[^.]+%.%d+l$') then
      redis.call('SET', record, 'leasehold:' .. t .. ':0' .. fence, 'KEEPTTL')
    end
  end

  function occupied()
    return held
  end
end

-- include: queue lock
