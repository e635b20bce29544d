-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- Several holds in one record (docs/protocol.md, "Several holds in one record"): a hash with a member for each hold,
-- every one with its own deadline. The key's own expiry is the latest of them, so that nothing stays.
--   "leasehold"          -> "<kind> <fence> <members> <soonest> <about>"
--   "leasehold:<token>"  -> "<deadline> <fence> <ask>"
-- fence is the latest one given, soonest a lower bound of the deadlines, about what the kind keeps for all. Deadlines
-- are in microseconds of the server's clock. A member past its deadline no longer counts, whether or not it is still
-- there; it is taken out before any request may gain by it.
--
-- What a kind defines for this:
-- shares_fence      a hold that joins others has their fence
-- about_for(ask)    what is kept for all when the first one enters
-- count             recursive mutexes: how many times the owner is in; nil elsewhere
local found = there == 0 and {} or redis.call('HMGET', record, 'leasehold', 'leasehold:' .. token)

-- Most calls need to know no more, and need no functions, which take longer to make than the calls: an acquire of what
-- is free; a renewal; and while no client waits, a release of the only hold, or by a token that has none, an attempt
-- that finds the lock held, and where several hold it (not a recursive mutex), an acquire that joins them and a release
-- that leaves them.
if what == 'release' and there == 0 then
  return -1
end
if what == 'acquire' and there == 0 then
-- include: clock
  if now <= tonumber(ARGV[4]) then
    local ask, fence, deadline = ARGV[6], next_fence(fences, now), string.format('%d ', now + ARGV[3] * 1000)
    local header, member = kind .. ' ' .. fence .. ' 1 ' .. deadline .. about_for(ask), deadline .. fence .. ' ' .. ask
    if count then
      redis.call('HSET', record, 'leasehold', header, 'leasehold:' .. token, member, ask, '1')
    else
      redis.call('HSET', record, 'leasehold', header, 'leasehold:' .. token, member)
    end
    redis.call('PEXPIRE', record, ARGV[3])
    return '1 ' .. fence .. ' ' .. ARGV[3] .. clock .. (count and ' 1' or '')
  end
end

-- Redisson asks again, and finds when the lock is free.
local function tell_redisson()
  if unlock_channel then
    redis.pcall('PUBLISH', unlock_channel, '0')
  end
end

local function free()
  redis.call('DEL', record)
  tell_redisson()
end

if what == 'release' and there == 1 and found[2] and not ARGV[3] then
  local owner = string.match(found[1] or '', '^' .. kind .. ' %S+ 1 %S+ (.*)$')
  if owner and (not count or redis.call('HGET', record, owner) == '1') then
    free()
    return 1
  end
end

if found[1] and (what == 'renew' and found[2] or
  there == 1 and (what == 'acquire' and not found[2] or what == 'release' and not ARGV[3])) then
  local name, fence, number, first, rest = string.match(found[1], header_form)
  local own_deadline, own_fence, own_ask = string.match(found[2] or '', member_form)
  own_deadline = tonumber(own_deadline)
  if name == kind and number ~= '0' then
