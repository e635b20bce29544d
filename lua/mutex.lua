-- uses: fence
--
-- The mutex: one string, the lock record, with the lease as its expiry:
--   leasehold:<token>:<fence>
-- A record of any other form belongs to a client in another language; it is respected and never touched.
--
-- KEYS[1]  the record
-- KEYS[2]  the fence counter (acquire only; what extends a lease declares the record alone, because a slot that is being
--          moved answers TRYAGAIN to a script with an absent key)
-- ARGV[1]  what to do: acquire, renew, release or inspect
-- ARGV[2]  the token (not for inspect)
-- ARGV[3]  acquire, renew: the lease in milliseconds (renew: 0 asks only)
-- ARGV[4]  acquire: not-after, in microseconds of the server's clock
--
-- acquire and renew answer with one string, which costs a third of an array: <status> <fence> <left> <s> <us>, where left
-- is what remains of the lease in milliseconds and s and us are the server's time.
--
-- Redis does not roll back: everything is read and checked before the first write.
local record, what = KEYS[1], ARGV[1]
local held = redis.call('GET', record)

-- inspect -> {held: 0 or 1, record, milliseconds left (-1: no expiry), entries in the line}
if what == 'inspect' then
  if not held then
    return {0, '', 0, 0}
  end
  return {1, held, redis.call('PTTL', record), 0}
end

local mine = 'leasehold:' .. ARGV[2] .. ':'
local is_mine = held and string.sub(held, 1, #mine) == mine

-- release -> 1: released | 0: somebody else's | -1: nobody's
-- A repeat finds the token gone and changes nothing.
if what == 'release' then
  if is_mine then
    redis.call('DEL', record)
    return 1
  end
  return held and 0 or -1
end

local time = redis.call('TIME')
local clock = ' ' .. time[1] .. ' ' .. time[2]

-- renew, and acquire again after a lost reply: lengthens the lease, never shortens it, never creates a record.
-- status 1: renewed | 0: not this token's
if is_mine then
  local left, lease = redis.call('PTTL', record), tonumber(ARGV[3])
  if lease > 0 and left < lease then
    redis.call('PEXPIRE', record, ARGV[3])
    left = lease
  end
  return '1 ' .. string.sub(held, #mine + 1) .. ' ' .. string.format('%d', left) .. clock
end
if what == 'renew' then
  return '0 0 0' .. clock
end

-- acquire: status 1: granted | 0: busy, left is then that of whoever has it (-1: no expiry) | -1: too late
-- A repeat with the same token is answered above. One that was delayed past its not-after is refused, so that bytes of
-- a closed connection cannot create a lock that nobody knows of.
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return '-1 0 0' .. clock
end
if held then
  return '0 0 ' .. redis.call('PTTL', record) .. clock
end
local fence = next_fence(KEYS[2], now)
redis.call('SET', record, mine .. fence, 'PX', ARGV[3])
return '1 ' .. fence .. ' ' .. ARGV[3] .. clock
