// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/acquire_all.hpp>
#include <leasehold/acquire_options.hpp>
#include <leasehold/detail/for_threads.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold {

namespace detail {

// Between guard() and unguard(), client::close leaves the release of this hold to the caller of guard().
void guard(const std::shared_ptr<hold_state>&) noexcept;
void guard(const std::shared_ptr<hold_group>&) noexcept;
void unguard(const std::shared_ptr<hold_state>&) noexcept;
void unguard(const std::shared_ptr<hold_group>&) noexcept;
// True if the work was not covered by the lease up to now: the hold (one of the holds) was lost, or its lease has ended
// meanwhile.
bool outlived(const std::shared_ptr<hold_state>&) noexcept;
bool outlived(const std::shared_ptr<hold_group>&) noexcept;
// If work of the hold (of the holds) would be stopped at once.
void throw_if_lost(const std::shared_ptr<hold_state>&);
void throw_if_lost(const std::shared_ptr<hold_group>&);
// The exception that work ends with if a loss stopped it: exception(lost).
std::exception_ptr lost_failure(const std::shared_ptr<hold_state>&);
std::exception_ptr lost_failure(const std::shared_ptr<hold_group>&);
// Throws what acquire has failed with.
[[noreturn]] void throw_failed(const std::shared_ptr<lock_group>&, const acquire_options&, const error_code&);
bool is_operation_aborted(const std::exception_ptr&) noexcept;

// Every kind of cancellation of the caller stops the work for good.
struct as_terminal {
  asio::cancellation_type_t operator()(asio::cancellation_type_t type) const noexcept {
    return type == asio::cancellation_type_t::none ? type : asio::cancellation_type_t::terminal;
  }
};

// The end of the work stops the watch; the loss of the hold stops the work; a hold that the work itself has released
// (the watch ends with not_held) stops nothing.
struct ends_the_other {
  asio::cancellation_type_t operator()(const std::exception_ptr&) const noexcept {
    return asio::cancellation_type_t::terminal;
  }
  asio::cancellation_type_t operator()(const error_code& ec) const noexcept {
    return ec ? asio::cancellation_type_t::none : asio::cancellation_type_t::terminal;
  }
};

template <class T>
struct result_of_work {
  std::optional<T> value;
  T take() { return std::move(*value); }
};

template <>
struct result_of_work<void> {
  void take() noexcept {}
};

template <class T, class E>
asio::awaitable<void, E> run_into(result_of_work<T>& result, asio::awaitable<T, E> work) {
  const asio::enable_total_cancellation in;
  const as_terminal out;
  co_await asio::this_coro::reset_cancellation_state(in, out);
  // A parallel group receives no cancellation before all its operations have begun. The work may cancel its caller at
  // once.
  const asio::use_awaitable_t<E> use;
  co_await asio::post(use);
  if constexpr (std::is_void_v<T>) {
    co_await std::move(work);
  } else {
    result.value.emplace(co_await std::move(work));
  }
}

template <class Awaitable>
struct awaitable_parts {
  static constexpr bool is_awaitable = false;
};
template <class T, class E>
struct awaitable_parts<asio::awaitable<T, E>> {
  static constexpr bool is_awaitable = true;
  using value = T;
  using executor = E;
};

// One hold, or several.
inline const std::shared_ptr<hold_state>& state_of(const hold& h) noexcept { return access::state(h); }
template <class Holds>
std::shared_ptr<hold_group> state_of(const Holds& holds) {
  auto group = std::make_shared<hold_group>();
  for (const hold& h : holds) group->members.push_back(access::state(h));
  return group;
}
template <class Token>
auto lost_of(const std::shared_ptr<hold_state>& state, Token&& token) {
  return initiate<&start_lost, void(error_code)>(state, std::forward<Token>(token));
}
template <class Token>
auto lost_of(const std::shared_ptr<hold_group>& group, Token&& token) {
  return initiate<&start_lost_any, void(error_code)>(group, std::forward<Token>(token));
}
template <class Token>
auto release_of(const std::shared_ptr<hold_state>& state, Token&& token) {
  return initiate<&start_release, void(error_code)>(state, std::forward<Token>(token));
}
template <class Token>
auto release_of(const std::shared_ptr<hold_group>& group, Token&& token) {
  return initiate<&start_release_all, void(error_code)>(group, std::forward<Token>(token));
}

template <class Held, class T, class E>
asio::awaitable<T, E> run_while_held(Held& held, asio::awaitable<T, E> work) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
  if (throws && before.cancelled() != asio::cancellation_type_t::none) {
    throw system_error(asio::error::operation_aborted);
  }
  auto executor = co_await asio::this_coro::executor;
  const auto state = state_of(held);  // The work may move the hold elsewhere.
  throw_if_lost(state);
  result_of_work<T> result;
  // Named first and awaited after: g++ 12 miscompiles such temporaries inside a co_await expression.
  auto group = asio::experimental::make_parallel_group(
      asio::co_spawn(executor, run_into(result, std::move(work)), asio::deferred),
      lost_of(state, asio::bind_executor(executor, asio::deferred)));
  // The join must not be skipped because the caller was cancelled: `result` lives in this frame.
  co_await asio::this_coro::throw_if_cancelled(false);
  const ends_the_other condition;
  auto [order, failure, lost] = co_await group.async_wait(condition, asio::use_awaitable_t<E>());
  co_await asio::this_coro::throw_if_cancelled(throws);
  (void)order;
  const bool too_late = outlived(state);
  if (failure) {
    if ((!lost || too_late) && is_operation_aborted(failure)) std::rethrow_exception(lost_failure(state));
    std::rethrow_exception(failure);
  }
  if (too_late) std::rethrow_exception(lost_failure(state));
  co_return result.take();
}

}  // namespace detail

