-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The counting semaphore: at most `limit` members in one record (members.lua); about is the limit. The ask is the limit
-- that the asker assumes. In a queue entry it becomes the new limit when the limit changes.

-- include: call tags there fence record
kind = 'counting_semaphore'

function about_for(ask)
  return ask
end

function admits(ask)
  return members == 0 or members < tonumber(about) and (waited_for or ask == about)
end

-- include: members

function left_for()
  return math.max(0, math.ceil((soonest - now) / 1000))
end

-- After a resize there may be more holds than the limit.
function goes_on(ask)
  return ask == about and members <= tonumber(about)
end

-- include: queue

-- The limit of a semaphore that is not held: that of the first living entry, or of the asker's own silent entry.
local function limit_of_queue()
  local first = next_waiting()
  chunk, place, behind, silent = {}, 1, 0, 0
  waited_for = not is_empty
  return first and first[5] or waited_for and string.match(redis.call('HGET', entries, token) or '', '%S+$')
end

-- status -2: the asker's limit is wrong; the reply has the semaphore's in the place of what is left of a lease
if what == 'acquire' and not own then
  local limit = members > 0 and about or waited_for and limit_of_queue()
  if limit and limit ~= ARGV[6] then
    finish()
    return '-2 0 ' .. limit .. clock
  end
end

-- resize LIMIT NOT-AFTER -> status 1 | -1: too late
-- Holds stay, whatever the new limit is. The entries of the queue get the new limit, too, because all holds may end
-- before theirs are granted. A free semaphore has no limit but that of the first asker. Bytes of a closed connection
-- must not undo a later change: not-after is as for acquire.
if what == 'resize' then
-- include: untagged
  if now > tonumber(ARGV[3]) then
    finish()
    return '-1 0 0' .. clock
  end
  made_room = true
  begin_writing()
  if members > 0 then
    about, changed = token, true
  end
  local all = waited_for and redis.call('HGETALL', entries) or {}
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 1) ~= '#' then
      redis.call('HSET', entries, all[i], (string.gsub(all[i + 1], '%S+$', token)))
    end
  end
end

-- include: lock
