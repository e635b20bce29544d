-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- What an election adds to the mutex of its name: the value of the leader, which others see (docs/protocol.md, "The
-- election"). The leader is the holder of the mutex, and mutex.lua grants and releases it.
--
-- KEYS[1]  the record of the mutex
-- KEYS[2]  the leader's value: "<token> <fence> <revision> <value>", or the mark that a term is over: "<token> <fence>
--          over". It is also the name of the channel on which each change is announced.
-- KEYS[3]  the fence counter
-- ARGV[1]  what to do
--
-- proclaim TOKEN FENCE REVISION VALUE -> 1: the value is known | 0: the record is not this hold's, or its term is over
--   revision  counts the values of this hold: a request that comes late does not undo a later one
-- withdraw TOKEN FENCE [stays] -> 1: the value is gone | 0: there was none of this hold
--   stays     the record may outlive the term: the hold was lost for its client alone, or detached. Then a mark takes
--             the value's place, and what this hold proclaims is refused: such a request may come late.
-- leader -> {milliseconds left of the record (-1: no expiry, -2: there is none), then if its holder has proclaimed a
--   value: fence, revision, value}
-- A repeat of each changes nothing, and announces nothing.
local record, leader, fences = KEYS[1], KEYS[2], KEYS[3]
local what, token, fence = ARGV[1], ARGV[2], ARGV[3]
-- include: tags
local form <const> = '^(%S+) (%d+) (%d+) (.*)$'
-- The value is kept for so long after the record. The leader repeats it three times in that time.
local life <const> = 3600000

-- Clients of a cluster listen on the channel of the slot, and those of one address on the other one.
local function announce()
  if string.sub(leader, 12, 13) ~= '0}' then
    redis.pcall('SPUBLISH', leader, fence)
  end
  redis.pcall('PUBLISH', leader, fence)
end

-- The fence in the record may have the mark of mutex.lua, a 0 in front.
local function is_of(held, t, f)
  local begins = 'leasehold:' .. t .. ':'
  return held == begins .. f or held == begins .. '0' .. f
end

-- Otherwise clients of one layout would not see the leader of the other one.
if what ~= 'withdraw' then
-- include: untagged
end

if what == 'leader' then
  local held = redis.call('GET', record)
  local found = {redis.call('PTTL', record)}
  local text = held and redis.call('GET', leader) or ''
  -- What a leader has proclaimed is not longer.
  local t, f, revision, value = string.match(#text <= 66048 and text or '', form)
  if t and is_of(held, t, f) then
    found[2], found[3], found[4] = f, revision, value
  end
  return found
end

local old = redis.call('GET', leader) or ''
local t, f, revision = string.match(old, form)
local same = t == token and f == fence
local over = token .. ' ' .. fence .. ' over'
local function lasts()
  return string.format('%d', math.max(0, redis.call('PTTL', record)) + life)
end

if what == 'withdraw' then
  -- (The record may be no string.)
  if ARGV[4] == 'stays' and old ~= over and is_of(redis.pcall('GET', record), token, fence) then
    -- Memory pressure refuses no write that follows one that it does not refuse, even if that has changed nothing. No
    -- DEL: a slot that is being moved refuses to set what is absent.
    redis.call('PEXPIRE', leader, lasts())
    redis.call('SET', leader, over, 'PX', lasts())
  elseif same then
    redis.call('DEL', leader)
  end
  if not same then
    return 0
  end
  announce()
  return 1
end

if old == over or not is_of(redis.call('GET', record), token, fence) then
  return 0
end
if same and tonumber(revision) > tonumber(ARGV[4]) then
  return 1
end
local text = token .. ' ' .. fence .. ' ' .. ARGV[4] .. ' ' .. ARGV[5]
if text == old then
  redis.call('PEXPIRE', leader, lasts())
else
  redis.call('SET', leader, text, 'PX', lasts())
  announce()
end
return 1
