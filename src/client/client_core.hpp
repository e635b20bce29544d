// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The engine of a client: one strand on which everything happens, one timer for everything that is due, one store.
//
// Ownership. Users hold client_handles (through clients, locks, holds and operations under way). When the last handle
// goes, the core shuts itself down. The core is kept alive by its own unfinished work. An execution context that ends
// first takes the core's timer, strand and connection with it (see context_service.hpp); what users
// still hold then does nothing.
#pragma once

#include "client/activity.hpp"
#include "client/client_identity.hpp"
#include "client/context_service.hpp"
#include "client/failures.hpp"
#include "client/metrics.hpp"
#include "client/pending.hpp"
#include "protocol/keys.hpp"
#include "store/store.hpp"
#include "time/alarm_clock.hpp"
#include "time/alarms.hpp"
#include "time/lease.hpp"
#include "time/pauses.hpp"

#include <leasehold/client.hpp>
#include <leasehold/hold.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace leasehold::detail {

class client_core;

// The parts of a client, as made by the facade (client.cpp) or by a simulation.
struct client_parts {
  std::string server;                // The URLs as they may be shown,
  std::vector<std::string> secrets;  // and the parts of them that must not be shown.
  bool has_tagged_keys = false;
  bool is_quorum = false;
  // Called once each, by the constructor. The options belong to the client and outlive the factory.
  std::function<std::unique_ptr<store_factory>(const asio::any_io_executor&, const client_options&,
                                               const std::string& client_id)>
      stores;
  std::function<std::unique_ptr<queued_entries>(client_core&)> queued;
};

