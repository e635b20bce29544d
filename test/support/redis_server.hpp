// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/child.hpp"
#include "support/temporary_folder.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

// For what INFO and the like answer.
inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// What Redis answered.
struct reply {
  char type = '_';  // as in RESP: '+' status, '-' error, ':' integer, '$' string, '*' array; '_' is nil
  std::string text;
  std::int64_t integer = 0;
  std::vector<reply> items;

  bool is_error() const { return type == '-'; }
  bool is_nil() const { return type == '_'; }
};

// A blocking connection of the test itself, independent of what is tested.
class redis_connection {
 public:
  explicit redis_connection(const std::string& socket_path);
  ~redis_connection();
  redis_connection(redis_connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  redis_connection& operator=(redis_connection&&) = delete;

  reply command(const std::vector<std::string>& words);

  // The two halves of it, for many commands at a time.
  void send(const std::vector<std::string>& words);
  reply receive();

 private:
  std::string receive_line();
  void fill();

  int socket_ = -1;
  std::string buffer_;
  std::size_t read_ = 0;
};

// A real redis-server in a folder of its own, on a unix socket and a TCP port.
class redis_server {
 public:
  // What a server that is no ordinary one needs besides.
  struct special {
    std::vector<std::string> arguments = {};  // Behind the name of the configuration file.
    std::string second_port = {};             // The setting that takes another free port.
    std::string password = {};                // What this object's own connection says first, if it is not empty.
  };

  // Lines of a configuration file; then "NAME=value" for its environment.
  explicit redis_server(std::vector<std::string> configuration = {}, std::vector<std::string> environment = {});
  redis_server(std::vector<std::string> configuration, std::vector<std::string> environment, special);
  ~redis_server();

  std::string url() const { return "unix://" + socket_path(); }
  std::string tcp_url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  std::string socket_path() const { return folder_ / "redis.sock"; }
  unsigned short port() const { return port_; }
  unsigned short second_port() const { return second_port_; }
  const temporary_folder& folder() const { return folder_; }

  void start();  // again, after kill(): empty, since nothing is ever saved; with the configuration as it left it
  void kill();   // SIGKILL
  void stop();   // SIGSTOP: it accepts connections, by its kernel, and answers nothing
  void go_on();  // SIGCONT
  bool running() const { return process_ && !stopped_; }

  // A word of its own for each argument, on a connection of this object's; an error is a reply like others.
  template <class... Words>
  reply command(const Words&... words) {
    return command_of({std::string(words)...});
  }

  // Short forms of what tests ask again and again.
  std::optional<std::string> get(const std::string& key);
  std::int64_t ttl(const std::string& key);  // in milliseconds; -1: no expiry, -2: no such key
  std::size_t size();                        // the number of keys, fence counters not counted
  std::int64_t info(const std::string& field);
  std::int64_t calls(const std::string& command);  // how often it has run it, in lower case

 private:
  reply command_of(const std::vector<std::string>& words);
  std::string write_configuration();
  void connect();

  temporary_folder folder_;
  std::vector<std::string> configuration_;
  std::vector<std::string> environment_;
  special special_;
  unsigned short port_ = 0;
  unsigned short second_port_ = 0;
  bool stopped_ = false;
  std::unique_ptr<child> process_;
  std::optional<redis_connection> connection_;
};

// A port that nobody listens on now, outside the range from which the kernel takes ports for outgoing connections.
unsigned short free_port();

}  // namespace leasehold::test
