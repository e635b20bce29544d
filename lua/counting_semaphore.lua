-- The counting semaphore: at most `limit` members in one record (members.lua); about is the limit. The ask is the limit
-- that the asker believes in; once it waits in line, it is let in whatever the limit has become.

-- include: call there fence record
kind = 'counting_semaphore'

function about_for(ask)
  return ask
end

function admits(ask)
  return members == 0 or members < tonumber(about) and (waited_for or ask == about)
end

-- include: members

-- status -2: another limit than the record's, which stands in the place of what is left of a lease
if what == 'acquire' and members > 0 and ARGV[6] ~= about and not own and
  not (waited_for and redis.call('ZSCORE', line, token)) then
  finish()
  return '-2 0 ' .. about .. clock
end

-- resize LIMIT NOT-AFTER -> status 1 | -1: too late
-- Who is in stays in. A free semaphore has no limit but that of who comes first. Bytes of a closed connection must not
-- undo what came after them: not-after is as for acquire.
if what == 'resize' then
  if now > tonumber(ARGV[3]) then
    finish()
    return '-1 0 0' .. clock
  end
  let_in = true
  if members > 0 then
    begin_writing()
    about, changed = token, true
  end
end

function left_for()
  return math.max(0, math.ceil((soonest - now) / 1000))
end

-- include: line lock
