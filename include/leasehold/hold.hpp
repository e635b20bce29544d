// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/ticket.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace leasehold {

class hold;

namespace detail {
struct access;
using hold_handler = asio::any_completion_handler<void(error_code)>;
void start_extend(const std::shared_ptr<hold_state>&, hold_handler, std::chrono::milliseconds);
void start_downgrade(const std::shared_ptr<hold_state>&, hold_handler);
void start_release(const std::shared_ptr<hold_state>&, hold_handler);
void start_lost(const std::shared_ptr<hold_state>&, hold_handler);
void start_wanted(const std::shared_ptr<hold_state>&, hold_handler);
void start_detach(const std::shared_ptr<hold_state>&, asio::any_completion_handler<void(error_code, ticket)>);
}  // namespace detail

/// Proof that this program has the lock; what `acquire` yields.
///
/// Renewals (acquire_options::renew) keep the hold alive until it is released, destroyed or lost. It is lost when Redis
/// no longer has its token, or when its lease can no longer be proved to run: from `expires_at()` on another client may
/// have the lock. Put work that must stop then into `with_lock` or `while_held`. A resource that must be safe even from
/// a program that was paused past its lease checks `fence()`.
///
/// <!-- examples/guide.cpp hold -->
/// @code
/// leasehold::hold hold = co_await lock.acquire({.lease = 10s});
/// co_await write_row(hold.fence());
/// co_await hold.release();
/// @endcode
///
/// Keep it: `co_await lock.acquire();` releases the lock at the semicolon. clang warns of that; g++ 12 does not warn in
/// a co_await expression.
///
/// Movable, not copyable. An empty hold (default-constructed, or moved from) answers "", 0, false and
/// time_point::min(), and its operations complete with error::not_held.
///
/// The handler of an operation runs on its associated executor, else on the client's (for an empty hold, on Asio's
/// system executor), and never inside the call. The hold may be moved or destroyed while the operation is under way.
///
/// Thread safety: a hold belongs to one thread at a time. It may outlive its client, its lock and the execution
/// context.
/// @ingroup ref_holds
class [[nodiscard]] hold {
 public:
  using executor_type = asio::any_io_executor;

  /// An empty hold.
  hold() noexcept = default;
  hold(hold&&) noexcept = default;  ///< The other one is empty afterwards.
  /// What was held before is released in the background, as by the destructor.
  hold& operator=(hold&&) noexcept;

  /// If the lock is still held, releases it in the background; never blocks. The release goes out before
  /// `io_context::run()` returns. If the store is unreachable, the lock becomes free when its lease ends.
  ~hold();

  /// The executor of the client; the system executor for an empty hold.
  executor_type get_executor() const noexcept { return detail::executor_of(state_); }

  /// The lock's name, without the client's prefix. Kept after release.
  const std::string& name() const noexcept;

  /// Identifies this hold in Redis. Holds that coroutines of one client pass on to each other, one after the other,
  /// share a token, and `fence()` distinguishes them (not readers, nor the entries of one owner, which share a fence).
  /// Otherwise a token is never used again. Kept after release.
  const std::string& token() const noexcept;

  /// The fencing token: grows strictly from one exclusive tenure of a name to the next. A resource that remembers the
  /// largest fence it has seen, and refuses smaller ones, is safe from a holder that was paused past its lease
  /// (Kleppmann, "How to do distributed locking", 2016). Kept after release.
  std::uint64_t fence() const noexcept;

  /// When the lease ends at the latest, by this machine's clock: provably not later than Redis's own expiry, assuming
  /// that Redis's wall clock makes no step forward and no other program shortens the key's expiry. Each renewal moves
  /// it forward. It has passed once the machine has slept past it.
  std::chrono::steady_clock::time_point expires_at() const noexcept;

  /// True while the lock is provably held: false once release began, the hold was lost (see lost()), or `expires_at()`
  /// has passed.
  bool valid() const noexcept;

  /// For a recursive mutex: how many times the owner had the lock when this hold was granted, this hold included. (Of a
  /// hold that a coroutine of the same client has passed on, see client_options::cohort: how many times by this
  /// client.) 1 for other locks, 0 for an empty hold.
  std::size_t depth() const noexcept;

  /// Extends the lease: the hold ends `lease` (1 ms to 30 days) from now, never sooner than before.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// error::lost: the hold is gone, nothing was re-created. error::not_held: released already, or empty.
  /// error::invalid_option: the duration is out of range. error::unreachable: no answer within
  /// client_options::command_timeout (the request may still take effect, which only lengthens the lease).
  /// error::refused, error::closed.
  /// @par Cancellation
  /// Terminal and partial end the wait only; the request goes on.
  template <asio::completion_token_for<void(error_code)> Token>
  auto extend(std::chrono::milliseconds lease, Token&& token) {
    return detail::initiate<&detail::start_extend, void(error_code)>(state_, std::forward<Token>(token), lease);
  }
  [[nodiscard]] auto extend(std::chrono::milliseconds lease) { return extend(lease, asio::deferred); }  ///< @overload

  /// Turns the writer of a shared mutex into a reader without a gap. Elsewhere error::not_supported.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// error::not_supported: not the writer of a shared mutex. error::lost: the hold is gone. error::not_held: released
  /// already, or empty. error::unreachable: no answer within client_options::command_timeout; the hold may be a
  /// reader's by then. error::refused, error::closed.
  /// @par Cancellation
  /// Terminal and partial end the wait only; the request goes on.
  template <asio::completion_token_for<void(error_code)> Token>
  auto downgrade(Token&& token) {
    return detail::initiate<&detail::start_downgrade, void(error_code)>(state_, std::forward<Token>(token));
  }
  [[nodiscard]] auto downgrade() { return downgrade(asio::deferred); }  ///< @overload

