// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/world.hpp"

#include "protocol/slots.hpp"
#include "time/random.hpp"
#include "time/timer.hpp"

#include <boost/asio/append.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

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

std::chrono::steady_clock::time_point detail::to_steady(clock::time_point t) noexcept {
  return std::chrono::steady_clock::time_point(t.time_since_epoch());
}

void detail::move_clock(clock::duration) noexcept {}

namespace {

// The waits of one context. What still waits when it ends is dropped, as Asio's timers do it. (Those look at the real
// clock whenever the context is polled, which takes a tenth of all time.)
class waits final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;
  explicit waits(asio::execution_context& context) : service(context) {}

  struct wait {
    asio::any_completion_handler<void(error_code)> handler;
    asio::any_io_executor work;  // Tracked as long as there is a handler.
    waits* all = nullptr;        // nullptr: the context has ended.
  };
  void add(wait& w) {
    w.all = this;
    waiting_.insert(&w);
  }
  void remove(wait& w) { waiting_.erase(&w); }

 private:
  void shutdown() override {
    std::vector<asio::any_completion_handler<void(error_code)>> handlers;
    for (auto* const w : std::exchange(waiting_, {})) {
      w->all = nullptr;
      w->work = {};
      handlers.push_back(std::move(w->handler));
    }
    // The handlers may own what waits.
  }

  std::set<wait*> waiting_;
};

}  // namespace

struct detail::timer::state {
  explicit state(asio::any_io_executor e) : executor(std::move(e)) {
    asio::use_service<waits>(asio::query(executor, asio::execution::context)).add(its);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (its.all != nullptr) its.all->remove(its);
  }

  void end(error_code ec) {
    if (!its.handler) return;
    asio::post(executor, asio::append(std::exchange(its.handler, nullptr), ec));
    its.work = {};
  }

  const asio::any_io_executor executor;
  waits::wait its;
  std::uint64_t number = 0;  // Of the waits so far.
};

detail::timer::timer(asio::any_io_executor executor) : state_(std::make_shared<state>(std::move(executor))) {}

detail::timer::~timer() { cancel(); }

void detail::timer::cancel() { state_->end(asio::error::operation_aborted); }

void detail::timer::wait(clock::time_point until, asio::any_completion_handler<void(error_code)> handler) {
  // Further away than any test goes; its time may be out of the range of a skewed clock.
  constexpr auto never = std::chrono::hours(24 * 365 * 10);
  cancel();
  state& one = *state_;
  const auto number = ++one.number;
  one.its.handler = std::move(handler);
  one.its.work = asio::prefer(one.executor, asio::execution::outstanding_work.tracked);
  const auto now = clock::now();
  if (until <= now) return one.end({});
  if (the_world == nullptr || until > now + never) return;
  const auto* const running = the_world->running();
  the_world->at(running != nullptr ? running->when(until) : until, [weak = std::weak_ptr(state_), number] {
    const auto s = weak.lock();
    if (s && s->number == number) s->end({});
  });
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
                                          detail::store::events& events, detail::redis_server::router* router) {
    auto to = the_world->at_name(where.hosts.front().host);
    if (p != nullptr) to.on_connect = [p](const std::shared_ptr<detail::memory::connection>& c) { p->note(c); };
    if (p != nullptr && the_world->has_ways) to.over = p->way_to(*to.to);
    return detail::memory::make_memory_store(strand, std::move(to), options, std::move(channel), events, router);
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
  // The product of both rates is what is left. Rates are below 1 %, so that the second loop does not go too far.
  while (at(world) > shown) world -= at(world) - shown;
  while (at(world) < shown) world += std::max((shown - at(world)) * 99 / 100, clock::duration(1));
  while (at(world - clock::duration(1)) >= shown) world -= clock::duration(1);
  return world;
}

void way::close(bool to_server, bool to_client) {
  to_server_.is_closed = to_server_.is_closed || to_server;
  to_client_.is_closed = to_client_.is_closed || to_client;
}

void way::open() {
  if (is_open()) return;
  opened_at_ = world_.now();
  to_server_.open();
  to_client_.open();
}

