// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Shows a lock that survives its holder. Starts a Redis of its own, three echo servers, and for each of three locks a
// client of its own that loads all servers. Kills a server while it holds one lock and waits for none. That lock then
// waits until the lease has ended, and another server takes it over; the other locks go on meanwhile. The servers
// report their holds. From these reports the demo checks all that, and that no two holds of a lock overlapped and the
// fences grew. It draws them: demo.svg. The exit status says whether everything was as it has to be.

#include "support/arguments.hpp"
#include "support/event_line.hpp"
#include "support/picture.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"
#include "support/timeline.hpp"
#include "support/until_signal.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr auto usage = R"(usage: demo --bin-dir DIR --out DIR [--seconds N]

  --bin-dir DIR   where echo_server and echo_client are
  --out DIR       where to write demo.svg
  --seconds N     how long the clients work, 6 or more (15)
)";

const std::vector<std::string> server_names{"alpha", "beta", "gamma"};
const std::vector<std::string> locks{"apple", "lemon", "plum"};

constexpr auto lease = 2s;
constexpr auto work = 200ms;
// Of a connection of the clients, on average. Without pauses each server would wait for each lock at all times. If a
// server is killed while it waits for another lock, it delays that one, too: by its unconfirmed lease, 2 s at most.
constexpr auto pause_between_requests = 400ms;
// How long after the end of a dead server's lease another one has to have the lock at the latest. It takes some
// milliseconds; a machine that is busy with other things gets more.
constexpr auto soon = 1s;
// The most time from one grant of a lock to the next while a dead server's lease of another lock runs on. The clients'
// pauses make it some 600 ms; an entry of the dead server in the queue would make it more than 2 s.
constexpr auto longest_pause = 1800ms;
// For everything that takes no time unless something is wrong.
constexpr auto generous = 20s;

class failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a person sees while it runs.
class live_log {
 public:
  live_log() : colours_(::isatty(STDOUT_FILENO) != 0 && !std::getenv("NO_COLOR")), holders_(locks.size(), "") {}

