-- The line (docs/protocol.md, "The line"): who waits for a name, first come, first served.
--
-- Two keys beside the record. `line`: a sorted set of tokens in the order of their joining. `entries`: a hash with what is
-- known of each entry, token -> "<stamp> <lease> <due>", and the last place given, in the field "#".
--   stamp  the client's own clock when it sent its latest request about this entry; opaque here
--   lease  what it asks for, in milliseconds
--   due    when its next look is due, in microseconds of the server's clock
-- An entry is silent once its look is a second late. Silent entries are passed over, at most 32 in one call, and keep
-- their place for ten seconds more, for a client that reconnects. Both keys disappear when nobody has looked for a minute.

-- How often the first two living entries look, in microseconds: a third of an unconfirmed lease. The rest look rarely.
local look_often, look_rarely = 667000, 5000000

local function set_entry(entries, token, stamp, lease, due)
  redis.call('HSET', entries, token, stamp .. ' ' .. lease .. ' ' .. string.format('%d', due))
end

local function leave_line(line, entries, token)
  if redis.call('ZREM', line, token) == 0 then
    return false
  end
  redis.call('HDEL', entries, token)
  if redis.call('HLEN', entries) == 1 then
    redis.call('DEL', entries)
  end
  return true
end

-- Up to two living entries from the front, as {token, stamp, lease, due}. Entries that were silent for too long are taken
-- out.
local function first_living(line, entries, now)
  local found = {}
  local from, to = 0, 1
  while true do
    local tokens = redis.call('ZRANGE', line, from, to)
    local gone = 0
    for _, token in ipairs(tokens) do
      local e = redis.call('HGET', entries, token)
      local stamp, lease, due = string.match(e or '', '^(%S+) (%S+) (%S+)')
      due = tonumber(due)
      if not due or now > due + 11000000 then
        leave_line(line, entries, token)
        gone = gone + 1
      elseif now <= due + 1000000 then
        found[#found + 1] = {token, stamp, lease, due}
        if #found == 2 then
          return found
        end
      end
    end
    if #tokens <= to - from or to > 1 then
      return found
    end
    from, to = 2 - gone, 33 - gone
  end
end

-- The client that an entry belongs to listens here. A message that cannot be sent is no reason to stop: everybody in
-- front looks often anyway.
local function tell(fences, token, message)
  local client = string.match(token, '^[^.]+')
  redis.pcall('PUBLISH', string.sub(fences, 1, -6) .. client, message)
end

-- Whoever has come to the front looks often from now on.
local function watch(fences, entries, entry, now)
  if entry and entry[4] > now + look_often + 100000 then
    set_entry(entries, entry[1], entry[2], entry[3], now + look_often)
    tell(fences, entry[1], 'watch ' .. entry[1])
  end
end
