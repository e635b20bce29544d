-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- On a quorum: the larger of two fences, `mine` and one with this G; or the latter, if the hold was written again here
-- (ARGV[5], see lock.lua). No later grant here has a smaller one: the counter lives until two days after this server's
-- clock has reached G (fence.lua).
local function raise_fence(key, mine, fence, g)
  local last = redis.call('GET', key)
  if last == tags_mark then
    error(tags_error)
  end
  -- With a larger counter there is no next fence.
  if tonumber(g) >= 4503599627370495 then
    error('leasehold: the fence ' .. fence .. ' is out of range')
  end
  if not last or tonumber(last) < tonumber(g) then
    local life = 172800000 + math.max(0, math.ceil((g - now) / 1000))
    redis.call('SET', key, g, 'PX', string.format('%d', life))
  end
  return not ARGV[5] and (#mine > #fence or #mine == #fence and mine > fence) and mine or fence
end
