-- The recursive mutex: the hash of the classic reentrant scripts, owner -> count, with a member for each entry beside it
-- (members.lua); about and the ask are the owner. Those scripts of other programs respect the record, and the same owner
-- may enter by them: what is counted and has no member is theirs.

-- include: call there fence record
kind, shares_fence, count = 'recursive_mutex', true, 0

-- release TOKEN [CHANNEL]: if the lock is free then, "0" is published there. That is what Redisson waits for.
if what == 'release' then
  unlock_channel, ARGV[3] = ARGV[3], nil
end

function about_for(ask)
  return ask
end

function admits(ask)
  return count == 0 or about == ask
end

-- include: members

-- He does not wait for those who wait for him.
function reenters(owner)
  return count > 0 and about == owner
end

function depth()
  return ' ' .. string.format('%d', count)
end

-- include: queue lock