  /// Releases the lock. `valid()` is false from the start of the operation on.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// error::lost: the hold was already lost; another client may have had the lock meanwhile. (Success after lost(): the
  /// hold was still there, within acquire_options::margin or the allowance for drift.) error::not_held: released
  /// already, or empty. error::unreachable: no answer before the lease had ended, or, if it had ended before, within
  /// client_options::command_timeout or a second, whichever is less. error::refused: with NOREPLICAS, MISCONF and
  /// READONLY, which may pass, the release goes on in the background.
  /// @par Cancellation
  /// Terminal and partial end the wait only; the release goes on.
  template <asio::completion_token_for<void(error_code)> Token>
  auto release(Token&& token) {
    return detail::initiate<&detail::start_release, void(error_code)>(state_, std::forward<Token>(token));
  }
  [[nodiscard]] auto release() { return release(asio::deferred); }  ///< @overload

  /// Makes a ticket of the hold, with which client::resume goes on with it in this process or in another one. A new
  /// lease begins, as by a renewal. Afterwards the hold is as after a release: error::not_held for its operations, and
  /// no client renews or releases it. If the ticket is not resumed, the lock becomes free when the lease has ended.
  /// If a connection broke while the lock was acquired, or while the next fence was asked for (client_options::cohort,
  /// acquire_options::linger), it first renews the hold until that request can no longer run, about
  /// client_options::command_timeout at most. (Not on a quorum, whose servers may carry out such a request late.) A
  /// writer whose downgrade was not answered becomes a reader.
  ///
  /// @par Completion signature `void(error_code, ticket)`
  /// @par Errors
  /// After an error the hold is what it was before. error::lost: it is gone. error::not_held: released already, or
  /// empty. error::unreachable: no answer within client_options::command_timeout (after that wait). error::refused,
  /// error::closed.
  /// @par Cancellation
  /// Terminal and partial: the hold is not detached; the request that is under way only lengthens its lease.
  template <asio::completion_token_for<void(error_code, ticket)> Token>
  auto detach(Token&& token) {
    return detail::initiate<&detail::start_detach, void(error_code, ticket)>(state_, std::forward<Token>(token));
  }
  [[nodiscard]] auto detach() { return detach(asio::deferred); }  ///< @overload

  /// Waits until the hold is lost: acquire_options::margin before `expires_at()` at the latest (while the execution
  /// context runs), or as soon as Redis says that the token is gone, or when the client is closed.
  ///
  /// @par Completion signature `void(error_code)`: success when lost.
  /// @par Errors
  /// error::not_held: released, detached or destroyed, or empty.
  /// @par Cancellation
  /// All types; nothing changes for the hold.
  ///
  /// `co_await (work() || h.lost(asio::use_awaitable))` waits for the first *success* and hangs when work throws: use
  /// `while_held`.
  template <asio::completion_token_for<void(error_code)> Token>
  auto lost(Token&& token) const {
    return detail::initiate<&detail::start_lost, void(error_code)>(state_, std::forward<Token>(token));
  }
  [[nodiscard]] auto lost() const { return lost(asio::deferred); }  ///< @overload

  /// Waits until another client waits for the lock in its queue; completes soon if one does already. For the hold of a
  /// mutex, not on a quorum, and not for one that another client detached; elsewhere error::not_supported.
  ///
  /// A call costs one request, and so does each reconnect while it waits. While it waits it asks again every 5 s, but
  /// not where keys are tagged, as in a cluster: there a call costs two. A message that is lost comes again
  /// at the next poll of the client that waits. Success is a hint: that client may have given up meanwhile, and other
  /// users of the server can forge the message. Clients that call `try_acquire`, and programs that do not wait in the
  /// queue, are not noticed.
  ///
  /// @par Completion signature `void(error_code)`: success when another client waits.
  /// @par Errors
  /// error::lost: the hold was lost first. error::not_held: released or destroyed, or empty. error::not_supported.
  /// error::refused: the server refused the request.
  /// @par Cancellation
  /// All types; nothing changes for the hold.
  template <asio::completion_token_for<void(error_code)> Token>
  auto wanted(Token&& token) const {
    return detail::initiate<&detail::start_wanted, void(error_code)>(state_, std::forward<Token>(token));
  }
  [[nodiscard]] auto wanted() const { return wanted(asio::deferred); }  ///< @overload

 private:
  friend detail::access;
  explicit hold(std::shared_ptr<detail::hold_state> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<detail::hold_state> state_;
};

namespace detail {
// Gives the library access to the state behind the handles.
struct access {
  static const std::shared_ptr<hold_state>& state(const hold& h) noexcept { return h.state_; }
  static hold make_hold(std::shared_ptr<hold_state> s) noexcept { return hold(std::move(s)); }
  static ticket make_ticket(std::shared_ptr<const ticket_fields> fields) noexcept { return ticket(std::move(fields)); }
  static const std::shared_ptr<const ticket_fields>& fields(const ticket& t) noexcept { return t.fields_; }
  template <class Lock>
  static const std::shared_ptr<lock_state>& lock(const Lock& l) noexcept {
    return l.lock_;
  }
  template <class Client>
  static const std::shared_ptr<client_handle>& handle(const Client& c) noexcept {
    return c.handle_;
  }
};
}  // namespace detail

}  // namespace leasehold
