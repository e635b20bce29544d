-- The mutex: one string, the lock record, with the lease as its expiry:
--   leasehold:<token>:<fence>
-- A record of any other form belongs to a client in another language; it is respected and never touched.

-- include: call fence
kind = 'mutex'
local held = there ~= 0 and redis.call('GET', record)
waited_for = waited_for or there == 1 and not held
local vacant = false

-- inspect -> {holds, fence, milliseconds left (-1: no expiry), entries in the line, "", and of the hold: token,
-- milliseconds left, ""}
if what == 'inspect' then
  local waiters = redis.call('ZCARD', line)
  if not held then
    return {0, '0', 0, waiters, ''}
  end
  local holder, fence = string.match(held, record_form)
  local left = redis.call('PTTL', record)
  return {1, fence or '0', left, waiters, '', holder or held, left, ''}
end

function fence_of(t)
  local mine = 'leasehold:' .. t .. ':'
  return held and string.sub(held, 1, #mine) == mine and string.sub(held, #mine + 1) or nil
end

function enter(t, _, lease)
  local fence = next_fence(fences, now)
  held, vacant = 'leasehold:' .. t .. ':' .. fence, false
  redis.call('SET', record, held, 'PX', string.format('%d', lease))
  return fence
end

function lengthen(_, lease)
  local left = redis.call('PTTL', record)
  if left < lease and lease > 0 then
    redis.call('PEXPIRE', record, string.format('%d', lease))
    left = lease
  end
  return left
end

-- Most calls end here: nobody waits.
local mine = fence_of(token)
if not waited_for and mine and what == 'release' and not ARGV[3] then
  redis.call('DEL', record)
  return 1
end
read_clock()
if not waited_for and not held and what == 'acquire' and now <= tonumber(ARGV[4]) then
  return '1 ' .. enter(token, '', ARGV[3]) .. ' ' .. ARGV[3] .. clock
end
if mine and what == 'renew' then
  return '1 ' .. mine .. ' ' .. string.format('%d', lengthen(token, tonumber(ARGV[3]))) .. clock
end

-- raise: lock.lua
if mine and what == 'raise' then
  mine = raise_fence(fences, mine, ARGV[3], ARGV[4])
  redis.call('SET', record, 'leasehold:' .. token .. ':' .. mine, 'KEEPTTL')
  return '1 ' .. mine .. ' ' .. string.format('%d', redis.call('PTTL', record)) .. clock
end

-- The hand-off, and keeping the lock while nobody else waits: what lock.lua does, without making the functions of line.lua
-- and itself, which takes longer than the calls. Only where the line is this kind's and its front is alive; the rest is theirs.
if mine and what == 'release' then
  local front = waited_for and redis.call('ZRANGE', line, 0, 2) or {}
  local texts = waited_for and redis.call('HMGET', entries, '#mutex', unpack(front)) or {true}
  local stamps, leases, dues, others, quick = {}, {}, {}, false, texts[1]
  local client = ARGV[3] and string.match(token, '^[^.]+.')
  for i, t in ipairs(front) do
    local due
    stamps[i], leases[i], due = string.match(texts[i + 1] or '', '^(%S+) (%S+) (%S+)$')
    dues[i] = tonumber(due)
    quick = quick and dues[i] and now <= dues[i] + silent_after and t ~= token
    others = others or i < 3 and client and string.sub(t, 1, #client) ~= client
  end
  if quick and client and not others then
    local left = math.max(redis.call('PTTL', record), tonumber(ARGV[3]))
    redis.call('PEXPIRE', record, string.format('%d', left))
    return '1 ' .. enter(token, '', left) .. ' ' .. string.format('%d', left) .. clock
  end
  if quick and front[1] then
    if redis.call('ZREM', line, token) == 1 then
      redis.call('HDEL', entries, token)
    end
    local publish = string.sub(fences, 12, 13) == '0}' and 'PUBLISH' or 'SPUBLISH'
    local channels, watched = string.sub(fences, 1, -6), string.format('%d', now + look_often)
    local lease = math.min(tonumber(leases[1]), unconfirmed)
    local fence = enter(front[1], '', lease)
    for i, t in ipairs(front) do
      -- Those behind it come to the front, and look often from now on.
      local rarely = dues[i] > now + look_often + (i == 1 and 0 or slack)
      if rarely then
        redis.call('HSET', entries, t, stamps[i] .. ' ' .. leases[i] .. ' ' .. watched)
      end
      if i == 1 then
        redis.pcall(publish, channels .. string.match(t, '^[^.]+'), 'granted ' .. t .. ' ' .. fence .. ' ' .. stamps[i] .. ' ' .. lease)
      elseif rarely then
        redis.pcall(publish, channels .. string.match(t, '^[^.]+'), 'watch ' .. t)
      end
    end
    return 1
  end
end

function admits()
  return not held
end

-- SET by the next one overwrites it: never DEL then SET, which a slot that is being moved refuses half-way.
function leave()
  redis.call('PEXPIRE', record, 2000)
  held, vacant = false, true
end

function finish()
  if vacant then
    redis.call('DEL', record)
  end
end

function refresh(t)
  local left = redis.call('PTTL', record)
  redis.call('PEXPIRE', record, left)
  return enter(t, '', left)
end

function left_for()
  return redis.call('PTTL', record)
end

function occupied()
  return held
end

-- include: line lock
