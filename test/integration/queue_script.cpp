// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The waiters' queue in Lua and the kinds of locks, on a real server whose clock the test moves. LEASEHOLD_SEED repeats
// a random schedule.
#include "protocol/scripts.hpp"
#include "schedule/queue_schedule.hpp"
#include "schedule/server_host.hpp"
#include "support/redis_server.hpp"
#include "support/unit_test.hpp"

#include <string>
#include <vector>

using leasehold::test::lock_kind;
using leasehold::test::random_schedules_agree_with_the_model;
using leasehold::test::redis_connection;
using leasehold::test::redis_server;
using leasehold::test::script_of;
using leasehold::test::server_host;
using leasehold::test::waiting_clients_are_granted_soon;

BOOST_AUTO_TEST_SUITE(queue_script)

namespace {

const std::string record = "record";
const std::string counter = "leasehold:{0}:fence";
const std::string queue = "leasehold:{0}:queue:record";
const std::string entries = "leasehold:{0}:entries:record";

const lock_kind all_kinds[] = {lock_kind::mutex, lock_kind::recursive_mutex, lock_kind::shared_mutex,
                               lock_kind::counting_semaphore};

}  // namespace

// Many more steps run on the store in memory (test/simulation/scripts.cpp).
BOOST_AUTO_TEST_CASE(random_schedules_agree_with_a_model) {
  for (const auto kind : all_kinds) {
    BOOST_TEST_CONTEXT(script_of(kind).name) {
      server_host host;
      random_schedules_agree_with_the_model(host, kind, 12000);
    }
  }
}

BOOST_AUTO_TEST_CASE(clients_that_poll_when_they_should_are_granted_soon) {
  for (const auto kind : all_kinds) {
    BOOST_TEST_CONTEXT(script_of(kind).name) {
      server_host host;
      waiting_clients_are_granted_soon(host, kind, 4000);
    }
  }
}

// A4: nothing is half-done when memory is short, and whatever frees or hands on works.
BOOST_AUTO_TEST_CASE(without_memory_nobody_begins_a_queue_and_a_queue_moves_on) {
  redis_server redis;
  redis_connection connection(redis.socket_path());
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"EVAL", std::string(leasehold::detail::scripts::mutex.text), "4", record,
                                         counter, queue, entries});
    return connection.command(arguments).text;
  };
  const auto acquire = [&](const std::string& token) {
    return call({"acquire", token, "30000", "9007199254740991", "1"});
  };
  const auto holds = [&](const std::string& token) {
    return redis.get(record).value_or("").starts_with("leasehold:" + token + ":");
  };
  BOOST_TEST(acquire("x.1")[0] == '1');
  redis.command("CONFIG", "SET", "maxmemory", "1");
  BOOST_TEST(acquire("y.1").starts_with("OOM"));
  BOOST_TEST(redis.size() == 1U);
  // Kept for its client, without a queue and with one.
  BOOST_TEST(call({"release", "x.1", "30000", ""}).starts_with("1 "));
  redis.command("CONFIG", "SET", "maxmemory", "0");
  BOOST_TEST(acquire("x.2")[0] == '2');
  redis.command("CONFIG", "SET", "maxmemory", "1");
  BOOST_TEST(call({"release", "x.1", "30000", ""}).starts_with("1 "));
  BOOST_TEST(holds("x.1"));
  BOOST_TEST(call({"release", "x.2"}) == "0");
  redis.command("CONFIG", "SET", "maxmemory", "0");
  for (const char* token : {"y.1", "z.1", "v.1", "w.1"}) acquire(token);
  redis.command("CONFIG", "SET", "maxmemory", "1");
  BOOST_TEST(call({"release", "x.1"}) == "1");
  BOOST_TEST(holds("y.1"));
  BOOST_TEST(call({"confirm", "y.1", "30000"})[0] == '1');
  BOOST_TEST(redis.ttl(record) > 20000);
  BOOST_TEST(acquire("v.1")[0] == '2');
  BOOST_TEST(call({"release", "z.1"}) == "0");
  redis.command("DEL", record);
  // Asked by another one, the head is granted.
  BOOST_TEST(acquire("w.1")[0] == '2');
  BOOST_TEST(holds("v.1"));
  redis.command("DEL", record);
  BOOST_TEST(acquire("v.1")[0] == '1');
  BOOST_TEST(holds("v.1"));
  BOOST_TEST(call({"release", "v.1"}) == "1");
  BOOST_TEST(holds("w.1"));
  BOOST_TEST(call({"release", "w.1"}) == "1");
  BOOST_TEST(redis.size() == 0U);
}

// A4: who may not publish hands the lock on all the same; whoever is in front finds out by its next poll.
BOOST_AUTO_TEST_CASE(without_the_right_to_publish_a_queue_moves_on) {
  redis_server redis;
  redis.command("ACL", "SETUSER", "silent", "on", ">pw", "~*", "resetchannels", "+@all");
  redis_connection connection(redis.socket_path());
  connection.command({"AUTH", "silent", "pw"});
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"EVAL", std::string(leasehold::detail::scripts::mutex.text), "4", record,
                                         counter, queue, entries});
    return connection.command(arguments).text;
  };
  for (const char* token : {"x.1", "y.1", "z.1"}) call({"acquire", token, "30000", "9007199254740991", "1"});
  BOOST_TEST(call({"release", "x.1"}) == "1");
  BOOST_TEST(redis.get(record).value_or("").starts_with("leasehold:y.1:"));
  BOOST_TEST(call({"acquire", "y.1", "30000", "9007199254740991", "1"})[0] == '1');
  BOOST_TEST(call({"release", "y.1"}) == "1");
  BOOST_TEST(redis.get(record).value_or("").starts_with("leasehold:z.1:"));
  BOOST_TEST(call({"release", "z.1"}) == "1");
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
