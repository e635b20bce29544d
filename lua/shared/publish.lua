-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- Sends `message` to the client of the token `t`, as send_messages of queue.lua does, for the quick forms: they do
-- without functions. `sent` is a number, or an error if the server refuses to publish.
local name, sent = string.match(t, '^[^.]+')
if string.sub(fences, 12, 13) ~= '0}' then
  sent = redis.pcall('SPUBLISH', string.sub(fences, 1, -6) .. name, message)
end
if type(sent) ~= 'number' or sent == 0 then
  sent = redis.pcall('PUBLISH', 'leasehold:{0}:' .. name, message)
end
