// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// acquire and try_acquire, from the initiation to the hold.
#pragma once

#include "client_core.hpp"
#include "lock_state.hpp"
#include "pauses.hpp"
#include "pending.hpp"
#include "release.hpp"

#include <leasehold/acquire_options.hpp>
#include <leasehold/hold.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace leasehold::detail {

class acquire_op final : public caller, public member, public alarm, public std::enable_shared_from_this<acquire_op> {
 public:
  using wait_handler = pending<void(error_code, hold)>;
  using try_handler = pending<void(error_code, std::optional<hold>)>;

  acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, wait_handler handler);
  acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, try_handler handler);
  static void start(std::shared_ptr<acquire_op> op);

 private:
  enum class state {
    idle,
    asking,   // An attempt is on its way.
    pausing,  // The lock was busy, or the server is; the alarm ends the pause.
    offline,  // The store is not up.
    leaving,  // The end is decided; what an attempt may have left is being given back.
    over,
  };

  void write(std::uint32_t attempt, arguments&) override;
  void answered(std::uint32_t attempt, const answer&) override;
  void store_is_up() override;
  void store_refuses(error_code) override;
  void on_close() override;
  void on_stopped() override;
  void abandon() override;
  void ring(clock::time_point now) override;

  void begin();
  void ask();
  void go_offline();
  void pause(clock::time_point until);
  void on_busy(std::chrono::milliseconds left, clock::time_point now);
  void on_error(std::string_view words, clock::time_point now);
  void on_grant(const lease_reply&, const answer&);
  void on_deadline();
  void cancel();
  // Gives back what the attempt under way may get, then ends.
  void leave(error_code);
  void end(error_code);
  void complete(error_code, hold);

  const std::shared_ptr<lock_state> lock_;
  const std::shared_ptr<client_core> core_;
  const acquire_options options_;
  const bool once_;  // try_acquire
  std::variant<wait_handler, try_handler> handler_;

  state state_ = state::idle;
  std::string token_;
  clock::time_point deadline_ = clock::time_point::max();
  pauses pauses_;
  std::uint32_t attempt_ = 0;
  std::int64_t not_after_ = 0;
  clock::time_point attempt_may_run_until_{};
  std::uint64_t attempt_epoch_ = 0;
  unanswered_attempt unanswered_;
  bool contended_ = false;
  bool answered_ = false;  // The last attempt was answered.
  bool asked_again_ = false;
  error_code outcome_;                // While leaving.
  std::shared_ptr<acquire_op> self_;  // Until it is over.
};

}  // namespace leasehold::detail
