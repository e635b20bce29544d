-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- The server's time in microseconds, and as replies carry it. TIME is the most expensive of all calls: a script that
-- can work without it does not include this file.
local time = redis.call('TIME')
clock = ' ' .. time[1] .. ' ' .. time[2]
now = time[1] * 1000000 + time[2]
