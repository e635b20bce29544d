// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Virtual time, a network, servers in memory, and processes with clients in them, all in one thread. What happens
// depends on the seed alone. What is in time/clock.cpp, steady.cpp, timer.cpp and random.cpp of the library is replaced
// when a program links this.
#pragma once

#include "client/client_core.hpp"
#include "store/memory/cluster.hpp"
#include "store/memory/memory_store.hpp"
#include "store/memory/server.hpp"
#include "time/clock.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/random/splitmix64.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace leasehold::simulation {

namespace asio = boost::asio;

// Random choices; each actor has its own, so that one actor's choices do not change those of the others.
class dice {
 public:
  dice(std::uint64_t seed, std::uint64_t actor) : engine_(engine(engine(seed)() + actor)()) {}

  std::uint64_t bits() { return engine_(); }
  // Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  clock::duration between(clock::duration low, clock::duration high) {
    return clock::duration(between(low.count(), high.count()));
  }
  bool chance(double probability) { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53 < probability; }

 private:
  // Cheap to seed: a schedule has a dozen actors, many of whom choose twice.
  using engine = boost::random::splitmix64;
  engine engine_;
};

// Runs at base + offset at first, and faster than the world by `parts_per_million`.
struct skewed_clock {
  clock::duration offset{0};
  std::int64_t parts_per_million = 0;

  clock::duration at(clock::duration world) const { return world + offset + gained(world); }
  // When it shows `shown`, at the earliest.
  clock::duration when(clock::duration shown) const;
  // What takes so long by this clock takes so long in the world.
  clock::duration takes(clock::duration shown) const {
    return skewed_clock{clock::duration(0), parts_per_million}.when(shown);
  }

 private:
  clock::duration gained(clock::duration world) const {
    constexpr std::int64_t million = 1000000;
    return world / million * parts_per_million + clock::duration(world.count() % million * parts_per_million / million);
  }
};

class process;
class world;

// The way between a process and a server, which can be closed in each direction. What is sent meanwhile arrives when it
// is opened again, as TCP's repetitions do.
class way final : public detail::memory::network, public std::enable_shared_from_this<way> {
 public:
  explicit way(world& w) : world_(w) {}

  void close(bool to_server, bool to_client);
  void open();
  bool is_open() const { return !to_server_.is_closed && !to_client_.is_closed; }
  // Since then it has been open.
  clock::time_point opened_at() const { return is_open() ? opened_at_ : clock::time_point::max(); }

  clock::duration takes() override;
  clock::duration gathers() override;
  std::size_t most_under_way() override;
  std::optional<clock::duration> late() override;
  clock::time_point now() override;
  void at(clock::time_point, std::function<void()>) override;
  void to_server(clock::time_point when, std::function<void()> arrives) override;
  void to_client(clock::time_point when, std::function<void()> arrives) override;

 private:
  struct half {
    bool is_closed = false;
    std::vector<std::function<void()>> held_back;

    void arrive(std::function<void()> f);
    void open();
  };

  world& world_;
  half to_server_, to_client_;
  clock::time_point opened_at_{};
};

class world final : public detail::memory::network {
 public:
  world(std::uint64_t seed, std::size_t servers);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  // The one there is; null between two.
  static world* current();

  // --- The network ---

  clock::duration fastest = std::chrono::microseconds(50), slowest = std::chrono::milliseconds(2);
  // For how long at most a client gathers calls (memory::network::gathers).
  clock::duration gathering{0};
  // How many calls may be under way on a connection (memory::network::most_under_way).
  std::size_t most_calls = detail::pipeline::most_under_way;
  // After a cut a client connects again within this, if it was connected.
  clock::duration longest_reconnection = std::chrono::milliseconds(60);
  // Each process has ways of its own to the servers (process::way_to). Before there are processes.
  bool has_ways = false;
  // How often what was sent on a connection that is cut arrives later than the cut.
  double lateness = 0.5;
  clock::duration latest = std::chrono::milliseconds(500);

  clock::time_point now() override { return clock::time_point(now_); }
  void at(clock::time_point, std::function<void()>) override;
  void after(clock::duration d, std::function<void()> f) { at(now() + d, std::move(f)); }
  clock::duration takes() override { return network_.between(fastest, slowest); }
  clock::duration gathers() override {
    return gathering == clock::duration(0) ? gathering : network_.between(clock::duration(0), gathering);
  }
  std::size_t most_under_way() override { return most_calls; }
  std::optional<clock::duration> late() override;

  // --- Servers ---