-- include: clock
    members, soonest, about = tonumber(number), tonumber(first), rest
    local left, is_current = redis.call('PTTL', record), now < soonest
    if own_deadline and what == 'renew' then
      if is_current and left >= 0 and (not ARGV[4] or ARGV[4] == own_fence) then
        -- As in lengthen.
        local lease = tonumber(ARGV[3])
        local deadline = now + lease * 1000
        if left < lease then
          redis.call('PEXPIRE', record, ARGV[3])
          left = lease
        else
          redis.call('HDEL', record, 'leasehold:')
        end
        if lease > 0 and own_deadline < deadline then
          own_deadline = deadline
          local renewed = string.format('%d ', deadline) .. own_fence .. ' ' .. own_ask
          redis.call('HSET', record, 'leasehold:' .. token, renewed)
        end
        left = string.format('%d', math.min(left, math.floor((own_deadline - now) / 1000)))
        local times = count and ' ' .. (redis.call('HGET', record, about) or '0') or ''
        return '1 ' .. own_fence .. ' ' .. left .. clock .. times
      end
    elseif is_current and not found[2] and what == 'release' then
      return 0
    elseif is_current and what == 'acquire' and now <= tonumber(ARGV[4]) and ARGV[5] == '' and shares_fence and
      left ~= -1 and (count and about ~= ARGV[6] or not count and not admits(ARGV[6])) then
      return '0 0 ' .. string.format('%d', left) .. clock
    elseif own_deadline and own_deadline > now and members > 1 and not count then
      -- As in leave and shorten.
      local ends = now + left * 1000
      if left >= 0 and (own_deadline + tolerance + 10000 < ends or ends - soonest <= tolerance) then
        redis.call('HDEL', record, 'leasehold:' .. token)
        local header = kind .. ' ' .. fence .. ' ' .. string.format('%d ', members - 1) .. first .. ' ' .. about
        redis.call('HSET', record, 'leasehold', header)
        return 1
      end
    elseif what == 'acquire' and now <= tonumber(ARGV[4]) and is_current and not count and admits(ARGV[6]) then
      -- As in enter.
      if not shares_fence then
        fence = next_fence(fences, now)
      elseif string.sub(fences, 12, 13) == '0}' and redis.call('GET', fences) == tags_mark then
        error(tags_error)
      end
      local deadline = now + ARGV[3] * 1000
      local header = string.format('%d %d ', members + 1, math.min(soonest, deadline)) .. about
      redis.call('HSET', record, 'leasehold', kind .. ' ' .. fence .. ' ' .. header,
        'leasehold:' .. token, string.format('%d ', deadline) .. fence .. ' ' .. ARGV[6])
      if left >= 0 and left < tonumber(ARGV[3]) then
        redis.call('PEXPIRE', record, ARGV[3])
      end
      return '1 ' .. fence .. ' ' .. ARGV[3] .. clock
    end
  end
end

-- rest:
local function member(text)
  local deadline, fence, ask = string.match(text or '', member_form)
  deadline = tonumber(deadline)
  return deadline and {deadline, fence, ask}
end

local own, strange = member(found[2]), false
if found[1] then
  local name, fence, number, first, rest = string.match(found[1], header_form)
  exists, strange = true, name ~= kind
  latest, members, soonest, about = fence, tonumber(number), tonumber(first), rest
elseif there ~= 0 and redis.call('EXISTS', record) == 1 then
  -- One owner with a number and nothing else: another program's reentrant lock.
  local all = count and redis.call('HLEN', record) == 1 and redis.call('HGETALL', record)
  exists, strange = true, not all or not string.match(all[2], '^%d+$')
  about = all and all[1]
end
if strange then
  return redis.error_reply('WRONGTYPE ' .. record .. ' is not a ' .. kind)
end
waited_for = waited_for or there == 1 and not exists
if count and exists then
  count = tonumber(redis.call('HGET', record, about)) or 0
end

-- A write that changes nothing and that memory pressure does not refuse: after it none is refused.
local function begin_writing()
  redis.call('HDEL', record, 'leasehold:')
end

-- Whether the owner has the lock only by our members, and not by another program's script.
local function only_members()
  return not count or count == members
end

local function header()
  return kind .. ' ' .. latest .. ' ' .. string.format('%d %d ', members, soonest) .. about
end

local function text_of(m)
  return string.format('%d ', m[1]) .. m[2] .. ' ' .. m[3]
end

function occupied()
  return (count or members) > 0
end

