// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// For programs of threads: the same locks by functions that wait for their result. No other part of the library starts
// a thread: each blocking::client has one of its own, with an execution context that it runs.
//
// leasehold.hpp does not include this header.
#pragma once

#include <leasehold/acquire_all.hpp>
#include <leasehold/acquire_options.hpp>
#include <leasehold/admin.hpp>
#include <leasehold/client.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/detail/blocking_call.hpp>
#include <leasehold/detail/for_threads.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/lock.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold {

/// Locks for programs of threads. `#include <leasehold/blocking.hpp>`; docs/blocking.md says when to use them.
///
/// A function that waits is the operation of the same name in namespace leasehold. It has the same options, the same
/// errors and the same meaning, and returns what the operation completes with. Its last arguments say how it ends:
///
/// - none: an error is thrown, as leasehold::exception;
/// - `std::stop_token`: a request to stop cancels the operation, which ends with
///   `boost::asio::error::operation_aborted`. What it leaves behind is what the operation says under *Cancellation*;
/// - `error_code&`: takes the error, or no error. No error of an operation is thrown, and after an error the result is
///   empty;
/// - `std::stop_token, error_code&`: both.
///
/// So `acquire` is `lock.acquire()`, `lock.acquire(options)`, `lock.acquire(stop)`, `lock.acquire(options, stop)`,
/// `lock.acquire(options, ec)` or `lock.acquire(options, stop, ec)`.
///
/// Two errors more are possible in each of them, both at once. `boost::system::errc::resource_deadlock_would_occur`:
/// it was called on the client's own thread, for example in client_options::observer, and would wait for itself.
/// `boost::system::errc::no_such_process`: it was called in a child process of fork, which has no such thread.
///
/// The objects may outlive each other: a lock keeps its client's thread running, and so does a hold.
namespace blocking {

class client;
class hold;
class basic_lock;

}  // namespace blocking

namespace detail {

// Gives the functions of namespace blocking access to what is behind its objects.
struct blocking_access {
  template <class Object>
  static const std::shared_ptr<own_thread>& thread(const Object& o) noexcept {
    return o.thread_;
  }
  static const std::shared_ptr<client_handle>& handle(const blocking::client&) noexcept;
  static const std::shared_ptr<lock_state>& lock(const blocking::basic_lock&) noexcept;
  static const std::shared_ptr<hold_state>& state(const blocking::hold&) noexcept;
  static blocking::hold make_hold(std::shared_ptr<own_thread>, leasehold::hold) noexcept;
};

}  // namespace detail

namespace blocking {

/// @addtogroup ref_blocking
/// @{

/// A program's connection to one store, and a thread that does its work: renewals, releases, the queue.
///
/// A handle, cheap to copy: all copies, and the locks and holds made with them, share the connection and the thread. It
/// connects at once, and reconnects by itself.
///
/// The destructor of the last of these objects ends the thread and waits for that, because what was released just
/// before is still on its way to the store. It waits for client_options::connect_timeout at most. (A host's name that
/// is being resolved cannot be interrupted.) If that destructor runs on the client's own thread, it does not wait.
///
/// client_options::observer is called on the client's own thread. It must not block, because no lease is renewed
/// meanwhile. It must not own an object of this client, which would then never end. An exception that leaves it
/// disturbs nothing; observer_failure() returns the first one.
///
/// Thread safety: const functions may be called from any thread. No signal is delivered to the client's own thread
/// (except SIGPROF, and those that report its faults).
///
/// @par fork
/// A child process has no such thread. It may destroy these objects, which then does nothing to the store; every
/// function that waits fails.
class client {
 public:
  /// @param url,options as for leasehold::client.
  /// @throws exception as leasehold::client. `std::system_error`: the system starts no further thread.
  explicit client(std::string_view url, client_options options = {})
      : client(std::vector<std::string>{std::string(url)}, std::move(options)) {}

  /// Two URLs or more: a quorum of independent servers.
  explicit client(std::initializer_list<std::string_view> urls, client_options options = {})
      : client(std::vector<std::string>(urls.begin(), urls.end()), std::move(options)) {}

  explicit client(std::vector<std::string> urls, client_options options = {})
      : thread_(detail::start_own_thread(std::move(urls), std::move(options))) {}  ///< @overload

  /// Waits until the store answers: leasehold::client::ready.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void ready(End&&... end) const { detail::block_on(&detail::start_ready, thread_, handle(), {end...}); }

