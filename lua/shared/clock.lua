-- The server's time in microseconds, and as replies carry it. TIME is the dearest of all calls: who can do without does not
-- include this.
local time = redis.call('TIME')
clock = ' ' .. time[1] .. ' ' .. time[2]
now = time[1] * 1000000 + time[2]
