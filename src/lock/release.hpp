// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Releasing a token: for hold::release, for the destructor of a hold, and for attempts that no caller waits for any
// more.
#pragma once

#include "client/client_core.hpp"
#include "lock/lock_identity.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace leasehold::detail {

// How long an entry may stay in the queue when its client is silent: five seconds until its poll is due, one until it
// counts as silent, ten until it is removed (latest_poll, silent_after and keeps_place of lua/shared/call.lua).
inline constexpr std::chrono::milliseconds longest_in_queue{17000};

// An attempt to acquire that was never answered. It may still run until its not-after, on a connection that is gone. A
// token with such an attempt is released once more after that instant.
struct unanswered_attempt {
  bool exists = false;
  std::uint64_t epoch = 0;  // The connection on which it was sent.
  clock::time_point may_run_until{};
  clock::time_point gone_by{};  // Nothing can be left of it then.

  // `trace`: how long after the attempt has run something of it may be left.
  void merge(std::uint64_t e, clock::time_point until, std::chrono::milliseconds trace) {
    may_run_until = exists ? std::max(may_run_until, until) : until;
    gone_by = std::max(exists ? gone_by : until, later(may_run_until, trace));
    epoch = exists ? std::min(epoch, e) : e;
    exists = true;
  }
  // Whether the attempt may still run after a request that was sent at `sent` and was answered. On one connection
  // everything runs in order: a request that was sent after the attempt ran after it.
  bool may_run_after(clock::time_point sent, const client_core& core) const {
    return exists && epoch != core.epoch() && sent < may_run_until;
  }
};

// Told of the outcome of a release, once, on the strand; or destroyed, if the context ends first.
class release_listener {
 public:
  virtual void on_released(error_code) = 0;

 protected:
  ~release_listener() = default;
};

class release_op final : public caller, public activity, public alarm, public std::enable_shared_from_this<release_op> {
 public:
  // Null: none. Later requests (see unanswered_attempt) are not reported.
  using listener = std::shared_ptr<release_listener>;

  // `lease_end`: after it the token has expired, and a release that was not answered is reported as unreachable.
  release_op(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, std::string token,
             clock::time_point lease_end, unanswered_attempt unanswered)
      : core_(std::move(core)),
        lock_(std::move(lock)),
        token_(std::move(token)),
        lease_end_(lease_end),
        unanswered_(unanswered) {}

  void start(listener);
  // A request without an answer may have lengthened the lease beyond `lease_end`: the release is repeated until
  // `until`.
  void may_last(clock::time_point until) { may_last_until_ = until; }
  // The token is that of a hold whose loss was not reported yet: if it is gone, that is a loss.
  void of_a_hold() { of_a_hold_ = true; }
  // Until then no other client is granted the lock (acquire_options::at_least).
  void rest_until(clock::time_point until) { rests_until_ = until; }
  // Another client probably waits for the lock.
  void expect_waiter() { waiter_expected_ = true; }
  // The token was released before, and the outcome is unknown.
  void start_again(listener l) {
    repeated_ = true;
    start(std::move(l));
  }

 private:
  request request_of(std::uint32_t) const override;
  void sent(std::uint32_t, const sending&) override { sent_ = true; }
  turn turn_of(std::uint32_t) const override { return turn::releases; }
  void answered(std::uint32_t, const answer&) override;
  void store_is_up() override { send(); }
  void store_refuses(error_code) override;
  void on_close() override {}
  void on_stopped() override { end(error::unreachable); }
  void abandon() override;
  void ring(clock::time_point) override;

  // After it neither the hold nor anything that an attempt may have left can exist.
  clock::time_point pointless() const;
  void send();
  void report(error_code);
  void settle(error_code, const answer&);
  void end(error_code);

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const std::string token_;
  const clock::time_point lease_end_;
  // Then it is reported as unreachable: when the lease has ended. If it had ended before, only a quick answer counts.
  clock::time_point report_by_{};
  clock::time_point may_last_until_{};
  clock::time_point rests_until_ = clock::time_point::min();
  unanswered_attempt unanswered_;
  bool of_a_hold_ = false;
  bool sent_ = false;
  bool repeated_ = false;
  bool waiter_expected_ = false;
  bool record_only_ = false;  // The next request leaves the queue alone.
  // The server had the record but not the queue: an entry may stay in the queue until then.
  std::optional<clock::time_point> in_queue_until_;
  bool asking_ = false;
  listener listener_;
  std::shared_ptr<release_op> self_;  // While it is under way.
};

}  // namespace leasehold::detail