  /// Ends everything: leasehold::client::close. The thread goes on until the last object is gone.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void close(End&&... end) const { detail::block_on(&detail::start_close, thread_, handle(), {end...}); }

  statistics stats() const { return async().stats(); }  ///< A snapshot.
  /// leasehold::client::stats_by_class.
  std::map<std::string, class_statistics> stats_by_class() const { return async().stats_by_class(); }
  std::string server() const { return async().server(); }                          ///< leasehold::client::server.
  std::string explain(const error_code& ec) const { return async().explain(ec); }  ///< leasehold::client::explain.
  std::string last_refusal() const { return async().last_refusal(); }              ///< leasehold::client::last_refusal.
  std::string last_failure() const { return async().last_failure(); }              ///< leasehold::client::last_failure.

  /// The first exception that has left client_options::observer on the client's own thread; null if there was none.
  std::exception_ptr observer_failure() const noexcept { return detail::observer_failure_of(*thread_); }

 private:
  friend detail::blocking_access;
  const leasehold::client& async() const noexcept { return detail::client_of(*thread_); }
  const std::shared_ptr<detail::client_handle>& handle() const noexcept { return detail::access::handle(async()); }

  std::shared_ptr<detail::own_thread> thread_;
};

/// Proof that this program has the lock; what `acquire` returns. See leasehold::hold.
///
/// Keep it: `lock.acquire();` releases the lock at the semicolon. Movable, not copyable. An empty hold
/// (default-constructed, or moved from) answers "", 0, false and time_point::min(), and its functions that wait fail
/// with error::not_held.
///
/// It is no mutex of the C++ library on purpose: `std::lock_guard` could not notice that the lease was lost. Use
/// lost_token(), or put the work into with_lock().
///
/// Thread safety: a hold belongs to one thread at a time. While one thread waits in wait_lost() or wait_wanted(),
/// another one may call const functions and release().
class [[nodiscard]] hold {
 public:
  hold() noexcept = default;        ///< An empty hold.
  hold(hold&&) noexcept = default;  ///< The other one is empty afterwards.
  /// What was held before is released in the background, as by the destructor.
  hold& operator=(hold&& other) noexcept {
    if (this == &other) return *this;
    hold old(std::move(*this));
    thread_ = std::move(other.thread_);
    hold_ = std::move(other.hold_);
    loss_ = std::move(other.loss_);
    return *this;
  }

  /// If the lock is still held, releases it in the background. Does not wait, unless it is the last object of its
  /// client (client).
  ~hold() {
    // In a child process the release could wait for what the thread had locked.
    if (thread_ && detail::is_in_child(*thread_)) new leasehold::hold(std::move(hold_));
  }

  const std::string& name() const noexcept { return hold_.name(); }    ///< leasehold::hold::name.
  const std::string& token() const noexcept { return hold_.token(); }  ///< leasehold::hold::token.
  std::uint64_t fence() const noexcept { return hold_.fence(); }       ///< leasehold::hold::fence.
  std::chrono::steady_clock::time_point expires_at() const noexcept {
    return hold_.expires_at();
  }                                                             ///< leasehold::hold::expires_at.
  bool valid() const noexcept { return hold_.valid(); }         ///< leasehold::hold::valid.
  std::size_t depth() const noexcept { return hold_.depth(); }  ///< leasehold::hold::depth.

  /// leasehold::hold::extend.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void extend(std::chrono::milliseconds lease, End&&... end) {
    detail::block_on(&detail::start_extend, thread_, state(), {end...}, lease);
  }

  /// leasehold::hold::downgrade.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void downgrade(End&&... end) { detail::block_on(&detail::start_downgrade, thread_, state(), {end...}); }

  /// leasehold::hold::release.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void release(End&&... end) { detail::block_on(&detail::start_release, thread_, state(), {end...}); }

  /// Returns when the hold is lost: leasehold::hold::lost.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void wait_lost(End&&... end) const { detail::block_on(&detail::start_lost, thread_, state(), {end...}); }

  /// Returns when another client waits for the lock: leasehold::hold::wanted.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void wait_wanted(End&&... end) const { detail::block_on(&detail::start_wanted, thread_, state(), {end...}); }