/// @addtogroup ref_acquiring
/// @{

/// Runs `work` while `h` is held, cancels it (terminal) when the hold is lost or the caller is cancelled (any type),
/// and returns only after it has ended. Does not release the hold.
///
/// @returns what `work` returns.
/// @throws what `work` throws; exception error::lost instead of operation_aborted after a loss, and instead of a
/// result that outlived the lease.
///
/// `h` must live until the operation has ended; the work runs on the calling coroutine's executor. If the work itself
/// releases the hold, or the hold is empty from the start, the work simply goes on. With several threads run each
/// coroutine on a strand of its own.
template <class T, class E>
asio::awaitable<T, E> while_held(hold& h, asio::awaitable<T, E> work) {
  return detail::run_while_held(h, std::move(work));
}
/// The same for several holds: the loss of any of them cancels the work.
template <std::size_t N, class T, class E>
asio::awaitable<T, E> while_held(holds<N>& h, asio::awaitable<T, E> work) {
  return detail::run_while_held(h, std::move(work));
}
template <class T, class E>
asio::awaitable<T, E> while_held(std::vector<hold>& h, asio::awaitable<T, E> work) {
  return detail::run_while_held(h, std::move(work));
}  ///< @overload

/// @}

namespace detail {

// What with_lock takes, and what its body gets: a lock, a tuple of locks or a vector of locks.
template <class Lock>
struct lockable {
  using held = hold;
  template <class Token>
  static auto acquire(const Lock& lock, acquire_options options, Token&& token) {
    return lock.acquire(options, std::forward<Token>(token));
  }
  [[noreturn]] static void fail(const Lock& lock, const acquire_options& options, const error_code& ec) {
    if constexpr (std::derived_from<Lock, basic_lock>) throw_failed(group_of(lock), options, ec);
    throw system_error(ec);
  }
};
template <class... Locks>
struct lockable<std::tuple<Locks...>> {
  using held = holds<sizeof...(Locks)>;
  static auto group(const std::tuple<Locks...>& locks) {
    return group_of_first(locks, std::index_sequence_for<Locks...>());
  }
  template <class Token>
  static auto acquire(const std::tuple<Locks...>& locks, acquire_options options, Token&& token) {
    return acquire_group<sizeof...(Locks)>(group(locks), options, std::forward<Token>(token));
  }
  [[noreturn]] static void fail(const std::tuple<Locks...>& locks, const acquire_options& o, const error_code& ec) {
    throw_failed(group(locks), o, ec);
  }
};
template <class Lock>
struct lockable<std::vector<Lock>> {
  using held = std::vector<hold>;
  template <class Token>
  static auto acquire(const std::vector<Lock>& locks, acquire_options options, Token&& token) {
    return acquire_group<0>(group_of(locks), options, std::forward<Token>(token));
  }
  [[noreturn]] static void fail(const std::vector<Lock>& locks, const acquire_options& o, const error_code& ec) {
    throw_failed(group_of(locks), o, ec);
  }
};

template <class T, class E, class Body, class Lock>
asio::awaitable<T, E> run_with_lock(Lock lock, acquire_options options, Body body) {
  using held = typename lockable<Lock>::held;
  auto token = asio::as_tuple(asio::use_awaitable_t<E>());
  auto [failed, h] = co_await lockable<Lock>::acquire(lock, options, token);
  if (failed) lockable<Lock>::fail(lock, options, failed);
  const auto state = state_of(h);  // The body may move the hold elsewhere.
  guard(state);
  if (outlived(state))
    std::rethrow_exception(lost_failure(state));  // By client::close, on another thread, before it was guarded.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  result_of_work<T> result;
  std::exception_ptr failure;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await while_held(h, std::invoke(body, h));
    } else {
      result.value.emplace(co_await while_held(h, std::invoke(body, h)));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  const asio::cancellation_state now = co_await asio::this_coro::cancellation_state;
  if (now.cancelled() == asio::cancellation_type_t::none) {
    auto [ec] = co_await release_of(state_of(h), token);
    if (ec == error::lost && !failure) failure = lost_failure(state);
  } else {
    h = held();  // Cancelled: do not wait for the answer.
  }
  unguard(state);
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
  co_return result.take();
}

template <class Body, class Held>
constexpr bool is_body() {
  if constexpr (std::invocable<Body&, Held&>) {
    return awaitable_parts<std::invoke_result_t<Body&, Held&>>::is_awaitable;
  } else {
    return false;
  }
}

}  // namespace detail

