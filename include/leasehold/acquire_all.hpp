// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/acquire_options.hpp>
#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/lock.hpp>

#include <boost/asio/associator.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold {

template <std::size_t N>
class holds;

namespace detail {

// Several holds for one operation.
struct hold_group {
  std::vector<std::shared_ptr<hold_state>> members;  // Null for an empty hold.
};
asio::any_io_executor executor_of(const std::shared_ptr<hold_group>&) noexcept;
void start_release_all(const std::shared_ptr<hold_group>&, hold_handler);
void start_lost_any(const std::shared_ptr<hold_group>&, hold_handler);

struct lock_group {
  std::vector<std::shared_ptr<lock_state>> members;
};
asio::any_io_executor executor_of(const std::shared_ptr<lock_group>&) noexcept;
void start_acquire_all(const std::shared_ptr<lock_group>&,
                       asio::any_completion_handler<void(error_code, std::vector<hold>)>, acquire_options);

// Adapts a handler that expects holds<N> to the vector of holds that the library yields.
template <std::size_t N, class Handler>
struct as_holds {
  Handler handler;
  void operator()(error_code ec, std::vector<hold> all) { std::move(handler)(ec, holds<N>(std::move(all))); }
};

// N 0: the number of locks is known only at run time.
template <std::size_t N>
struct initiate_acquire_all {
  std::shared_ptr<lock_group> state;
  acquire_options options;

  using executor_type = asio::any_io_executor;
  executor_type get_executor() const noexcept { return executor_of(state); }

  template <class Handler>
  void operator()(Handler&& handler) const {
    if constexpr (N != 0) {
      start_acquire_all(state, as_holds<N, std::decay_t<Handler>>{std::forward<Handler>(handler)}, options);
    } else if (state->members.empty()) {
      complete_without_client(std::forward<Handler>(handler), make_error_code(error::invalid_option),
                              std::vector<hold>());
    } else {
      start_acquire_all(state, std::forward<Handler>(handler), options);
    }
  }
};

}  // namespace detail

/// @addtogroup ref_holds
/// @{

/// What acquire_all yields: a hold of each lock, in the order of its arguments.
///
/// `auto [a, b] = co_await acquire_all(x, y);` unpacks it into holds. Movable; destroying it releases the holds that
/// are still held, in the background. Thread safety: as for a hold.
template <std::size_t N>
class [[nodiscard]] holds {
 public:
  using executor_type = asio::any_io_executor;

  /// N empty holds.
  holds() noexcept = default;
  explicit holds(std::vector<hold> all) noexcept {
    std::move(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(N, all.size())), holds_.begin());
  }  ///< Takes the first N.

  executor_type get_executor() const noexcept { return holds_[0].get_executor(); }  ///< The first one's.

  hold& operator[](std::size_t i) noexcept { return holds_[i]; }              ///< Of lock number i, from 0.
  const hold& operator[](std::size_t i) const noexcept { return holds_[i]; }  ///< @overload
  static constexpr std::size_t size() noexcept { return N; }                  ///< N.
  hold* begin() noexcept { return holds_.data(); }                            ///< The first.
  hold* end() noexcept { return holds_.data() + N; }                          ///< Behind the last.
  const hold* begin() const noexcept { return holds_.data(); }                ///< @overload
  const hold* end() const noexcept { return holds_.data() + N; }              ///< @overload

  /// Whether every hold is valid (hold::valid).
  bool valid() const noexcept {
    return std::all_of(begin(), end(), [](const hold& h) { return h.valid(); });
  }

  /// Waits until one of them is lost (hold::lost).
  ///
  /// @par Completion signature `void(error_code)`: success when lost.
  /// @par Errors
  /// error::not_held: all are released, destroyed or empty.
  /// @par Cancellation
  /// All types; nothing changes for the holds.
  template <asio::completion_token_for<void(error_code)> Token>
  auto lost(Token&& token) const {
    return detail::initiate<&detail::start_lost_any, void(error_code)>(group(), std::forward<Token>(token));
  }
  [[nodiscard]] auto lost() const { return lost(asio::deferred); }  ///< @overload

  /// Releases all of them, at the same time.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// As hold::release: error::lost if one of them was already lost, else the first error. error::not_held: all were
  /// released already, or are empty.
  /// @par Cancellation
  /// Terminal and partial end the wait only; the releases go on.
  template <asio::completion_token_for<void(error_code)> Token>
  auto release(Token&& token) {
    return detail::initiate<&detail::start_release_all, void(error_code)>(group(), std::forward<Token>(token));
  }
  [[nodiscard]] auto release() { return release(asio::deferred); }  ///< @overload

 private:
  std::shared_ptr<detail::hold_group> group() const {
    auto g = std::make_shared<detail::hold_group>();
    for (const hold& h : holds_) g->members.push_back(detail::access::state(h));
    return g;
  }

  std::array<hold, N> holds_;
};

