// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Random schedules for the script of one kind of lock, on a host whose clock the test moves: each reply, each message
// and the whole state are compared with the model's, and the rules are checked as well.
#pragma once

#include "protocol/scripts.hpp"
#include "schedule/queue_model.hpp"
#include "schedule/queue_rules.hpp"
#include "schedule/script_host.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace leasehold::test {

// LEASEHOLD_SEED repeats a run.
std::uint64_t chosen_seed();

// Each reply, each message and the whole state are the model's; the rules hold; nothing is left when all clients are
// gone.
void random_schedules_agree_with_the_model(script_host&, lock_kind, std::size_t steps);

// No waiter is forgotten: each is notified of its grant, or finds it soon. Runs `steps` with milder and then with worse
// faults.
void waiting_clients_are_granted_soon(script_host&, lock_kind, std::size_t steps);

const detail::script& script_of(lock_kind);

class queue_schedule {
 public:
  // The host is empty, and serves this schedule alone.
  queue_schedule(lock_kind kind, std::uint64_t seed, script_host&);

  const lock_kind kind;
  std::size_t steps = 0;
  queue_model m{kind};
  // Messages for whoever likes to act on them.
  std::vector<queue_message> delivered;

  std::uint64_t random(std::uint64_t below) { return engine_() % below; }
  bool one_in(std::uint64_t n) { return random(n) == 0; }
  // Something to ask for.
  std::string any_ask();
  std::string any_owner();
  std::string any_limit();

  void pass(std::int64_t microseconds);
  void step_back(std::int64_t microseconds);
  void let_all_expire();

  std::string acquire(const std::string& token, std::int64_t lease, bool joins, const std::string& ask,
                      bool late = false, bool repair = false);
  std::string confirm(const std::string& token, std::int64_t lease);
  void renew(const std::string& token, std::int64_t lease);
  void release(const std::string& token);
  // For a cohort.
  void keep(const std::string& token, std::int64_t lease, const std::string& ask);
  void refresh(const std::string& token, std::int64_t lease, const std::string& ask, bool late);
  void downgrade(const std::string& token);
  void resize(const std::string& to, bool late);

  // Clients in other languages, or somebody's hand.
  void foreign_enter(std::int64_t lease);
  void foreign_leave();
  void foreign_delete();
  void forget_everything();

  // The whole state, as it is and as it should be.
  void check();
  // Compares what was sent with what came back.
  void flush();
  // What there is but the fence counter.
  std::vector<std::string> keys();

 private:
  using reader = std::string (*)(const reply&);
  struct call {
    std::string shown;
    std::string expected;
    reader read;
    queue_rules::call seen;
    std::function<void(queue_rules&)> event;  // Instead of a client's call.
    std::size_t messages = 0;                 // So many in all when this one had been made.
  };

  std::string what_was_done() const;
  void keep_rules(const std::deque<call>&);
  std::string script(bool all_keys, queue_rules::call seen, std::vector<std::string> words);
  void command(const std::vector<std::string>& words, const std::string& expected,
               std::function<void(queue_rules&)> event = nullptr, reader = nullptr);
  void set_clock() { host_.set_time(m.lock.now); }

  std::mt19937_64 engine_;
  script_host& host_;
  queue_rules rules_{kind};
  std::deque<call> sent_;
  std::deque<std::string> log_;
  std::uint64_t stamps_ = 0;
  std::int64_t latest_ = 0;  // Before the clock was stepped back.
};

// Clients who do anything at any time.
struct queue_crowd {
  struct waiter {
    std::string token;
    std::string ask;
    std::int64_t lease;
    bool frozen = false;
  };
  queue_schedule& s;
  std::size_t many;        // Waiters at a time
  std::uint64_t freezing;  // One in so many steps freezes or thaws somebody
  std::vector<waiter> all{};
  std::vector<waiter> old{};
  std::uint64_t tokens = 0;

  void step();
  // All that living clients would do: they poll when it is time. So nobody is silent who is not frozen.
  void polls();

 private:
  waiter& somebody() { return all[s.random(all.size())]; }
  std::int64_t any_lease();
  waiter newcomer();
  void replace(waiter& w);
  waiter* holder();
  void act_late(const waiter& w);
  void act_from_outside();
  void let_time_pass();
};

// Clients that do what the library's do, in the server's time: they poll when it is due or when they are notified, hold
// the lock for a while and release it. Some die while they hold it, and, if there are to be worse faults, freeze, give
// up, or miss messages.
class virtual_clients {
 public:
  virtual_clients(queue_schedule& schedule, bool worse_faults) : s(schedule), faults(worse_faults) {}

  std::size_t tenures = 0;
  std::size_t deaths = 0;
  // How long at a time there was room, and nobody has come in though somebody alive waits.
  std::int64_t longest_idle = 0;

  void run(std::size_t steps);

 private:
  enum class doing { absent, waiting, holding, dead };
  struct one {
    doing what = doing::absent;
    std::string token;
    std::string ask;
    std::int64_t lease = 0;
    std::int64_t next = 0;  // When it does something.
    std::int64_t thaws = 0;
  };
  queue_schedule& s;
  const bool faults;
  std::uint64_t tokens = 0;
  std::vector<one> all_ = std::vector<one>(12);
  std::int64_t idle_since_ = 0;

  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(s.random(static_cast<std::uint64_t>(most)));
  }
  void got(one& c);
  void poll(one& c);
  void act(one& c);
  void deliver();
  void watch_the_time();
};

}  // namespace leasehold::test