  /// A token on which a stop is requested when the hold is lost, as leasehold::hold::lost reports it. Never, if the
  /// hold is released or destroyed before, or is empty.
  ///
  /// Callbacks of this token (`std::stop_callback`) run on the client's own thread. They must not block: no lease is
  /// renewed meanwhile.
  ///
  /// In a child process of fork a stop is requested on it from the start.
  std::stop_token lost_token() {
    if (thread_ && detail::is_in_child(*thread_)) {
      loss_ = std::stop_source();
      loss_.request_stop();
    } else if (!loss_.stop_possible() && state()) {
      loss_ = std::stop_source();
      detail::request_stop_at_loss(state(), loss_);
    }
    return loss_.get_token();
  }

 private:
  friend detail::blocking_access;
  hold(std::shared_ptr<detail::own_thread> thread, leasehold::hold h) noexcept
      : thread_(std::move(thread)), hold_(std::move(h)) {}
  const std::shared_ptr<detail::hold_state>& state() const noexcept { return detail::access::state(hold_); }

  std::shared_ptr<detail::own_thread> thread_;  // Destroyed last.
  leasehold::hold hold_;
  std::stop_source loss_{std::nostopstate};
};

/// @}

}  // namespace blocking

namespace detail {

inline const std::shared_ptr<client_handle>& blocking_access::handle(const blocking::client& c) noexcept {
  return c.handle();
}
inline const std::shared_ptr<hold_state>& blocking_access::state(const blocking::hold& h) noexcept { return h.state(); }
inline blocking::hold blocking_access::make_hold(std::shared_ptr<own_thread> thread, leasehold::hold h) noexcept {
  return blocking::hold(std::move(thread), std::move(h));
}

inline const leasehold::client& async_of(const blocking::client& c) noexcept {
  return client_of(*blocking_access::thread(c));
}

// A name or an owner.
template <class T>
concept text = std::convertible_to<const T&, std::string> || std::convertible_to<const T&, std::string_view>;

inline std::shared_ptr<hold_group> group_of_holds(const blocking::hold& h) {
  auto group = std::make_shared<hold_group>();
  group->members.push_back(blocking_access::state(h));
  return group;
}
template <class Holds>
std::shared_ptr<hold_group> group_of_holds(const Holds& all) {
  auto group = std::make_shared<hold_group>();
  for (const blocking::hold& h : all) group->members.push_back(blocking_access::state(h));
  return group;
}

// Null if all are empty.
inline std::shared_ptr<own_thread> thread_of(const blocking::hold& h) noexcept { return blocking_access::thread(h); }
template <class Holds>
std::shared_ptr<own_thread> thread_of(const Holds& all) noexcept {
  for (const blocking::hold& h : all) {
    if (blocking_access::state(h)) return blocking_access::thread(h);
  }
  return nullptr;
}

inline std::vector<blocking::hold> blocking_holds(const std::shared_ptr<own_thread>& thread,
                                                  std::vector<leasehold::hold> all) {
  std::vector<blocking::hold> result;
  result.reserve(all.size());
  for (auto& h : all) result.push_back(blocking_access::make_hold(thread, std::move(h)));
  return result;
}

}  // namespace detail

namespace blocking {

/// @addtogroup ref_blocking
/// @{

/// What every kind of lock has: leasehold::basic_lock. A handle, cheap to copy.
///
/// Thread safety: const functions may be called from any thread.
class basic_lock {
 public:
  /// Without the client's prefix.
  const std::string& name() const noexcept { return detail::name_of(lock_); }
  std::string explain(const error_code& ec) const {
    return detail::explain(lock_, ec);
  }  ///< leasehold::basic_lock::explain.

  /// Waits until this program has the lock: leasehold::basic_lock::acquire. With an error the hold is empty.
  template <class... End>
  requires detail::ends_a_wait<End...> hold acquire(acquire_options options, End&&... end)
  const { return made(detail::block_on(&detail::start_acquire, thread_, lock_, {end...}, options)); }
  template <class... End>
  requires detail::ends_a_wait<End...> hold acquire(End&&... end)
  const { return acquire(acquire_options(), end...); }  ///< @overload

  /// Makes one attempt: leasehold::basic_lock::try_acquire. A busy lock is no error: the result is then empty.
  template <class... End>
  requires detail::ends_a_wait<End...>
  [[nodiscard]] std::optional<hold> try_acquire(acquire_options options, End&&... end) const {
    auto attempt = detail::block_on(&detail::start_try_acquire, thread_, lock_, {end...}, options);
    return attempt ? std::optional<hold>(made(*std::move(attempt))) : std::nullopt;
  }
  template <class... End>
  requires detail::ends_a_wait<End...>
  [[nodiscard]] std::optional<hold> try_acquire(End&&... end) const {
    return try_acquire(acquire_options(), end...);
  }  ///< @overload

