// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/blocking.hpp>
#include <leasehold/with_lock.hpp>

#include "client/client_core.hpp"
#include "lock/hold_state.hpp"
#include "lock/lock_state.hpp"
#include "time/system.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

namespace leasehold::detail {
namespace {

// What the thread needs. It may outlive the handle.
struct engine {
  asio::io_context context{1};
  std::mutex mutex;
  std::exception_ptr observer_failure;  // The first one.

  void run() {
    for (;;) {
      try {
        context.run();
        return;
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!observer_failure) observer_failure = std::current_exception();
      }
    }
  }
};

}  // namespace

class own_thread {
 public:
  own_thread(std::vector<std::string> urls, client_options options)
      : parts_(std::make_unique<parts>(std::move(urls), std::move(options))) {
    parts_->thread = system::start_thread("leasehold", [engine = parts_->engine] { engine->run(); });
  }
  own_thread(const own_thread&) = delete;
  own_thread& operator=(const own_thread&) = delete;
  ~own_thread() {
    if (is_in_child()) {
      static_cast<void>(parts_.release());
      return;
    }
    // What the client still does when it has closed (its resolver, for example) is not waited for.
    parts_->client.close([engine = parts_->engine](error_code) { engine->context.stop(); });
    is_own() ? parts_->thread.detach() : parts_->thread.join();
  }

  const client& async() const noexcept { return parts_->client; }
  bool is_own() const noexcept { return parts_->thread.get_id() == std::this_thread::get_id(); }
  bool is_in_child() const noexcept { return system::process_id() != process_; }
  std::exception_ptr observer_failure() const noexcept {
    const std::lock_guard lock(parts_->engine->mutex);
    return parts_->engine->observer_failure;
  }

  template <class F>
  void post(F f) const {
    asio::post(parts_->engine->context, std::move(f));
  }

 private:
  struct parts {
    parts(std::vector<std::string> urls, client_options options)
        : client(engine->context, std::move(urls), std::move(options)) {}

    const std::shared_ptr<detail::engine> engine = std::make_shared<detail::engine>();
    const asio::executor_work_guard<asio::io_context::executor_type> work{engine->context.get_executor()};
    const leasehold::client client;
    std::thread thread;
  };

  const std::int64_t process_ = system::process_id();
  std::unique_ptr<parts> parts_;
};

std::shared_ptr<own_thread> start_own_thread(std::vector<std::string> urls, client_options options) {
  return std::make_shared<own_thread>(std::move(urls), std::move(options));
}

const client& client_of(const own_thread& thread) noexcept { return thread.async(); }
std::exception_ptr observer_failure_of(const own_thread& thread) noexcept { return thread.observer_failure(); }
bool is_in_child(const own_thread& thread) noexcept { return thread.is_in_child(); }

error_code obstacle_to(const own_thread& thread) noexcept {
  namespace errc = boost::system::errc;
  if (thread.is_in_child()) return errc::make_error_code(errc::no_such_process);
  if (thread.is_own()) return errc::make_error_code(errc::resource_deadlock_would_occur);
  return {};
}

void throw_obstacle(const error_code& ec) {
  const bool is_own = ec == boost::system::errc::resource_deadlock_would_occur;
  throw exception(ec, {.detail = is_own ? "a function that waits was called on the client's own thread"
                                        : "the client's own thread does not exist in a child process of fork"});
}

// --- The wait ---

void blocking_wait::finish(error_code ec) noexcept {
  const std::lock_guard lock(mutex_);
  outcome_ = ec;
  finished_.notify_one();
}

error_code blocking_wait::wait() {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return outcome_.has_value(); });
  return *outcome_;
}

error_code wait_for_end(const own_thread& thread, const std::shared_ptr<blocking_wait>& wait,
                        const std::stop_token& stop) {
  // The signal belongs to the client's thread. The operation was started before: its slot is connected.
  const std::stop_callback on_stop(stop, [&] { thread.post([wait] { wait->cancel(); }); });
  return wait->wait();
}

// --- What is thrown ---

void throw_error(const std::shared_ptr<client_handle>& handle, const error_code& ec, const std::string& lock, bool) {
  exception::context about = handle->core->failed().about(ec);
  about.lock = lock;
  throw exception(ec, std::move(about));
}

void throw_error(const std::shared_ptr<lock_state>& lock, const error_code& ec, const acquire_options& options) {
  throw_failed(std::make_shared<lock_group>(lock_group{{lock}}), options, ec);
}

void throw_error(const std::shared_ptr<lock_group>& locks, const error_code& ec, const acquire_options& options) {
  throw_failed(locks, options, ec);
}

void throw_error(const std::shared_ptr<hold_state>& hold, const error_code& ec) {
  exception::context about;
  if (hold) {
    about = hold->core()->failed().about(ec);
    about.lock = hold->lock().name;
  }
  throw exception(ec, std::move(about));
}

void throw_error(const std::shared_ptr<hold_group>& holds, const error_code& ec) {
  const auto& all = holds->members;
  if (ec == error::lost && !is_empty(holds)) std::rethrow_exception(lost_failure(holds));
  const auto first = std::find_if(all.begin(), all.end(), [](const auto& h) { return h != nullptr; });
  throw_error(first == all.end() ? nullptr : *first, ec);
}

// --- Holds ---

void request_stop_at_loss(const std::shared_ptr<hold_state>& hold, const std::stop_source& source) {
  if (hold->loss_reported() || hold->outlived()) {
    std::stop_source(source).request_stop();
    return;
  }
  start_lost(hold, [source = source](error_code ec) mutable {
    if (!ec) source.request_stop();
  });
}

void throw_if_outlived(const std::shared_ptr<hold_group>& holds) {
  if (outlived(holds)) std::rethrow_exception(lost_failure(holds));
}

guarded_holds::guarded_holds(std::shared_ptr<hold_group> holds) noexcept : holds_(std::move(holds)) { guard(holds_); }

guarded_holds::~guarded_holds() { unguard(holds_); }

}  // namespace leasehold::detail
