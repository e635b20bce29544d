// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The term of a leader: what it proclaims, as long as its hold lives.
#pragma once

#include "client/client_core.hpp"
#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"

#include <leasehold/election.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace leasehold::detail {

// An operation that waits until a value was proclaimed.
class proclaim_listener {
 public:
  // Called once at most, on the strand.
  virtual void proclaimed(error_code) = 0;
  // Its user was told that the client goes on trying.
  virtual bool is_left() const = 0;

 protected:
  ~proclaim_listener() = default;
};

// Sends the latest value until the server has it, and again to a server that may not have it. Withdraws it when the
// hold ends. The hold keeps it alive until then. Everything happens on the strand, except for value().
class leader_term final : public caller,
                          public activity,
                          public alarm,
                          public loss_listener,
                          public std::enable_shared_from_this<leader_term> {
 public:
  explicit leader_term(const std::shared_ptr<hold_state>& hold)
      : core_(hold->core()), lock_(hold->shared_lock()), token_(hold->token()), fence_(hold->fence()), hold_(hold) {}

  // To be called once: the term ends with the hold.
  void begin();
  // From now on this is the value.
  void propose(shared_text value, std::shared_ptr<proclaim_listener>);

  // The latest one that was proclaimed with success. From any thread.
  std::string value() const;

 private:
  enum : std::uint32_t { proclaiming, withdrawing };

  request request_of(std::uint32_t tag) const override;
  void sent(std::uint32_t tag, const sending&) override;
  bool wants(std::uint32_t tag) const override { return tag == withdrawing || !over_; }
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void answered(std::uint32_t tag, const answer&) override;
  void store_is_up() override { over_ ? withdraw() : send(); }
  void store_refuses(error_code) override;
  // The hold ends first, or with_lock keeps it for a while.
  void on_close() override {
    withdraw();  // For the last time.
  }
  void on_stopped() override {
    end(error::closed);
    stop_withdrawing();
  }
  void on_other_server() override { send(); }
  void on_tagged_keys() override { send(); }
  void on_moved(const std::unordered_set<std::uint16_t>& slots) override {
    if (slots.contains(lock_->slot)) send();
  }
  void ring(clock::time_point) override { over_ ? withdraw() : send(); }
  // The hold has ended: lost, or released (error::not_held).
  void complete(error_code) override;
  void abandon() override;

  void send();
  void retry(clock::time_point now);
  void proclaimed(std::uint64_t revision);
  void fail(error_code);
  void end(error_code);
  void withdraw();
  void withdrawn(const answer&);
  void stop_withdrawing();

  struct proposal {
    std::uint64_t revision;
    shared_text value;
    std::shared_ptr<proclaim_listener> listener;
  };

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const std::string token_;
  const std::uint64_t fence_;
  const std::weak_ptr<hold_state> hold_;

  shared_text latest_;               // Null: nothing is to be proclaimed.
  shared_text before_;               // The latest one whose caller left, if it is later than what was proclaimed.
  std::uint64_t revision_ = 0;       // Of the latest value,
  std::uint64_t sent_revision_ = 0;  // and of the one that was sent last,
  shared_text sent_;                 // which is this.
  bool was_tagged_ = false;          // The keys that the last request had.
  std::vector<proposal> proposals_;  // Without an answer so far.
  bool asking_ = false;              // A request is on its way: of the latest value, or of the withdrawal.
  bool was_refused_ = false;
  bool over_ = false;
  bool record_stays_ = false;                 // It is over, and the record may outlive it.
  std::shared_ptr<leader_term> withdrawing_;  // Itself, until the value is withdrawn,
  clock::time_point withdraws_until_{};       // and not longer than this.

  mutable std::mutex mutex_;
  shared_text proclaimed_;
};

}  // namespace leasehold::detail
