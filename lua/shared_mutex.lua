-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The shared mutex: one writer or any number of readers in one record (members.lua). The ask is "w" or "r" and the
-- owner; about is the first letter of the asks of the present holds. The readers of one phase share a fence.

-- include: call tags there fence record
kind, shares_fence = 'shared_mutex', true

function about_for(ask)
  return string.sub(ask, 1, 1)
end

function admits(ask)
  return members == 0 or about == 'r' and string.sub(ask, 1, 1) == 'r'
end

-- include: members

-- If an owner reads already, another reader of that owner does not wait for a writer that waits for the owner. And
-- readers that waited as one entry (ARGV[8]: the token of the one that was granted) enter together.
function reenters(ask)
  if members == 0 or about ~= 'r' or string.sub(ask, 1, 1) ~= 'r' then
    return false
  end
  if ARGV[8] and redis.call('HEXISTS', record, 'leasehold:' .. ARGV[8]) == 1 then
    return true
  end
  if #ask == 1 then
    return false
  end
  local reads = false
  each_member(function(t, m)
    reads = reads or m[3] == ask and string.sub(t, 1, 1) ~= rests
  end)
  return reads
end

-- A cohort's request for a further fence may arrive late, when its writer has become a reader: the phase of the readers
-- keeps its own fence.
if what == 'refresh' and own and about ~= 'w' and string.sub(ARGV[4], 1, 1) == 'w' then
  finish()
  return '2 0 0' .. clock
end

-- downgrade TOKEN 0: from writer to reader without a gap, with the fence of the new phase. Status as for renew; a
-- repeat changes nothing.
if what == 'downgrade' and own and about == 'w' then
  about = 'r'
  own[3] = 'r' .. string.sub(own[3], 2)
  refresh(token)
  made_room = true
end

-- include: queue lock