  /// Reads the state of the lock from Redis: leasehold::basic_lock::inspect.
  template <class... End>
  requires detail::ends_a_wait<End...> lock_info inspect(End&&... end)
  const { return detail::block_on(&detail::start_inspect, thread_, lock_, {end...}); }

 protected:
  template <class Lock>
  basic_lock(const client& c, const Lock& lock) noexcept
      : thread_(detail::blocking_access::thread(c)), lock_(detail::access::lock(lock)) {}
  ~basic_lock() = default;
  basic_lock(const basic_lock&) = default;
  basic_lock(basic_lock&&) noexcept = default;
  basic_lock& operator=(const basic_lock&) = default;
  basic_lock& operator=(basic_lock&&) noexcept = default;

  hold made(leasehold::hold h) const noexcept { return detail::blocking_access::make_hold(thread_, std::move(h)); }

  std::shared_ptr<detail::own_thread> thread_;  // Destroyed last.
  std::shared_ptr<detail::lock_state> lock_;

 private:
  friend detail::blocking_access;
};

/// One holder at a time: leasehold::mutex.
class mutex : public basic_lock {
 public:
  template <detail::text Name>
  mutex(const client& c, const Name& name)
      : basic_lock(c, leasehold::mutex(detail::async_of(c), name)) {}  ///< As leasehold::mutex::mutex.
};

/// One owner at a time, which may acquire the lock again: leasehold::recursive_mutex.
///
/// The owner is a text that the caller chooses. It is no thread: two threads with the same owner both have the lock.
class recursive_mutex : public basic_lock {
 public:
  template <detail::text Name, detail::text Owner>
  recursive_mutex(const client& c, const Name& name, const Owner& owner)
      : basic_lock(c, leasehold::recursive_mutex(detail::async_of(c), name, owner)) {
  }  ///< As leasehold::recursive_mutex::recursive_mutex.
};

/// One writer or any number of readers: leasehold::shared_mutex.
class shared_mutex : public basic_lock {
 public:
  /// The reader's side, as a lock: its acquire and try_acquire are shared.
  class reader_side : public basic_lock {
   private:
    friend shared_mutex;
    reader_side(const client& c, const leasehold::shared_mutex::reader_side& lock) noexcept : basic_lock(c, lock) {}
  };

  template <detail::text Name, detail::text Owner = std::string>
  shared_mutex(const client& c, const Name& name, const Owner& owner = {})
      : shared_mutex(c, leasehold::shared_mutex(detail::async_of(c), name, owner)) {
  }  ///< As leasehold::shared_mutex::shared_mutex.

  reader_side shared() const { return reader_; }  ///< For with_lock and acquire_all.

  /// As acquire, for a reader.
  template <class... End>
  requires detail::ends_a_wait<End...> hold acquire_shared(acquire_options options, End&&... end)
  const { return reader_.acquire(options, end...); }
  template <class... End>
  requires detail::ends_a_wait<End...> hold acquire_shared(End&&... end)
  const { return reader_.acquire(end...); }  ///< @overload

  /// As try_acquire, for a reader.
  template <class... End>
  requires detail::ends_a_wait<End...>
  [[nodiscard]] std::optional<hold> try_acquire_shared(acquire_options options, End&&... end) const {
    return reader_.try_acquire(options, end...);
  }
  template <class... End>
  requires detail::ends_a_wait<End...>
  [[nodiscard]] std::optional<hold> try_acquire_shared(End&&... end) const {
    return reader_.try_acquire(end...);
  }  ///< @overload

 private:
  shared_mutex(const client& c, const leasehold::shared_mutex& lock) : basic_lock(c, lock), reader_(c, lock.shared()) {}

  reader_side reader_;
};

/// At most `limit` holds at a time: leasehold::counting_semaphore.
class counting_semaphore : public basic_lock {
 public:
  template <detail::text Name>
  counting_semaphore(const client& c, const Name& name, std::uint32_t limit)
      : basic_lock(c, leasehold::counting_semaphore(detail::async_of(c), name, limit)) {
  }  ///< As leasehold::counting_semaphore::counting_semaphore.

