// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/redis_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <system_error>

namespace leasehold::test {
namespace {

// What ./dev test --server has chosen.
std::string server_program() {
  const char* const chosen = std::getenv("LEASEHOLD_SERVER");
  return chosen == nullptr || *chosen == '\0' ? "redis-server" : chosen;
}

std::int64_t number(std::string_view text) {
  std::int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

}  // namespace

redis_connection::redis_connection(const std::string& path) {
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::length_error(path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (socket_ < 0 || ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int reason = errno;
    if (socket_ >= 0) ::close(socket_);
    throw std::system_error(reason, std::generic_category(), path);
  }
  const timeval patience{limit.count(), 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

redis_connection::~redis_connection() {
  if (socket_ >= 0) ::close(socket_);
}

reply redis_connection::command(const std::vector<std::string>& words) {
  send(words);
  return receive();
}

void redis_connection::send(const std::vector<std::string>& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto& w : words) bytes += "$" + std::to_string(w.size()) + "\r\n" + w + "\r\n";
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto n = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n <= 0) throw std::system_error(errno, std::generic_category(), "send to redis-server");
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

void redis_connection::fill() {
  if (read_ > 65536) buffer_.erase(0, std::exchange(read_, 0));
  char piece[65536];
  ssize_t n = 0;
  // A process that was stopped and goes on is interrupted in a wait that has a limit (signal(7)).
  do n = ::recv(socket_, piece, sizeof piece, 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0) throw std::system_error(n < 0 ? errno : ECONNRESET, std::generic_category(), "receive from redis-server");
  buffer_.append(piece, static_cast<std::size_t>(n));
}

std::string redis_connection::receive_line() {
  std::size_t end;
  while ((end = buffer_.find("\r\n", read_)) == std::string::npos) fill();
  std::string line = buffer_.substr(read_, end - read_);
  read_ = end + 2;
  return line;
}

reply redis_connection::receive() {
  const std::string line = receive_line();
  reply r;
  r.type = line.at(0);
  r.text = line.substr(1);
  if (r.type == '+' || r.type == '-') return r;
  r.integer = number(r.text);
  if (r.type == ':') return r;
  r.text.clear();
  if (r.integer < 0) {
    r.type = '_';
  } else if (r.type == '$') {
    const auto size = static_cast<std::size_t>(r.integer);
    while (buffer_.size() - read_ < size + 2) fill();
    r.text = buffer_.substr(read_, size);
    read_ += size + 2;
  } else {
    for (std::int64_t i = 0; i < r.integer; ++i) r.items.push_back(receive());
  }
  return r;
}

unsigned short free_port() {
  std::random_device random;
  for (;;) {
    const auto port = static_cast<unsigned short>(10000 + random() % 20000);
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = ::bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(s);
    if (free) return port;
  }
}

redis_server::redis_server(std::vector<std::string> configuration, std::vector<std::string> environment)
    : redis_server(std::move(configuration), std::move(environment), special()) {}

redis_server::redis_server(std::vector<std::string> configuration, std::vector<std::string> environment, special s)
    : configuration_(std::move(configuration)), environment_(std::move(environment)), special_(std::move(s)) {
  start();
}

redis_server::~redis_server() = default;

std::string redis_server::write_configuration() {
  port_ = free_port();
  std::string lines = "port " + std::to_string(port_) + "\nbind 127.0.0.1\nunixsocket " + socket_path() + "\ndir " +
                      folder_.path() + "\nsave \"\"\nappendonly no\ndaemonize no\n";
  if (!special_.second_port.empty()) {
    do second_port_ = free_port();
    while (second_port_ == port_);
    lines += special_.second_port + " " + std::to_string(second_port_) + "\n";
  }
  for (const auto& line : configuration_) lines += line + "\n";
  return folder_.write("redis.conf", lines);
}

void redis_server::start() {
  // Another program may take the port before the server does: then another one is tried, unless somebody knows it
  // already.
  const bool again = port_ != 0;
  for (int attempt = 0; !process_; ++attempt) {
    std::vector<std::string> command{server_program(), again ? folder_ / "redis.conf" : write_configuration()};
    command.insert(command.end(), special_.arguments.begin(), special_.arguments.end());
    process_ = std::make_unique<child>(std::move(command), environment_);
    stopped_ = false;
    wait_until("redis-server answers", [this] {
      try {
        connect();
        // NOAUTH is an answer, too.
        return connection_->command({"PING"}).type != '_';
      } catch (const std::system_error&) {
        connection_.reset();
        return process_->status().has_value();
      }
    });
    if (connection_) return;
    const std::string words = process_->read_rest() + process_->errors();
    process_.reset();
    if (again || attempt == 10) throw std::runtime_error("redis-server does not start: " + words);
  }
}

void redis_server::kill() {
  connection_.reset();
  process_->signal(SIGKILL);
  process_->wait();
  process_.reset();
}

void redis_server::stop() {
  process_->stop();
  stopped_ = true;
}

void redis_server::go_on() {
  process_->signal(SIGCONT);
  stopped_ = false;
}

void redis_server::connect() {
  connection_.emplace(socket_path());
  if (!special_.password.empty()) connection_->command({"AUTH", special_.password});
}

reply redis_server::command_of(const std::vector<std::string>& words) {
  try {
    return connection_.value().command(words);
  } catch (const std::system_error&) {
    // Sentinels close every connection to a server whose role they change.
    if (!running() || process_->status()) throw;
    connect();
    return connection_->command(words);
  }
}

std::optional<std::string> redis_server::get(const std::string& key) {
  const reply r = command("GET", key);
  if (r.is_error()) throw std::runtime_error(r.text);
  if (r.is_nil()) return std::nullopt;
  return r.text;
}

std::int64_t redis_server::ttl(const std::string& key) { return command("PTTL", key).integer; }

std::size_t redis_server::size() {
  std::size_t n = 0;
  for (const auto& key : command("KEYS", "*").items) {
    if (!(key.text.starts_with("leasehold:") && key.text.ends_with("fence"))) ++n;
  }
  return n;
}

std::int64_t redis_server::info(const std::string& field) {
  const std::string text = "\n" + command("INFO", "everything").text;
  const auto at = text.find("\n" + field + ":");
  if (at == std::string::npos) throw std::out_of_range(field);
  return number(std::string_view(text).substr(at + field.size() + 2));
}

std::int64_t redis_server::calls(const std::string& command_name) {
  const std::string text = command("INFO", "commandstats").text;
  const std::string field = "cmdstat_" + command_name + ":calls=";
  const auto at = text.find(field);
  return at == std::string::npos ? 0 : number(std::string_view(text).substr(at + field.size()));
}

}  // namespace leasehold::test