/// @addtogroup ref_acquiring
/// @{

/// Acquires the lock, runs `body(hold&) -> awaitable<T, E>` while it is held, and releases it on every way out.
///
/// For several locks give a `std::tuple` of them, and a body that takes `holds<N>&`; or a `std::vector`, and a body
/// that takes `std::vector<hold>&`. They are acquired as by acquire_all, and the loss of any of them cancels the body:
/// `co_await with_lock(std::tuple(a, b), {.lease = 10s}, body)`.
///
/// The body is cancelled (terminal) when the hold is lost (acquire_options::margin before its deadline) or the caller
/// is cancelled. with_lock waits until the body has ended before it releases the lock. It waits for the answer to the
/// release, too, unless the caller was cancelled. A release that Redis did not take is no error, since the lock then
/// ends with its lease. The lock is copied. A body that is not a temporary is not copied: it must live until with_lock
/// has ended.
///
/// @returns what the body returns (T: void or movable).
/// @throws exception what `acquire` fails with; error::lost when the lease did not cover the whole body; else the
/// body's own exception.
///
/// Before g++ 13 a temporary body must be trivially destructible, because that compiler miscompiles others in a
/// co_await expression. Name it: `auto body = [s](hold&) -> awaitable<void> {...}; co_await with_lock(lock, body);`
///
/// With several threads run each coroutine on a strand of its own.
template <detail::for_coroutines Lock, class Body>
auto with_lock(Lock lock, acquire_options options, Body&& body) {
  using held = typename detail::lockable<Lock>::held;
  using callable = std::remove_reference_t<Body>;
  constexpr bool fits = detail::is_body<callable, held>();
  static_assert(
      fits,
      "with_lock: the body must be callable with a leasehold::hold& and return boost::asio::awaitable<T>. (With "
      "a tuple of N locks it gets a leasehold::holds<N>&, with a vector of locks a std::vector<hold>&.)");
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
  static_assert(std::is_lvalue_reference_v<Body> || std::is_trivially_destructible_v<std::remove_cvref_t<Body>>,
                "g++ before 13 miscompiles a temporary body with non-trivial captures: give the body a name first");
#endif
  if constexpr (fits) {
    using parts = detail::awaitable_parts<std::invoke_result_t<callable&, held&>>;
    return detail::run_with_lock<typename parts::value, typename parts::executor, Body>(std::move(lock), options,
                                                                                        std::forward<Body>(body));
  }
}

template <detail::for_coroutines Lock, class Body>
auto with_lock(Lock lock, Body&& body) {
  return with_lock(std::move(lock), acquire_options(), std::forward<Body>(body));
}  ///< @overload

/// @}

}  // namespace leasehold