  /// Changes the limit: leasehold::counting_semaphore::resize.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void resize(std::uint32_t limit, End&&... end) const {
    detail::block_on(&detail::start_resize, thread_, lock_, {end...}, limit);
  }
};

/// What acquire_all returns: a hold of each lock, in the order of its arguments. See leasehold::holds.
///
/// `auto [a, b] = acquire_all(x, y);` unpacks it into holds. Thread safety: as for a hold.
template <std::size_t N>
class [[nodiscard]] holds {
 public:
  holds() noexcept = default;  ///< N empty holds.
  explicit holds(std::vector<hold> all) noexcept {
    std::move(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(N, all.size())), holds_.begin());
  }  ///< Takes the first N.

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

  /// Releases all of them, at the same time: leasehold::holds::release.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void release(End&&... end) {
    detail::block_on(&detail::start_release_all, detail::thread_of(*this), detail::group_of_holds(*this), {end...});
  }

  /// Returns when one of them is lost: leasehold::holds::lost.
  template <class... End>
  requires detail::ends_a_wait<End...>
  void wait_lost(End&&... end) const {
    detail::block_on(&detail::start_lost_any, detail::thread_of(*this), detail::group_of_holds(*this), {end...});
  }

 private:
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

}  // namespace blocking

namespace detail {

inline const std::shared_ptr<lock_state>& blocking_access::lock(const blocking::basic_lock& l) noexcept {
  return l.lock_;
}

template <class T>
concept blocking_lock = std::derived_from<std::remove_cvref_t<T>, blocking::basic_lock>;

template <class... Arguments>
inline constexpr std::size_t number_of_blocking_locks = (std::size_t{0} + ... + std::size_t{blocking_lock<Arguments>});

// Whether arguments number First and later end a wait.
template <std::size_t First, class... Arguments, std::size_t... I>
consteval bool end_a_wait_from(std::index_sequence<I...>) {
  return ends_a_wait<std::tuple_element_t<First + I, std::tuple<Arguments&&...>>...>;
}

// Locks, followed by what ends a wait.
template <class... Arguments>
consteval bool are_locks_and_end() {
  constexpr std::size_t n = number_of_blocking_locks<Arguments...>;
  constexpr bool is_lock[] = {blocking_lock<Arguments>..., false};
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_lock[i]) return false;
  }
  return n > 0 && end_a_wait_from<n, Arguments...>(std::make_index_sequence<sizeof...(Arguments) - n>());
}
template <class... Arguments>
concept locks_and_end = are_locks_and_end<Arguments...>();

template <class Tuple, std::size_t... I>
std::shared_ptr<lock_group> blocking_group(const Tuple& all, std::index_sequence<I...>) {
  auto group = std::make_shared<lock_group>();
  (group->members.push_back(blocking_access::lock(std::get<I>(all))), ...);
  return group;
}
template <std::size_t First, class Tuple, std::size_t... I>
ending ending_from(const Tuple& all, std::index_sequence<I...>) {
  return ending(std::get<First + I>(all)...);
}

// What with_lock and acquire_all take: a lock, a tuple of locks or a vector of locks.
template <class Locks>
struct blocking_lockable {
  using held = blocking::hold;
  static held acquire(const Locks& lock, const acquire_options& options, const ending& end) {
    return lock.acquire(options, end);
  }
};
template <class... Locks>
struct blocking_lockable<std::tuple<Locks...>> {
  using held = blocking::holds<sizeof...(Locks)>;
  static held acquire(const std::tuple<Locks...>& locks, const acquire_options& options, const ending& end) {
    const auto& thread = blocking_access::thread(std::get<0>(locks));
    const auto group = blocking_group(locks, std::index_sequence_for<Locks...>());
    return held(blocking_holds(thread, block_on(&start_acquire_all, thread, group, end, options)));
  }
};
template <class Lock>
struct blocking_lockable<std::vector<Lock>> {
  using held = std::vector<blocking::hold>;
  static held acquire(const std::vector<Lock>& locks, const acquire_options& options, const ending& end) {
    const auto thread = locks.empty() ? nullptr : blocking_access::thread(locks.front());
    auto group = std::make_shared<lock_group>();
    for (const Lock& l : locks) group->members.push_back(blocking_access::lock(l));
    return blocking_holds(thread, block_on(&start_acquire_all, thread, group, end, options));
  }
};

