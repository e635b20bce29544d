// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A client's entry in the queue of one name, and the client's own waiters behind it: Redis sees one entry, however many
// coroutines of a client wait for the name. For locks with several holders at a time, further waiters ask in parallel
// as long as all of them are granted: one more after each success, so twice as many in each round trip.
// (docs/protocol.md, "The queue")
#pragma once

#include "client/client_core.hpp"
#include "lock/attempts.hpp"
#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"
#include "lock/parallel_asking.hpp"
#include "lock/registry.hpp"
#include "lock/release.hpp"
#include "lock/waiter.hpp"
#include "protocol/lease_reply.hpp"
#include "protocol/pushed_grant.hpp"
#include "time/pauses.hpp"

#include <leasehold/acquire_options.hpp>

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace leasehold::detail {

class queue_entry final : public caller,
                          public alarm,
                          public registered_entry,
                          public std::enable_shared_from_this<queue_entry> {
 public:
  enum class role : std::uint8_t {
    local_queue,  // The client's entry for all waiters with the same ask.
    parallel,     // For one waiter, in parallel with that entry.
    once,         // try_acquire, which asks without waiting in the queue.
  };
  queue_entry(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, role r);

  // Adds the waiter at the back of the local queue.
  void add(waiter&);
  // The operation ends with `why`: at once, or when the store has confirmed that nothing is left of it.
  void leave(const std::shared_ptr<waiter>&, error_code why);

  // The last grant was released because too few replicas had it, or it is still to be acknowledged.
  bool lacks_replicas() const { return lacks_replicas_ || state_ == state::proving; }
  // The last attempt that should have been answered was answered: the lock is busy.
  bool known_busy(clock::time_point now) const;
  // The outcome if that attempt was not answered.
  error_code no_answer() const;

  const std::string& token() const override { return token_; }
  const lock_identity& lock() const override { return *lock_; }
  std::uint32_t first_limit() const override { return first_limit_; }
  std::shared_ptr<registered_entry> shared() override { return shared_from_this(); }
  void on_granted(const pushed_grant&) override;
  void on_watch() override;
  void poll_now() override;
  waiter* first(clock::time_point now) override;
  bool waits() const override { return answered_; }
  bool waits_for_long() const override { return answered_ || std::next(waiters_.begin()) != waiters_.end(); }
  void expect_passes() override;
  void grant_locally(hold_state::grant&&) override;

 private:
  enum class state : std::uint8_t {
    idle,
    asking,   // An attempt is on its way, or its answer is being handled.
    waiting,  // In the queue; the alarm rings for the next poll.
    pausing,  // The server could not answer now, or this is a quorum, which has no queue. The alarm ends the pause.
    offline,  // The store is not up.
    proving,  // The lock was granted, and replicas have to acknowledge the grant.
    over,     // No waiter is left.
  };

  // The only place where the state changes. The alarm rings at `due`, and otherwise not.
  void go_to(state, clock::time_point due = clock::time_point::max());

  request request_of(std::uint32_t attempt) const override;
  void sent(std::uint32_t attempt, const sending&) override;
  bool wants(std::uint32_t attempt) const override;
  // A poll keeps the place in the queue, but many polls must not keep everything else from getting its turn.
  turn turn_of(std::uint32_t) const override { return in_queue_ ? turn::releases : turn::asks; }
  void answered(std::uint32_t attempt, const answer&) override;
  void store_is_up() override;
  void store_refuses(error_code) override;
  void ring(clock::time_point now) override;

  waiter& front() { return waiters_.front(); }
  void begin();
  // True: the waiter in front asks only if nothing is passed on to it soon.
  bool await_pass();
  void take_token();
  bool leaves_traces() const;
  std::chrono::milliseconds longest_trace() const;
  void ask();
  // 0 is no attempt, also after four billion of them: proof_.attempt begins with it.
  std::uint32_t next_attempt() { return attempt_ = std::max<std::uint32_t>(attempt_ + 1, 1); }
  void on_too_late(clock::time_point now);
  void on_busy(const lease_reply&, const answer&);
  void on_wrong_limit(std::uint32_t limit);
  // The attempt was not answered: what was known before does not count any more.
  void pause(clock::time_point now);
  // A pause that keeps what is known.
  void rest(clock::time_point now);
  // On a quorum: asks within hint_spread.
  void ask_soon(clock::time_point now);
  void on_error(const outcome&, clock::time_point now);
  void on_grant(const lease_reply&, const answer&);
  bool is_of_another(const lease_reply&);
  void begin_again();
  void note_granted();
  // (Without a connection holds may still be passed on for a while, and nothing is known.)
  bool found_busy() const { return found_busy_ && state_ != state::offline; }
  // The grant counts once replicas have acknowledged it.
  void prove();
  void on_proof(const answer&);
  void grant(std::uint64_t fence, clock::time_point deadline, clock::time_point confirmed_at, std::uint32_t depth);
  // Lets waiters of the local queue ask in parallel with its entry.
  void ask_in_parallel();
  // The token that its attempt may follow; "": there is none.
  std::string predecessor_of(const waiter&) const;
  void on_parallel_outcome(bool granted);
  // Makes the hold for the operation that was in front.
  hold hand_over(waiter&, hold_state::grant&&);
  bool withdraw(const std::shared_ptr<waiter>&);
  bool is_on_its_way() const;
  // Drops the waiters in front whose deadline has passed. False if none is left: then the entry has left, too.
  bool drop_late(clock::time_point now);
  void end_all(error_code);
  void forget();
  void release_token(release_op::listener);

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const std::shared_ptr<joint_cohort> joint_;  // Null where one hold exists at a time.
  // (Small members together: there may be very many entries.)
  const std::uint32_t first_limit_;
  std::uint32_t limit_;  // The limit with which the entry asks.
  const role role_;
  state state_ = state::idle;
  bool is_counted_ = false;  // By joint_.
  bool lacks_replicas_ = false;
  bool waited_ = false;      // The entry has joined the queue.
  bool answered_ = false;    // The answer for this token was that the lock is busy; no attempt has failed since.
  bool in_queue_ = false;    // That was the answer at any time: the entry may wait in the queue.
  bool found_busy_ = false;  // The latest news is that the lock is busy, or was granted, for whatever token.
  bool asked_again_ = false;
  bool too_late_ = false;        // The last attempt ran after its not-after.
  bool wakes_up_again_ = false;  // A message of `woken_up_at_` came while an attempt was on its way.
  std::uint32_t attempt_ = 0;
  clock::time_point woken_up_at_{};  // On a quorum: when a message last said that the lock may be free.
  std::string token_;
  boost::intrusive::list<waiter, boost::intrusive::constant_time_size<false>> waiters_;
  pauses pauses_;
  struct {
    std::uint32_t attempt = 0;   // The last one that was made to prove a grant,
    clock::duration stepped{0};  // and client_core::stepped when it was sent.
  } proof_;
  grant_check check_;
  attempts attempts_;
  std::weak_ptr<waiter> leaving_;

  parallel_asking parallel_;                // Of role::local_queue.
  std::weak_ptr<queue_entry> local_queue_;  // role::parallel: while its first answer is expected.
  std::string follows_;                     // The token that the attempt under way follows.
};

}  // namespace leasehold::detail
