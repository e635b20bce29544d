// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "view.hpp"

#include "exit_code.hpp"
#include "lock_text.hpp"
#include "signals.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
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

// A pipe that can be written to takes so many bytes at once.
asio::awaitable<void> view::write(std::string text) {
  const int own = ::dup(STDOUT_FILENO);
  if (own < 0) throw not_written();
  asio::posix::stream_descriptor out(context_, own);
  for (std::size_t from = 0; from < text.size();) {
    // A file and some devices cannot be waited for. They take everything.
    const auto token = asio::as_tuple(asio::use_awaitable);
    [[maybe_unused]] const auto [ec] = co_await out.async_wait(asio::posix::stream_descriptor::wait_write, token);
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + from, std::min<std::size_t>(text.size() - from, PIPE_BUF));
    if (n < 0 && errno != EINTR && errno != EAGAIN) throw not_written();
    if (n > 0) from += static_cast<std::size_t>(n);
  }
}

asio::awaitable<void> view::receive_ends() {
  const int number = co_await ends_.async_wait(asio::use_awaitable);
  exit_status_ = static_cast<int>(exit_code::signalled) + number;
}

}  // namespace leasehold::cli