// Releases holds at the end of a scope, and waits for the answer unless a stop was requested.
template <class Held>
class released_at_end {
 public:
  released_at_end(Held& held, const std::stop_token& stop) : held_(held), stop_(stop) {}
  released_at_end(const released_at_end&) = delete;
  released_at_end& operator=(const released_at_end&) = delete;
  ~released_at_end() {
    try {
      release();
    } catch (...) {  // There was no memory to wait with. The destructor of the hold releases it.
    }
  }

  error_code release() {
    error_code ec;
    if (std::exchange(done_, true)) return ec;
    block_on(&start_release_all, thread_of(held_), group_of_holds(held_), ending(stop_, ec));
    return ec;
  }

 private:
  Held& held_;
  const std::stop_token& stop_;
  bool done_ = false;
};

inline void stop_at_loss(work_stop& stop, blocking::hold& h) {
  const auto& thread = blocking_access::thread(h);
  if (thread && is_in_child(*thread)) throw_obstacle(obstacle_to(*thread));
  stop.when(h.lost_token());
}
template <class Holds>
void stop_at_loss(work_stop& stop, Holds& all) {
  for (blocking::hold& h : all) stop_at_loss(stop, h);
}

template <class Held, class Work>
auto blocking_while_held(Held& held, Work& work, const std::stop_token& outer) {
  work_stop stop;
  stop.when(outer);
  stop_at_loss(stop, held);
  const auto states = group_of_holds(held);
  throw_if_lost(states);
  return run_covered(states, stop, work);
}

template <class Held, class Body>
auto blocking_with_hold(Held& held, Body& body, const std::stop_token& outer) {
  const auto states = group_of_holds(held);  // The body may move the holds elsewhere.
  const guarded_holds guard(states);
  throw_if_outlived(states);  // By client::close, on another thread, before they were guarded.
  work_stop stop;
  stop.when(outer);
  stop_at_loss(stop, held);
  released_at_end end(held, outer);
  const auto finish = [&] {
    if (end.release() == error::lost) throw_error(states, make_error_code(error::lost));
  };
  if constexpr (std::is_void_v<std::invoke_result_t<Body&, Held&, std::stop_token>>) {
    run_covered(states, stop, body, held);
    finish();
  } else {
    auto result = run_covered(states, stop, body, held);
    finish();
    return result;
  }
}

}  // namespace detail