  void begin(steady::time_point at) {
    begin_ = at;
    std::string line = "\n     time  ";
    for (const std::string& lock : locks) line += fmt::format("{:<9}", lock);
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  void say(std::string_view text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  // A line with the time, for what is out of the ordinary.
  void tell(steady::time_point at, std::string_view text) {
    say(paint("1;31", fmt::format("{}  *** {}", time(at), text)));
  }

  void add(const std::string& server, const support::event_line& e) {
    const auto lock = std::find(locks.begin(), locks.end(), e.name);
    if (lock == locks.end()) return;
    const auto column = static_cast<std::size_t>(lock - locks.begin());
    if (e.what == support::event_line::kind::released) {
      // The lines of two servers come in any order: the next holder may have told of its hold already.
      if (holders_[column] == server) holders_[column].clear();
      return;
    }
    if (e.what != support::event_line::kind::acquired) return;
    const bool takes_over = holders_[column].starts_with('(');
    holders_[column] = server;
    std::string line = time(e.at) + "  ";
    for (std::size_t i = 0; i < locks.size(); ++i) {
      std::string cell = fmt::format("{:<9}", holders_[i].empty() ? "-" : holders_[i]);
      line += i == column ? paint("1", cell) : holders_[i].empty() ? paint("2", cell) : cell;
    }
    line += fmt::format("{} takes {}{}, fence {}", server, e.name, takes_over ? " over" : "", e.fence);
    say(takes_over ? paint("1;32", line) : line);
  }

  void dies(const std::string& server) {
    for (std::string& holder : holders_) {
      if (holder == server) holder = "(" + server + ")";
    }
  }

  void finding(bool good, std::string_view text) {
    say(fmt::format("  {} {}", good ? paint("1;32", "ok    ") : paint("1;31", "FAILED"), text));
  }

 private:
  std::string time(steady::time_point at) const {
    return fmt::format("{:>7.3f} s", std::chrono::duration<double>(at - begin_).count());
  }
  std::string paint(std::string_view code, std::string_view text) const {
    return colours_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
  }

  bool colours_;
  steady::time_point begin_{};
  std::vector<std::string> holders_;
};

class demo {
 public:
  demo(asio::io_context& context, std::string bin_dir, std::string out_dir, std::chrono::seconds length)
      : context_(context), bin_dir_(std::move(bin_dir)), out_dir_(std::move(out_dir)), length_(length) {}

  asio::awaitable<void> run() {
    // While a process runs, so does the reading of its output, and the io_context with it.
    struct at_the_end {
      demo& all;
      ~at_the_end() {
        all.loads_.clear();
        all.servers_.clear();
      }
    } const ends_processes{*this};
    const support::temporary_folder folder("leasehold-demo");
    const std::string socket = folder.path() + "/redis.sock";
    support::process redis(context_,
                           {"redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
                            "--dir", folder.path()},
                           [](std::string_view) {});
    const std::string url = "unix://" + socket;
    leasehold::client_options options;
    options.connect_timeout = generous;
    leasehold::client client(context_, url, options);
    co_await client.ready();
    log_.say(fmt::format("A private Redis runs at {}.", socket));

    co_await start_servers(url);
    std::string addresses;
    for (const auto& s : servers_) addresses += fmt::format("127.0.0.1:{},", s->port);
    begin_ = steady::now();
    log_.begin(begin_);
    start_loads(addresses);

    co_await until(begin_ + length_ * 7 / 20);
    co_await kill_a_holder(client);
    co_await until(std::max(begin_ + length_, steady::now() + lease + soon));
    require_alive(redis);

    bool echoes_were_right = true;
    for (const auto& l : loads_) l->process->signal(SIGTERM);
    for (const auto& l : loads_) {
      if (co_await l->process->ended(generous) != 0) echoes_were_right = false;
    }
    end_ = steady::now();
    bool in_good_order = true;
    for (const auto& s : servers_) {
      s->process->signal(SIGTERM);
      const int status = co_await s->process->ended(generous);
      if (status == 0 || s->killed) continue;
      in_good_order = false;
      log_.say(fmt::format("{} ended with status {}", s->name, status));
    }
    std::size_t left_behind = 0;
    for (const std::string& name : locks) {
      const leasehold::mutex lock(client, name);
      const leasehold::lock_info info = co_await lock.inspect();
      if (info.held) ++left_behind;
    }
    co_await client.close();
    redis.signal(SIGTERM);
    const int redis_status = co_await redis.ended(generous);

    for (const auto& l : loads_) {
      log_.say(fmt::format("\nThe client of {} says:", l->lock));
      for (const std::string& line : l->report) log_.say("  " + line);
    }
    log_.say("\nWhat had to hold:");
    judge_holds();
    judge_take_overs();
    judge(echoes_were_right, "every echo was right");
    judge(in_good_order, "the servers that lived ended with status 0 at SIGTERM");
    judge(left_behind == 0, fmt::format("{} locks were left behind in Redis", left_behind));
    judge(redis_status == 0, "Redis ended with status 0");
    draw();
  }

  // All was as it has to be.
  bool good() const { return good_; }

 private:
  struct server {
    std::string name;
    unsigned port = 0;
    bool killed = false;
    std::unique_ptr<support::process> process;
  };

  struct load {
    std::string lock;
    std::vector<std::string> report;
    std::unique_ptr<support::process> process;
  };

  asio::awaitable<void> until(steady::time_point t) {
    asio::steady_timer timer(context_, t);
    co_await timer.async_wait();
  }

  asio::awaitable<void> start_servers(const std::string& url) {
    for (std::size_t i = 0; i < server_names.size(); ++i) {
      auto s = std::make_unique<server>();
      s->name = server_names[i];
      s->process = std::make_unique<support::process>(
          context_,
          std::vector<std::string>{bin_dir_ + "/echo_server", "--redis", url, "--name", s->name, "--lease",
                                   fmt::format("{}s", lease.count()), "--hold", fmt::format("{}ms", work.count())},
          [this, i](std::string_view line) { take_line(i, line); });
      servers_.push_back(std::move(s));
    }
    const auto limit = steady::now() + generous;
    for (const auto& s : servers_) {
      while (s->port == 0) {
        if (!s->process->runs() || steady::now() > limit) throw failure(s->name + " does not start");
        co_await until(steady::now() + 10ms);
      }
      log_.say(fmt::format("The echo server {} listens at 127.0.0.1:{}.", s->name, s->port));
    }
  }

  // For each lock a client of its own, with a connection to each server. It goes on until SIGTERM.
  void start_loads(const std::string& addresses) {
    for (const std::string& lock : locks) {
      auto l = std::make_unique<load>();
      l->lock = lock;
      l->process = std::make_unique<support::process>(
          context_,
          std::vector<std::string>{bin_dir_ + "/echo_client", "--servers", addresses, "--connections",
                                   fmt::format("{}", servers_.size()), "--names", lock, "--pause",
                                   fmt::format("{}ms", pause_between_requests.count()), "--seconds", "86400"},
          [report = &l->report](std::string_view line) { report->emplace_back(line); });
      loads_.push_back(std::move(l));
    }
  }

  void take_line(std::size_t index, std::string_view line) {
    const auto e = support::parse_event(line);
    if (!e) {
      judge(false, fmt::format("{} says something that is no event: {}", servers_[index]->name, line));
      return;
    }
    if (e->what == support::event_line::kind::listening) servers_[index]->port = e->port;
    timeline_.add(index, *e);
    log_.add(servers_[index]->name, *e);
  }

  void require_alive(const support::process& redis) const {
    if (!redis.runs()) throw failure("redis-server has ended");
    for (const auto& l : loads_) {
      if (!l->process->runs()) throw failure("the client of " + l->lock + " has ended");
    }
    for (const auto& s : servers_) {
      if (!s->killed && !s->process->runs()) throw failure(s->name + " has ended");
    }
  }

  // Kills the first server that holds one lock, for which another server waits, and has nothing to do with the others.
  asio::awaitable<void> kill_a_holder(leasehold::client client) {
    for (const auto limit = steady::now() + 3 * generous; steady::now() < limit;) {
      for (std::size_t i = 0; i < servers_.size(); ++i) {
        const auto held = timeline_.held_by(i);
        if (held.size() != 1 || timeline_.waits_at(i)) continue;
        if (!timeline_.awaited_elsewhere(held.front().name, i)) continue;
        if (co_await kill_if_it_holds(client, i, held.front())) co_return;
      }
      co_await until(steady::now() + 1ms);
    }
    throw failure("no server held one lock, for which another server waited, and waited for none");
  }

  // Whether the frozen server, as far as Redis knows, has this lock and no other one.
  asio::awaitable<bool> has_only(leasehold::client client, std::size_t index, const support::timeline::hold& wanted) {
    if (timeline_.waits_at(index)) co_return false;
    for (const std::string& name : locks) {
      const leasehold::mutex lock(client, name);
      // What the server had sent before it froze is done when the first answer is here: the second one is the truth.
      co_await lock.inspect();
      const leasehold::lock_info info = co_await lock.inspect();
      const bool has = info.held && timeline_.was_held_by(index, name, info.fence);
      if (has != (name == wanted.name) || (has && info.fence != wanted.fence)) co_return false;
    }
    co_return true;
  }

  asio::awaitable<bool> kill_if_it_holds(leasehold::client client, std::size_t index, support::timeline::hold wanted) {
    server& victim = *servers_[index];
    // A frozen server releases nothing between this look and its death.
    co_await victim.process->freeze();
    if (!co_await has_only(client, index, wanted) || !victim.process->runs()) {
      victim.process->signal(SIGCONT);
      co_return false;
    }
    victim.process->signal(SIGKILL);
    const auto killed_at = steady::now();
    co_await victim.process->ended(generous);
    victim.killed = true;
    timeline_.kill(index, killed_at);
    log_.dies(victim.name);
    log_.tell(killed_at,
              fmt::format("{} is killed while it holds {}, fence {}", victim.name, wanted.name, wanted.fence));
    const leasehold::mutex dead(client, wanted.name);
    const auto asked = steady::now();
    const leasehold::lock_info left = co_await dead.inspect();
    const auto answered = steady::now();
    // Otherwise the lease has ended by now, on a machine that stood still.
    if (left.held && left.fence == wanted.fence && left.ttl) {
      // Redis counts in whole milliseconds.
      timeline_.set_lease_end(wanted.fence, asked + *left.ttl - 1ms, answered + *left.ttl + 1ms);
      log_.tell(answered, fmt::format("its lease of {} has {} ms left in Redis", wanted.name, left.ttl->count()));
    }
    co_return true;
  }

  void judge(bool good, std::string_view text) {
    log_.finding(good, text);
    good_ = good_ && good;
  }

  void judge_holds() {
    std::set<std::size_t> busy;
    for (const auto& h : timeline_.holds()) busy.insert(h.server);
    judge(busy.size() == servers_.size(), fmt::format("{} holds by {} servers", timeline_.holds().size(), busy.size()));
    const auto overlaps = timeline_.overlaps();
    judge(overlaps.empty(), "no two holds of a lock overlapped");
    for (const std::string& o : overlaps) log_.say("           " + o);
    const auto out_of_order = timeline_.fences_out_of_order();
    judge(out_of_order.empty(), "every lock's fences grew from hold to hold");
    for (const std::string& o : out_of_order) log_.say("           " + o);
  }

  void judge_take_overs() {
    const auto milliseconds = [](steady::duration d) {
      return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    };
    const auto all = timeline_.take_overs();
    judge(all.size() == 1, fmt::format("the server that was killed held {} of the locks", all.size()));
    for (const auto& t : all) {
      const auto [earliest, latest] = *t.dead->lease_end;
      if (!t.heir) {
        judge(false, fmt::format("no server took {} over", t.dead->name));
        continue;
      }
      judge(t.heir->from >= earliest && t.heir->from <= latest + soon,
            fmt::format("{} took {} over {} ms after {} was killed, {} ms after the lease had ended",
                        server_names[t.heir->server], t.dead->name, milliseconds(t.heir->from - t.dead->to),
                        server_names[t.dead->server], milliseconds(t.heir->from - earliest)));
      judge_others(*t.dead);
    }
  }

  // The other locks have not waited for the dead server's lease.
  void judge_others(const support::timeline::hold& dead) {
    const auto others = timeline_.others_during(dead);
    judge(others.size() + 1 == locks.size(), fmt::format("{} other locks were in use", others.size()));
    for (const auto& o : others) {
      const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(o.longest_pause);
      judge(o.grants > 0 && pause < longest_pause,
            fmt::format("{} went on meanwhile: {} grants, {} ms at most from one to the next", o.name, o.grants,
                        pause.count()));
    }
  }

  void draw() {
    const std::string path = out_dir_ + "/demo.svg";
    const auto verdict =
        good_ ? fmt::format(
                    "{} holds: no two of a lock at the same time, and every fence is larger than the one "
                    "before it",
                    timeline_.holds().size())
              : std::string("not everything was as it has to be: see the summary");
    support::picture picture(timeline_, server_names, locks, begin_, end_);
    std::ofstream file(path);
    file << picture.draw(verdict, good_);
    file.close();
    if (!file) throw failure("cannot write " + path);
    log_.say(fmt::format("\nThe picture is {}.", path));
  }

  asio::io_context& context_;
  std::string bin_dir_;
  std::string out_dir_;
  std::chrono::seconds length_;
  live_log log_;
  std::vector<std::unique_ptr<server>> servers_;
  std::vector<std::unique_ptr<load>> loads_;
  support::timeline timeline_;
  steady::time_point begin_{};
  steady::time_point end_{};
  bool good_ = true;
};

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv, {{"--bin-dir", ""}, {"--out", ""}, {"--seconds", "15"}});
  if (arguments.text("--bin-dir").empty() || arguments.text("--out").empty()) {
    throw support::usage_error("--bin-dir and --out are needed");
  }
  const long seconds = arguments.number("--seconds");
  if (seconds < 6 || seconds > 3600) throw support::usage_error("--seconds: 6 to 3600");
  std::filesystem::create_directories(arguments.text("--out"));

  asio::io_context context(1);
  demo all(context, arguments.text("--bin-dir"), arguments.text("--out"), std::chrono::seconds(seconds));
  const int signal = support::run_until_signal(context, all.run(), SIGINT, SIGTERM, SIGHUP);
  if (signal != 0) return support::interrupted(signal);
  return all.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
