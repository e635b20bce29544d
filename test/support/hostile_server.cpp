// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/hostile_server.hpp"

#include <boost/asio.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

namespace leasehold::test {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// "<type><number>\r\n", which is taken out of `rest`.
std::optional<std::size_t> take_header(std::string_view& rest, char type) {
  const auto end = rest.find("\r\n");
  std::size_t n = 0;
  if (end == rest.npos || rest.empty() || rest.front() != type) return std::nullopt;
  std::from_chars(rest.data() + 1, rest.data() + end, n);
  rest.remove_prefix(end + 2);
  return n;
}

// The next command, which is taken out of `from`; nothing if it has not arrived.
std::vector<std::string> take_command(std::string& from) {
  std::string_view rest = from;
  std::vector<std::string> words;
  const auto number = take_header(rest, '*');
  for (std::size_t i = 0; number && i < *number; ++i) {
    // A word may be an array itself: a command that travels behind PING.
    if (!rest.empty() && rest.front() == '*') take_header(rest, '*');
    const auto length = take_header(rest, '$');
    if (!length || rest.size() < *length + 2) return {};
    words.emplace_back(rest.substr(0, *length));
    rest.remove_prefix(*length + 2);
  }
  from.erase(0, from.size() - rest.size());
  return words;
}

}  // namespace

struct hostile_server::connection {
  connection(hostile_server& s, asio::ip::tcp::socket t) : server(s), socket(std::move(t)) {}

  static asio::awaitable<void> serve(std::shared_ptr<connection> self) {
    std::string arrived;
    std::string piece(65536, '\0');
    for (;;) {
      const auto [ec, n] = co_await self->socket.async_read_some(asio::buffer(piece), asio::as_tuple(asio::deferred));
      if (ec) co_return;
      arrived.append(piece, 0, n);
      for (auto words = take_command(arrived); !words.empty(); words = take_command(arrived)) {
        ++self->server.commands_;
        const answer a = self->server.script_(words);
        const bool fine = co_await send(self, a.bytes);
        if (!fine || a.close) co_return;
        std::string flood = a.flood;
        while (!flood.empty() && flood.size() < 65536) flood += a.flood;
        for (std::size_t sent = 0; !flood.empty() && sent < a.flood_of; sent += flood.size()) {
          const bool more = co_await send(self, flood);
          if (!more) co_return;
        }
      }
    }
  }

  static asio::awaitable<bool> send(std::shared_ptr<connection> self, const std::string& bytes) {
    const auto [ec, n] = co_await asio::async_write(self->socket, asio::buffer(bytes), asio::as_tuple(asio::deferred));
    co_return !ec && n == bytes.size();
  }

  hostile_server& server;
  asio::ip::tcp::socket socket;
};

hostile_server::hostile_server(script s)
    : script_(std::move(s)),
      acceptor_(context_, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()) {
  accept();
  thread_ = std::thread([this] { context_.run(); });
}

hostile_server::~hostile_server() {
  context_.stop();
  thread_.join();
}

void hostile_server::accept() {
  acceptor_.async_accept([this](error_code ec, asio::ip::tcp::socket socket) {
    if (ec) return;
    ++connections_;
    socket.set_option(asio::ip::tcp::no_delay(true), ec);
    const auto c = std::make_shared<connection>(*this, std::move(socket));
    open_.push_back(c);
    asio::co_spawn(context_, connection::serve(c), asio::detached);
    accept();
  });
}

void hostile_server::push(std::string bytes) {
  asio::post(context_, [this, bytes = std::move(bytes)] {
    for (const auto& weak : open_) {
      error_code ignored;
      if (const auto c = weak.lock()) asio::write(c->socket, asio::buffer(bytes), ignored);
    }
  });
}

hostile_server::answer hostile_server::polite(const std::vector<std::string>& words) {
  if (words[0] == "HELLO") return {"%1\r\n+server\r\n+redis\r\n"};
  if (words[0] == "INFO") return {bulk("redis_version:7.0.15\r\nrun_id:f00d\r\nuptime_in_seconds:1000000\r\n")};
  if (words[0] == "PUBLISH") return {":0\r\n"};
  if (words[0] == "SUBSCRIBE") return {">3\r\n" + bulk("subscribe") + bulk(words[1]) + ":1\r\n"};
  if (words[0] == "TIME") return {array({"1700000000", "0"})};
  return {"+OK\r\n"};
}

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string array(std::initializer_list<std::string> items) {
  std::string all = "*" + std::to_string(items.size()) + "\r\n";
  for (const auto& i : items) all += bulk(i);
  return all;
}

}  // namespace leasehold::test