void way::half::arrive(std::function<void()> f) {
  if (!is_closed) return f();
  held_back.push_back(std::move(f));
}

void way::half::open() {
  is_closed = false;
  for (const auto& f : std::exchange(held_back, {})) f();
}

clock::duration way::takes() { return world_.takes(); }
clock::duration way::gathers() { return world_.gathers(); }
std::size_t way::most_under_way() { return world_.most_under_way(); }
std::optional<clock::duration> way::late() { return world_.late(); }
clock::time_point way::now() { return world_.now(); }
void way::at(clock::time_point when, std::function<void()> what) { world_.at(when, std::move(what)); }

void way::to_server(clock::time_point when, std::function<void()> arrives) {
  world_.at(when, [self = shared_from_this(), arrives = std::move(arrives)]() mutable {
    self->to_server_.arrive(std::move(arrives));
  });
}

void way::to_client(clock::time_point when, std::function<void()> arrives) {
  world_.at(when, [self = shared_from_this(), arrives = std::move(arrives)]() mutable {
    self->to_client_.arrive(std::move(arrives));
  });
}

world::world(std::uint64_t seed, std::size_t servers) : network_(seed, 1), library_(seed, 2), now_(beginning) {
  the_world = this;
  detail::set_memory_servers(&make_servers);
  while (servers_.size() < servers) add_server();
}

std::size_t world::add_server() {
  auto& its_clock = server_clocks_.emplace_back();
  const auto shown = [this, &its_clock] {
    return year_2024 + std::chrono::duration_cast<microseconds>(its_clock.at(now_ - beginning));
  };
  servers_.push_back(std::make_unique<detail::memory::server>(lua(), shown));
  // One that has just been started cannot be told from one that was started again.
  servers_.back()->be_older(std::chrono::hours(1));
  return servers_.size() - 1;
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

detail::memory::endpoint world::at_name(std::string_view name) {
  const auto found = others_.find(name);
  if (found != others_.end()) return found->second;
  const auto number = static_cast<std::size_t>(std::stoul(std::string(name.substr(1))));
  return {servers_.at(number).get(), std::shared_ptr<detail::memory::network>(std::shared_ptr<void>(), this), {}};
}

bool world::serves(std::size_t i) {
  auto& s = *servers_[i];
  return s.is_up() && !s.is_frozen() && !s.is_busy && !s.data().is_out_of_memory();
}

void world::make_cluster(std::size_t masters) {
  std::vector<detail::memory::server*> nodes;
  for (const auto& s : servers_) nodes.push_back(s.get());
  cluster_.emplace(nodes, masters);
}

std::size_t world::server_of(std::string_view record) {
  if (!cluster_) return 0;
  const auto slot = detail::slot_of(record);
  const auto to = cluster_->target(slot);
  if (to && servers_[*to]->data().has(record)) return *to;
  return cluster_->owner(slot);
}

std::vector<std::string> world::urls() const {
  if (cluster_) return {"memory+cluster:s0"};
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
    const auto next = events_.empty() ? clock::duration::max() : events_.top().when;
    if (next > limit.time_since_epoch()) {
      now_ = std::max(now_, limit.time_since_epoch());
      return false;
    }
    if (next > now_) {
      now_ = next;
      turns = 0;
      ++steps_;
    } else if (++turns == most_turns) {
      throw std::runtime_error("time stands still: something is due again and again");
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

clock::time_point process::when(clock::time_point shown) const {
  return clock::time_point(beginning + clock_.when(shown.time_since_epoch() - beginning));
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

const std::shared_ptr<way>& process::way_to(detail::memory::server& s) {
  auto& its = ways_[&s];
  if (!its) its = std::make_shared<way>(world_);
  return its;
}

bool process::reaches(const detail::memory::server& s) const {
  const auto its = ways_.find(&s);
  return its == ways_.end() || its->second->is_open();
}

bool process::is_cut_off(clock::time_point since) const {
  return std::any_of(ways_.begin(), ways_.end(), [since](const auto& w) { return w.second->opened_at() >= since; });
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
