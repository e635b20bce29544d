// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Lingering (acquire_options::linger): after a release the client keeps the record for a while, idle, and the next
// acquire of the same client has the lock without a command. docs/protocol.md, "Lingering".
#pragma once

#include "client/client_core.hpp"
#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"
#include "lock/registry.hpp"
#include "lock/release.hpp"
#include "lock/waiter.hpp"

#include <leasehold/acquire_options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

namespace leasehold::detail {

// One token from its grant to its release: it belongs to a hold, or it is idle. Everything happens on the strand.
class lingering final : public lingering_tenure,
                        public wanted_listener,
                        public idle_lock,
                        public caller,
                        public activity,
                        public alarm,
                        public std::enable_shared_from_this<lingering> {
 public:
  lingering(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, std::string token);

  // Whether a hold that is acquired in this way may linger: its token has the mark then.
  static bool may(client_core&, const lock_identity&, const acquire_options&);
  // For a grant that is about to become a hold: decides whether it will linger, and what may have it after the hold.
  static void accompany(const std::shared_ptr<client_core>&, const std::shared_ptr<const lock_identity>&,
                        const acquire_options&, hold_state::grant&, bool confirmed);

  // Instead of a release. False (and nothing has changed): the lock must be released.
  bool rest(hold_state&, release_op::listener&);

  bool end() override;
  bool take(waiter&) override;
  void stop() override;

 private:
  enum : std::uint32_t { asking, refreshing };

  void resume(const hold_state::grant&, std::chrono::milliseconds linger);
  bool is_told() const;
  bool fits(const acquire_options&, clock::time_point now) const;
  clock::time_point useful_until() const;
  clock::time_point idle_until() const;
  void keep_fresh(clock::time_point now);
  bool send(std::uint32_t tag);
  void ask();
  void leave_idle();

  const lock_identity& wanted_lock() const override { return *lock_; }
  std::shared_ptr<wanted_listener> shared_listener() override { return shared_from_this(); }
  void on_wanted() override;
  void on_gap() override;

  request request_of(std::uint32_t tag) const override;
  void sent(std::uint32_t tag, const sending&) override;
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void answered(std::uint32_t tag, const answer&) override;

  void on_close() override { stop(); }
  void on_clock_jump(clock::duration) override { stop(); }
  void on_other_server() override { stop(); }
  void on_moved(const std::unordered_set<std::uint16_t>&) override;
  void on_broken(std::string_view token) override;
  void abandon() override;
  void ring(clock::time_point) override { stop(); }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const std::string token_;

  std::chrono::milliseconds linger_{0};  // Of the present or the last hold.
  bool listens_ = false;                 // Messages about the token come here.
  bool wanted_ = false;                  // Another client waits.
  bool used_ = false;                    // A hold was granted while it was idle.
  // Redis's last word that no other client waits: when its request was sent. Messages have reached the client since
  // then if `told_`, on the connections of this epoch.
  clock::time_point word_ = clock::time_point::min();
  bool told_ = false;
  std::uint64_t epoch_ = 0;
  clock::time_point gap_at_ = clock::time_point::min();  // When messages may last have been lost.

  bool idle_ = false;
  hold_state::grant grant_;         // While it is idle.
  clock::time_point idle_until_{};  // At the latest: `linger` after the release.

  // The question that is on its way.
  struct {
    bool is_under_way = false;
    bool is_told = false;      // Messages reached the client when it was sent, and since then.
    bool is_repeated = false;  // It has to be asked again.
    std::uint64_t epoch = 0;
    clock::time_point may_run_until{};  // Of a refresh.
    std::chrono::milliseconds lease{0};
    std::shared_ptr<cohort_tenure> tenure;
  } question_;
};

}  // namespace leasehold::detail
