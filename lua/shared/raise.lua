-- On a quorum: the larger of two fences, `mine` and one with this G. No later grant here has a smaller one.
local function raise_fence(key, mine, fence, g)
  local last = redis.call('GET', key)
  if tonumber(g) >= 4503599627370496 then
    error('leasehold: the fence ' .. fence .. ' is out of range')
  end
  if not last or tonumber(last) < tonumber(g) then
    redis.call('SET', key, g, 'PX', '172800000')
  end
  return (#mine > #fence or #mine == #fence and mine > fence) and mine or fence
end
