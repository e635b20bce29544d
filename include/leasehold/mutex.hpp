// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <leasehold/acquire_options.hpp>
#include <leasehold/client.hpp>
#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace leasehold {

/// What Redis says about a lock at one instant.
struct lock_info {
  bool held = false;
  std::string token;        ///< The holder's token; a foreign client's value verbatim; "" if free.
  std::uint64_t fence = 0;  ///< The holder's fence; 0 if free or held by a foreign client.
  std::optional<std::chrono::milliseconds> ttl;  ///< What is left of the lease; none if free, or without expiry.
  std::size_t waiters = 0;  ///< Entries in the line.
};

namespace detail {
std::shared_ptr<lock_state> make_lock(const std::shared_ptr<client_handle>&, std::string name);
const std::string& name_of(const std::shared_ptr<lock_state>&) noexcept;
void start_acquire(const std::shared_ptr<lock_state>&, asio::any_completion_handler<void(error_code, hold)>,
                   acquire_options);
void start_try_acquire(const std::shared_ptr<lock_state>&,
                       asio::any_completion_handler<void(error_code, std::optional<hold>)>, acquire_options);
void start_inspect(const std::shared_ptr<lock_state>&, asio::any_completion_handler<void(error_code, lock_info)>);

}  // namespace detail

/// One holder at a time.
///
/// A handle, cheap to copy. The lock is the key `prefix + name` itself, a string that `SET NX PX` clients in other
/// languages respect. The mutex is not recursive: acquiring it twice from one program waits for oneself.
///
/// @code
/// leasehold::client redis(co_await asio::this_coro::executor, "redis://127.0.0.1");
/// leasehold::mutex lock(redis, "report:2026-11");
/// if (auto h = co_await lock.try_acquire()) write_report(h->fence());
/// @endcode
///
/// Who waits stands in a line in Redis, first come, first served, each client once for all its waiters; a release hands
/// the lock to the next one (client_options::cohort says when another waiter of the same client comes first).
///
/// Exclusion is by Redis's clock, from each grant to its release or expiry; docs/guarantees.md says what can break it.
/// Thread safety: const functions may be called from any thread.
class mutex {
 public:
  using executor_type = asio::any_io_executor;

  /// A bad name (empty, longer than 65,536 bytes, or beginning with "leasehold:" with its prefix) is reported by the
  /// operations as error::invalid_name.
  mutex(const client& c, std::string name)
      : lock_(detail::make_lock(detail::access::handle(c), std::move(name))) {}

  executor_type get_executor() const noexcept { return detail::executor_of(lock_); }

  /// Without the client's prefix.
  const std::string& name() const noexcept { return detail::name_of(lock_); }

  /// Waits until this program has the lock.
  ///
  /// @par Completion signature `void(error_code, hold)`
  /// @par Errors
  /// error::timed_out: acquire_options::wait ended and the lock was busy. error::unreachable: it ended and the store
  /// had not answered the last attempt. error::refused, error::wrong_type, error::invalid_name, error::invalid_option,
  /// error::not_supported, error::closed: at once.
  /// @par Cancellation
  /// All types. Leaves no trace: the place in the line or a grant that was under way is given back, which cancellation
  /// waits for shortly (100 ms at most), so that nothing is left when the operation completes. If the store does not
  /// answer meanwhile, the giving back goes on in the background.
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto acquire(acquire_options options, Token&& token) const {
    return detail::initiate<&detail::start_acquire, void(error_code, hold)>(lock_, std::forward<Token>(token),
                                                                           options);
  }
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto acquire(Token&& token) const {
    return acquire(acquire_options(), std::forward<Token>(token));
  }
  auto acquire(acquire_options options) const { return acquire(options, asio::deferred); }
  auto acquire() const { return acquire(acquire_options(), asio::deferred); }

  /// Asks once. A busy lock is no error: the result is empty then.
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
  }
  auto try_acquire(acquire_options options) const { return try_acquire(options, asio::deferred); }
  auto try_acquire() const { return try_acquire(acquire_options(), asio::deferred); }

  /// What Redis says about the lock.
  ///
  /// @par Completion signature `void(error_code, lock_info)`
  /// @par Errors
  /// error::wrong_type: the key holds something that is no mutex. error::unreachable: no answer within
  /// client_options::command_timeout. error::refused, error::invalid_name, error::closed.
  /// @par Cancellation
  /// All types; nothing changes.
  template <asio::completion_token_for<void(error_code, lock_info)> Token>
  auto inspect(Token&& token) const {
    return detail::initiate<&detail::start_inspect, void(error_code, lock_info)>(lock_, std::forward<Token>(token));
  }
  auto inspect() const { return inspect(asio::deferred); }

 private:
  std::shared_ptr<detail::lock_state> lock_;
};

}  // namespace leasehold