function enter(t, ask, lease)
  local left = occupied() and redis.call('PTTL', record)
  if not shares_fence or members == 0 then
    latest = next_fence(fences, now)
  elseif t == token and string.sub(fences, 12, 13) == '0}' and redis.call('GET', fences) == tags_mark then
    -- A client whose readers only join others would never meet the mark, and overtake each writer with tagged keys.
    error(tags_error)
  end
  local m = {now + lease * 1000, latest, ask}
  soonest = members == 0 and m[1] or math.min(soonest, m[1])
  if exists and count and about ~= ask then
    redis.call('HDEL', record, about)
  end
  if members == 0 then
    about = about_for(ask)
  end
  members = members + 1
  if count then
    count = count + 1
    redis.call('HSET', record, 'leasehold', header(), 'leasehold:' .. t, text_of(m), ask, count)
  else
    redis.call('HSET', record, 'leasehold', header(), 'leasehold:' .. t, text_of(m))
  end
  -- The key lives as long as the longest member does; what another program has put there without an expiry stays so.
  if not left or left >= 0 and left < lease then
    redis.call('PEXPIRE', record, string.format('%d', lease))
  end
  exists, changed = true, false
  if t == token then
    own = m
  end
  return latest
end

-- include: clock
if not waited_for and what == 'acquire' and not own and now <= tonumber(ARGV[4]) and
  exists and now < soonest and admits(ARGV[6]) then
  local fence = enter(token, ARGV[6], tonumber(ARGV[3]))
  return '1 ' .. fence .. ' ' .. ARGV[3] .. clock .. (count and ' ' .. count or '')
end

local function each_member(f)
  local all = redis.call('HGETALL', record)
  for i = 1, #all, 2 do
    local t = string.match(all[i], field_form)
    if t then
      f(t, member(all[i + 1]))
    end
  end
end

-- Takes a removed member off the owner's count.
local function uncount(m)
  if count then
    count = redis.call('HINCRBY', record, m[3], -1)
  end
end

-- The key's expiry was that of a member that goes: it becomes that of the longest that stays, unless all deadlines are
-- within the tolerance before it. (PTTL counts from the script's start, TIME does not, and a busy machine may have been
-- elsewhere in between.)
local function shorten(deadline)
  local left = redis.call('PTTL', record)
  local ends = now + left * 1000
  if left >= 0 and (deadline + tolerance + 10000 < ends or ends - soonest <= tolerance) then
    return
  end
  local longest, first
  each_member(function(_, m)
    longest, first = math.max(longest or m[1], m[1]), math.min(first or m[1], m[1])
  end)
  if longest then
    -- (PEXPIRE counts from the script's start, too: the others' leases would end earlier by so much.)
    local at = math.max(math.ceil(longest / 1000), math.floor(now / 1000) + 1)
    redis.call('PEXPIREAT', record, string.format('%d', at))
    soonest, changed = first, true
  end
  return longest
end

-- An acquire and a confirmation do without these.
if what ~= 'acquire' and what ~= 'confirm' then
  function leave(t)
    local m = own
    redis.call('HDEL', record, 'leasehold:' .. t)
    own, members, changed = nil, members - 1, true
    uncount(m)
    -- What another program counts has an expiry that is not ours to shorten.
    if members > 0 and only_members() and shorten(m[1]) then
      tell_redisson()
    end
  end

  function rest(t, left)
    local before, expires = own[1], redis.call('PTTL', record)
    redis.call('HDEL', record, 'leasehold:' .. t)
    own[1] = now + left * 1000
    soonest = math.min(soonest, own[1])
    redis.call('HSET', record, 'leasehold:' .. rests .. t, text_of(own))
    own, changed = nil, true
    if expires >= 0 and expires < left then
      redis.call('PEXPIRE', record, left)
    elseif only_members() then
      shorten(before)
    end
    tell_redisson()
  end
end

function finish()
  if not changed then
    return
  end
  if occupied() then
    redis.call('HSET', record, 'leasehold', header())
  else
    free()
  end
  changed = false
end

if not waited_for and what == 'release' and own and own[1] > now and not ARGV[3] then
  leave(token)
  finish()
  return 1
end

