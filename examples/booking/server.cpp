// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/server.hpp"

#include "support/sessions.hpp"

#include <optional>

namespace booking {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_header = 8 * 1024;
constexpr std::size_t longest_body = 4 * 1024;
// A connection may be idle for so long.
constexpr auto longest_pause = 30s;
// And a client has so long to take its answer.
constexpr auto longest_write = 5s;

// What is answered to a request that could not be read; nothing if there is nobody to answer.
std::optional<http::status> status_of(const boost::system::error_code& failure) {
  if (failure.category() != make_error_code(http::error::bad_method).category()) return std::nullopt;
  if (failure == http::error::end_of_stream || failure == http::error::partial_message) return std::nullopt;
  if (failure == http::error::body_limit) return http::status::payload_too_large;
  if (failure == http::error::header_limit) return http::status::request_header_fields_too_large;
  return http::status::bad_request;
}

asio::awaitable<bool> write(beast::tcp_stream& stream, response& r) {
  r.prepare_payload();
  stream.expires_after(longest_write);
  auto [failure, length] = co_await http::async_write(stream, r, asio::as_tuple);
  co_return !failure;
}

// The client may still be writing. What it sends would meet a closed socket, and that would cost it the answer.
asio::awaitable<void> close_after_answer(beast::tcp_stream& stream) {
  boost::system::error_code failure;
  stream.socket().shutdown(tcp::socket::shutdown_send, failure);
  char rest[1024];
  const auto buffer = asio::buffer(rest);
  stream.expires_after(1s);
  while (!failure) {
    auto [end, length] = co_await stream.async_read_some(buffer, asio::as_tuple);
    failure = end;
  }
}

}  // namespace

asio::awaitable<void> server::accept() {
  return support::accept_each(acceptor_, [this](tcp::socket s) { return session(std::move(s)); });
}

// [stop]
asio::awaitable<void> server::stop(std::chrono::milliseconds grace) {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  // An idle session now reads the end of its input; a busy one ends after its answer.
  for (tcp::socket* s : sessions_) s->shutdown(tcp::socket::shutdown_receive, ignored);
  asio::steady_timer pause(acceptor_.get_executor());
  for (const auto end = std::chrono::steady_clock::now() + grace;
       !sessions_.empty() && std::chrono::steady_clock::now() < end;) {
    pause.expires_after(10ms);
    co_await pause.async_wait();
  }
  // A request that still waits for a lock, or works under one, is answered 503. All holds are released.
  co_await redis_.close(asio::as_tuple);
}
// [/stop]

asio::awaitable<void> server::session(tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  const support::registered here(sessions_, stream.socket());
  boost::system::error_code ignored;
  stream.socket().set_option(tcp::no_delay(true), ignored);
  beast::flat_buffer input;
  while (acceptor_.is_open()) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(longest_header);
    parser.body_limit(longest_body);
    stream.expires_after(longest_pause);
    auto [failure, length] = co_await http::async_read(stream, input, parser, asio::as_tuple);
    if (failure) {
      const auto status = status_of(failure);
      if (!status) co_return;
      std::string why = failure == http::error::body_limit ? "the body is larger than 4096 bytes" : failure.message();
      response r = api_.malformed(*status, why);
      r.keep_alive(false);
      if (co_await write(stream, r)) co_await close_after_answer(stream);
      co_return;
    }
    const request asked = parser.release();
    response r = co_await api_.respond(asked);
    r.version(asked.version());
    const bool goes_on = asked.keep_alive() && acceptor_.is_open();
    r.keep_alive(goes_on);
    const bool written = co_await write(stream, r);
    if (!written || !goes_on) co_return;
  }
}

}  // namespace booking
