# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
# SPDX-License-Identifier: BSL-1.0
#
# redis-py's worker of `./dev bench peers`: redis.asyncio.lock.Lock with its default pause between two attempts.
import asyncio
import sys
import time

import redis.asyncio

port, mode, workers, begin, length = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
begin, end = begin / 1000, (begin + length) / 1000
pairs, longest = 0, 0.0


async def worker(client, name):
    global pairs, longest
    while True:
        asked = time.time()
        if asked >= end:
            return
        lock = client.lock(name, timeout=10)
        await lock.acquire()
        acquired = time.time()
        await lock.release()
        if begin <= acquired < end:
            pairs += 1
            longest = max(longest, acquired - max(asked, begin))


async def main():
    client = redis.asyncio.Redis(host="127.0.0.1", port=int(port))
    names = ["hot" if mode == "hot" else "free:%d" % i for i in range(workers)]
    await asyncio.gather(*(worker(client, name) for name in names))


asyncio.run(main())
print(pairs, int(longest * 1e6))
