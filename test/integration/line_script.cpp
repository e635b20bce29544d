// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The line in Lua and the kinds of locks, on a real server whose clock the test moves, driven by random schedules of five
// clients against a model. LEASEHOLD_SEED repeats a run.
#include "integration/line_schedule.hpp"
#include "scripts.hpp"
#include "support/redis_server.hpp"
#include "support/unit_test.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using leasehold::test::chosen_seed;
using leasehold::test::line_crowd;
using leasehold::test::line_schedule;
using leasehold::test::lock_kind;
using leasehold::test::redis_connection;
using leasehold::test::redis_server;
using leasehold::test::virtual_clients;

BOOST_AUTO_TEST_SUITE(line_script)

namespace {

const std::string record = "record";
const std::string counter = "leasehold:{0}:fence";
const std::string line = "leasehold:{0}:line:record";
const std::string entries = "leasehold:{0}:entries:record";

// Each reply, each message and the whole state are the model's; the rules hold; nothing is left when all are gone.
void random_schedules_agree_with_the_model(lock_kind kind, std::size_t steps) {
  const auto seed = chosen_seed();
  BOOST_TEST_CONTEXT("LEASEHOLD_SEED=" << seed) {
    line_schedule s(kind, seed);
    for (int episode = 0; s.steps < steps; ++episode) {
      static constexpr std::size_t sizes[] = {5, 12, 60, 150};
      line_crowd c{s, sizes[episode % 4], s.one_in(2) ? 30U : 400U};
      const auto until = s.steps + 2000;
      const bool attentive = s.one_in(2);
      for (int i = 0; s.steps < until; ++i) {
        c.step();
        if (attentive && i % 20 == 0) c.looks();
      }
      s.check();
      if (s.m.lock.expires < 0) s.foreign_delete();
      if (s.one_in(2)) {
        // All leave.
        while (s.m.lock.foreign > 0) s.foreign_leave();
        for (const auto& w : c.old) s.release(w.token);
        for (const auto& w : c.all) s.release(w.token);
        while (!s.m.waiting.empty()) s.release(std::string(s.m.waiting.front().token));
        while (!s.m.lock.members.empty()) s.release(std::string(s.m.lock.members.front().token));
      } else {
        // All die.
        s.pass(601000000);
      }
      s.check();
      for (const auto& left : s.keys()) BOOST_FAIL("left: " << left);
    }
    BOOST_TEST(s.m.handed_off > steps / 200);
    BOOST_TEST(s.m.passed_over > steps / 200);
    BOOST_TEST(s.m.taken_out > steps / 1000);
    const bool has_cohorts = kind == lock_kind::mutex || kind == lock_kind::shared_mutex;
    BOOST_TEST((s.m.kept > steps / 2000) == has_cohorts);
    const bool has_owners = kind == lock_kind::recursive_mutex || kind == lock_kind::shared_mutex;
    BOOST_TEST((s.m.entered_again > steps / 200) == has_owners);
    BOOST_TEST_MESSAGE(s.m.handed_off << " handed off, " << s.m.passed_over << " passed over, " << s.m.taken_out
                                      << " taken out, " << s.m.kept << " kept, " << s.m.entered_again
                                      << " entered again");
  }
}

// Nobody is forgotten: whoever may go in is told, or finds out soon.
void clients_get_in_soon(lock_kind kind) {
  const auto seed = chosen_seed();
  BOOST_TEST_CONTEXT("LEASEHOLD_SEED=" << seed) {
    line_schedule s(kind, seed);
    virtual_clients dying(s, false);
    dying.run(10000);
    BOOST_TEST(dying.tenures > 1000U);
    BOOST_TEST(dying.deaths > 10U);
    // A lease of two seconds, and the next look of those in front.
    BOOST_TEST(dying.longest_idle <= 2000000 + 667000 + 2000);
    s.pass(100000000);
    virtual_clients failing(s, true);
    failing.run(10000);
    BOOST_TEST(failing.tenures > 1000U);
    // Some frozen ones after another, two to three seconds each.
    BOOST_TEST(failing.longest_idle <= 15000000);
    BOOST_TEST_MESSAGE("idle for " << dying.longest_idle << " and " << failing.longest_idle << " us at the most");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_schedules_of_mutexes_agree_with_a_model) {
  random_schedules_agree_with_the_model(lock_kind::mutex, 100000);
}
BOOST_AUTO_TEST_CASE(random_schedules_of_recursive_mutexes_agree_with_a_model) {
  random_schedules_agree_with_the_model(lock_kind::recursive_mutex, 50000);
}
BOOST_AUTO_TEST_CASE(random_schedules_of_shared_mutexes_agree_with_a_model) {
  random_schedules_agree_with_the_model(lock_kind::shared_mutex, 50000);
}
BOOST_AUTO_TEST_CASE(random_schedules_of_counting_semaphores_agree_with_a_model) {
  random_schedules_agree_with_the_model(lock_kind::counting_semaphore, 50000);
}

BOOST_AUTO_TEST_CASE(clients_of_mutexes_that_look_when_they_should_get_in_soon) {
  clients_get_in_soon(lock_kind::mutex);
}
BOOST_AUTO_TEST_CASE(clients_of_recursive_mutexes_that_look_when_they_should_get_in_soon) {
  clients_get_in_soon(lock_kind::recursive_mutex);
}
BOOST_AUTO_TEST_CASE(clients_of_shared_mutexes_that_look_when_they_should_get_in_soon) {
  clients_get_in_soon(lock_kind::shared_mutex);
}
BOOST_AUTO_TEST_CASE(clients_of_counting_semaphores_that_look_when_they_should_get_in_soon) {
  clients_get_in_soon(lock_kind::counting_semaphore);
}

// A4: nothing is half-done when memory is short, and whatever frees or hands on works.
BOOST_AUTO_TEST_CASE(without_memory_nobody_begins_a_line_and_a_line_moves_on) {
  redis_server redis;
  redis_connection connection(redis.socket_path());
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"EVAL", std::string(leasehold::detail::scripts::mutex.text), "4", record,
                                         counter, line, entries});
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
  // Kept for its client, without a line and with one.
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

// A4: who may not publish hands the lock on all the same; whoever is in front finds out when he looks.
BOOST_AUTO_TEST_CASE(without_the_right_to_publish_a_line_moves_on) {
  redis_server redis;
  redis.command("ACL", "SETUSER", "mute", "on", ">pw", "~*", "resetchannels", "+@all");
  redis_connection connection(redis.socket_path());
  connection.command({"AUTH", "mute", "pw"});
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"EVAL", std::string(leasehold::detail::scripts::mutex.text), "4", record,
                                         counter, line, entries});
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