-- Members past their deadlines are taken out. A slot moves with times to live and not with instants. So on a node whose
-- clock is ahead, the key ends later than its longest member: then all deadlines move by that much. (Not those of a
-- recursive mutex: another program may have set the expiry.)
if members > 0 and now >= soonest then
  local first
  local all, longest = {}, 0
  each_member(function(t, m)
    all[t] = m
    longest = math.max(longest, m[1])
  end)
  local left = redis.call('PTTL', record)
  -- (A millisecond is left where only members past their deadlines have stayed: see shorten.)
  local ahead = (count or left <= 1) and 0 or now + left * 1000 - longest
  ahead = ahead > tolerance + 10000 and ahead or 0
  begin_writing()
  for t, m in pairs(all) do
    m[1] = m[1] + ahead
    if m[1] <= now then
      redis.call('HDEL', record, 'leasehold:' .. t)
      members = members - 1
      uncount(m)
    else
      if ahead > 0 then
        redis.call('HSET', record, 'leasehold:' .. t, text_of(m))
      end
      first = math.min(first or m[1], m[1])
    end
  end
  own = all[token]
  if own and own[1] <= now then
    own = nil
  end
  soonest, changed = first or now, true
  redis.call('HSET', record, 'leasehold', header())
end

function fence_of(t)
  if t == token then
    return own and own[2]
  end
  local m = exists and member(redis.call('HGET', record, 'leasehold:' .. t))
  return m and m[2]
end

-- Another program of the same owner may have given the key a shorter expiry, or none and have left since.
function lengthen(t, lease)
  local left, deadline = redis.call('PTTL', record), now + lease * 1000
  if left >= 0 and left < lease then
    redis.call('PEXPIRE', record, string.format('%d', lease))
    left = lease
  else
    begin_writing()
  end
  -- A confirmation always writes (mutex.lua); an HDEL of nothing is not propagated.
  if lease > 0 and (own[1] < deadline or what == 'confirm') then
    own[1] = math.max(own[1], deadline)
    redis.call('HSET', record, 'leasehold:' .. t, text_of(own))
  end
  local rest = math.floor((own[1] - now) / 1000)
  if left < 0 and only_members() then
    shorten(own[1])
  end
  return left < 0 and rest or math.min(left, rest)
end

-- raise: lock.lua
if own and what == 'raise' then
-- include: raise
  own[2] = raise_fence(fences, own[2], ARGV[3], ARGV[4])
  latest = raise_fence(fences, latest, own[2], ARGV[4])
  redis.call('HSET', record, 'leasehold', header(), 'leasehold:' .. token, text_of(own))
  changed = false
  return '1 ' .. own[2] .. ' ' .. string.format('%d', lengthen(token, 0)) .. clock .. (count and ' ' .. count or '')
end

-- And without this one. A phase of readers keeps its fence, and so does the owner of a recursive mutex.
if what ~= 'acquire' and what ~= 'confirm' then
  function refresh(t)
    if what ~= 'downgrade' and (count or string.sub(own[3], 1, 1) == 'r') then
-- include: untagged
      return own[2]
    end
    begin_writing()
    latest = next_fence(fences, now)
    own[2] = latest
    redis.call('HSET', record, 'leasehold', header(), 'leasehold:' .. t, text_of(own))
    return latest
  end
end

-- Where another program has put no expiry, the next deadline of our members is known all the same.
function left_for()
  local left = redis.call('PTTL', record)
  return left == -1 and members > 0 and math.ceil((soonest - now) / 1000) or left
end

-- inspect -> {holds, fence, milliseconds left (-1: no expiry), entries in the queue, about, and for each of up to a
-- hundred holds: token, milliseconds left, ask}
if what == 'inspect' then
-- include: untagged
  local reply = {members, latest, redis.call('PTTL', record), redis.call('ZCARD', queue), about}
  if count and count > members then
    reply[1] = count
  end
  if reply[1] == 0 then
    reply = {0, '0', 0, reply[4], ''}
  end
  -- A hold ends with its key at the latest; TIME and PTTL may be a few milliseconds apart.
  local longest = reply[3] < 0 and math.huge or reply[3]
  each_member(function(t, m)
    if #reply < 305 then
      reply[#reply + 1] = t
      reply[#reply + 1] = math.min(longest, math.floor((m[1] - now) / 1000))
      reply[#reply + 1] = m[3]
    end
  end)
  finish()
  return reply
end
