-- uses: fence line grant
--
-- The mutex: one string, the lock record, with the lease as its expiry:
--   leasehold:<token>:<fence>
-- A record of any other form belongs to a client in another language; it is respected and never touched.
--
-- KEYS[1]  the record; what extends a lease declares it alone, because a slot that is being moved answers TRYAGAIN to a
--          script with an absent key
-- KEYS[2]  the fence counter, KEYS[3] the line, KEYS[4] its entries: acquire, confirm, release. inspect: KEYS[2] the line
-- ARGV[1]  what to do: acquire, confirm, renew, release or inspect
-- ARGV[2]  the token (not for inspect)
-- ARGV[3]  acquire, confirm, renew: the lease in milliseconds (renew: 0 asks only)
--          release: the same, if another of the same client would take the hold over; else absent
-- ARGV[4]  acquire: not-after, in microseconds of the server's clock
-- ARGV[5]  acquire: the client's stamp if it waits in line, absent if it does not
--
-- acquire, confirm and renew answer with one string, which costs a third of an array: <status> <fence> <left> <s> <us>,
-- where left is what remains of the lease in milliseconds and s and us are the server's time.
--
-- Redis does not roll back: everything is read and checked before the first write, and the first write of whatever
-- frees or hands on is one that memory pressure does not refuse.
local record, fences, line, entries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local what, token = ARGV[1], ARGV[2]
local held = redis.call('GET', record)

-- inspect -> {held: 0 or 1, record, milliseconds left (-1: no expiry), entries in the line}
if what == 'inspect' then
  local waiters = KEYS[2] and redis.call('ZCARD', KEYS[2]) or 0
  if not held then
    return {0, '', 0, waiters}
  end
  return {1, held, redis.call('PTTL', record), waiters}
end

local mine = 'leasehold:' .. token .. ':'
local is_mine = held and string.sub(held, 1, #mine) == mine
local waited_for = line and redis.call('EXISTS', line) == 1

-- release -> 1: released | 0: somebody else's | -1: nobody's | as acquire: kept for the client, with a new fence, because
-- nobody else waits
-- Whatever the token has is given back: its hold is handed to the next in line, its entry leaves the line. A repeat finds
-- neither and changes nothing.
local keep = what == 'release' and ARGV[3]
if what == 'release' and is_mine and not waited_for and not keep then
  redis.call('DEL', record)
  return 1
end

local time = redis.call('TIME')
local clock = ' ' .. time[1] .. ' ' .. time[2]
local now = time[1] * 1000000 + time[2]

local function take(next_token, fence, lease)
  redis.call('SET', record, 'leasehold:' .. next_token .. ':' .. fence, 'PX', lease)
end

if keep and is_mine then
  local client, others = string.match(token, '^[^.]+.'), false
  for _, entry in ipairs(waited_for and first_living(line, entries, now) or {}) do
    others = others or string.sub(entry[1], 1, #client) ~= client
  end
  if not others then
    local left = math.max(redis.call('PTTL', record), tonumber(keep))
    redis.call('PEXPIRE', record, left)
    local fence = next_fence(fences, now)
    take(token, fence, left)
    return '1 ' .. fence .. ' ' .. string.format('%d', left) .. clock
  end
end

if what == 'release' then
  if is_mine then
    redis.call('PEXPIRE', record, 2000)
    leave_line(line, entries, token)
    if not hand_off(fences, line, entries, now, take) then
      redis.call('DEL', record)
    end
    return 1
  end
  if waited_for then
    leave_line(line, entries, token)
    if held then
      local front = first_living(line, entries, now)
      watch(fences, entries, front[1], now)
      watch(fences, entries, front[2], now)
    else
      hand_off(fences, line, entries, now, take)
    end
  end
  return held and 0 or -1
end

-- renew, confirm, and acquire again after a lost reply or a lost message: lengthens the lease, never shortens it, never
-- creates a record. Who has confirmed leaves the line, and the second behind it comes to the front.
-- status 1: it is this token's | 0: it is not
if is_mine then
  local left, lease = redis.call('PTTL', record), tonumber(ARGV[3])
  if lease > 0 and left < lease then
    redis.call('PEXPIRE', record, ARGV[3])
    left = lease
  end
  if waited_for and leave_line(line, entries, token) then
    local front = first_living(line, entries, now)
    watch(fences, entries, front[1], now)
    watch(fences, entries, front[2], now)
  end
  return '1 ' .. string.sub(held, #mine + 1) .. ' ' .. string.format('%d', left) .. clock
end
if what ~= 'acquire' then
  return '0 0 0' .. clock
end

-- acquire: status 1: granted | 0: busy, left is then that of whoever has it (-1: no expiry) | 2: busy, and this token
-- waits in line in front | 3: the same further back | -1: too late
-- A repeat with the same token is answered above. One that was delayed past its not-after is refused, so that bytes of
-- a closed connection cannot create a lock that nobody knows of.
if now > tonumber(ARGV[4]) then
  return '-1 0 0' .. clock
end
local stamp = ARGV[5]
if not held and not waited_for then
  local fence = next_fence(fences, now)
  redis.call('SET', record, mine .. fence, 'PX', ARGV[3])
  return '1 ' .. fence .. ' ' .. ARGV[3] .. clock
end
if waited_for then
  redis.call('PEXPIRE', line, 60000)
  redis.call('PEXPIRE', entries, 60000)
end
if stamp then
  if not redis.call('ZSCORE', line, token) then
    redis.call('ZADD', line, redis.call('HINCRBY', entries, '#', 1), token)
  end
  set_entry(entries, token, stamp, ARGV[3], now + look_often)
  if not waited_for then
    redis.call('PEXPIRE', line, 60000)
    redis.call('PEXPIRE', entries, 60000)
  end
end
local front = first_living(line, entries, now)
if not held then
  -- The head is granted, not the asker.
  if not front[1] or front[1][1] == token then
    leave_line(line, entries, token)
    watch(fences, entries, front[2], now)
    local fence = next_fence(fences, now)
    redis.call('SET', record, mine .. fence, 'PX', ARGV[3])
    return '1 ' .. fence .. ' ' .. ARGV[3] .. clock
  end
  hand_off(fences, line, entries, now, take)
end
local left = string.format('%d', redis.call('PTTL', record))
if not stamp then
  return '0 0 ' .. left .. clock
end
-- Where silent entries in front are too many for one call, whoever is behind them looks often.
local in_front = #front < 2
for _, entry in ipairs(front) do
  in_front = in_front or entry[1] == token
  if held then
    watch(fences, entries, entry, now)
  end
end
if in_front then
  return '2 0 ' .. left .. clock
end
set_entry(entries, token, stamp, ARGV[3], now + look_rarely)
return '3 0 ' .. left .. clock
