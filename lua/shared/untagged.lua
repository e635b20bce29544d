-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- An error if the keys of this call are plain, and clients of this server have tagged keys (tags.lua). Included
-- wherever a request needs no fence, and would otherwise miss these clients.
if string.sub(fences, 12, 13) == '0}' and redis.call('GET', fences) == tags_mark then
  error(tags_error)
end
