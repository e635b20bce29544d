-- The owner of a recursive mutex.

-- He does not wait for those who wait for him.
function reenters(owner)
  return count > 0 and about == owner
end

function depth()
  return ' ' .. string.format('%d', count)
end
