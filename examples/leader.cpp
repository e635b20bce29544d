// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A service of several instances of which one leads: it alone does some work, here writing lines to a file, and it
// alone serves clients, which find its address in the election (leader_client.cpp). The others follow, and one of them
// leads when the leader is gone. The leader's work is stopped before anybody else can begin it: at SIGTERM, when Redis
// does not answer, and when the leader itself was paused for too long.

#include "support/arguments.hpp"
#include "support/connection_events.hpp"
#include "support/event_line.hpp"
#include "support/until_signal.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto usage = R"(usage: leader --log FILE [OPTION VALUE]...

  --log FILE        where the leader writes its lines: "FENCE INSTANCE"; made if it is not there
  --redis URL       the Redis that all instances share (LEASEHOLD_REDIS, redis://127.0.0.1:6379)
  --name NAME       what is led; all instances that share it have one leader (service)
  --instance NAME   how this instance calls itself (its process id)
  --address IP      where the leader answers clients; others learn it by the election (127.0.0.1)
  --lease TIME      how long an instance that dies stays the leader (10s)
  --every TIME      how often the leader writes a line (100ms)
)";

struct settings {
  std::string name;
  std::string instance;
  std::chrono::milliseconds lease;
  std::chrono::milliseconds every;
};

// A line at a time, and each with the fence: the readers of the file refuse what comes too late.
class log_file {
 public:
  explicit log_file(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) fail();
  }
  ~log_file() { ::close(file_); }
  log_file(const log_file&) = delete;
  log_file& operator=(const log_file&) = delete;

  void append(const std::string& line) {
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) fail();
  }

 private:
  [[noreturn]] void fail() const { throw std::system_error(errno, std::generic_category(), path_); }

  std::string path_;
  int file_;
};

// Tells of the time as the leader: its end is told on every way out, before the lock goes back.
class told_leadership {
 public:
  told_leadership(const leasehold::leadership& led, const std::string& instance)
      : name_(led.name()), more_(fmt::format("fence={} instance={}", led.fence(), instance)) {
    support::write_event("leading", name_, more_);
  }
  ~told_leadership() { support::write_event("stopped", name_, more_); }
  told_leadership(const told_leadership&) = delete;
  told_leadership& operator=(const told_leadership&) = delete;

 private:
  std::string name_;
  std::string more_;
};

// Where clients reach the leader. While the door is open, each connection is answered with a line: the leader's term,
// and its name.
class door {
 public:
  door(asio::io_context& context, const asio::ip::address& here) : acceptor_(context, {here, 0}), pause_(context) {}

  // What the election tells others.
  std::string address() const {
    const auto at = acceptor_.local_endpoint();
    return fmt::format("{}:{}", at.address().to_string(), at.port());
  }
  void open(const std::string& answer) {
    answer_ = answer;
    accept(++openings_);
  }
  void shut() {
    ++openings_;
    acceptor_.cancel();
  }

 private:
  void accept(int opening) {
    acceptor_.async_accept([this, opening](boost::system::error_code ec, asio::ip::tcp::socket client) {
      if (opening != openings_) return;
      if (ec) return accept_later(opening);
      const auto to = std::make_shared<asio::ip::tcp::socket>(std::move(client));
      const auto answer = std::make_shared<std::string>(answer_);
      asio::async_write(*to, asio::buffer(*answer), [to, answer](boost::system::error_code, std::size_t) {});
      accept(opening);
    });
  }

  // A client that went away again, or no descriptor left, which takes a while to get better.
  void accept_later(int opening) {
    pause_.expires_after(10ms);
    pause_.async_wait([this, opening](boost::system::error_code) {
      if (opening == openings_) accept(opening);
    });
  }

  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::string answer_;
  int openings_ = 0;
};

class open_door {
 public:
  open_door(door& d, const std::string& answer) : door_(d) { door_.open(answer); }
  ~open_door() { door_.shut(); }
  open_door(const open_door&) = delete;
  open_door& operator=(const open_door&) = delete;

 private:
  door& door_;
};

// [lead]
// The leader's work. It ends where it awaits something: when the leadership is lost, and when the program is to end.
asio::awaitable<void> work(const leasehold::leadership& led, log_file& log, door& clients, settings s) {
  const told_leadership told(led, s.instance);
  const open_door open(clients, fmt::format("{} {}\n", led.term(), s.instance));
  asio::steady_timer next(co_await asio::this_coro::executor);
  // After a pause of the whole process, the work's timer may complete before the loss is reported.
  while (led.valid()) {
    log.append(fmt::format("{} {}\n", led.fence(), s.instance));
    next.expires_after(s.every);
    co_await next.async_wait();
  }
}

asio::awaitable<void> lead(leasehold::client redis, log_file& log, door& clients, settings s) {
  const leasehold::election election(redis, s.name);
  for (;;) {
    support::write_event("following", s.name, fmt::format("instance={}", s.instance));
    try {
      // A tenth of the lease is left for the work to end. The destructor resigns.
      leasehold::leadership led =
          co_await election.campaign(clients.address(), {.lease = s.lease, .margin = s.lease / 10});
      co_await leasehold::while_held(led.hold(), work(led, log, clients, s));
    } catch (const leasehold::system_error& e) {
      if (e.code() != leasehold::error::lost) throw;
    }
  }
}
// [/lead]

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv,
                                     {{"--log", ""},
                                      {"--redis", support::default_redis()},
                                      {"--name", "service"},
                                      {"--instance", fmt::format("{}", ::getpid())},
                                      {"--address", "127.0.0.1"},
                                      {"--lease", "10s"},
                                      {"--every", "100ms"}});
  for (const char* needed : {"--log", "--name"}) {
    if (arguments.text(needed).empty()) throw support::usage_error(fmt::format("{} is needed", needed));
  }
  settings s;
  s.name = arguments.text("--name");
  s.instance = arguments.text("--instance");
  boost::system::error_code no_address;
  const auto address = asio::ip::make_address(arguments.text("--address"), no_address);
  if (no_address || address.is_unspecified()) {
    throw support::usage_error("--address: the IP address by which others reach this host");
  }
  s.lease = arguments.duration("--lease");
  if (s.lease < 1ms || s.lease > 24h * 30) throw support::usage_error("--lease: 1ms to 30 days");
  s.every = arguments.duration("--every");
  if (s.every < 1ms) throw support::usage_error("--every: 1ms or more");

  log_file log(arguments.text("--log"));
  asio::io_context context(1);
  door clients(context, address);
  leasehold::client_options options;
  options.observer = support::tell_connection(s.instance);
  // The client goes with the coroutine: this returns when the release is out.
  auto leading = lead(leasehold::client(context, arguments.text("--redis"), options), log, clients, s);
  support::run_until_signal(context, std::move(leading), SIGINT, SIGTERM);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
