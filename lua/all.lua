-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- Several locks at once, all or none, without waiting in the queue: as if try_acquire were called for each, with no
-- other command in between.
--
-- KEYS     the four of each lock (shared/call.lua), one lock after the other
-- ARGV     the lease, not-after, repair ("1" or ""), then for each lock: its kind, the token, the ask
-- -> for each lock the reply of acquire, if all were granted; else only the reply for the first one that was not
--
-- Locks that were granted are then released before any other client could see that: also those that the tokens had
-- before. So the next attempt of a client has new tokens.

-- wrap: kinds
local function call(i, what)
  local keys = {KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i]}
  local arguments = {what, ARGV[3 * i + 2]}
  if what == 'acquire' then
    arguments = {what, ARGV[3 * i + 2], ARGV[1], ARGV[2], '', ARGV[3 * i + 3], ARGV[3]}
  end
  return pcall(kinds[ARGV[3 * i + 1]], keys, arguments)
end

local replies = {}
for i = 1, #KEYS / 4 do
  local ran, reply = call(i, 'acquire')
  replies[i] = reply
  if not ran or type(reply) ~= 'string' or string.sub(reply, 1, 2) ~= '1 ' then
    -- A script that failed may have written a record, and no expiry.
    for j = ran and i - 1 or i, 1, -1 do
      call(j, 'release')
    end
    if type(reply) == 'table' then
      return reply
    end
    return ran and {reply} or redis.error_reply(reply)
  end
end
return replies
