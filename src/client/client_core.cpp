// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"

#include "protocol/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <unordered_set>

namespace leasehold::detail {

client_core::client_core(asio::any_io_executor executor, client_parts parts, client_options options)
    : options_(guarded(std::move(options))),
      drift_{options_.drift, options_.drift_floor},
      deployment_{std::make_shared<key_layout>(parts.has_tagged_keys), parts.is_quorum},
      failures_(std::move(parts.server), std::move(parts.secrets)),
      identity_(options_),
      base_(std::move(executor)),
      fallback_(base_) {
  stores_ = parts.stores(base_, options_, identity_.id());
  queued_ = parts.queued(*this);
  strand_ = stores_->strand();
  store_ = stores_->make(*this);
  deployment_.has_queue = store_->has_queue();
  deployment_.releases_leftovers = store_->releases_leftovers();
  alarms_.emplace(strand_);
  // Registered last: services are shut down in the reverse order of their creation, and the core still needs the others
  // then.
  context_service::of(base_).add(*this);
}

client_core::~client_core() {
  if (alive_) context_service::of(base_).remove(*this);
}

void client_core::start() {
  post([self = shared_from_this()] { self->start_store(); });
}

void client_core::start_store() {
  if (!store_) return;
  store_->start(shared_from_this());
  if (options_.idle_timeout != forever) set(idle_limit_, later(clock::now(), options_.idle_timeout));
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
  if (rest_.is_under_way) wake();
}

void client_core::subscribe_slot(std::uint16_t slot) {
  if (has_slots() && slots_.subscribed[slot]++ == 0 && store_) store_->subscribe_slot(slot);
}

void client_core::unsubscribe_slot(std::uint16_t slot) {
  const auto found = slots_.subscribed.find(slot);
  if (found == slots_.subscribed.end() || --found->second != 0) return;
  slots_.subscribed.erase(found);
  if (store_) store_->unsubscribe_slot(slot);
}

// --- Rest: an idle client has no connection, because a connection keeps io_context::run() from returning ---

bool client_core::is_idle() const {
  return open() && work_ == 0 && until_up_.empty() && store_->quiet() &&
         std::none_of(activities_.begin(), activities_.end(), [](const activity& a) { return a.needs_store(); });
}

void client_core::rest_if_idle() {
  if (!open() || !store_ || rest_.is_under_way) return;
  const auto commands = counters_.commands.load(std::memory_order_relaxed);
  if (std::exchange(rest_.commands_before, commands) != commands || !is_idle()) {
    return set(idle_limit_, later(clock::now(), options_.idle_timeout));
  }
  rest_.is_under_way = true;
  rest_.is_over = false;
  refused_ = false;
  rest_.memory = store_->known();
  rest_.earlier_epochs += store_->epoch() + 1;
  store_->stop();
}

void client_core::on_rest() {
  store_.reset();
  if (rest_.is_over) return wake();
  // The timer may be armed for an alarm that was unset.
  alarms_->rest();
}

// Starts like a client that has just been made, with what the earlier store knew.
void client_core::wake() {
  rest_.is_over = true;
  if (store_ || stopped()) return;  // The store is still stopping: on_rest follows.
  auto next = stores_->make(*this);
  next->assume(rest_.memory);
  store_ = std::move(next);
  rest_.is_under_way = false;
  rest_.commands_before = 0;
  // What a lost hold that the program still keeps has subscribed to, for example: the next one only counts.
  for (const auto& [slot, users] : slots_.subscribed) store_->subscribe_slot(slot);
  start_store();
  queued_->listen_again();  // What began meanwhile had no store to listen to.
}

void client_core::set(alarm& a, clock::time_point due) {
  if (due == clock::time_point::max()) {
    a.unset();
    return;
  }
  alarms_->set(a, due, *this);
}

void client_core::note_answer(const answer& a) {
  if (a.from_store == nullptr) return;
  counters_.round_trip.record(a.received - a.sent);
  const auto& refused = a.from_store->refused;
  if (refused == refusal::try_again) note_excuse(a.from_store->words, a.server);
}

void client_core::note_understood(const answer& a) {
  if (!excuse_.is_last || (excuse_.by != nullptr && a.server != nullptr && excuse_.by != a.server)) return;
  excuse_.is_last = false;
  failures_.note_failure({});
}

void client_core::observe_time(std::int64_t microseconds, const answer& a) {
  note_understood(a);
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

void client_core::note_refusal(std::string_view words) {
  counters_.refused.fetch_add(1, std::memory_order_relaxed);
  const std::string why = why_it_cannot_serve(words);
  failures_.note_refusal(why);
  notify(event::kind::refused, {}, why);
}

void client_core::note_excuse(std::string_view why, const server_clock* by) {
  excuse_.is_last = true;
  excuse_.by = by;
  if (open() && failures_.note_failure(why)) notify(event::kind::unreachable, {}, why);
}

// This is called in the middle of other work, so an exception of the observer leaves io_context::run() in a turn of its
// own.
void client_core::notify(event e) {
  if (!options_.observer || end_.is_done) return;
  try {
    // Most events have no text.
    const std::string text = e.text.empty() ? std::string() : failures_.presentable(e.text);
    e.text = text;
    options_.observer(e);
  } catch (...) {
    post([thrown = std::current_exception()] { std::rethrow_exception(thrown); });
  }
}

void client_core::on_up(const store::server& server) {
  counters_.connects.fetch_add(1, std::memory_order_relaxed);
  if (server.again) counters_.reconnects.fetch_add(1, std::memory_order_relaxed);
  refused_ = false;
  excuse_.is_last = false;
  failures_.note_failure({});
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
  slots_.moved.insert(slot);
  // A node that has lost many slots reports one after the other: handle them together.
  if (slots_.moved.size() != 1) return;
  post([self = shared_from_this()] {
    const auto slots = std::exchange(self->slots_.moved, {});
    self->each_activity([&slots](activity& a) { a.on_moved(slots); });
  });
}

void client_core::on_tagged_keys(std::string_view why) {
  if (has_slots()) return;
  deployment_.layout->tag();
  notify(event::kind::tagged_keys, {}, why);
  queued_->listen_in_slots();
  post([self = shared_from_this()] { self->each_activity([](activity& a) { a.on_tagged_keys(); }); });
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
  slots_.to_poll.insert(slot);
  // After a reconnect these reports come one after the other: handle them together.
  if (slots_.to_poll.size() != 1) return;
  post([self = shared_from_this()] { self->queued_->poll_slots(std::exchange(self->slots_.to_poll, {})); });
}

void client_core::on_message(std::string_view text) {
  const message m(text);
  if (m.is == message::kind::broken) return note_broken(m.token);
  queued_->on_message(m);
}

void client_core::note_broken(std::string_view token) {
  each_activity([token](activity& a) { a.on_broken(token); });
}

void client_core::on_down(std::string_view why) {
  if (rest_.is_under_way) return;
  excuse_.is_last = false;
  if (open()) failures_.note_failure(why);
  notify(event::kind::disconnected, {}, why);
}

void client_core::on_no_answer(std::string_view why) {
  if (rest_.is_under_way) return;
  refused_ = false;
  excuse_.is_last = false;
  // There is an attempt every second: the same failure is reported once.
  if (open() && failures_.note_failure(why)) notify(event::kind::unreachable, {}, why);
}

void client_core::on_refused(std::string_view words) {
  if (rest_.is_under_way) return;
  excuse_.is_last = false;
  failures_.note_failure(words);
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

void client_core::on_credentials(std::string_view why) {
  if (open()) notify(event::kind::credentials, {}, why);
}

client_options client_core::guarded(client_options o) {
  if (!o.credentials) return o;
  o.credentials = [this, ask = std::move(o.credentials)](const credentials_request& r, credentials_handler then) {
    ask_for_credentials(ask, credentials_request(r.server, r.of, base_), then);
  };
  return o;
}

void client_core::ask_for_credentials(const credentials_function& ask, const credentials_request& r,
                                      const credentials_handler& then) {
  const credentials_handler answer([weak = weak_from_this(), then](const std::string& why, const credentials& given) {
    const auto core = weak.lock();
    if (!core) return;
    core->post([core, then, why, given] {
      core->failures_.hide({given.user, given.password});
      then(why, given);
    });
  });
  try {
    ask(r, answer);
  } catch (...) {
    answer(std::current_exception());
  }
}

void client_core::close(std::shared_ptr<pending<void(error_code)>> waiting) {
  if (waiting) {
    if (end_.is_done) return complete(*waiting, outcome_of_close());
    end_.waiting.push_back(std::move(waiting));
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
  core_.end_.is_unfinished = core_.work_ != 0;
  core_.stop();
  core_.conclude();
}

void client_core::on_stopped() { rest_.is_under_way && !stopped() ? on_rest() : conclude(); }

void client_core::conclude() {
  if (std::exchange(end_.is_done, true)) return;
  each_activity([](activity& a) { a.on_stopped(); });
  until_up_.clear();
  alarms_->clear();
  auto closers = std::move(end_.waiting);
  end_.waiting.clear();
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
  auto closers = std::move(end_.waiting);
  end_.waiting.clear();
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
  fallback_ = {};
}

}  // namespace leasehold::detail
