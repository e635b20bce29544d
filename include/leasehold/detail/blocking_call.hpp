// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How a thread waits for an operation of a client that has a thread of its own. Nothing here is for users.
#pragma once

#include <leasehold/acquire_all.hpp>
#include <leasehold/acquire_options.hpp>
#include <leasehold/client.hpp>
#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/lock.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <concepts>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::detail {

// An execution context, the thread that runs it, and a client on it. The last handle ends all three.
class own_thread;
std::shared_ptr<own_thread> start_own_thread(std::vector<std::string> urls, client_options);
const client& client_of(const own_thread&) noexcept;
std::exception_ptr observer_failure_of(const own_thread&) noexcept;
// A child process of fork has a copy of everything but the thread. It must not touch what the thread may have locked.
bool is_in_child(const own_thread&) noexcept;
// Why the calling thread cannot wait for that thread; no error if it can.
error_code obstacle_to(const own_thread&) noexcept;

// The last arguments of a function that waits: a stop token, an error code that takes the error, both, or none.
struct ending {
  ending() = default;
  ending(std::stop_token s) : stop(std::move(s)) {}
  ending(error_code& ec) : failure(&ec) {}
  ending(std::stop_token s, error_code& ec) : stop(std::move(s)), failure(&ec) {}

  std::stop_token stop;
  error_code* failure = nullptr;  // Null: the error is thrown.
};

template <class... End>
concept ends_a_wait = std::constructible_from<ending, End...>;

// What the waiting thread and the operation's handler share.
class blocking_wait {
 public:
  asio::cancellation_slot slot() noexcept { return signal_.slot(); }

  // On the client's thread.
  void cancel() { signal_.emit(asio::cancellation_type::terminal); }
  void finish(error_code) noexcept;

  // Until finish() was called.
  error_code wait();

 protected:
  ~blocking_wait() = default;

 private:
  asio::cancellation_signal signal_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::optional<error_code> outcome_;
};

// Waits. If the stop is requested meanwhile, the operation is cancelled, and then ends by itself.
error_code wait_for_end(const own_thread&, const std::shared_ptr<blocking_wait>&, const std::stop_token&);

template <class Result>
struct blocking_result final : blocking_wait {
  Result value{};
};
template <>
struct blocking_result<void> final : blocking_wait {};

// The handler of the operation. A handler that is destroyed and was not called ends the wait, too.
template <class Result>
class finishes {
 public:
  using cancellation_slot_type = asio::cancellation_slot;

  explicit finishes(std::shared_ptr<blocking_result<Result>> wait) noexcept : wait_(std::move(wait)) {}
  finishes(finishes&&) noexcept = default;
  finishes& operator=(finishes&&) = delete;
  ~finishes() {
    if (wait_) wait_->finish(make_error_code(error::closed));
  }

  cancellation_slot_type get_cancellation_slot() const noexcept {
    return wait_ ? wait_->slot() : cancellation_slot_type();
  }

  template <class... Value>
  void operator()(error_code ec, Value... value) {
    const auto wait = std::move(wait_);
    if constexpr (sizeof...(Value) != 0) wait->value = (std::move(value), ...);
    wait->finish(ec);
  }

 private:
  std::shared_ptr<blocking_result<Result>> wait_;
};

// Throws the exception that names what has failed.
[[noreturn]] void throw_error(const std::shared_ptr<client_handle>&, const error_code&, const std::string& lock = {},
                              bool = false);
[[noreturn]] void throw_error(const std::shared_ptr<lock_state>&, const error_code&, const acquire_options& = {});
[[noreturn]] void throw_error(const std::shared_ptr<lock_group>&, const error_code&, const acquire_options& = {});
[[noreturn]] void throw_error(const std::shared_ptr<hold_state>&, const error_code&);
[[noreturn]] void throw_error(const std::shared_ptr<hold_group>&, const error_code&);
// The same for an obstacle.
[[noreturn]] void throw_obstacle(const error_code&);

