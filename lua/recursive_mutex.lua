-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The recursive mutex: the hash of the classic reentrant scripts, owner -> count, with an additional member for each
-- hold of ours (members.lua); about and the ask are the owner. Other programs with those scripts respect the record,
-- and the same owner may acquire the lock by them: what is counted and has no member is theirs.

-- include: call tags there fence record
kind, shares_fence, count = 'recursive_mutex', true, 0

-- release TOKEN [CHANNEL]: if the lock is free then, the script publishes "0" on CHANNEL. Redisson waits for that.
-- (With LEASE and ASK, see lock.lua, there is no CHANNEL.)
-- rest TOKEN LEFT [CHANNEL]: the same, although the lock is not free yet.
if what == 'release' and not ARGV[4] then
  unlock_channel, ARGV[3] = ARGV[3], nil
elseif what == 'rest' then
  unlock_channel = ARGV[4]
end

function about_for(ask)
  return ask
end

function admits(ask)
  return count == 0 or about == ask
end

-- include: members

-- The owner does not wait behind the entries in the queue, because they wait for it. For a hold that rests they wait in
-- their order: its owner does not have the lock.
function reenters(owner)
  if count == 0 or about ~= owner then
    return false
  end
  local resting = 0
  each_member(function(t)
    resting = resting + (string.sub(t, 1, 1) == rests and 1 or 0)
  end)
  return count > resting
end

function depth()
  return ' ' .. string.format('%d', count)
end

-- include: queue lock
