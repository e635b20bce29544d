// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The life of the connections to one server, one after another: when one is up, when its silence ends it, what its
// owner is told of it, and when the next one is made. It is the same for real connections (redis/redis.cpp) and those
// of a simulation (memory/memory_store.cpp), which do the I/O. No I/O, no clock and no randomness of its own.
#pragma once

#include "store/call_runner.hpp"
#include "store/known_server.hpp"
#include "store/reconnection.hpp"
#include "store/store.hpp"
#include "time/clock.hpp"

#include <leasehold/acquire_options.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::detail {

class connection_state {
 public:
  // What a server says of itself in answer to the first commands, which were sent at `sent`.
  struct greeting {
    std::string run_id;
    store::server from;
    std::int64_t time;  // Of the server's clock, in microseconds.
    clock::time_point sent;
  };

  // The runner outlives this object. The owner is told nothing of connections after `stop`.
  connection_state(const backoff& pauses, call_runner& runner, store::events& owner)
      : reconnection_(pauses), runner_(runner), events_(owner) {}

  // --- The server ---

  store::memory::server known() const { return server_.as_memory(); }
  // From an earlier store.
  void assume(const store::memory::server& m) { server_.assume(m); }

  // --- The present connection ---

  void begins();
  // Counts the connections.
  std::uint64_t epoch() const { return epoch_; }
  // The connection of that epoch is still there.
  bool is_present(std::uint64_t epoch) const { return epoch == epoch_ && !has_ended_; }
  bool can_send() const { return ends_as_ == end::lost && !has_ended_ && !is_stopping_; }

  // The server does not accept the client. Another attempt may succeed soon: the owner is told of no refusal.
  void on_refused(std::string_view why, bool may_change = false);
  // Asks the owner for its objection and returns it: the connection has to end. "": it is up. Then `listen` is called
  // before the owner is told, to send what must be sent first.
  std::string on_greeting(greeting, clock::time_point now, const std::function<void()>& listen);

  // Nothing is sent on it any more, and it is about to end. "": it may say why itself.
  void give_up(std::string_view why);
  const std::string& why_given_up() const { return why_; }

  // It has ended: tells the owner why, passes on what has arrived, and returns what comes next. `random`: uniform in
  // [0, 1).
  reconnection::plan ended(std::string_view why, clock::time_point now, double random);

  // --- Silence ---

  // True: on_watch must be called at `due`. False: it will be called by then, or `due` is max.
  bool watch(clock::time_point due);
  bool is_watched_until(clock::time_point due) const { return due == watched_until_; }
  // When to call it again; max: not by itself. nullopt: the server does not answer, the connection has to be given up.
  std::optional<clock::time_point> on_watch(clock::time_point now);

  // --- The next one ---

  reconnection& next() { return reconnection_; }
  // Nothing is sent any more, and the owner is told nothing of connections.
  void stop() { is_stopping_ = true; }
  bool is_stopping() const { return is_stopping_; }

 private:
  using end = reconnection::end;

  void unwatch();

  reconnection reconnection_;
  call_runner& runner_;
  store::events& events_;
  known_server server_;
  bool is_stopping_ = false;

  // Of the present connection.
  std::uint64_t epoch_ = 0;
  end ends_as_ = end::not_reached;  // If it ends now. lost: it is up.
  bool has_ended_ = false;
  std::string why_;
  // When on_watch is called next. That may be earlier than the calls under way require.
  clock::time_point watched_until_ = clock::time_point::max();
};

}  // namespace leasehold::detail