// The error of an operation that there is nothing to ask for; no error if there is.
inline error_code emptiness_of(const std::shared_ptr<client_handle>&) noexcept { return {}; }
inline error_code emptiness_of(const std::shared_ptr<lock_state>&) noexcept { return {}; }
inline error_code emptiness_of(const std::shared_ptr<lock_group>& locks) noexcept {
  return locks->members.empty() ? make_error_code(error::invalid_option) : error_code();
}
inline error_code emptiness_of(const std::shared_ptr<hold_state>& hold) noexcept {
  return hold ? error_code() : make_error_code(error::not_held);
}
inline error_code emptiness_of(const std::shared_ptr<hold_group>& holds) noexcept {
  return is_empty(holds) ? make_error_code(error::not_held) : error_code();
}

template <class... Result>
struct only_result {
  using type = void;
};
template <class Result>
struct only_result<Result> {
  using type = Result;
};

// Starts an operation of the library and waits for its end: start(state, handler, args...).
template <class State, class... Results, class... Parameters, class... Args>
auto block_on(void (*start)(const std::shared_ptr<State>&, asio::any_completion_handler<void(error_code, Results...)>,
                            Parameters...),
              std::shared_ptr<own_thread> thread, const std::shared_ptr<State>& state, const ending& end,
              const Args&... args) {
  using result = typename only_result<Results...>::type;
  const auto wait = std::make_shared<blocking_result<result>>();
  error_code ec = emptiness_of(state);
  if (!ec) {
    const error_code obstacle = obstacle_to(*thread);
    if (obstacle && end.failure == nullptr) throw_obstacle(obstacle);
    ec = obstacle;
    if (!ec) {
      start(state, finishes<result>(wait), args...);
      ec = wait_for_end(*thread, wait, end.stop);
    }
  }
  if (end.failure != nullptr) {
    *end.failure = ec;
  } else if (ec) {
    if constexpr (requires { throw_error(state, ec, args...); }) {
      throw_error(state, ec, args...);
    } else {
      throw_error(state, ec);
    }
  }
  if constexpr (!std::is_void_v<result>) return std::move(wait->value);
}

// Requests a stop when the hold is lost.
void request_stop_at_loss(const std::shared_ptr<hold_state>&, const std::stop_source&);

// Throws exception(lost) if a hold has not covered the work up to now.
void throw_if_outlived(const std::shared_ptr<hold_group>&);
// The same, and also if the loss of a hold was reported.
void throw_if_lost(const std::shared_ptr<hold_group>&);

// Between its constructor and its destructor, client::close leaves the release of these holds to the calling thread.
class guarded_holds {
 public:
  explicit guarded_holds(std::shared_ptr<hold_group>) noexcept;
  guarded_holds(const guarded_holds&) = delete;
  guarded_holds& operator=(const guarded_holds&) = delete;
  ~guarded_holds();

 private:
  std::shared_ptr<hold_group> holds_;
};

// What stops work: the loss of a hold, and the caller's own stop token.
class work_stop {
 public:
  void when(const std::stop_token& other) { callbacks_.emplace_back(other, requests{source_}); }
  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  struct requests {
    std::stop_source source;
    void operator()() noexcept { source.request_stop(); }
  };

  std::stop_source source_;
  std::list<std::stop_callback<requests>> callbacks_;
};

// Runs work(held..., stop token) while the holds are held.
template <class Work, class... Held>
auto run_covered(const std::shared_ptr<hold_group>& holds, const work_stop& stop, Work& work, Held&... held) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&, Held&..., std::stop_token>>) {
      std::invoke(work, held..., stop.token());
      throw_if_outlived(holds);
    } else {
      auto result = std::invoke(work, held..., stop.token());
      throw_if_outlived(holds);
      return result;
    }
  } catch (const system_error& e) {
    if (e.code() == asio::error::operation_aborted) throw_if_lost(holds);
    throw;
  }
}

}  // namespace leasehold::detail
