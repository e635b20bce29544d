// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/acquire_options.hpp>
#include <leasehold/client.hpp>
#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold {

/// The state of a lock in Redis at one instant.
/// @ingroup ref_locks
struct lock_info {
  bool held = false;        ///< Whether the lock is held.
  std::string token;        ///< The holder's token (one of them, if several); a foreign client's value verbatim; "" if
                            ///< free.
  std::uint64_t fence = 0;  ///< The latest holder's fence; 0 if free or held by a foreign client.
  /// What is left of the longest lease; none if free, or without expiry.
  std::optional<std::chrono::milliseconds> ttl;
  std::size_t waiters = 0;          ///< Entries in the queue.
  std::size_t holders = 0;          ///< Holds: 1 for a mutex, all readers, all permits in use, all holds of the owner.
  std::string owner;                ///< Of a recursive mutex, or of the writer; "" elsewhere.
  std::vector<std::string> tokens;  ///< Of all holds, the first 100 at most; `token` is one of them.
  /// The holder asked for acquire_options::linger: it may have released the lock, and its client keeps it, idle.
  bool lingers = false;
};

namespace detail {
// A kind of lock: a row of src/protocol/kind.cpp, which the header of the kind declares.
struct kind;
// The row says which of owner and limit the kind has. An owner or a limit that the kind does not allow is reported by
// the operations.
std::shared_ptr<lock_state> make_lock(const std::shared_ptr<client_handle>&, const kind&, std::string name,
                                      const std::string& owner = {}, std::uint32_t limit = 0);
const std::string& name_of(const std::shared_ptr<lock_state>&) noexcept;
void start_acquire(const std::shared_ptr<lock_state>&, asio::any_completion_handler<void(error_code, hold)>,
                   acquire_options);
void start_try_acquire(const std::shared_ptr<lock_state>&,
                       asio::any_completion_handler<void(error_code, std::optional<hold>)>, acquire_options);
void start_inspect(const std::shared_ptr<lock_state>&, asio::any_completion_handler<void(error_code, lock_info)>);
std::string explain(const std::shared_ptr<lock_state>&, const error_code&);

// A name or an owner that is given as a std::string_view, or as something that only becomes one.
template <class Text>
concept only_a_view =
    std::convertible_to<const Text&, std::string_view> && !std::convertible_to<const Text&, std::string>;
template <class Text>
std::string string_of(const Text& text) {
  if constexpr (only_a_view<Text>) {
    return std::string(std::string_view(text));
  } else {
    return text;
  }
}

}  // namespace detail

/// The operations that every kind of lock has. A handle, cheap to copy.
///
/// Waiters queue in Redis, first come, first served. A release hands the lock directly to the next waiter. A client has
/// one entry in the queue for all its waiters that ask for the same, and serves these waiters in their order.
///
/// Exclusion is by Redis's clock, from each grant to its release or expiry; docs/guarantees.md says what can break it.
///
/// The handler of an operation runs on its associated executor, else on the client's, and never inside the call. Lock
/// and client may be destroyed while an operation is under way; it goes on.
///
/// Thread safety: const functions may be called from any thread.
/// @ingroup ref_locks
class basic_lock {
 public:
  using executor_type = asio::any_io_executor;

  executor_type get_executor() const noexcept { return detail::executor_of(lock_); }  ///< The client's.

  /// Without the client's prefix.
  const std::string& name() const noexcept { return detail::name_of(lock_); }

  /// Explains an error that an operation of this lock has ended with, in one line:
  /// "unreachable: lock 'invoice:4711' at redis://10.0.0.7: Connection refused". "" for no error.
  /// The text is that of an exception; `co_await lock.acquire()` throws a system_error, which has the code only.
  std::string explain(const error_code& ec) const { return detail::explain(lock_, ec); }

  /// Waits until this program has the lock.
  ///
  /// @par Completion signature `void(error_code, hold)`
  /// @par Errors
  /// error::timed_out: acquire_options::wait ended and the lock was busy. error::unreachable: it ended and the store
  /// had not answered the last attempt. error::no_quorum: it ended and too few replicas had acknowledged the last
  /// grant, or fewer than a majority of a quorum's servers had answered, though some did. error::refused,
  /// error::wrong_type, error::wrong_limit (counting_semaphore), error::invalid_name, error::invalid_option,
  /// error::not_supported, error::closed: at once.
  /// @par Cancellation
  /// All types. Leaves no trace: the operation first releases its place in the queue, or a grant that was under way,
  /// which takes 100 ms at most. So nothing is left when it completes. If the store does not answer in that time, the
  /// release goes on in the background.
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto acquire(acquire_options options, Token&& token) const {
    return detail::initiate<&detail::start_acquire, void(error_code, hold)>(lock_, std::forward<Token>(token), options);
  }
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto acquire(Token&& token) const {
    return acquire(acquire_options(), std::forward<Token>(token));
  }                                                                                                       ///< @overload
  [[nodiscard]] auto acquire(acquire_options options) const { return acquire(options, asio::deferred); }  ///< @overload
  [[nodiscard]] auto acquire() const { return acquire(acquire_options(), asio::deferred); }               ///< @overload

  /// Makes one attempt. A busy lock is no error: the result is then empty.
  ///
  /// @par Completion signature `void(error_code, std::optional<hold>)`
  /// @par Errors
  /// error::unreachable: no answer within min(wait, client_options::command_timeout); with wait 0, command_timeout.
  /// The others as for acquire, without error::timed_out.
  /// @par Cancellation
  /// As for acquire.
  template <asio::completion_token_for<void(error_code, std::optional<hold>)> Token>
  auto try_acquire(acquire_options options, Token&& token) const {
    return detail::initiate<&detail::start_try_acquire, void(error_code, std::optional<hold>)>(
        lock_, std::forward<Token>(token), options);
  }
  template <asio::completion_token_for<void(error_code, std::optional<hold>)> Token>
  auto try_acquire(Token&& token) const {
    return try_acquire(acquire_options(), std::forward<Token>(token));
  }  ///< @overload
  [[nodiscard]] auto try_acquire(acquire_options options) const {
    return try_acquire(options, asio::deferred);
  }                                                                                                  ///< @overload
  [[nodiscard]] auto try_acquire() const { return try_acquire(acquire_options(), asio::deferred); }  ///< @overload

  /// Reads the state of the lock from Redis.
  ///
  /// @par Completion signature `void(error_code, lock_info)`
  /// @par Errors
  /// error::wrong_type: the key holds something else. error::unreachable: no answer within
  /// client_options::command_timeout. error::no_quorum: too few servers of a quorum answered. error::refused,
  /// error::invalid_name, error::not_supported, error::closed.
  /// @par Cancellation
  /// All types; nothing changes.
  template <asio::completion_token_for<void(error_code, lock_info)> Token>
  auto inspect(Token&& token) const {
    return detail::initiate<&detail::start_inspect, void(error_code, lock_info)>(lock_, std::forward<Token>(token));
  }
  [[nodiscard]] auto inspect() const { return inspect(asio::deferred); }  ///< @overload

 protected:
  explicit basic_lock(std::shared_ptr<detail::lock_state> lock) noexcept : lock_(std::move(lock)) {}
  ~basic_lock() = default;
  basic_lock(const basic_lock&) = default;
  basic_lock(basic_lock&&) noexcept = default;
  basic_lock& operator=(const basic_lock&) = default;
  basic_lock& operator=(basic_lock&&) noexcept = default;

  std::shared_ptr<detail::lock_state> lock_;

 private:
  friend detail::access;
};

}  // namespace leasehold
