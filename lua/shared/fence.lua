-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The fence (docs/protocol.md, "Fences"): a hybrid logical clock per server, one step per grant.
--
-- next_fence(key, now[, must]) -> the fence of the next grant as a decimal string: G * 2048 with
-- G = max(last + 1, now), where now is the server's TIME in microseconds. The product needs 62 bits and a Lua number
-- has 53, so it is put together from two halves. The counter may be lost at any time: TIME is its floor. It disappears
-- by itself two days after the last grant; if it is ahead of the clock, two days after the clock has reached it. (%d is
-- exact here, and costs a quarter of %.0f.)
--
-- An error if the clients of this server have tagged keys (call.lua). So it is the first write of its caller, or its
-- caller has checked for the mark.
--
-- must: this is the first write of a release, which memory pressure may refuse. The script then repeats it after a
-- write that changes nothing and is never refused. After such a write no other is refused.
local function next_fence(key, now, must)
  local found = (must and redis.pcall or redis.call)('SET', key, string.format('%d', now), 'PX', '172800000', 'GET')
  if type(found) == 'table' then
    redis.call('ZREM', queue, token)
    found = redis.call('SET', key, string.format('%d', now), 'PX', '172800000', 'GET')
  end
  if found == tags_mark then
    redis.call('SET', key, found, 'PX', '172800000')
    error(tags_error)
  end
  local last = found and tonumber(found)
  if last and last >= now then
    if last >= 4503599627370495 then
      redis.call('SET', key, found, 'PX', '172800000')
      error('leasehold: the fence counter ' .. key .. ' is out of range')
    end
    local life = 172800000 + math.ceil((last + 1 - now) / 1000)
    now = last + 1
    redis.call('SET', key, string.format('%d', now), 'PX', string.format('%d', life))
  end
  local low = now % 1000000
  local high = (now - low) / 1000000
  low = low * 2048
  local rest = low % 1000000
  return string.format('%d%06d', high * 2048 + (low - rest) / 1000000, rest)
end