template <std::size_t I, std::size_t N>
hold& get(holds<N>& h) noexcept {
  return h[I];
}  ///< Number I, from 0: what a structured binding calls.
template <std::size_t I, std::size_t N>
const hold& get(const holds<N>& h) noexcept {
  return h[I];
}  ///< @overload
template <std::size_t I, std::size_t N>
hold&& get(holds<N>&& h) noexcept {
  return std::move(h[I]);
}  ///< @overload

/// @}

namespace detail {

template <std::derived_from<basic_lock>... Locks>
std::shared_ptr<lock_group> group_of(const Locks&... locks) {
  auto group = std::make_shared<lock_group>();
  (group->members.push_back(access::lock(locks)), ...);
  return group;
}

template <class Lock>
std::shared_ptr<lock_group> group_of(const std::vector<Lock>& locks) {
  auto group = std::make_shared<lock_group>();
  for (const Lock& l : locks) group->members.push_back(access::lock(l));
  return group;
}

template <class Tuple, std::size_t... I>
std::shared_ptr<lock_group> group_of_first(const Tuple& all, std::index_sequence<I...>) {
  return group_of(std::get<I>(all)...);
}

// N 0: the number of locks is known only at run time.
template <std::size_t N, class Token>
auto acquire_group(std::shared_ptr<lock_group> group, acquire_options options, Token&& token) {
  using all_holds = std::conditional_t<N == 0, std::vector<hold>, holds<N>>;
  return asio::async_initiate<Token, void(error_code, all_holds)>(initiate_acquire_all<N>{std::move(group), options},
                                                                  token);
}

template <class... Arguments>
inline constexpr std::size_t number_of_locks =
    (std::size_t{0} + ... + std::size_t{std::derived_from<std::remove_cvref_t<Arguments>, basic_lock>});

template <class... Arguments>
using last_of = typename decltype((std::type_identity<void>(), ..., std::type_identity<Arguments>()))::type;

// Locks, followed by a completion token.
template <class... Arguments>
concept locks_and_token =
    sizeof...(Arguments) >= 2 && number_of_locks<Arguments...> == sizeof...(Arguments) - 1 &&
    asio::completion_token_for<last_of<Arguments...>, void(error_code, holds<sizeof...(Arguments) - 1>)>;

}  // namespace detail

/// @addtogroup ref_acquiring
/// @{