class client_core final : public std::enable_shared_from_this<client_core>,
                          public context_member,
                          private store::events {
 public:
  client_core(asio::any_io_executor, client_parts, client_options);
  ~client_core();

  // --- From any thread ---

  // To be called once, right after construction.
  void start();
  // Runs f on the strand, never inside this call. Drops f if the context has ended.
  template <class F>
  void post(F&& f) {
    const std::lock_guard lock(mutex_);
    if (alive_) asio::post(strand_, std::forward<F>(f));
  }
  // The same for the beginning of an operation, which never completes inside. f may run inside this call if the caller
  // is on one of the context's threads. That saves a pass through the context's queue.
  template <class F>
  void enter(F&& f) {
    using direct = asio::strand<asio::io_context::executor_type>;
    std::unique_lock lock(mutex_);
    if (!alive_) return;
    const auto* known = strand_.target<direct>();
    // A caller that is already on the strand (an observer, for example) may be in the middle of other work.
    if (known == nullptr || !known->get_inner_executor().running_in_this_thread() || known->running_in_this_thread()) {
      return asio::post(strand_, std::forward<F>(f));
    }
    const direct strand = *known;
    lock.unlock();
    asio::dispatch(strand, std::forward<F>(f));
  }
  asio::any_io_executor executor() const {
    const std::lock_guard lock(mutex_);
    return base_;
  }
  // The same for a handler that has no executor of its own (pending.hpp).
  asio::any_completion_executor fallback() const {
    const std::lock_guard lock(mutex_);
    return fallback_;
  }
  const client_options& options() const { return options_; }
  const drift_allowance& drift() const { return drift_; }
  const failures& failed() const { return failures_; }
  counters& count() { return counters_; }
  // The class of a lock with this name; null: none. What client_options::classify throws leaves it.
  std::shared_ptr<class_figures> class_of(const std::string& name) {
    return options_.classify ? counters_.classes.of(options_.classify(name)) : nullptr;
  }
  // Keys carry the tags of their slots. (In a cluster from the beginning, elsewhere perhaps from some moment on.)
  bool has_slots() const { return deployment_.layout->is_tagged(); }
  bool is_quorum() const { return deployment_.is_quorum; }
  // What the names of keys and channels depend on.
  key_space keys() const {
    return {.prefix = options_.prefix,
            .layout = deployment_.layout,
            .has_queue = has_queue(),
            .redisson = options_.redisson};
  }
  // What the store reports about itself.
  bool has_queue() const { return deployment_.has_queue; }
  bool releases_leftovers() const { return deployment_.releases_leftovers; }

  // --- On the strand ---

  // For the library's own handlers: the signals that stop operations belong to the strand.
  asio::any_io_executor strand() const { return strand_; }
  bool open() const { return state_ == state::open; }
  bool stopped() const { return state_ == state::stopped; }

  // As store::run, and counts the command. False: the store is not up, see when_up.
  bool send(std::shared_ptr<caller>, std::uint32_t tag);
  // As store::run_acknowledged, and counts the command.
  bool send_acknowledged(std::shared_ptr<caller>, std::uint32_t tag, std::uint32_t replicas,
                         std::chrono::milliseconds limit);
  // Calls caller::store_is_up or store_refuses once the store is up again or refuses, unless the caller was unlinked or
  // destroyed before.
  void when_up(caller&);
  std::vector<std::string> routes() const { return store_ ? store_->routes() : std::vector<std::string>(); }
  std::uint64_t epoch() const { return rest_.earlier_epochs + (store_ ? store_->epoch() : 0); }
  bool up() const { return store_ && !rest_.is_under_way && store_->up(); }
  bool too_few_answer() const { return store_ && store_->too_few_answer(); }
  clock::time_point after_jump(const std::string& token, clock::time_point deadline, clock::duration jump) const {
    return store_ ? store_->after_jump(token, deadline, jump) : deadline - jump;
  }
  void let_go(const std::string& token) {
    if (store_) store_->let_go(token);
  }
  // The latest instant at which the record may exist if a request sent now lengthens it to `lease`, whatever the answer
  // is.
  clock::time_point may_last(std::chrono::milliseconds lease) const {
    return later(later(later(clock::now(), options_.command_timeout), lease), drift_.of(lease));
  }
  // When the client last learned that a server may not know the locks it now has.
  clock::time_point other_server_since() const { return other_server_since_; }
  // The deadline that an answer gives the holder of this token, if no server's clock was stepped since the answer was
  // made. On a quorum, the first of its votes may be older than the last.
  clock::time_point still_sure(const std::string& token, clock::time_point deadline) const {
    return after_jump(token, deadline, clock::duration(0));
  }
  // The sum of all steps of servers' clocks that were observed.
  clock::duration stepped() const { return stepped_; }
  // The server refused the latest connection.
  bool refused() const { return refused_; }

  void set(alarm&, clock::time_point due);
  template <class... Args>
  void complete(pending<void(Args...)>& handler, std::type_identity_t<Args>... args) {
    if (handler) handler.complete(base_, std::move(args)...);
  }

  client_identity& identity() { return identity_; }

  // For the histogram, and for the reason why nothing goes on while the server is busy.
  void note_answer(const answer&);
  // A reply carried the server's clock.
  void observe_time(std::int64_t microseconds, const answer&);

  // The server has refused something.
  void note_refusal(std::string_view words);
  // The server answers, but not what was asked for: it is busy, or its reply makes no sense. Until a reply is
  // understood, this is the reason why an operation ends with error::unreachable. `by`: the clock of that server, of
  // which the reply has to be; null: of any.
  void note_excuse(std::string_view why, const server_clock* by = nullptr);
  void note_understood(const answer&);
  // An operation has waited in vain for a connection, and no other reason is known.
  void note_silence() {
    if (failures_.last_failure().empty()) note_excuse("no answer");
  }
  void notify(event::kind what, std::string_view name, std::string_view text) {
    notify(event{.what = what, .name = name, .text = text});
  }
  void notify(event);

  // The entries that wait in this client: lock/registry.hpp knows their type.
  queued_entries& queued() { return *queued_; }
  // If has_slots: messages of a slot reach the client from the first subscribe_slot until there were as many calls of
  // unsubscribe_slot.
  void subscribe_slot(std::uint16_t slot);
  void unsubscribe_slot(std::uint16_t slot);
  // As store::listen and ignore. They do nothing while there is no store.
  void listen(const std::string& channel) {
    if (store_) store_->listen(channel);
  }
  void ignore(const std::string& channel) {
    if (store_) store_->ignore(channel);
  }

  void add(activity& a) { activities_.push_back(a); }
  // Redis may not have what this token had any more: its holder asks.
  void note_broken(std::string_view token);
  // Begins work that must reach the store before the client may disconnect.
  void begin_work() { ++work_; }
  void end_work();

  // client::close. Null: the last handle has gone.
  void close(std::shared_ptr<pending<void(error_code)>> waiting);

  std::shared_ptr<context_member> alive() override { return weak_from_this().lock(); }
  void abandon() noexcept override;

 private:
  enum class state { open, closing, stopped };

  void on_up(const store::server&) override;
  void on_down(std::string_view why) override;
  void on_no_answer(std::string_view why) override;
  void on_message(std::string_view) override;
  void on_channel(std::string_view) override;
  void on_grants_pushed(std::uint16_t slot) override;
  void on_rerouted() override;
  void on_moved(std::uint16_t slot) override;
  void on_clock_jump(clock::duration) override;
  void on_refused(std::string_view words) override;
  void on_credentials(std::string_view why) override;
  bool has_tagged_keys() const override { return has_slots(); }
  void on_tagged_keys(std::string_view why) override;
  void on_stopped() override;

  // f may remove its activity and add others.
  template <class F>
  void each_activity(F f) {
    for (auto it = activities_.begin(); it != activities_.end();) f(*it++);
  }
  // As the stores see client_options::credentials: its answers come on the strand, and its exceptions are answers. All
  // that it gives is hidden from then on.
  client_options guarded(client_options);
  void ask_for_credentials(const credentials_function&, const credentials_request&, const credentials_handler&);
  void start_store();
  // Disconnects if the store was not asked anything for client_options::idle_timeout.
  void rest_if_idle();
  bool is_idle() const;
  // The store has stopped because the client was idle.
  void on_rest();
  void wake();
  // Wakes everything that waits for the store, or for a message that may be lost.
  void ask_again();
  void stop_if_idle();
  void stop();
  void conclude();
  error_code outcome_of_close() const {
    return end_.is_unfinished ? make_error_code(error::unreachable) : error_code();
  }

  class close_limit final : public alarm {
   public:
    explicit close_limit(client_core& core) : core_(core) {}

   private:
    void ring(clock::time_point) override;
    client_core& core_;
  };

  class idle_limit final : public alarm {
   public:
    explicit idle_limit(client_core& core) : core_(core) {}

   private:
    void ring(clock::time_point) override { core_.rest_if_idle(); }
    client_core& core_;
  };

  const client_options options_;
  const drift_allowance drift_;
  // Fixed from the constructor on: the store may be gone when this is asked.
  struct {
    std::shared_ptr<key_layout> layout;  // It may change.
    bool is_quorum;
    bool has_queue = true;
    bool releases_leftovers = false;
  } deployment_;
  counters counters_;
  failures failures_;
  client_identity identity_;

  mutable std::mutex mutex_;  // For what other threads may ask for: alive_ and the executors.
  bool alive_ = true;
  asio::any_io_executor base_;
  asio::any_completion_executor fallback_;  // `base_`: made once, since that takes memory.
  asio::any_io_executor strand_;

  std::unique_ptr<store_factory> stores_;
  std::shared_ptr<store> store_;
  std::optional<alarm_clock> alarms_;
  boost::intrusive::list<activity, boost::intrusive::constant_time_size<false>> activities_;
  std::unique_ptr<queued_entries> queued_;
  boost::intrusive::list<caller, boost::intrusive::constant_time_size<false>> until_up_;
  bool refused_ = false;
  struct {
    bool is_last = false;  // The last failure was noted by note_excuse,
    const server_clock* by = nullptr;
  } excuse_;
  // If has_slots.
  struct {
    std::unordered_set<std::uint16_t> moved;                    // Their activities are about to be notified of that,
    std::unordered_set<std::uint16_t> to_poll;                  // and the entries in their queues are about to poll.
    std::unordered_map<std::uint16_t, std::size_t> subscribed;  // How many entries and holds want messages of a slot.
  } slots_;
  clock::time_point other_server_since_ = clock::time_point::min();
  clock::duration stepped_{0};

  state state_ = state::open;
  std::size_t work_ = 0;
  struct {
    bool is_done = false;        // The store has stopped.
    bool is_unfinished = false;  // Work was left when closing hit its limit.
    std::vector<std::shared_ptr<pending<void(error_code)>>> waiting;
  } end_;
  close_limit close_limit_{*this};

  struct {
    bool is_under_way = false;  // The client is idle: the store is stopping, or gone,
    bool is_over = false;       // and it was needed again meanwhile.
    store::memory memory;
    std::uint64_t earlier_epochs = 0;   // Of the earlier stores.
    std::uint64_t commands_before = 0;  // When idleness was last checked.
  } rest_;
  idle_limit idle_limit_{*this};
};

// Shared by the user's objects. The last one shuts the core down.
class client_handle {
 public:
  explicit client_handle(std::shared_ptr<client_core> c) : core(std::move(c)) {}
  client_handle(const client_handle&) = delete;
  client_handle& operator=(const client_handle&) = delete;
  ~client_handle() {
    core->post([core = core] { core->close(nullptr); });
  }

  const std::shared_ptr<client_core> core;
};

}  // namespace leasehold::detail
