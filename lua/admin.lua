-- uses: call fence line
--
-- What operators ask, of locks of any kind: which there are, who has one and who waits for it; and to free one by force.
-- KEYS are those of a lock (shared/call.lua), except for list.
--
-- list PATTERN CURSOR LINE
--   -> {the next cursor, then for each lock of ours: record, token, fence, milliseconds left, entries in its line}
--   KEYS: none. SCAN finds the records, so nobody can declare them; on a single server that is allowed. PATTERN: of the
--   records. LINE: the key of a line up to its record. One step of a SCAN, which changes nothing; a repeat begins at the
--   same cursor and may find other keys.
-- show
--   -> {state, token, fence, milliseconds left, entries in the line,
--       then for each of the first 100 entries: token, lease in milliseconds, 1 if it is silent, else 0}
--   It changes nothing.
-- break TOKEN FENCE [force]
--   -> as show without the entries: nothing was broken, because somebody else has the lock, or because it is not ours and
--      force is absent; or {3, token, fence, milliseconds left, entries in the line, the next holder's token or ""}
--   FENCE "": not known yet, only looks. The next in line has the lock afterwards, as after a release. A repeat finds
--   somebody else, because no token is ever used again, and breaks nothing: least of all the next one's hold.
--
-- state: 0: free | 1: ours | 2: another program's string, which then stands for the token, with the fence 0 (64 KiB of it
-- are read at most). milliseconds left: -1: no expiry. What is no lock is WRONGTYPE.

-- What a key is, as {state, token, fence, milliseconds left}; nil: no lock. With only_ours the rest of another program's
-- string is not fetched.
local function read(key, only_ours)
  local stored = redis.call('TYPE', key).ok
  if stored == 'none' then
    return {0, '', '0', 0}
  end
  if stored ~= 'string' then
    return nil
  end
  local has_magic = redis.call('GETRANGE', key, 0, 9) == 'leasehold:'
  if only_ours and not has_magic then
    return nil
  end
  local value = redis.call('GETRANGE', key, 0, 65535)
  local holder, fence
  if has_magic then
    holder, fence = string.match(value, '^leasehold:(.+):(%d+)$')
  end
  return {holder and 1 or 2, holder or value, fence or '0', redis.call('PTTL', key)}
end

if what == 'list' then
  local page = redis.call('SCAN', ARGV[3], 'MATCH', ARGV[2], 'COUNT', 1000)
  local found = {page[1]}
  for _, key in ipairs(page[2]) do
    local lock = string.sub(key, 1, 10) ~= 'leasehold:' and read(key, true)
    if lock and lock[1] == 1 then
      found[#found + 1] = key
      for i = 2, 4 do
        found[#found + 1] = lock[i]
      end
      found[#found + 1] = redis.call('ZCARD', ARGV[4] .. key)
    end
  end
  return found
end

local lock = read(record)
if not lock then
  return redis.error_reply('WRONGTYPE the key holds something that is no lock')
end
read_clock()
local state, holder, fence = lock[1], lock[2], lock[3]
local found = {state, holder, fence, lock[4], redis.call('ZCARD', line)}

if what == 'show' then
  for _, t in ipairs(redis.call('ZRANGE', line, 0, 99)) do
    local lease, due = string.match(redis.call('HGET', entries, t) or '', '^%S+ (%S+) (%S+)')
    local is_silent = not due or now > tonumber(due) + 1000000
    found[#found + 1] = t
    found[#found + 1] = lease or 0
    found[#found + 1] = is_silent and 1 or 0
  end
  return found
end

local vacant, next_holder = true, ''

function admits()
  return vacant
end

function fence_of(t)
  return t == next_holder and fence or nil
end

function enter(t, _, lease)
  fence = next_fence(fences, now)
  redis.call('SET', record, 'leasehold:' .. t .. ':' .. fence, 'PX', string.format('%d', lease))
  vacant, next_holder = false, t
  return fence
end

-- Those who wait for a lock of another kind are let in by its own script.
local function let_next_in()
  if waited_for and redis.call('HEXISTS', entries, '#mutex') == 1 then
    advance()
  end
end

-- The first write is one that memory pressure does not refuse.
if state == 0 then
  -- Nobody has it: whoever waits is helped all the same.
  if waited_for then
    redis.call('PEXPIRE', line, 60000)
  end
  let_next_in()
  send_messages()
  return found
end
if holder ~= token or fence ~= ARGV[3] or (state == 2 and ARGV[4] ~= 'force') then
  return found
end
redis.call('PEXPIRE', record, 2000)
-- A holder that has not confirmed still stands in the line, and must not be the next one.
leave_line(holder)
let_next_in()
if vacant then
  redis.call('DEL', record)
end
send_messages()
found[1], found[6] = 3, next_holder
return found