namespace blocking {

/// @addtogroup ref_blocking
/// @{

/// Acquires several locks of any kinds: all or none, before one deadline. See leasehold::acquire_all.
///
/// All locks are of one client, or of copies of it, else error::invalid_option. What ends the wait may follow the
/// locks: `acquire_all({.wait = 1s}, a, b, stop)`. `options` may be omitted.
template <class... LocksAndEnd>
requires detail::locks_and_end<LocksAndEnd...>
auto acquire_all(acquire_options options, LocksAndEnd&&... arguments) {
  constexpr std::size_t n = detail::number_of_blocking_locks<LocksAndEnd...>;
  const auto all = std::forward_as_tuple(arguments...);
  const auto& thread = detail::blocking_access::thread(std::get<0>(all));
  const auto group = detail::blocking_group(all, std::make_index_sequence<n>());
  const auto end = detail::ending_from<n>(all, std::make_index_sequence<sizeof...(LocksAndEnd) - n>());
  return holds<n>(
      detail::blocking_holds(thread, detail::block_on(&detail::start_acquire_all, thread, group, end, options)));
}
template <class... LocksAndEnd>
requires detail::locks_and_end<LocksAndEnd...>
auto acquire_all(LocksAndEnd&&... arguments) { return acquire_all(acquire_options(), arguments...); }  ///< @overload

/// The same for locks of one kind whose number is known only at run time.
template <detail::blocking_lock Lock, class... End>
requires detail::ends_a_wait<End...>
[[nodiscard]] std::vector<hold> acquire_all(acquire_options options, const std::vector<Lock>& locks, End&&... end) {
  return detail::blocking_lockable<std::vector<Lock>>::acquire(locks, options, detail::ending(end...));
}
template <detail::blocking_lock Lock, class... End>
requires detail::ends_a_wait<End...>
[[nodiscard]] std::vector<hold> acquire_all(const std::vector<Lock>& locks, End&&... end) {
  return acquire_all(acquire_options(), locks, end...);
}  ///< @overload

/// Runs `work(std::stop_token)` on the calling thread while `h` is held. Does not release the hold.
///
/// A stop is requested on the token when the hold is lost (leasehold::hold::lost), or on `stop`. The work is not
/// interrupted otherwise: pass the token to what it waits for, or ask it in loops.
///
/// @returns what the work returns (void or movable).
/// @throws what the work throws; exception error::lost instead of operation_aborted after a loss, and instead of a
/// result that outlived the lease. If the work itself releases the hold, or the hold is empty, it simply goes on.
template <std::invocable<std::stop_token> Work>
auto while_held(hold& h, Work&& work, std::stop_token stop = {}) {
  return detail::blocking_while_held(h, work, stop);
}
/// The same for several holds: the loss of any of them requests the stop.
template <std::size_t N, std::invocable<std::stop_token> Work>
auto while_held(holds<N>& h, Work&& work, std::stop_token stop = {}) {
  return detail::blocking_while_held(h, work, stop);
}
template <std::invocable<std::stop_token> Work>
auto while_held(std::vector<hold>& h, Work&& work, std::stop_token stop = {}) {
  return detail::blocking_while_held(h, work, stop);
}  ///< @overload

/// Acquires the lock, runs `body(hold&, std::stop_token)` on the calling thread while it is held, and releases it on
/// every way out.
///
/// For several locks give a `std::tuple` of them, and a body that takes `holds<N>&`; or a `std::vector`, and a body
/// that takes `std::vector<hold>&`. They are acquired as by acquire_all.
///
/// A stop is requested on the body's token when a hold is lost (acquire_options::margin before its deadline), or on
/// `stop`. The lock is released when the body has returned, also if the client is closed meanwhile. with_lock waits for
/// the answer to the release, unless a stop was requested on `stop`. A release that Redis did not take is no error,
/// since the lock then ends with its lease.
///
/// @returns what the body returns (void or movable).
/// @throws exception what `acquire` fails with; error::lost when the lease did not cover the whole body; else the
/// body's own exception.
template <detail::for_threads Lock, class Body>
auto with_lock(const Lock& lock, acquire_options options, Body&& body, std::stop_token stop = {}) {
  using held = typename detail::blocking_lockable<Lock>::held;
  constexpr bool fits = std::invocable<Body&, held&, std::stop_token>;
  static_assert(fits,
                "with_lock: the body must be callable with a leasehold::blocking::hold& and a std::stop_token. (With a "
                "tuple of N locks it gets a leasehold::blocking::holds<N>&, with a vector of locks a "
                "std::vector<leasehold::blocking::hold>&.)");
  if constexpr (fits) {
    held h = detail::blocking_lockable<Lock>::acquire(lock, options, detail::ending(stop));
    return detail::blocking_with_hold(h, body, stop);
  }
}
template <detail::for_threads Lock, class Body>
auto with_lock(const Lock& lock, Body&& body, std::stop_token stop = {}) {
  return with_lock(lock, acquire_options(), body, std::move(stop));
}  ///< @overload

/// Lists the locks that are held: leasehold::list.
template <class... End>
requires detail::ends_a_wait<End...> std::vector<listed_lock> list(const client& c, End&&... end) {
  return detail::block_on(&detail::start_list, detail::blocking_access::thread(c), detail::blocking_access::handle(c),
                          {end...});
}

/// Shows one lock, its holds and its queue: leasehold::show.
template <class... End>
requires detail::ends_a_wait<End...> lock_status show(const client& c, const std::string& name, End&&... end) {
  return detail::block_on(&detail::start_show, detail::blocking_access::thread(c), detail::blocking_access::handle(c),
                          {end...}, name);
}

/// Frees a lock by force: leasehold::break_lock.
template <class... End>
requires detail::ends_a_wait<End...> broken_lock break_lock(const client& c, const std::string& name, bool force,
                                                            End&&... end) {
  return detail::block_on(&detail::start_break, detail::blocking_access::thread(c), detail::blocking_access::handle(c),
                          {end...}, name, force);
}
template <class... End>
requires detail::ends_a_wait<End...> broken_lock break_lock(const client& c, const std::string& name, End&&... end) {
  return break_lock(c, name, false, end...);
}  ///< @overload

/// @}

}  // namespace blocking

}  // namespace leasehold

template <std::size_t N>
struct std::tuple_size<leasehold::blocking::holds<N>> : std::integral_constant<std::size_t, N> {};
template <std::size_t I, std::size_t N>
struct std::tuple_element<I, leasehold::blocking::holds<N>> {
  using type = leasehold::blocking::hold;
};
