-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- Clients with the tagged layout put the mark in the place of the plain layout's fence counter (docs/protocol.md, "One
-- address with slots behind it"). A client with the plain layout that meets it knows these words
-- (protocol/refusal.cpp). next_fence checks for it; so does whatever needs no fence.
local tags_mark <const> = 'tagged'
local tags_error <const> = 'leasehold: the keys of this server are tagged; see ?keys=tagged'
