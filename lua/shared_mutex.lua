-- uses: call fence record
-- then: members phase line lock
--
-- The shared mutex: one writer or any number of readers in one record (members.lua). The ask is "w" or "r" and the owner;
-- about is the ask's first letter of those who are in. The readers of one phase share a fence.
kind, shares_fence = 'shared_mutex', true

function about_for(ask)
  return string.sub(ask, 1, 1)
end

function admits(ask)
  return members == 0 or about == 'r' and string.sub(ask, 1, 1) == 'r'
end
