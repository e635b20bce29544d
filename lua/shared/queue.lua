-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The queue (docs/protocol.md, "The queue"): the entries that wait for a name, first come, first served.
--
-- Two keys besides the record. `queue`: a sorted set of tokens in the order of their joining. `entries`: a hash with
-- what is known of each entry, token -> "<stamp> <lease> <due>[ <ask>]", in the field "#<kind>" the last place given,
-- and in "#ran" when a script last ran here.
--   stamp  the client's own clock when it sent its latest request about this entry; opaque here
--   lease  what it asks for, in milliseconds
--   due    when its next poll is due, in microseconds of the server's clock
--   ask    see call.lua
-- An entry is silent once its poll is a second late. Silent entries are passed over, at most 32 in one call, and keep
-- their place for ten seconds more, for a client that reconnects. Both keys disappear a minute after the last poll.

-- A script must not advance a queue of another kind. A queue without entries belongs to no kind: one of its two keys
-- was evicted, or deleted by hand.
local foreign_queue, ran_text = false, nil
if waited_for then
  local fields = redis.call('HMGET', entries, '#' .. kind, '#ran')
  foreign_queue, ran_text = not fields[1], fields[2]
  if foreign_queue and redis.call('EXISTS', entries) == 0 then
    redis.call('DEL', queue)
    foreign_queue, waited_for = false, false
  end
  waited_for = waited_for and not foreign_queue
end

-- While the server stands still, or its clock is stepped forward, no poll can be in time. "#ran" is
-- "<last>[ <before> <resumed> <back>]": `last` is when a script ran here last. If none ran for longer than polls in
-- front are apart, or the clock was stepped back, that is a pause: `before` is the last run before the latest pause,
-- `resumed` the first one after it, `back` by how much the clock was stepped back. They are 0 if there was none.
-- `ran_is_old`: to be written.
local last, before, resumed, back, ran_is_old = 0, 0, 0, 0, false
local function read_ran(text)
  last = tonumber(text)
  if not last then
    local a, b, c, d = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+)$')
    last, before, resumed, back = tonumber(a) or 0, tonumber(b) or 0, tonumber(c) or 0, tonumber(d) or 0
  end
  local since = now - last
  if now > resumed + remembered then
    before, resumed, back = 0, 0, 0
  end
  if since < 0 then
    before, resumed, back = now, now, -since
  elseif since > may_pause then
    before, resumed = last > 0 and last or now, now
  end
  ran_is_old = since > 250000 or since < 0
end
if waited_for then
  read_ran(ran_text)
end

local function ran()
  ran_is_old = false
  return string.format(resumed > 0 and '%d %d %d %d' or '%d', now, before, resumed, back)
end

-- When the next poll of an entry with `due` is due. An entry that was not silent before a pause has a second after it.
-- A time that is too far ahead is from before the clock was stepped back.
local function due_of(due)
  if due > now + latest_poll then
    due = math.min(due - back, resumed + poll_rarely)
  end
  return resumed > due and due + silent_after > before and resumed or due
end

-- An entry is {token, stamp, lease, due, ask}.
local entry_form <const> = '^(%S+) (%S+) (%S+) ?(.*)$'
local function set_entry(e)
  local ask = e[5] == '' and '' or ' ' .. e[5]
  redis.call('HSET', entries, e[1], e[2] .. ' ' .. e[3] .. ' ' .. string.format('%d', e[4]) .. ask)
end

-- How many entries in front have been visited and stay where they are; how many of them are silent.
local behind, silent = 0, 0

-- The last entry has left. A slot that is being moved refuses commands for a key that the script has emptied, and what
-- the script has done until then stays done: so EXISTS may fail, which says the same, and the queue is not read again.
local is_empty = false
local function leave_queue(t)
  if is_empty or redis.call('ZREM', queue, t) == 0 then
    return false
  end
  redis.call('HDEL', entries, t)
  is_empty = redis.pcall('EXISTS', queue) ~= 1
  if is_empty then
    redis.call('DEL', entries)
  end
  return true
end

