// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world.hpp"

#include "time/random.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <stdexcept>

namespace leasehold {

namespace {
simulation::world* the_world = nullptr;
}

// Instead of those of src/time.
clock::time_point clock::now() noexcept {
  if (the_world == nullptr) return clock::time_point(std::chrono::hours(1));
  const auto* const running = the_world->running();
  return running != nullptr ? running->now() : the_world->now();
}

std::uint64_t detail::random_bits() {
  static std::uint64_t number = 0;
  return the_world != nullptr ? the_world->random_bits() : ++number;
}

namespace simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// When a world begins. Not 0: a client's clock may be behind.
constexpr clock::duration beginning = std::chrono::hours(100);

// What servers show then.
constexpr microseconds year_2024 = std::chrono::seconds(1704067200);

// So many turns without a step of time are a program that never waits.
constexpr int most_turns = 100000;

detail::server_maker make_servers(const asio::any_io_executor& executor, const client_options& options,
                                  std::string client) {
  const auto* const known = executor.target<asio::io_context::executor_type>();
  const asio::any_io_executor strand = asio::make_strand(*known);
  process* const p = the_world->running();
  const auto make = [strand, &options, p](const detail::address& where, std::string channel,
                                          detail::store::events& events, detail::redis_server::router*) {
    const auto note = [p](const std::shared_ptr<detail::memory::connection>& c) { p->note(c); };
    const std::shared_ptr<detail::memory::network> over(std::shared_ptr<void>(), the_world);
    return detail::memory::make_memory_store(strand, {&the_world->server_called(where.path), over, note}, options,
                                             std::move(channel), events);
  };
  return {strand, options, std::move(client), make};
}

// Compiling the scripts takes longer than a schedule.
detail::memory::scripting& lua() {
  static detail::memory::scripting one;
  return one;
}

}  // namespace

clock::duration skewed_clock::when(clock::duration shown) const {
  auto world = shown - offset;
  world -= gained(world);
  // The product of both rates is what is left.
  while (at(world) < shown) world += std::max(shown - at(world), clock::duration(1));
  return world;
}

world::world(std::uint64_t seed, std::size_t servers)
    : network_(seed, 1), library_(seed, 2), now_(beginning), server_clocks_(servers) {
  the_world = this;
  detail::set_memory_servers(&make_servers);
  for (std::size_t i = 0; i < servers; ++i) {
    const auto shown = [this, i] {
      const auto since = std::chrono::duration_cast<microseconds>(server_clocks_[i].at(now_ - beginning));
      return year_2024 + since;
    };
    servers_.push_back(std::make_unique<detail::memory::server>(lua(), shown));
    // One that has just been started cannot be told from one that was started again.
    servers_.back()->be_older(std::chrono::hours(1));
  }
}

world::~world() {
  while (!events_.empty()) events_.pop();
  the_world = nullptr;
}

world* world::current() { return the_world; }

void world::at(clock::time_point when, std::function<void()> what) {
  events_.push({std::max(when.time_since_epoch(), now_), ++events_so_far_, std::move(what)});
}

std::optional<clock::duration> world::late() {
  if (!network_.chance(lateness)) return std::nullopt;
  return network_.between(clock::duration(0), latest);
}

detail::memory::server& world::server_called(std::string_view name) {
  return *servers_.at(static_cast<std::size_t>(name.at(1) - '0'));
}

std::vector<std::string> world::urls() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < servers_.size(); ++i) all.push_back("memory:s" + std::to_string(i));
  return all;
}

void world::remove(process& p) { std::erase(processes_, &p); }

void world::poll() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    process& p = *processes_[i];
    if (p.is_frozen() || p.is_dead()) continue;
    running_ = &p;
    p.poll();
    running_ = nullptr;
  }
}

bool world::run(clock::time_point limit, const std::function<bool()>& done, const std::function<void()>& each_step) {
  int turns = 0;
  for (;;) {
    poll();
    if (each_step) each_step();
    if (done()) return true;
    auto next = events_.empty() ? clock::duration::max() : events_.top().when;
    for (process* const p : processes_) {
      if (!p->is_frozen() && !p->is_dead()) next = std::min(next, p->due().time_since_epoch());
    }
    if (next > limit.time_since_epoch()) {
      now_ = std::max(now_, limit.time_since_epoch());
      return false;
    }
    if (next > now_) {
      now_ = next;
      turns = 0;
      ++steps_;
    } else if (++turns == most_turns) {
      {
        std::string who;
        for (process* const p : processes_) {
          if (!p->is_frozen() && p->due().time_since_epoch() <= now_) who += " " + p->name();
        }
        throw std::runtime_error("time stands still: a timer is due in" + who);
      }
    }
    while (!events_.empty() && events_.top().when <= now_) {
      const auto what = std::move(const_cast<event&>(events_.top()).what);
      events_.pop();
      what();
    }
  }
}

process::process(world& w, std::string name, skewed_clock c, client_options options)
    : world_(w),
      name_(std::move(name)),
      clock_(c),
      context_(std::make_unique<asio::io_context>(
          asio::config_from_string("scheduler.concurrency_hint=1\nscheduler.locking=0\nreactor.use_timerfd=0"))),
      work_(context_->get_executor()) {
  world_.add(*this);
  world_.enter(this);
  client_.emplace(*context_, world_.urls(), std::move(options));
  world_.enter(nullptr);
}

process::~process() { die(); }

detail::client_core& process::core() { return *detail::access::handle(*client_)->core; }

clock::time_point process::now() const {
  return clock::time_point(beginning + clock_.at(world_.now().time_since_epoch() - beginning));
}

clock::time_point process::due() {
  const auto local = core().due();
  if (local == clock::time_point::max()) return local;
  return clock::time_point(beginning + clock_.when(local.time_since_epoch() - beginning));
}

void process::freeze() {
  if (std::exchange(is_frozen_, true)) return;
  frozen_since_ = world_.now();
}

void process::thaw() {
  if (!std::exchange(is_frozen_, false)) return;
  frozen_before_ += world_.now() - frozen_since_;
}

clock::duration process::frozen() const {
  return frozen_before_ + (is_frozen_ ? world_.now() - frozen_since_ : clock::duration(0));
}

void process::die() {
  if (!context_) return;
  *alive_ = false;
  world_.remove(*this);
  world_.enter(this);
  // Coroutines that sleep hold locks.
  sleeping_.clear();
  work_.reset();
  context_.reset();
  client_.reset();
  world_.enter(nullptr);
}

void process::cut_connections() {
  for (const auto& weak : std::exchange(connections_, {})) {
    if (const auto c = weak.lock()) c->cut();
  }
}

asio::awaitable<void> process::sleep(clock::duration d) {
  auto initiate = [this, d](auto handler) {
    const auto number = ++sleeps_;
    sleeping_.emplace(number, std::move(handler));
    after(d, [this, number] {
      const auto found = sleeping_.find(number);
      auto h = std::move(found->second);
      sleeping_.erase(found);
      std::move(h)();
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(std::move(initiate), asio::use_awaitable);
}

void process::after(clock::duration d, std::function<void()> f) {
  world_.after(d, [this, alive = alive_, f = std::move(f)]() mutable {
    if (*alive) asio::post(*context_, std::move(f));
  });
}

void process::poll() { context_->poll(); }

}  // namespace simulation
}  // namespace leasehold
