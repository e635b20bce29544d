// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What an observer of an election does: it asks who leads, and asks again on each occasion.
#pragma once

#include "client/operation.hpp"
#include "lock/lock_state.hpp"
#include "lock/registry.hpp"
#include "protocol/leader_reply.hpp"

#include <leasehold/election.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

namespace leasehold::detail {

class next_op;

// One for each leader_observer; it does something while an operation waits. Everything happens on the strand.
class leader_watch final : public caller,
                           public activity,
                           public alarm,
                           public channel_watcher,
                           public std::enable_shared_from_this<leader_watch> {
 public:
  explicit leader_watch(const lock_state& lock)
      : core_(lock.handle->core), lock_(lock.identity), bad_(lock.bad), handle_(lock.handle) {}

  const std::shared_ptr<client_core>& core() const { return core_; }
  error_code bad() const { return bad_; }
  void wait(std::shared_ptr<next_op>);
  void forget(const next_op&);
  // The observer has gone.
  void end();

  std::string channel() const override { return std::string(lock_->keys().leader); }
  std::shared_ptr<channel_watcher> shared() override { return shared_from_this(); }
  void look() override { ask(); }

 private:
  request request_of(std::uint32_t) const override;
  bool wants(std::uint32_t) const override { return !waiting_.empty(); }
  void answered(std::uint32_t, const answer&) override;
  void store_is_up() override { ask(); }
  void store_refuses(error_code ec) override { fail(ec); }
  void on_close() override {}  // Each operation ends by itself.
  void on_moved(const std::unordered_set<std::uint16_t>& slots) override {
    if (slots.contains(lock_->slot)) ask();
  }
  void ring(clock::time_point) override { ask(); }
  void abandon() override;

  void ask();
  void report();
  void fail(error_code);

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const error_code bad_;
  std::shared_ptr<client_handle> handle_;  // Until the observer has gone.
  leader_view view_;
  std::deque<std::shared_ptr<next_op>> waiting_;
  bool begun_ = false;
  bool asking_ = false;
};

// Shared by the observer and its operations.
class watch_handle {
 public:
  explicit watch_handle(const std::shared_ptr<lock_state>& lock) : watch(std::make_shared<leader_watch>(*lock)) {}
  watch_handle(const watch_handle&) = delete;
  watch_handle& operator=(const watch_handle&) = delete;
  ~watch_handle() {
    watch->core()->post([w = watch] { w->end(); });
  }

  const std::shared_ptr<leader_watch> watch;
};

// leader_observer::next.
class next_op final : public operation<next_op, std::optional<leader_info>> {
 public:
  next_op(std::shared_ptr<watch_handle> handle, handler::handler_type h)
      : operation(handle->watch->core(), std::move(h)), handle_(std::move(handle)) {}
  void start() { launch(any_type); }
  void report(std::optional<leader_info> found) { end(error_code(), std::move(found)); }
  void fail(error_code ec) {
    if (!is_over()) end(ec);
  }

 private:
  void begin() override;
  void cancel() override { leave(asio::error::operation_aborted); }
  void on_close() override { leave(error::closed); }
  void on_stopped() override { leave(error::closed); }
  void ring(clock::time_point) override {}
  void leave(error_code);

  const std::shared_ptr<watch_handle> handle_;
};

}  // namespace leasehold::detail