  // "memory:s0" and so on; of a cluster "memory+cluster:s0".
  std::size_t number_of_servers() const { return servers_.size(); }
  detail::memory::server& server(std::size_t i) { return *servers_[i]; }
  // It is up, does not stand still and refuses nothing.
  bool serves(std::size_t i);
  std::vector<std::string> urls() const;
  // Another one; returns its number.
  std::size_t add_server();
  // What is at "memory:NAME" besides.
  void add(std::string name, detail::memory::endpoint e) { others_.insert_or_assign(std::move(name), std::move(e)); }
  // Throws std::out_of_range: there is none of that name.
  detail::memory::endpoint at_name(std::string_view name);
  skewed_clock& clock_of_server(std::size_t i) { return server_clocks_[i]; }
  // The servers become a cluster of so many masters; the others have no slots. Before there are clients.
  void make_cluster(std::size_t masters);
  // Which server has this record, or would have it.
  std::size_t server_of(std::string_view record);
  // Null: they are none.
  detail::memory::cluster* cluster() { return cluster_ ? &*cluster_ : nullptr; }

  // --- Running ---

  void add(process& p) { processes_.push_back(&p); }
  void remove(process& p);
  const std::vector<process*>& processes() const { return processes_; }
  // Whose code runs at the moment; null: the world's.
  process* running() const { return running_; }
  void enter(process* p) { running_ = p; }
  std::uint64_t random_bits() { return library_.bits(); }
  // Until done() or the instant; says whether it is done. `each_step` is called in each instant, after the processes.
  bool run(clock::time_point limit, const std::function<bool()>& done, const std::function<void()>& each_step = {});
  // How many instants there have been.
  std::uint64_t steps() const { return steps_; }

 private:
  struct event {
    clock::duration when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const event& other) const { return when != other.when ? when > other.when : number > other.number; }
  };
  void poll();

  dice network_, library_;
  clock::duration now_;
  std::uint64_t events_so_far_ = 0;
  std::uint64_t steps_ = 0;
  std::priority_queue<event> events_;
  std::deque<skewed_clock> server_clocks_;
  std::vector<std::unique_ptr<detail::memory::server>> servers_;
  std::optional<detail::memory::cluster> cluster_;
  std::map<std::string, detail::memory::endpoint, std::less<>> others_;
  std::vector<process*> processes_;
  process* running_ = nullptr;
};

// A program with one client.
class process {
 public:
  process(world&, std::string name, skewed_clock, client_options);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  const std::string& name() const { return name_; }
  leasehold::client& client() { return *client_; }
  asio::any_io_executor executor() { return context_->get_executor(); }
  detail::client_core& core();
  clock::time_point now() const;
  // When its clock shows that, in the world's time.
  clock::time_point when(clock::time_point shown) const;

  bool is_frozen() const { return is_frozen_; }
  void freeze();
  void thaw();
  // For how long it has been frozen so far, in the world's time.
  clock::duration frozen() const;

  // Everything of it goes in this instant; what it has sent is still on its way. Nothing but the destructor after it.
  void die();
  bool is_dead() const { return !context_; }
  void cut_connections();
  // Only in a world with ways.
  const std::shared_ptr<way>& way_to(detail::memory::server&);
  bool reaches(const detail::memory::server&) const;
  // At least one way is closed, or was closed then or later.
  bool is_cut_off() const { return is_cut_off(clock::time_point::max()); }
  bool is_cut_off(clock::time_point since) const;

  // In the world's time.
  asio::awaitable<void> sleep(clock::duration);
  // Runs f in the process after that, unless it has died.
  void after(clock::duration, std::function<void()> f);

  void poll();
  void note(const std::shared_ptr<detail::memory::connection>& c) {
    connections_.push_back(c);
    ++connections_so_far_;
  }
  std::uint64_t connections_so_far() const { return connections_so_far_; }

 private:
  world& world_;
  const std::string name_;
  const skewed_clock clock_;
  std::unique_ptr<asio::io_context> context_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::map<const detail::memory::server*, std::shared_ptr<way>> ways_;
  std::optional<leasehold::client> client_;
  bool is_frozen_ = false;
  clock::duration frozen_before_{0};
  clock::time_point frozen_since_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::uint64_t sleeps_ = 0;
  std::unordered_map<std::uint64_t, asio::any_completion_handler<void()>> sleeping_;
  std::vector<std::weak_ptr<detail::memory::connection>> connections_;
  std::uint64_t connections_so_far_ = 0;
};

}  // namespace leasehold::simulation
