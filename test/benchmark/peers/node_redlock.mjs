// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// node-redlock's worker of `./dev bench peers`: one server, by ioredis, with its default pauses between two attempts,
// and no end of the attempts.
import Redis from "ioredis";
import redlock from "redlock";

const Redlock = redlock.default ?? redlock;
const [port, mode] = process.argv.slice(2);
const [workers, begin, length] = process.argv.slice(4).map(Number);
const end = begin + length;
let pairs = 0;
let longest = 0;

const client = new Redis({ host: "127.0.0.1", port: Number(port) });
const locks = new Redlock([client], { retryCount: -1 });
locks.on("error", () => {});

async function worker(name) {
  for (;;) {
    const asked = Date.now();
    if (asked >= end) return;
    const lock = await locks.acquire([name], 10000);
    const acquired = Date.now();
    await lock.release();
    if (acquired < begin || acquired >= end) continue;
    pairs += 1;
    longest = Math.max(longest, acquired - Math.max(asked, begin));
  }
}

await Promise.all(Array.from({ length: workers }, (_, i) => worker(mode === "hot" ? "hot" : `free:${i}`)));
console.log(pairs, longest * 1000);
client.disconnect();
