-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The requests of operators, for locks of any kind: list the locks, show the holds and the queue of one, and free one
-- by force. KEYS are those of a lock (shared/call.lua), except for list.
--
-- list
--   -> {for each lock of ours: record, what it is}
--   KEYS: the fence counter, then keys that may be records, then their queues. It changes nothing.
-- show
--   -> {state, what it is, the kind that the queue is of ("": none),
--       then for each of the first 100 entries: token, lease in milliseconds, 1 if it is silent, else 0, ask}
--   It changes nothing.
-- break TOKEN FENCE [force]
--   -> {state, what it is}: nothing was broken, because this hold is not there, or because it is not ours and force is
--      absent; or {3, what it was, the next holder's token or ""}
--   TOKEN and FENCE are of one hold. FENCE "": the fence is not known yet; the call only reads. If that hold is there,
--   all holds end, and the next waiter in the queue is granted the lock, as after a release. No token is ever used
--   again with the same fence. So a repeat does not find the hold and breaks nothing, least of all the next holder's
--   hold. The clients of the first 100 holds are sent "broken <token>".
--
-- What it is: kind, fence, milliseconds left, entries in the queue, holds, about (members.lua), how many holds follow
-- (100 at most), and of each: token, milliseconds left, fence, ask. The oldest comes first.
-- state: 0: free | 1: ours | 2: another program's, with the kind "" and the fence 0. It is a string, which then stands
-- for the token (64 KiB of it are read at most), or a reentrant lock, whose owner stands for the token.
-- milliseconds left: -1: no expiry. A key that is no lock is WRONGTYPE.

-- wrap: kinds
-- include: call tags record queue
-- include: clock
waited_for = what ~= 'list' and redis.call('EXISTS', queue) == 1
-- (Operators who only look need no right to GET.)
if redis.call('GETRANGE', what == 'list' and record or fences, 0, 6) == tags_mark then
  error(tags_error)
end

local function foreign(key, t, holders, owner)
  local left = redis.call('PTTL', key)
  return {state = 2, kind = '', fence = '0', left = left, holders = holders, about = owner,
          holds = {{t, left, '0', owner}}}
end

local free = {state = 0, kind = '', fence = '0', left = 0, holders = 0, about = '', holds = {}}

local function read_string(key, only_ours)
  local has_magic = redis.call('GETRANGE', key, 0, 9) == 'leasehold:'
  if only_ours and not has_magic then
    return nil
  end
  local value = redis.call('GETRANGE', key, 0, 65535)
  local holder, fence
  if has_magic then
    holder, fence = string.match(value, record_form)
  end
  if not holder then
    return foreign(key, value, 1, '')
  end
  local left = redis.call('PTTL', key)
  return {state = 1, kind = 'mutex', fence = fence, left = left, holders = 1, about = '',
          holds = {{holder, left, fence, ''}}}
end

local function read_hash(key, only_ours)
  local header = redis.call('HGET', key, 'leasehold')
  if not header then
    -- One owner with a number and nothing else: another program's reentrant lock.
    local all = not only_ours and redis.call('HLEN', key) == 1 and redis.call('HGETALL', key)
    return all and string.match(all[2], '^%d+$') and foreign(key, all[1], all[2], all[1]) or nil
  end
  local name, fence, _, _, about = string.match(header, header_form)
  if name == 'mutex' or not kinds[name or ''] then
    return nil
  end
  -- A hold ends with its key at the latest; TIME and PTTL may be a few milliseconds apart.
  local left = redis.call('PTTL', key)
  local longest = left < 0 and math.huge or left
  local all, last, count = redis.call('HGETALL', key), 0
  for i = 1, #all, 2 do
    local deadline = string.match(all[i], field_form) and string.match(all[i + 1], member_form)
    if deadline then
      last = math.max(last, tonumber(deadline))
    elseif name == 'recursive_mutex' and all[i] == about then
      count = tonumber(all[i + 1])
    end
  end
  -- The record came from a node with another clock: members.lua moves the deadlines at the next call.
  local ahead = (count or left <= 1) and 0 or now + left * 1000 - last
  local holds, gone, oldest = {}, 0
  for i = 1, #all, 2 do
    local t = string.match(all[i], field_form)
    if t then
      local deadline, own_fence, ask = string.match(all[i + 1], member_form)
      deadline = tonumber(deadline)
      if deadline and ahead > tolerance + 10000 then
        deadline = deadline + ahead
      end
      if deadline and deadline > now then
        holds[#holds + 1] = {t, math.min(longest, math.floor((deadline - now) / 1000)), own_fence, ask}
        if not oldest or tonumber(own_fence) < tonumber(holds[oldest][3]) then
          oldest = #holds
        end
      else
        gone = gone + 1
      end
    end
  end
  local holders = count and count - gone or #holds
  if oldest then
    holds[1], holds[oldest] = holds[oldest], holds[1]
    return {state = 1, kind = name, fence = fence, left = left, holders = holders, about = about, holds = holds}
  end
  -- No hold of ours is left; the owner may still have the lock by another program.
  return holders > 0 and foreign(key, about, holders, about) or free
end

-- What a key is; nil: no lock. With only_ours no data of another program's lock is fetched.
local function read(key, only_ours)
  local stored = redis.call('TYPE', key).ok
  if stored == 'none' then
    return free
  end
  return stored == 'string' and read_string(key, only_ours) or stored == 'hash' and read_hash(key, only_ours) or nil
end

local function describe(found, lock, waiting)
  local shown = math.min(#lock.holds, 100)
  for _, value in ipairs({lock.kind, lock.fence, lock.left, waiting, lock.holders, lock.about, shown}) do
    found[#found + 1] = value
  end
  for i = 1, shown do
    for _, value in ipairs(lock.holds[i]) do
      found[#found + 1] = value
    end
  end
end

if what == 'list' then
  local found, all = {}, (#KEYS - 1) / 2
  for i = 1, all do
    local lock = read(KEYS[1 + i], true)
    if lock and lock.state == 1 then
      found[#found + 1] = KEYS[1 + i]
      describe(found, lock, redis.call('ZCARD', KEYS[1 + all + i]))
    end
  end
  return found
end

local lock = read(record)
if not lock then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
local found = {lock.state}
describe(found, lock, redis.call('ZCARD', queue))

-- The kind of lock that the queue is of, and its script; nil if the queue is empty.
local waited_for_as, its_script
for name, script in pairs(kinds) do
  if waited_for and redis.call('HEXISTS', entries, '#' .. name) == 1 then
    waited_for_as, its_script = name, script
  end
end

if what == 'show' then
  found[#found + 1] = waited_for_as or ''
  read_ran(redis.call('HGET', entries, '#ran'))
  for _, t in ipairs(redis.call('ZRANGE', queue, 0, 99)) do
    local _, lease, due, ask = string.match(redis.call('HGET', entries, t) or '', entry_form)
    local is_silent = not due or now > due_of(tonumber(due)) + silent_after
    for _, value in ipairs({t, lease or 0, is_silent and 1 or 0, ask or ''}) do
      found[#found + 1] = value
    end
  end
  return found
end

-- As after a release: the script of its kind grants the lock to the next waiter. If that is not possible now, the
-- entries in front poll by themselves.
local function grant_next()
  if its_script then
    pcall(its_script, KEYS, {'release', ''})
  end
end

if lock.state == 0 then
  -- The lock is free: grant it to the next waiter all the same.
  grant_next()
  return found
end
local is_there = false
for _, h in ipairs(lock.holds) do
  is_there = is_there or h[1] == token and h[3] == ARGV[3]
end
if not is_there or (lock.state == 2 and ARGV[4] ~= 'force') then
  return found
end
redis.call('DEL', record)
-- A holder that has not confirmed still waits in the queue, and must not be the next one.
if waited_for then
  for _, h in ipairs(lock.holds) do
    leave_queue(h[1])
  end
end
grant_next()
-- Their clients are notified, and ask whether the hold is still there.
if lock.state == 1 then
  for i = 1, math.min(#lock.holds, 100) do
    local t = lock.holds[i][1]
    if string.find(t, '^[^.]') then
      notify(t, 'broken ' .. t)
    end
  end
  send_messages()
end
-- (In a slot that is being moved the record may not be read any more.)
local ran, after = pcall(read, record)
local next_hold = ran and after and after.holds[1]
found[1], found[#found + 1] = 3, next_hold and next_hold[1] or ''
return found
