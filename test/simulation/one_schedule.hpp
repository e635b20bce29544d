// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A schedule while it is made and runs. schedule_plan.cpp decides what will happen, and schedule.cpp lets it happen.
#pragma once

#include "simulation/cluster_events.hpp"
#include "simulation/elections.hpp"
#include "simulation/schedule.hpp"

#include <leasehold/counting_semaphore.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace leasehold::simulation {

using std::chrono::milliseconds;

// How long a message takes at the most while the network is slow.
constexpr milliseconds slow_network{300};

using any_lock = std::variant<mutex, recursive_mutex, counting_semaphore, shared_mutex, shared_mutex::reader_side>;

class schedule {
 public:
  schedule(deployment d, std::uint64_t seed, reach& reached, bool with_history, const cut_down& without);

  outcome run();

 private:
  struct fault {
    clock::duration when;
    std::string what;
    std::function<void()> strike;
    std::function<void()> end;  // Called when faults stop, if the fault lasts.
  };

  void plan();
  void plan_faults();
  // On a quorum: these wait for the instant at which they are worst.
  void plan_ambushes();
  fault at_a_bare_grant(dice&);
  fault at_a_raise(dice&);
  void step_forward(std::size_t server, clock::duration);
  void plan_more();
  void plan_lingering();
  void plan_partitions();
  void plan_slow_scripts();
  void plan_uses();
  void plan_cluster();
  void make_process(std::size_t i);
  void start_workers(std::size_t i);
  asio::awaitable<void> work(std::size_t i, std::size_t worker, std::shared_ptr<process> p);
  // Choices that only some schedules make are `own`.
  asio::awaitable<void> use(dice& d, dice& own, process& p, const std::string& who, std::shared_ptr<held> h,
                            bool writer);
  // acquire_all of every name.
  asio::awaitable<void> use_all(dice& d, process& p, std::size_t i, const std::string& who);
  // What the holder of a mutex does meanwhile.
  asio::awaitable<void> wait_for_others(process& p, std::shared_ptr<held> h, clock::duration longest);
  asio::awaitable<void> proclaim(std::shared_ptr<held> h);
  // Says whether it is detached.
  asio::awaitable<bool> detach(dice& own, std::shared_ptr<held> h);
  // Goes on with one of the tickets.
  asio::awaitable<void> resume(dice& d, dice& own, process& p, const std::string& who);
  asio::awaitable<void> watch(std::shared_ptr<held> h);
  any_lock lock_of(process& p, const std::string& name, bool reader, const std::string& owner) const;
  acquire_options options(dice&, std::size_t process) const;
  void stop_faults();
  void note(std::string_view who, const std::string& what);
  void count(std::string_view what) { ++reached_[std::string(what)]; }
  static void each_request(
      const detail::script&, const std::vector<std::string_view>& arguments, const detail::memory::reply&,
      const std::function<void(const std::vector<std::string_view>&, const detail::memory::reply&)>&);
  void note_call(std::size_t server, const std::vector<std::string_view>& arguments, const detail::memory::reply&);
  void count_calls(const detail::script&, const std::vector<std::string_view>& arguments, const detail::memory::reply&);
  void count_client(process&);
  // What its client says of itself is what its user has seen.
  void check_statistics(process&) const;
  bool is_over() { return world_.now() >= ends_; }

  // A hold that was detached.
  struct parked {
    std::shared_ptr<held> before;
    std::string ticket;
    std::uint64_t fence;
    milliseconds lease;
  };

  const deployment deployment_;
  const std::uint64_t seed_;
  reach& reached_;
  const bool with_history_;
  const cut_down& without_;
  dice dice_;
  world world_;
  std::optional<detail::memory::cluster> slots_;  // Which the only server checks.
  std::optional<cluster_events> cluster_;
  judge::rules rules_;
  std::optional<judge> judge_;
  clock::time_point ends_;
  clock::duration longest_pause_{}, longest_pause_of_others_{}, longest_work_{};
  milliseconds shortest_lease_{}, longest_lease_{};
  milliseconds longest_rest_{};  // acquire_options::at_least; 0: nobody asks for that.
  std::size_t workers_each_ = 1;
  std::vector<std::string> names_;
  std::vector<client_options> client_options_;
  std::vector<milliseconds> lingers_;  // By the number of the process.
  std::vector<skewed_clock> clocks_;
  std::vector<std::shared_ptr<process>> processes_;
  std::vector<std::shared_ptr<process>> dead_;
  struct seen {
    std::uint64_t acquired = 0, timed_out = 0, cancelled = 0, lost = 0;
    bool all = false;      // It has called acquire_all.
    bool has_led = false;  // It has given up a leadership by itself.
  };
  std::map<const process*, seen> seen_;
  std::optional<elections> elections_;  // The mutexes are those of elections.
  bool leaves_values_ = false;          // What a leader has proclaimed whose end the server was not told of.
  bool detaches_ = false;               // Some holds are detached, and any process resumes them.
  bool asks_ = false;                   // Some holders wait until another client wants the lock.
  std::deque<parked> parked_;
  std::vector<fault> faults_;
  std::vector<std::shared_ptr<way>> closed_;  // Until faults stop; their processes may have died.
  std::function<void(const std::shared_ptr<held>&, const std::shared_ptr<process>&)> at_grant_;
  std::function<void(std::size_t server)> at_raise_;
  bool clocks_agree_ = true;       // Those of a cluster's nodes.
  bool steps_ = false;             // The clock of the one server is stepped forward.
  std::vector<bool> was_stepped_;  // Forward, by the number of the server.
  std::size_t at_work_ = 0;
  std::vector<std::size_t> at_work_in_;  // By the number of the process.
  bool was_set_back_ = false;            // A server's clock: what was delayed then may be left until its lease ends.
  std::exception_ptr failure_;
  std::vector<std::string> history_;
};

}  // namespace leasehold::simulation
