// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace leasehold::test {

// Speaks Redis's protocol and says what a test tells it to say. It is an attacker, no stand-in for Redis: each command
// gets the bytes that the script returns, whatever they are. It listens on 127.0.0.1 and has a thread of its own.
class hostile_server {
 public:
  struct answer {
    answer(std::string b = {}) : bytes(std::move(b)) {}  // NOLINT: bytes are an answer.

    std::string bytes;
    bool close = false;        // Closes the connection behind them.
    std::string flood = {};    // Sent behind them again and again,
    std::size_t flood_of = 0;  // until it was so many bytes.
  };
  // The words of a command. Called on the server's thread, for one command at a time.
  using script = std::function<answer(const std::vector<std::string>& words)>;

  explicit hostile_server(script);
  ~hostile_server();
  hostile_server(const hostile_server&) = delete;
  hostile_server& operator=(const hostile_server&) = delete;

  unsigned short port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "redis://" + host(); }
  std::size_t connections() const { return connections_; }  // So far.
  std::size_t commands() const { return commands_; }        // So far.

  // Sent to every connection there is, unasked.
  void push(std::string bytes);

  // What a Redis says that lets every client in, as long as a test says nothing else.
  static answer polite(const std::vector<std::string>& words);

 private:
  struct connection;
  void accept();

  const script script_;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  unsigned short port_;
  std::vector<std::weak_ptr<connection>> open_;
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::size_t> commands_{0};
  std::thread thread_;
};

// Parts of answers.
std::string bulk(std::string_view);
std::string array(std::initializer_list<std::string> items);

}  // namespace leasehold::test