/// Acquires several locks of any kinds: all or none, before one deadline.
///
/// If all locks are free, one script takes them in one round trip. In a cluster this requires that all are in one slot.
/// On a quorum, and with acquire_options::replicas, it is never done. Otherwise the operation acquires the locks one
/// after the other through their queues, in the byte order of their records. So operations that acquire several locks
/// in this way never wait for each other in a cycle (a deadlock), whatever the order of their arguments. (A caller that
/// already holds one of the locks and acquires others by other means can still cause one.) If a hold is lost before the
/// last lock is acquired, the operation releases all of them and starts again.
///
/// A completion token may follow the locks; without one, the result is a deferred operation. `options` may be omitted:
/// `co_await acquire_all(a, b)`, `acquire_all({.wait = 1s}, a, b, asio::use_future)`.
///
/// @par Completion signature `void(error_code, holds<N>)`
/// @par Errors
/// As basic_lock::acquire. error::invalid_option also if two of the locks have the same record (even in two stores), if
/// their clients run on different execution contexts, or if there is no lock. With acquire_options::wait 0 there is one
/// attempt.
/// @par Cancellation
/// All types. Leaves no trace, as for acquire: the operation first releases what it has acquired, which takes 100 ms at
/// most. What the store has not answered by then goes on in the background.
/// @par Executor and lifetime
/// Locks of different clients of one execution context may be mixed. Such locks are in different stores, so the
/// operation acquires them one after the other. The handler runs on its associated executor, else on that of the first
/// lock's client; without a lock, on Asio's system executor.
template <std::derived_from<basic_lock>... Locks>
[[nodiscard]] auto acquire_all(acquire_options options, const Locks&... locks) {
  static_assert(sizeof...(Locks) > 0, "acquire_all wants a lock");
  return detail::acquire_group<sizeof...(Locks)>(detail::group_of(locks...), options, asio::deferred);
}
template <std::derived_from<basic_lock>... Locks>
[[nodiscard]] auto acquire_all(const Locks&... locks) {
  return acquire_all(acquire_options(), locks...);
}  ///< @overload
template <class... LocksAndToken>
requires detail::locks_and_token<LocksAndToken...>
auto acquire_all(acquire_options options, LocksAndToken&&... arguments) {
  constexpr std::size_t n = sizeof...(LocksAndToken) - 1;
  const auto all = std::forward_as_tuple(std::forward<LocksAndToken>(arguments)...);
  auto group = detail::group_of_first(all, std::make_index_sequence<n>());
  using token = std::tuple_element_t<n, std::tuple<LocksAndToken&&...>>;
  return detail::acquire_group<n>(std::move(group), options, std::forward<token>(std::get<n>(all)));
}  ///< @overload
template <class... LocksAndToken>
requires detail::locks_and_token<LocksAndToken...>
auto acquire_all(LocksAndToken&&... arguments) {
  return acquire_all(acquire_options(), std::forward<LocksAndToken>(arguments)...);
}  ///< @overload

/// The same for locks of one kind whose number is known only at run time. `void(error_code, std::vector<hold>)`, the
/// holds in the order of the locks.
template <std::derived_from<basic_lock> Lock, asio::completion_token_for<void(error_code, std::vector<hold>)> Token>
auto acquire_all(acquire_options options, const std::vector<Lock>& locks, Token&& token) {
  return detail::acquire_group<0>(detail::group_of(locks), options, std::forward<Token>(token));
}
template <std::derived_from<basic_lock> Lock, asio::completion_token_for<void(error_code, std::vector<hold>)> Token>
auto acquire_all(const std::vector<Lock>& locks, Token&& token) {
  return acquire_all(acquire_options(), locks, std::forward<Token>(token));
}  ///< @overload
template <std::derived_from<basic_lock> Lock>
[[nodiscard]] auto acquire_all(acquire_options options, const std::vector<Lock>& locks) {
  return acquire_all(options, locks, asio::deferred);
}  ///< @overload
template <std::derived_from<basic_lock> Lock>
[[nodiscard]] auto acquire_all(const std::vector<Lock>& locks) {
  return acquire_all(acquire_options(), locks, asio::deferred);
}  ///< @overload

/// @}

}  // namespace leasehold

template <std::size_t N>
struct std::tuple_size<leasehold::holds<N>> : std::integral_constant<std::size_t, N> {};
template <std::size_t I, std::size_t N>
struct std::tuple_element<I, leasehold::holds<N>> {
  using type = leasehold::hold;
};

template <template <class, class> class Associator, std::size_t N, class Handler, class Default>
struct boost::asio::associator<Associator, leasehold::detail::as_holds<N, Handler>, Default>
    : Associator<Handler, Default> {
  static auto get(const leasehold::detail::as_holds<N, Handler>& h) noexcept {
    return Associator<Handler, Default>::get(h.handler);
  }
  static auto get(const leasehold::detail::as_holds<N, Handler>& h, const Default& d) noexcept {
    return Associator<Handler, Default>::get(h.handler, d);
  }
};
