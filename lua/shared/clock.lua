-- The server's time in microseconds, and as replies carry it. TIME is the most expensive of all calls: a script that
-- can work without it does not include this file.
local time = redis.call('TIME')
clock = ' ' .. time[1] .. ' ' .. time[2]
now = time[1] * 1000000 + time[2]
