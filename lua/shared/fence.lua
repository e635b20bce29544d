-- The fence (docs/protocol.md, "Fences"): a hybrid logical clock per server, one step per grant.
--
-- next_fence(key, now) -> the fence of the next grant as a decimal string: G * 2048 with
-- G = max(last + 1, now), where now is the server's TIME in microseconds. The product needs 62 bits and a Lua number has
-- 53, so it is put together from two halves. The counter may be lost at any time: TIME is its floor. It disappears by
-- itself two days after the last grant.
local function next_fence(key, now)
  local last = redis.call('SET', key, string.format('%.0f', now), 'PX', 172800000, 'GET')
  last = last and tonumber(last)
  if last and last >= now then
    if last >= 4503599627370496 then
      redis.call('SET', key, string.format('%.0f', last), 'PX', 172800000)
      error('leasehold: the fence counter ' .. key .. ' is out of range')
    end
    now = last + 1
    redis.call('SET', key, string.format('%.0f', now), 'PX', 172800000)
  end
  local high = math.floor(now / 1000000)
  local low = (now - high * 1000000) * 2048
  local carry = math.floor(low / 1000000)
  return string.format('%.0f%06.0f', high * 2048 + carry, low - carry * 1000000)
end
