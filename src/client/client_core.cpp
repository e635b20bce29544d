// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_core.hpp"

#include "client/options.hpp"
#include "store/words.hpp"
#include "time/random.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <unordered_set>

namespace leasehold::detail {

// Ends the cores of an execution context when the context ends. A client, lock or hold that outlives the context may
// keep a core alive, but the core's timer, strand and sockets must not outlive the context.
class context_service final : public asio::execution_context::service {
 public:
  using key_type = context_service;
  static inline asio::execution_context::id id;

  explicit context_service(asio::execution_context& context) : asio::execution_context::service(context) {}

  void add(client_core& core) {
    const std::lock_guard lock(mutex_);
    cores_.insert(&core);
  }
  void remove(client_core& core) {
    const std::lock_guard lock(mutex_);
    cores_.erase(&core);
  }

 private:
  void shutdown() override {
    std::vector<std::shared_ptr<client_core>> cores;
    {
      const std::lock_guard lock(mutex_);
      for (client_core* core : cores_) {
        // A core that is being destroyed at this moment has nothing left to end.
        if (auto strong = core->weak_from_this().lock()) cores.push_back(std::move(strong));
      }
      cores_.clear();
    }
    for (auto& core : cores) core->abandon();
  }

  std::mutex mutex_;
  std::unordered_set<client_core*> cores_;
};

namespace {

context_service& service_of(const asio::any_io_executor& executor) {
  return asio::use_service<context_service>(asio::query(executor, asio::execution::context));
}

std::string label_of(const client_options& options) {
  if (!options.label.empty()) return options.label;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return default_label(host.data(), ::getpid());
}

// "<label>-<128 random bits>"
std::string new_client_id(const client_options& options) {
  const std::uint64_t high = random_bits();
  return fmt::format("{}-{:016x}{:016x}", label_of(options), high, random_bits());
}

std::mt19937_64 seeded_engine() {
  std::array<std::uint32_t, 4> bits{};
  for (std::size_t i = 0; i < bits.size(); i += 2) {
    const std::uint64_t two = random_bits();
    bits[i] = static_cast<std::uint32_t>(two);
    bits[i + 1] = static_cast<std::uint32_t>(two >> 32U);
  }
  std::seed_seq seed(bits.begin(), bits.end());
  return std::mt19937_64(seed);
}

}  // namespace

client_core::client_core(asio::any_io_executor executor, client_parts parts, client_options options)
    : options_(std::move(options)),
      drift_{options_.drift, options_.drift_floor},
      server_(std::move(parts.server)),
      secrets_(std::move(parts.secrets)),
      is_cluster_(parts.is_cluster),
      is_quorum_(parts.is_quorum),
      base_(std::move(executor)),
      engine_(seeded_engine()),
      phase_(static_cast<clock::rep>(engine_() >> 2)),
      client_id_(new_client_id(options_)) {
  stores_ = parts.stores(base_, options_, client_id_);
  queued_ = parts.queued(*this);
  strand_ = stores_->strand();
  store_ = stores_->make(*this);
  has_queue_ = store_->has_queue();
  releases_leftovers_ = store_->releases_leftovers();
  alarms_.emplace(strand_);
  // Registered last: services are shut down in the reverse order of their creation, and the core still needs the others
  // then.
  service_of(base_).add(*this);
}

client_core::~client_core() {
  if (alive_) service_of(base_).remove(*this);
}

void client_core::start() {
  post([self = shared_from_this()] { self->start_store(); });
}

void client_core::start_store() {
  if (!store_) return;
  store_->start(shared_from_this());
  if (options_.idle_timeout != forever) set(idle_limit_, later(clock::now(), options_.idle_timeout));
}

asio::any_io_executor client_core::executor() const {
  const std::lock_guard lock(mutex_);
  return base_;
}

std::string client_core::last_refusal() const {
  const std::lock_guard lock(mutex_);
  return last_refusal_;
}

std::string client_core::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

exception::context client_core::about(const error_code& ec) const {
  exception::context c{.server = server_};
  if (ec == error::refused) c.detail = last_refusal();
  if (ec == error::unreachable || ec == error::no_quorum) c.detail = last_failure();
  return c;
}

bool client_core::send(std::shared_ptr<caller> the_caller, std::uint32_t tag) {
  if (!store_ || !store_->run(std::move(the_caller), tag)) return false;
  counters_.commands.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool client_core::send_acknowledged(std::shared_ptr<caller> the_caller, std::uint32_t tag, std::uint32_t replicas,
                                    std::chrono::milliseconds limit) {
  if (!store_ || !store_->run_acknowledged(std::move(the_caller), tag, replicas, limit)) return false;
  counters_.commands.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void client_core::when_up(caller& c) {
  c.unlink();
  until_up_.push_back(c);
  if (resting_) wake();
}

void client_core::subscribe_slot(std::uint16_t slot) {
  if (is_cluster_ && subscribed_[slot]++ == 0 && store_) store_->subscribe_slot(slot);
}

void client_core::unsubscribe_slot(std::uint16_t slot) {
  const auto found = subscribed_.find(slot);
  if (found == subscribed_.end() || --found->second != 0) return;
  subscribed_.erase(found);
  if (store_) store_->unsubscribe_slot(slot);
}

// --- Rest: an idle client has no connection, because a connection keeps io_context::run() from returning ---

bool client_core::is_idle() const {
  return open() && work_ == 0 && until_up_.empty() && store_->quiet() &&
         std::none_of(activities_.begin(), activities_.end(), [](const activity& a) { return a.needs_store(); });
}

void client_core::rest_if_idle() {
  if (!open() || !store_ || resting_) return;
  const auto commands = counters_.commands.load(std::memory_order_relaxed);
  if (std::exchange(commands_before_, commands) != commands || !is_idle()) {
    return set(idle_limit_, later(clock::now(), options_.idle_timeout));
  }
  resting_ = true;
  wanted_ = false;
  refused_ = false;
  memory_ = store_->known();
  earlier_epochs_ += store_->epoch() + 1;
  store_->stop();
}

void client_core::on_rest() {
  store_.reset();
  if (wanted_) return wake();
  // The timer may be armed for an alarm that was unset.
  alarms_->rest();
}

// Starts like a client that has just been made, with what the earlier store knew.
void client_core::wake() {
  wanted_ = true;
  if (store_ || stopped()) return;  // The store is still stopping: on_rest follows.
  auto next = stores_->make(*this);
  next->assume(memory_);
  store_ = std::move(next);
  resting_ = false;
  commands_before_ = 0;
  start_store();
}

void client_core::set(alarm& a, clock::time_point due) {
  if (due == clock::time_point::max()) {
    a.unset();
    return;
  }
  alarms_->set(a, due, *this);
}

std::string client_core::next_token() { return fmt::format(FMT_COMPILE("{}.{}"), client_id_, ++tokens_); }

void client_core::observe_time(std::int64_t microseconds, const answer& a) {
  if (std::exchange(excused_, false)) note_failure({});
  if (microseconds <= 0 || a.server == nullptr) return;
  const auto jump = a.server->observe(microseconds, a.sent, a.received);
  if (jump != clock::duration(0)) on_clock_jump(jump);
}

void client_core::on_clock_jump(clock::duration jump) {
  stepped_ += std::min(jump, clock::duration::max() - stepped_);
  counters_.clock_jumps.fetch_add(1, std::memory_order_relaxed);
  notify(event::kind::clock_jump, {},
         fmt::format("{} ms", std::chrono::duration_cast<std::chrono::milliseconds>(jump).count()));
  each_activity([jump](activity& a) { a.on_clock_jump(jump); });
}

// Hides before it shortens: a credential that the limit would cut must not be shown in part.
std::string client_core::presentable(std::string_view words) const {
  return std::string(shortened(secrets_.hide(words)));
}

void client_core::note_refusal(std::string_view words) {
  counters_.refused.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    last_refusal_ = presentable(words);
  }
  notify(event::kind::refused, {}, words);
}

bool client_core::note_failure(std::string_view why) {
  std::string words = presentable(why);
  const std::lock_guard lock(mutex_);
  if (last_failure_ == words) return false;
  last_failure_ = std::move(words);
  return true;
}

void client_core::note_excuse(std::string_view why) {
  excused_ = true;
  if (open() && note_failure(why)) notify(event::kind::unreachable, {}, why);
}

// This is called in the middle of other work, so an exception of the observer leaves io_context::run() in a turn of its
// own.
void client_core::notify(event::kind what, std::string_view name, std::string_view text) {
  if (!options_.observer) return;
  try {
    options_.observer(event{what, name, presentable(text)});
  } catch (...) {
    post([thrown = std::current_exception()] { std::rethrow_exception(thrown); });
  }
}

void client_core::on_up(const store::server& server) {
  counters_.connects.fetch_add(1, std::memory_order_relaxed);
  if (server.again) counters_.reconnects.fetch_add(1, std::memory_order_relaxed);
  refused_ = false;
  excused_ = false;
  note_failure({});
  notify(event::kind::connected, {}, server.version);
  if (!server.maxmemory_policy.empty() && server.maxmemory_policy != "noeviction") {
    notify(event::kind::evicting, {}, server.maxmemory_policy);
  }
  // Without messages the waiters find out by their polls, only later.
  if (!server.publish_refusal.empty()) note_refusal(server.publish_refusal);
  // Another server than the one that granted the holds may not know them.
  if (server.another) {
    other_server_since_ = clock::now();
    each_activity([](activity& a) { a.on_other_server(); });
  }
  // For a quorum, a majority must be up.
  if (up()) ask_again();
}

// A hold may now belong to a server that does not know it.
void client_core::on_rerouted() {
  other_server_since_ = clock::now();
  each_activity([](activity& a) { a.on_other_server(); });
  ask_again();
}

void client_core::on_moved(std::uint16_t slot) {
  other_server_since_ = clock::now();
  moved_.insert(slot);
  // A node that has lost many slots reports one after the other: handle them together.
  if (moved_.size() != 1) return;
  post([self = shared_from_this()] {
    const auto slots = std::exchange(self->moved_, {});
    self->each_activity([&slots](activity& a) { a.on_moved(slots); });
  });
}

void client_core::ask_again() {
  queued_->poll_all();
  if (!up()) return;  // There is another route, but none of its servers has answered yet.
  decltype(until_up_) waiting;
  waiting.swap(until_up_);
  while (!waiting.empty()) {
    caller& c = waiting.front();
    waiting.pop_front();
    c.store_is_up();
  }
}

void client_core::on_channel(std::string_view channel) { queued_->on_channel(channel); }

void client_core::on_grants_pushed(std::uint16_t slot) {
  slots_to_poll_.insert(slot);
  // After a reconnect these reports come one after the other: handle them together.
  if (slots_to_poll_.size() != 1) return;
  post([self = shared_from_this()] { self->queued_->poll_slots(std::exchange(self->slots_to_poll_, {})); });
}

void client_core::on_message(std::string_view text) {
  const message m(text);
  if (m.is == message::kind::broken) return each_activity([&m](activity& a) { a.on_broken(m.token); });
  queued_->on_message(m);
}

void client_core::on_down(std::string_view why) {
  if (resting_) return;
  excused_ = false;
  if (open()) note_failure(why);
  notify(event::kind::disconnected, {}, why);
}

void client_core::on_no_answer(std::string_view why) {
  if (resting_) return;
  refused_ = false;
  excused_ = false;
  // There is an attempt every second: the same failure is reported once.
  if (open() && note_failure(why)) notify(event::kind::unreachable, {}, why);
}

void client_core::on_refused(std::string_view words) {
  if (resting_) return;
  excused_ = false;
  note_failure(words);
  note_refusal(words);
  refused_ = true;
  decltype(until_up_) waiting;
  waiting.swap(until_up_);
  while (!waiting.empty()) {
    caller& c = waiting.front();
    waiting.pop_front();
    c.store_refuses(error::refused);
  }
}

void client_core::close(std::shared_ptr<pending<void(error_code)>> waiting) {
  if (waiting) {
    if (closed_) return complete(*waiting, outcome_of_close());
    closers_.push_back(std::move(waiting));
  }
  if (!open()) return;
  state_ = state::closing;
  set(close_limit_, later(clock::now(), options_.connect_timeout));
  begin_work();  // Until every activity has begun to release what it has.
  each_activity([](activity& a) { a.on_close(); });
  end_work();
}

void client_core::end_work() {
  --work_;
  stop_if_idle();
}

void client_core::stop_if_idle() {
  if (state_ == state::closing && work_ == 0) stop();
}

void client_core::stop() {
  state_ = state::stopped;
  store_ ? store_->stop() : conclude();
}

// The limit bounds everything: releases that cannot be made, and a store that takes long to stop (resolving a host's
// name cannot be cancelled).
void client_core::close_limit::ring(clock::time_point) {
  core_.unfinished_ = core_.work_ != 0;
  core_.stop();
  core_.conclude();
}

void client_core::on_stopped() { resting_ && !stopped() ? on_rest() : conclude(); }

void client_core::conclude() {
  if (std::exchange(closed_, true)) return;
  each_activity([](activity& a) { a.on_stopped(); });
  until_up_.clear();
  alarms_->clear();
  auto closers = std::move(closers_);
  closers_.clear();
  for (auto& waiting : closers) complete(*waiting, outcome_of_close());
  // Boost.Redis keeps its socket open until it connects again or is destroyed, and handles may live on for long.
  store_.reset();
}

void client_core::abandon() noexcept {
  {
    const std::lock_guard lock(mutex_);
    alive_ = false;
  }
  state_ = state::stopped;
  alarms_->abandon();
  auto closers = std::move(closers_);
  closers_.clear();
  // Destroying a handler may destroy holds, locks and other activities.
  while (!activities_.empty()) {
    activity& a = activities_.front();
    activities_.pop_front();
    a.abandon();
  }
  for (auto& waiting : closers) waiting->drop();
  queued_->abandon();
  until_up_.clear();
  store_.reset();
  stores_.reset();
  const std::lock_guard lock(mutex_);
  strand_ = {};
  base_ = {};
}

}  // namespace leasehold::detail