-- Walks along the queue: the next living entry that has not been granted, nil if there is none. Entries that were
-- silent for too long are taken out; those that have been granted stay until they confirm.
local chunk, place = {}, 1
local function next_waiting()
  while not is_empty and silent < 32 and behind < 256 do
    local t = chunk[place]
    if not t then
      if #chunk == 1 then
        return nil
      end
      chunk = redis.call('ZRANGE', queue, behind, behind == 0 and 1 or behind + 31)
      place = 1
      t = chunk[1]
      if not t then
        return nil
      end
    end
    place = place + 1
    local text = redis.call('HGET', entries, t)
    local stamp, lease, due, ask = string.match(text or '', entry_form)
    due = tonumber(due)
    due = due and due_of(due)
    if not due or now > due + silent_after + keeps_place then
      silent = silent + 1
      leave_queue(t)
    else
      behind = behind + 1
      if now > due + silent_after then
        silent = silent + 1
      elseif not fence_of(t) then
        return {t, stamp, lease, due, ask}
      end
    end
  end
end

-- Keeps a message for the channel on which the client of this token listens. The messages are sent after the record is
-- written: one that cannot be sent undoes nothing. `e`: the entry, if its client is to poll often from now on.
local messages = {}
local function notify(t, message, e)
  messages[#messages + 1] = {string.sub(fences, 1, -6) .. string.match(t, '^[^.]+'), message, e}
end

-- With tagged keys a message stays in the slot. (The plain layout has the only tag of one character.) If no client
-- listens there, it goes to the client's channel of the plain layout: the server has no channels of slots, or the
-- client may not listen there, or a hold is older than the tagged keys. If the server refuses to publish at all (ACL),
-- the client keeps the interval of its polls. Its entry must not be silent before the next one.
local function send_messages()
  for _, m in ipairs(messages) do
    local sent, e = nil, m[3]
    if string.sub(fences, 12, 13) ~= '0}' then
      sent = redis.pcall('SPUBLISH', m[1], m[2])
    end
    if type(sent) ~= 'number' or sent == 0 then
      sent = redis.pcall('PUBLISH', 'leasehold:{0}:' .. string.sub(m[1], string.find(m[1], '}', 1, true) + 2), m[2])
    end
    if e and type(sent) == 'number' then
      e[4] = now + poll_often
      set_entry(e)
    end
  end
end

-- An entry that has come to the front polls often from now on.
local function watch(e)
  if e and e[4] > now + poll_often + slack then
    notify(e[1], 'watch ' .. e[1], e)
  end
end

-- Grants the lock to the next entries, for as long as it admits them: with a fence, and a short lease that the
-- confirmation lengthens. Each one's client is notified of the grant. (The client of `asker`, a token or nil, is not:
-- the asker has the lease that it asks for at once.) An entry stays in the queue until the confirmation; those that
-- come to the front watch. Before this call something was written that memory pressure does not refuse, so that nothing
-- here is refused. Returns the asker's fence if it was granted, and the two entries in front that still wait.
local function advance(asker, asked)
  local fence
  local first = next_waiting()
  if behind > 0 and ran_is_old then
    redis.call('HSET', entries, '#ran', ran())
  end
  local has_checked = string.sub(fences, 12, 13) ~= '0}'
  for _ = 1, 32 do
    if not first or not (admits(first[5]) or reenters and reenters(first[5])) then
      break
    end
    if not has_checked and redis.call('GET', fences) == tags_mark then
      -- The entries here find that out by their polls.
      if what == 'acquire' then
        error(tags_error)
      end
      break
    end
    has_checked = true
    local t = first[1]
    if t == asker then
      leave_queue(t)
      behind = behind - 1
      fence = enter(t, first[5], asked)
    else
      local lease = math.min(tonumber(first[3]), unconfirmed)
      local granted = enter(t, first[5], lease)
      -- If its client is dead, the entry is silent before the lease has ended, and is not granted again.
      local polls_sooner = first[4] > now + poll_often and first
      notify(t, 'granted ' .. t .. ' ' .. granted .. ' ' .. first[2] .. ' ' .. lease .. (depth and depth() or ''),
        polls_sooner)
    end
    first = next_waiting()
  end
  local second = first and next_waiting()
  watch(first)
  watch(second)
  return fence, first, second
end
