/* Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
 * SPDX-License-Identifier: BSL-1.0
 *
 * The limit in `./dev bench peers`: SET NX PX, and compare-and-delete in a script, by hiredis, with the commands of all
 * workers in one pipeline. No fence, no queue, no renewal. Only for free names. */
#include <hiredis/hiredis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static long long now_ms(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return t.tv_sec * 1000LL + t.tv_usec / 1000;
}

static long long next_integer(redisContext* c) {
  redisReply* r = NULL;
  long long n = -1;
  if (redisGetReply(c, (void**)&r) != REDIS_OK || r == NULL) exit(1);
  if (r->type == REDIS_REPLY_INTEGER) n = r->integer;
  if (r->type == REDIS_REPLY_STATUS && strcmp(r->str, "OK") == 0) n = 1;
  freeReplyObject(r);
  return n;
}

int main(int argc, char** argv) {
  if (argc != 6 || strcmp(argv[2], "free") != 0) return 64;
  const int workers = atoi(argv[3]);
  const long long begin = atoll(argv[4]), end = begin + atoll(argv[5]);
  redisContext* c = redisConnect("127.0.0.1", atoi(argv[1]));
  if (c == NULL || c->err) return 1;
  redisReply* loaded = redisCommand(
      c, "SCRIPT LOAD %s", "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0");
  if (loaded == NULL || loaded->type != REDIS_REPLY_STRING) return 1;
  unsigned long long pairs = 0, number = 0;
  long long longest = 0;
  for (;;) {
    const long long asked = now_ms();
    if (asked >= end) break;
    for (int i = 0; i < workers; ++i)
      redisAppendCommand(c, "SET free:%d 0123456789abcdef.%llu NX PX 10000", i, number + (unsigned long long)i);
    for (int i = 0; i < workers; ++i)
      if (next_integer(c) != 1) return 1;
    const long long acquired = now_ms();
    for (int i = 0; i < workers; ++i)
      redisAppendCommand(c, "EVALSHA %s 1 free:%d 0123456789abcdef.%llu", loaded->str, i, number + (unsigned long long)i);
    for (int i = 0; i < workers; ++i)
      if (next_integer(c) != 1) return 1;
    number += (unsigned long long)workers;
    if (acquired < begin || acquired >= end) continue;
    pairs += (unsigned long long)workers;
    if (acquired - asked > longest) longest = acquired - asked;
  }
  printf("%llu %lld\n", pairs, longest * 1000);
  freeReplyObject(loaded);
  redisFree(c);
  return 0;
}
