-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- How many of the record and its queue exist (renew does not declare the queue), and whether the queue does. If only
-- one exists, a kind learns which from what it reads of the record.
there = queue and redis.call('EXISTS', record, queue)
waited_for = there == 2
