// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// acquire and try_acquire: one operation of a user, from the initiation to the completion. Its requests to the store go
// through its entry in the queue (queue_entry.hpp).
#pragma once

#include "client/client_core.hpp"
#include "client/pending.hpp"
#include "lock/lock_holder.hpp"
#include "lock/lock_state.hpp"
#include "lock/queue_entry.hpp"
#include "lock/waiter.hpp"

#include <leasehold/acquire_options.hpp>
#include <leasehold/hold.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <variant>

namespace leasehold::detail {

// How long an operation that was cancelled or has reached its deadline waits for the store to confirm that nothing is
// left of it. Short enough to cause no noticeable delay, long enough for any store that works.
inline constexpr std::chrono::milliseconds leaving_limit{100};

class acquire_op final : public waiter, public activity, public alarm, public std::enable_shared_from_this<acquire_op> {
 public:
  using wait_handler = pending<void(error_code, hold)>;
  using try_handler = pending<void(error_code, std::optional<hold>)>;

  // `latest`: its deadline, if that of the options is later.
  acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, wait_handler handler,
             clock::time_point latest = clock::time_point::max())
      : acquire_op(lock, options, /*once=*/false, std::move(handler)) {
    deadline_ = latest;
  }
  acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, try_handler handler)
      : acquire_op(lock, options, /*once=*/true, std::move(handler)) {}
  static void start(std::shared_ptr<acquire_op> op);

  const acquire_options& options() const override { return options_; }
  const std::shared_ptr<client_handle>& handle() const override { return lock_->handle; }
  clock::time_point began() const override { return began_; }
  clock::time_point deadline() const override { return deadline_; }
  std::shared_ptr<waiter> shared() override { return shared_from_this(); }
  void belong_to(std::shared_ptr<queue_entry> entry) override { entry_ = std::move(entry); }
  void note_contention() override;
  void complete(hold h) override { complete(error_code(), std::move(h)); }
  void complete(error_code ec) override { complete(ec, hold()); }
  void complete_busy() override;
  void wait_for_leave(error_code outcome) override;
  void left() override;
  void note_busy() override;

 private:
  acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, bool once,
             std::variant<wait_handler, try_handler> handler);

  void on_close() override { leave(error::closed); }
  void on_stopped() override { complete(error::closed); }
  void abandon() override;
  void ring(clock::time_point now) override;

  void begin();
  void cancel();
  void leave(error_code why);
  void complete(error_code, hold);
  bool makes_one_attempt() const { return once_ || options_.wait == std::chrono::milliseconds(0); }
  void wait_slowly();
  void notify(event::kind) const;
  void notify(const lock_holder&) const;

  const std::shared_ptr<lock_state> lock_;
  const std::shared_ptr<client_core> core_;
  const acquire_options options_;
  const bool once_;  // try_acquire
  std::variant<wait_handler, try_handler> handler_;

  clock::time_point began_{};
  clock::time_point deadline_ = clock::time_point::max();
  clock::time_point slow_at_ = clock::time_point::max();  // When the wait is to be reported.
  std::shared_ptr<queue_entry> entry_;
  error_code outcome_;
  bool leaving_ = false;
  bool over_ = false;
  bool contended_ = false;
  std::shared_ptr<acquire_op> self_;  // Until it is over.
};

}  // namespace leasehold::detail
