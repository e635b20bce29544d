// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "view.hpp"

#include "exit_code.hpp"
#include "signals.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace leasehold::cli {

namespace asio = boost::asio;

view::view(asio::io_context& context) : context_(context), ends_(context) { add_end_signals(ends_); }

void view::start(asio::awaitable<void> coroutine) {
  asio::co_spawn(context_, std::move(coroutine), [this](std::exception_ptr failed) {
    failed_ = failed;
    context_.stop();
  });
}

void view::run_until_ended() {
  start(receive_ends());
  context_.run();
}

int view::result() const {
  if (failed_) std::rethrow_exception(failed_);
  return exit_status_;
}

asio::awaitable<void> view::receive_ends() {
  const int number = co_await ends_.async_wait(asio::use_awaitable);
  exit_status_ = static_cast<int>(exit_code::signalled) + number;
}

}  // namespace leasehold::cli
