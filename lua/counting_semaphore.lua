-- uses: call fence record
-- then: members limit line lock
--
-- The counting semaphore: at most `limit` members in one record (members.lua); about is the limit. The ask is the limit
-- that the asker believes in; once it waits in line, it is let in whatever the limit has become.
kind = 'counting_semaphore'

function about_for(ask)
  return ask
end

function admits(ask)
  return members == 0 or members < tonumber(about) and (waited_for or ask == about)
end
