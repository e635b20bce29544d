// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "faults/random/worker.hpp"

#include "faults/random/dice.hpp"
#include "judge/history.hpp"
#include "support/kinds.hpp"

#include <boost/asio/cancel_after.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace leasehold::test {
namespace {

using std::chrono::milliseconds;

instant noted(milliseconds d) { return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(); }
instant noted(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

// A line each, which the kernel has when write() returns: what a process that is killed has noted stays.
class notes {
 public:
  explicit notes(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  ~notes() { ::close(file_); }
  notes(const notes&) = delete;

  template <class... Words>
  void write(fmt::format_string<Words...> format, Words&&... words) {
    const std::string line = fmt::format(format, std::forward<Words>(words)...) + "\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::system_error(errno, std::generic_category(), "write");
    }
  }

 private:
  int file_;
};

// In a cluster the first and the last are in one slot.
const std::vector<std::string> mutexes{"mutex0", "mutex1", "{mutex0}2"};

// The semaphore whose limit is changed.
const std::string resized = "resized";

struct one_lock {
  std::string kind;
  std::string name;
  std::string who;
  any_lock lock;
};

// The same for acquire_all.
struct part : basic_lock {
  template <std::derived_from<basic_lock> Lock>
  explicit part(const Lock& l) : basic_lock(l) {}
};

struct answer {
  error_code ec;
  hold got;
  bool asked_once = false;
};

// Far longer than anything takes.
constexpr milliseconds never = std::chrono::hours(1);

template <class Lock>
awaitable<answer> ask(Lock lock, acquire_options o, bool once, std::optional<milliseconds> cancel) {
  answer a;
  a.asked_once = once;
  const auto token = asio::cancel_after(cancel.value_or(never), as_tuple);
  if (once) {
    auto [ec, got] = co_await lock.try_acquire(o, token);
    a.ec = ec;
    if (got) a.got = std::move(*got);
  } else {
    auto [ec, got] = co_await lock.acquire(o, token);
    a.ec = ec;
    a.got = std::move(got);
  }
  co_return a;
}

constexpr milliseconds command_timeout{500};
constexpr milliseconds connect_timeout{1000};

struct crowd {
  notes out;
  bool stopping = false;
  int ended = 0;  // Clients.
  std::uint64_t numbers = 0;

  std::string next() { return std::to_string(++numbers); }
};

client_options settings(crowd& all, int client) {
  client_options o;
  o.observer = [&all, client](const event& e) {
    if (e.what == event::kind::clock_jump) all.out.write("jump {} {}", client, now_noted());
  };
  o.command_timeout = 500ms;
  o.connect_timeout = 1000ms;
  o.reconnect = {.first = 5ms, .max = 200ms, .factor = 2.0, .jitter = 0.5};
  o.restart_delay = restart_delay;
  if (client != 0) o.cohort = 0us;
  return o;
}

// What happens to a hold while it lives. The handler of lost() shares it.
struct watched {
  crowd& all;
  std::string id;
  bool ended = false;
};

class actor {
 public:
  actor(crowd& all, client c, int number, std::uint64_t seed, bool semaphores)
      : all_(all), client_(std::move(c)), number_(number), dice_(seed), semaphores_(semaphores) {}

  awaitable<void> act() {
    while (!all_.stopping) {
      if (dice_.one_in(5)) {
        co_await several();
      } else {
        co_await once();
      }
      co_await pause(dice_.between(0ms, 20ms));
    }
  }

 private:
  one_lock any() {
    const auto roll = dice_.below(semaphores_ ? 14 : 10);
    if (roll < 6) {
      const std::string name = mutexes.at(roll % mutexes.size());
      return {"mutex", name, "-", mutex(client_, name)};
    }
    if (roll < 8) {
      const bool writes = dice_.one_in(3);
      shared_mutex lock(client_, "shared");
      return {"shared_mutex", "shared", writes ? "w" : "r", writes ? any_lock(lock) : any_lock(lock.shared())};
    }
    if (roll < 10) {
      const std::string owner = "owner" + std::to_string(dice_.below(3));
      return {"recursive_mutex", "recursive", owner, recursive_mutex(client_, "recursive", owner)};
    }
    if (roll < 12) return {"counting_semaphore", "permits", "2", counting_semaphore(client_, "permits", 2)};
    return {"counting_semaphore", resized, std::to_string(limit_), counting_semaphore(client_, resized, limit_)};
  }

  milliseconds any_lease() {
    return dice_.one_in(2) ? dice_.between(100ms, 500ms) : dice_.between(100ms, longest_lease);
  }

  void sample(const hold& h, const std::string& id, instant& expires) {
    const instant now = noted(h.expires_at());
    // Valid afterwards, so it was valid when it said so. A step of the server's clock lowers it.
    if (now == expires || (now > expires && !h.valid())) return;
    expires = now;
    all_.out.write("expires {} {}", id, now);
  }

  std::shared_ptr<watched> watch(hold& h, const std::string& id) {
    auto w = std::make_shared<watched>(watched{all_, id});
    h.lost([w](error_code ec) {
      if (!ec && !w->ended) w->all.out.write("told {} {}", w->id, now_noted());
    });
    return w;
  }

  void give_up(const watched& w) { all_.out.write("give_up {} {}", w.id, now_noted()); }

  void grant(const hold& h, const std::string& id, instant& expires) {
    expires = noted(h.expires_at());
    all_.out.write("grant {} {} {} {}", id, now_noted(), h.fence(), expires);
  }

  template <class Operation>
  awaitable<error_code> noted_operation(const char* what, milliseconds bound, Operation operation) {
    return noted_operation(all_.next(), what, bound, std::move(operation));
  }
  template <class Operation>
  awaitable<error_code> noted_operation(std::string id, const char* what, milliseconds bound, Operation operation) {
    const instant now = now_noted();
    all_.out.write("begin {} {} {} {}", id, what, now, now + noted(bound));
    const auto [ec] = co_await std::move(operation);
    all_.out.write("done {} {} {}", id, now_noted(), ec.message());
    co_return ec;
  }

  // What is asked for, and when it has to end.
  struct terms {
    acquire_options options;
    bool once = false;
    std::optional<milliseconds> cancel;
    std::optional<milliseconds> limit;
  };

  terms any_terms() {
    terms t;
    acquire_options& o = t.options;
    o.lease = any_lease();
    const auto patience = dice_.below(10);
    o.wait = patience == 0 ? 0ms : patience == 1 ? forever : dice_.between(1ms, 3000ms);
    if (dice_.one_in(5))
      o.renew = renewal::none;
    else if (dice_.one_in(5))
      o.renew = renewal::at_most(2);
    if (dice_.one_in(5)) o.margin = dice_.between(1ms, 50ms);
    t.once = dice_.one_in(8);
    if (dice_.one_in(5)) t.cancel = dice_.one_in(3) ? dice_.between(0ms, 5ms) : dice_.between(0ms, 1000ms);
    if (t.once)
      t.limit = o.wait == 0ms ? command_timeout : std::min(o.wait, command_timeout);
    else if (o.wait == 0ms)
      t.limit = command_timeout;
    else if (o.wait != forever)
      t.limit = o.wait;
    if (t.cancel) t.limit = std::min(t.limit.value_or(*t.cancel), *t.cancel);
    return t;
  }

  std::string call(const one_lock& lock, const terms& t) {
    const std::string id = all_.next();
    all_.out.write("call {} {} {} {} {} {} {} {} {}", id, lock.kind, lock.name, lock.who, now_noted(),
                   t.limit ? noted(*t.limit) : -1, t.cancel ? 1 : 0, noted(t.options.margin), number_);
    return id;
  }

  void ended(const std::string& id, const std::string& reason) {
    all_.out.write("end {} {} {}", id, now_noted(), reason);
  }

  // What is refused at once is not asked for at once again. Whoever learns that the limit is another tries one.
  awaitable<void> think(error_code ec) {
    if (ec == error::wrong_limit) limit_ = any_limit();
    if (ec && ec != error::timed_out) co_await pause(dice_.between(10ms, 100ms));
  }

  std::uint32_t any_limit() { return 1 + static_cast<std::uint32_t>(dice_.below(3)); }

  awaitable<void> resize() {
    const std::string id = all_.next();
    const std::uint32_t limit = any_limit();
    all_.out.write("resize {} {} {}", id, resized, limit);
    auto done = counting_semaphore(client_, resized, limit_).resize(limit, as_tuple);
    const error_code ec = co_await noted_operation(id, "resize", command_timeout, std::move(done));
    if (!ec) limit_ = limit;
  }

  awaitable<void> once() {
    const one_lock lock = any();
    const terms t = any_terms();
    if (lock.name == resized && dice_.one_in(10)) co_await resize();
    const std::string id = call(lock, t);
    auto asked = std::visit([&](const auto& l) { return ask(l, t.options, t.once, t.cancel); }, lock.lock);
    answer a = co_await std::move(asked);
    if (a.ec || a.got.token().empty()) {
      ended(id, a.ec ? a.ec.message() : "busy");
      co_await think(a.ec);
      co_return;
    }
    instant expires = 0;
    grant(a.got, id, expires);
    auto w = watch(a.got, id);
    co_await use(a.got, w, t.options, lock, expires);
  }

  // All of them or none, of any kinds and in any order.
  awaitable<void> several() {
    std::vector<one_lock> locks;
    const std::size_t n = 2 + dice_.below(2);
    while (locks.size() < n) {
      one_lock l = any();
      if (std::none_of(locks.begin(), locks.end(), [&](const one_lock& o) { return o.name == l.name; })) {
        locks.push_back(std::move(l));
      }
    }
    terms t = any_terms();
    if (t.once) t.options.wait = *t.limit;
    std::vector<part> parts;
    std::vector<std::string> ids;
    for (const one_lock& l : locks) {
      std::visit([&](const auto& lock) { parts.emplace_back(lock); }, l.lock);
      ids.push_back(call(l, t));
      all_.out.write("together {} {}", ids.back(), ids.front());
    }
    const auto token = asio::cancel_after(t.cancel.value_or(never), as_tuple);
    auto asked = acquire_all(t.options, parts)(token);
    auto [ec, got] = co_await std::move(asked);
    got.resize(n);
    std::vector<instant> expires(n);
    std::vector<std::shared_ptr<watched>> watching;
    for (std::size_t i = 0; i < n; ++i) {
      if (got[i].token().empty()) {
        ended(ids[i], ec ? ec.message() : "nothing");
      } else {
        grant(got[i], ids[i], expires[i]);
        watching.push_back(watch(got[i], ids[i]));
      }
    }
    if (watching.size() < n) {
      co_await think(ec);
      co_return;
    }
    const auto end = std::chrono::steady_clock::now() + any_length(t.options);
    const auto valid = [](const hold& h) { return h.valid(); };
    while (std::all_of(got.begin(), got.end(), valid) && std::chrono::steady_clock::now() < end) {
      co_await pause(dice_.between(1ms, 20ms));
      for (std::size_t i = 0; i < n; ++i) sample(got[i], ids[i], expires[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      sample(got[i], ids[i], expires[i]);
      give_up(*watching[i]);
    }
    if (dice_.one_in(4)) co_return;
    auto bound = 0ms;
    for (const hold& h : got) bound = std::max(bound, limit_of_release(h));
    holds<3> together(std::move(got));
    auto released = together.release(as_tuple);
    co_await noted_operation("release_all", bound, std::move(released));
  }

  // Short ones are passed on within a client. The ends of leases that nobody renews show whether deadlines are early.
  milliseconds any_length(const acquire_options& o) {
    if (dice_.one_in(o.renew == renewal::none ? 2 : 12)) return dice_.between(0ms, o.lease * 3 / 2);
    return dice_.one_in(2) ? dice_.between(0ms, 60ms) : 0ms;
  }

  // It is released as long as its lease may run.
  static milliseconds limit_of_release(const hold& h) {
    const auto left = std::chrono::ceil<milliseconds>(h.expires_at() - std::chrono::steady_clock::now());
    return std::max(left, milliseconds(0)) + command_timeout;
  }

  awaitable<void> use(hold& h, std::shared_ptr<watched> w, const acquire_options& o, const one_lock& lock,
                      instant expires) {
    // What limit is in force is known as long as somebody is in.
    const auto length = lock.name == resized ? dice_.between(0ms, 400ms) : any_length(o);
    const auto end = std::chrono::steady_clock::now() + length;
    bool writes = lock.who == "w";
    while (h.valid() && std::chrono::steady_clock::now() < end) {
      co_await pause(dice_.between(1ms, 20ms));
      sample(h, w->id, expires);
      if (dice_.one_in(20)) {
        auto extended = h.extend(any_lease(), as_tuple);
        co_await noted_operation("extend", command_timeout, std::move(extended));
        sample(h, w->id, expires);
      }
      if (lock.name == resized && dice_.one_in(10)) co_await resize();
      if (writes && dice_.one_in(10) && h.valid()) {
        writes = false;
        w = co_await become_reader(h, std::move(w), lock, o.margin, expires);
        if (!w) co_return;
      }
    }
    sample(h, w->id, expires);
    give_up(*w);
    if (dice_.one_in(4)) {
      h = hold();
      co_return;
    }
    const auto bound = limit_of_release(h);
    if (dice_.one_in(8)) {
      const auto token = asio::cancel_after(dice_.between(0ms, 5ms), as_tuple);
      // Nobody waits for the answer.
      static_cast<void>(co_await h.release(token));
      co_return;
    }
    auto released = h.release(as_tuple);
    co_await noted_operation("release", bound, std::move(released));
  }

  // From the call on it claims no more than a reader does; the reader's tenure begins with the answer.
  awaitable<std::shared_ptr<watched>> become_reader(hold& h, std::shared_ptr<watched> w, const one_lock& lock,
                                                    milliseconds margin, instant& expires) {
    sample(h, w->id, expires);
    give_up(*w);
    w->ended = true;
    const std::string id = all_.next();
    all_.out.write("call {} {} {} r {} {} 0 {} {}", id, lock.kind, lock.name, now_noted(), noted(command_timeout),
                   noted(margin), number_);
    auto [ec] = co_await h.downgrade(as_tuple);
    if (ec) {
      ended(id, ec.message());
      h = hold();
      co_return nullptr;
    }
    grant(h, id, expires);
    co_return watch(h, id);
  }

  crowd& all_;
  client client_;
  const int number_;  // Of the client.
  dice dice_;
  bool semaphores_;
  std::uint32_t limit_ = 2;  // That of `resized`, as far as it knows.
};

awaitable<void> close(crowd& all, client c) {
  const std::string id = all.next();
  const instant now = now_noted();
  all.out.write("begin {} close {} {}", id, now, now + noted(connect_timeout));
  const auto [ec] = co_await c.close(as_tuple);
  all.out.write("done {} {} {}", id, now_noted(), ec.message());
}

// Where the machine has no time for this process it is as if it were frozen.
awaitable<void> note_stalls(crowd& all) {
  for (instant last = now_noted();;) {
    co_await pause(20ms);
    const instant now = now_noted();
    if (now - last > noted(100ms)) all.out.write("stall - {} {}", last, now);
    last = now;
    if (all.ended == 2) co_return;
  }
}

void note_counts(crowd& all, const statistics& s) {
  all.out.write("count handed_off {}", s.handed_off);
  all.out.write("count passed {}", s.passed);
  all.out.write("count renewed {}", s.renewed);
  all.out.write("count reconnects {}", s.reconnects);
  all.out.write("count withdrawn {}", s.withdrawn);
  all.out.write("count commands {}", s.commands);
}

// Two clients, one of which passes locks on within itself, with a few coroutines each.
int work(const std::vector<std::string>& arguments) {
  crowd all{notes(arguments.at(0))};
  dice d(std::stoull(arguments.at(1)));
  const bool semaphores = arguments.at(2) == "semaphores";
  const std::vector<std::string> urls(arguments.begin() + 3, arguments.end());
  asio::io_context context;
  asio::signal_set signals(context, SIGTERM);
  signals.async_wait([&](const error_code& ec, int) { all.stopping = all.stopping || !ec; });
  for (int i = 0; i < 2; ++i) {
    asio::co_spawn(
        context,
        [&all, &context, &urls, semaphores, i, seeds = dice(d.number())]() mutable -> awaitable<void> {
          client c(context, urls, settings(all, i));
          std::vector<std::unique_ptr<actor>> actors;
          int acting = 4;
          for (int k = 0; k < 4; ++k) {
            actors.push_back(std::make_unique<actor>(all, c, i, seeds.number(), semaphores));
            asio::co_spawn(context, actors.back()->act(), [&acting](std::exception_ptr failure) {
              if (failure) std::rethrow_exception(failure);
              --acting;
            });
          }
          while (acting > 0) co_await pause(5ms);
          // Nobody has a hold any more, and what nobody has must not be renewed.
          for (int k = 0; k < 1000 && c.stats().held != 0; ++k) co_await pause(5ms);
          all.out.write("count held_by_nobody {}", c.stats().held);
          co_await close(all, c);
          note_counts(all, c.stats());
          ++all.ended;
        },
        [](std::exception_ptr failure) {
          if (failure) std::rethrow_exception(failure);
        });
  }
  asio::co_spawn(context, note_stalls(all), asio::detached);
  std::printf("begun\n");
  std::fflush(stdout);
  context.run();
  return 0;
}

}  // namespace

std::vector<std::string> lock_names(bool semaphores) {
  std::vector<std::string> all = mutexes;
  all.insert(all.end(), {"shared", "recursive"});
  if (semaphores) all.insert(all.end(), {"permits", resized});
  return all;
}

const child_program worker("random_worker", work);

}  // namespace leasehold::test
