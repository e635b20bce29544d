-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- Many requests in one call, since the call costs more than its work: releases of mutexes, then acquires of others. No
-- record is named twice.
--
-- KEYS     the fence counter, then the records, the queues, the entries: of each first those of the releases
-- ARGV     the number of releases; lease, not-after and stamp, which the acquires share; then the tokens, in the order
--          of the records
-- -> one reply for all releases and one for all acquires, if all were as in the most frequent case: each release ends a
--    hold for which no client waits, each acquire finds its lock free. Otherwise the reply of each request, in the
--    order of the records. An error is "!" and its words.
--
-- It does for each request what mutex.lua does, and no request sees the failure of another. Locks that are acquired
-- here share a fence: fences grow from one hold of a name to the next.

-- include: fence
-- wrap: mutex
local all, releases = (#KEYS - 1) / 3, tonumber(ARGV[1])
local lease, not_after, stamp = ARGV[2], ARGV[3], ARGV[4]
local replies, alike = {}, true

-- Of an error that was raised. Redis puts such words of its own behind the error of a script (before version 7: in
-- front).
local function words_of(failure)
  local words = type(failure) == 'table' and failure.err or tostring(failure)
  return '!' .. (string.match(words, '^%u+ ') and words or 'ERR Error running script: ' .. words) .. ' script: bundle'
end

-- Whatever is not the most frequent case.
local function by_itself(i, arguments)
  alike = false
  local keys = {KEYS[1 + i], KEYS[1], KEYS[1 + all + i], KEYS[1 + 2 * all + i]}
  local ran, reply = pcall(kinds.mutex, keys, arguments)
  if not ran then
    return words_of(reply)
  end
  return type(reply) == 'table' and '!' .. reply.err or reply
end

if releases > 0 then
  -- False where there is no string. (A plain `find` makes no copy of the record's beginning.)
  local held = redis.call('MGET', unpack(KEYS, 2, 1 + releases))
  for i = 1, releases do
    held[i] = held[i] and string.find(held[i], 'leasehold:' .. ARGV[4 + i] .. ':', 1, true) == 1
    alike = alike and held[i]
  end
  if alike and redis.call('EXISTS', unpack(KEYS, 2 + all, 1 + all + releases)) == 0 then
    redis.call('DEL', unpack(KEYS, 2, 1 + releases))
    replies[1] = 1
  else
    alike = false
    for i = 1, releases do
      if held[i] and redis.call('EXISTS', KEYS[1 + all + i]) == 0 then
        redis.call('DEL', KEYS[1 + i])
        replies[i] = 1
      else
        replies[i] = by_itself(i, {'release', ARGV[4 + i]})
      end
    end
  end
end

if releases == all then
  return replies
end
local now, clock
-- include: clock
local in_time = now <= tonumber(not_after)
-- The records of the acquires and all queues, since these are neighbours in KEYS: one call costs less than two. If a
-- client waits for what was released, each acquire is checked by itself.
local all_free = in_time and redis.call('EXISTS', unpack(KEYS, 2 + releases, 1 + 2 * all)) == 0
local granted, failed, fence
for i = releases + 1, all do
  if all_free or in_time and redis.call('EXISTS', KEYS[1 + i], KEYS[1 + all + i]) == 0 then
    if not granted and not failed then
      local ran, reply = pcall(next_fence, KEYS[1], now)
      if ran then
        fence, granted = reply, '1 ' .. reply .. ' ' .. lease .. clock
      else
        failed = words_of(reply)
      end
    end
    if granted then
      redis.call('SET', KEYS[1 + i], 'leasehold:' .. ARGV[4 + i] .. ':' .. fence, 'PX', lease)
    end
    replies[i] = granted or failed
  else
    replies[i] = by_itself(i, {'acquire', ARGV[4 + i], lease, not_after, stamp})
  end
end
if alike then
  return {releases > 0 and 1 or granted or failed, releases > 0 and (granted or failed) or nil}
end
-- The releases alone were alike.
for i = 2, releases do
  replies[i] = replies[i] or 1
end
return replies
