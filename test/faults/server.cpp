// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What hangs on real servers and processes: handshakes, scripts that they know, rights, signals;
// test/simulation/locks/server.cpp has the rest.
#include "support/child.hpp"
#include "support/stepped_clock.hpp"
#include "support/with_redis.hpp"

#include <csignal>
#include <filesystem>

namespace leasehold::test {

namespace {

// Arguments: URL, lease in milliseconds. Takes the lock and says so, then goes on holding it.
int hold_for_ever(const std::vector<std::string>& arguments) {
  asio::io_context context;
  client c(context, arguments.at(0));
  mutex lock(c, "n");
  hold held;
  lock.acquire({.lease = std::chrono::milliseconds(std::stoi(arguments.at(1)))}, [&](error_code ec, hold h) {
    say(ec.message() + " " + std::to_string(h.fence()));
    held = std::move(h);
  });
  context.run();
  return 0;
}

const child_program holder("hold_for_ever", hold_for_ever);

// Arguments: URL. Takes the lock for an hour, and at SIGUSR1 says what it thinks of it, without running its context.
int hold_through_a_sleep(const std::vector<std::string>& arguments) {
  sigset_t poke;
  sigemptyset(&poke);
  sigaddset(&poke, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &poke, nullptr);
  asio::io_context context;
  client c(context, arguments.at(0));
  hold held;
  mutex(c, "n").acquire({.lease = 1h}, [&](error_code, hold h) {
    held = std::move(h);
    context.stop();
  });
  context.run();
  const auto opinion = [&held] {
    const bool past = held.expires_at() < std::chrono::steady_clock::now();
    return std::string(held.valid() ? "valid" : "not valid") + (past ? ", past" : ", ahead");
  };
  say(opinion());
  int number = 0;
  sigwait(&poke, &number);
  say(opinion());
  return 0;
}

const child_program sleeper("hold_through_a_sleep", hold_through_a_sleep);

client_options short_timeouts() {
  client_options o;
  o.command_timeout = 200ms;
  o.connect_timeout = 500ms;
  o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

struct watch {
  explicit watch(const hold& h) {
    h.lost([this](error_code e) {
      ec = e;
      at = std::chrono::steady_clock::now();
    });
  }
  watch(const watch&) = delete;
  std::optional<error_code> ec;
  std::chrono::steady_clock::time_point at;
  bool notified() const { return ec.has_value(); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(servers, with_redis)

BOOST_AUTO_TEST_CASE(a_holder_that_is_killed_lets_the_next_in_after_its_lease) {
  // It still has the lock when the next one asks, even if the machine stands still for three seconds in between.
  child process(holder.command({redis.url(), "4000"}));
  const std::string line = process.read_line().value();
  const auto fence = std::stoull(line.substr(line.rfind(' ') + 1));
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    auto busy = co_await lock.try_acquire();
    BOOST_TEST(!busy.has_value());
    process.signal(SIGKILL);
    process.wait();
    BOOST_TEST(redis.ttl("n") <= 4000);
    hold h = co_await lock.acquire();
    BOOST_TEST(h.valid());
    BOOST_TEST(h.fence() > fence);
  });
}

// A frozen holder: the others come in after its lease, and it learns of its loss when it wakes.
BOOST_AUTO_TEST_CASE(a_holder_that_is_stopped_loses_its_lock) {
  child process(holder.command({redis.url(), "1000"}));
  const std::string line = process.read_line().value();
  const auto fence = std::stoull(line.substr(line.rfind(' ') + 1));
  process.stop();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(h.fence() > fence);
    process.signal(SIGCONT);
    // It neither takes the lock back nor shortens it.
    co_await pause(100ms);
    BOOST_TEST(redis.get("n").value().find(h.token()) != std::string::npos);
    BOOST_TEST(redis.ttl("n") > 20000);
  });
}

// A10: a server that comes back empty has forgotten the holds; they are told at once, not when their leases end.
BOOST_AUTO_TEST_CASE(a_server_restarted_empty_loses_the_holds_at_once) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10)});
    hold once = co_await mutex(c, "m").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    watch w(h);
    watch v(once);
    const auto fence = h.fence();
    redis.kill();
    BOOST_TEST(h.valid());
    redis.start();
    co_await eventually("the losses are reported", [&] { return w.notified() && v.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(!*v.ec);
    BOOST_TEST(w.at < h.expires_at());
    BOOST_TEST(!h.valid());
    BOOST_TEST(redis.size() == 0U);
    // Promise 3: not even that takes the fences back.
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST(next.fence() > fence);
  });
}

namespace {

// More than may be on their way at once: what is asked for afterwards waits in the client while the server hangs.
void fill(const client& c, int attempts = 2000) {
  for (int i = 0; i < attempts; ++i) mutex(c, std::to_string(i)).acquire([](error_code, hold) {});
}

}  // namespace

// Who was told that an operation has ended is not to see it happen afterwards.
BOOST_AUTO_TEST_CASE(what_has_ended_before_its_turn_is_not_sent) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    counting_semaphore three(c, "s", 3);
    hold permit = co_await three.acquire();
    redis.stop();
    fill(c);
    const auto soon = asio::cancel_after(1ms, as_tuple);
    auto [resized] = co_await three.resize(5, soon);
    BOOST_TEST(resized == asio::error::operation_aborted);
    auto [acquired, none] = co_await acquire_all(mutex(c, "a"), mutex(c, "b"))(soon);
    BOOST_TEST(acquired == asio::error::operation_aborted);
    redis.go_on();
    // Its limit is what it was.
    hold another = co_await three.acquire();
    co_await permit.release();
    co_await another.release();
    co_await c.close();
    BOOST_TEST(c.stats().acquired == 2002U);
    BOOST_TEST(redis.size() == 0U);
  });
}

// What was never sent has released nothing.
BOOST_AUTO_TEST_CASE(a_release_that_had_to_wait_is_no_repeat) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
    client c(co_await asio::this_coro::executor, redis.url(), o);
    hold h = co_await mutex(c, "n").acquire({.lease = 10min});
    redis.stop();
    fill(c);
    outcome released;
    h.release(released.handler());
    co_await turn();
    redis.kill();
    redis.start();
    co_await eventually("it is told", [&] { return released.ended(); });
    BOOST_TEST(*released.ec == error::lost);
    co_await c.close();
  });
}

// Renewals, extensions and releases would come too late behind a burst of attempts.
BOOST_AUTO_TEST_CASE(what_keeps_or_releases_a_hold_goes_ahead_of_attempts) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    hold kept = co_await mutex(c, "kept").acquire();
    hold left = co_await mutex(c, "left").acquire();
    redis.stop();
    constexpr int all = 5000;
    fill(c, all);
    std::optional<std::uint64_t> in_before_extended, in_before_released;
    kept.extend(60min, [&](error_code ec) {
      BOOST_TEST(!ec);
      in_before_extended = c.stats().acquired;
    });
    left.release([&](error_code ec) {
      BOOST_TEST(!ec);
      in_before_released = c.stats().acquired;
    });
    redis.go_on();
    co_await eventually("all have been in", [&] { return c.stats().acquired == all + 2U; });
    BOOST_TEST(in_before_extended.value() < all / 2U);
    BOOST_TEST(in_before_released.value() < all / 2U);
    co_await kept.release();
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

// The script is on its way when the client closes. Whether the server knows it already decides what comes of it: holds
// to be released, or nothing.
BOOST_AUTO_TEST_CASE(close_waits_for_the_one_script_of_acquire_all) {
  for (const bool known : {false, true}) {
    for (const bool late : {false, true}) {
      BOOST_TEST_CONTEXT("known: " << known << ", late: " << late) {
        redis.command("SCRIPT", "FLUSH");
        run([&]() -> awaitable<void> {
          client c(co_await asio::this_coro::executor, redis.url(), patient());
          mutex a(c, "a"), b(c, "b");
          co_await c.ready();
          if (known) {
            holds<2> both = co_await acquire_all(a, b);
            co_await both.release();
          }
          redis.stop();
          outcome acquired, closed;
          acquire_all(a, b)([&](error_code ec, holds<2>) { acquired.ec = ec; });
          co_await turn(20);
          c.close(closed.handler());
          if (late) {
            co_await eventually("its caller need not wait for the server", [&] { return acquired.ended(); });
            co_await turn(20);
            BOOST_TEST(!closed.ended());
          }
          redis.go_on();
          co_await eventually("it is closed", [&] { return closed.ended(); });
          BOOST_TEST(*acquired.ec == error::closed);
          BOOST_TEST(!*closed.ec);
          co_await eventually("the server knows that, too", [&] {
            return redis.command("CLIENT", "LIST").text.find("name=leasehold") == std::string::npos;
          });
          BOOST_TEST(redis.size() == 0U);
        });
      }
    }
  }
}

// A9: CLOCK_MONOTONIC stood still meanwhile, and nothing has run since.
BOOST_AUTO_TEST_CASE(a_machine_that_slept_past_the_lease_knows_that_the_hold_is_not_valid) {
  stepped_clock clock;
  auto environment = clock.environment();
  environment.emplace_back("ASAN_OPTIONS=verify_asan_link_order=0");
  child process(sleeper.command({redis.url()}), environment);
  BOOST_TEST(process.read_line().value() == "valid, ahead");
  clock.sleep(2h);
  process.signal(SIGUSR1);
  BOOST_TEST(process.read_line().value() == "not valid, past");
  BOOST_TEST(process.wait() == 0);
}

// Whether the watch over the last answers still runs, or has run out meanwhile: several times on a connection.
BOOST_AUTO_TEST_CASE(a_server_that_hangs_is_noticed_at_any_time) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (const auto idle : {0ms, 500ms}) {
      client_options o = short_timeouts();
      int dropped = 0;
      o.observer = [&dropped](const event& e) {
        dropped += e.what == event::kind::disconnected && e.text == "no answer";
      };
      client c(executor, redis.url(), o);
      for (int i = 0; i < 3; ++i) {
        hold h = co_await mutex(c, "n").acquire();
        co_await h.release();
        // Longer than the watch runs: nothing tells that it has run out.
        asio::steady_timer nothing_to_do(executor, idle);
        co_await nothing_to_do.async_wait();
      }
      BOOST_TEST(dropped == 0);
      redis.stop();
      std::optional<error_code> acquired;
      hold next;
      mutex(c, "n").acquire([&](error_code ec, hold h) {
        acquired = ec;
        next = std::move(h);
      });
      co_await eventually("the connection is given up", [&] { return dropped == 1; });
      redis.go_on();
      co_await eventually("the lock is acquired", [&] { return acquired.has_value(); });
      BOOST_TEST(!*acquired);
      co_await next.release();
      co_await c.close();
    }
  });
}

// A grant that comes when the wait is over does not say that the lock was busy.
BOOST_AUTO_TEST_CASE(a_late_grant_of_a_free_lock_is_not_timed_out) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    {
      // So that the server knows the script.
      hold h = co_await mutex(c, "n").acquire();
      co_await h.release();
    }
    for (int i = 0; i < 5; ++i) {
      std::optional<error_code> ended;
      redis.stop();
      mutex(c, "n").acquire({.wait = 200ms}, [&](error_code ec, const hold&) { ended = ec; });
      for (int turn = 0; turn < 50; ++turn) co_await asio::post(asio::deferred);
      // Not before its own, wherever the scheduler has kept this program meanwhile.
      const auto deadline = std::chrono::steady_clock::now() + 200ms;
      redis.go_on();
      // It keeps the event loop from both the answer and the deadline until they are there.
      wait_until("it is granted, and the wait is over",
                 [&] { return ended || (redis.get("n") && std::chrono::steady_clock::now() > deadline); });
      co_await eventually("it has ended", [&] { return ended.has_value(); });
      BOOST_TEST(*ended == error::unreachable, ended->message());
      co_await eventually("it was released", [&] { return !redis.get("n"); });
    }
    BOOST_TEST(c.stats().timed_out == 0U);
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
  });
}

BOOST_AUTO_TEST_CASE(script_flush_is_not_noticed) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    for (int i = 0; i < 20; ++i) {
      redis.command("SCRIPT", "FLUSH");
      hold h = co_await lock.acquire();
      redis.command("SCRIPT", "FLUSH");
      co_await h.extend(60s);
      redis.command("SCRIPT", "FLUSH");
      lock_info info = co_await lock.inspect();
      BOOST_TEST(info.held);
      redis.command("SCRIPT", "FLUSH");
      co_await h.release();
      BOOST_TEST(!redis.get("n"));
    }
    BOOST_TEST(c.stats().connects == 1U);
  });
}

BOOST_AUTO_TEST_CASE(a_replica_refuses) {
  redis.command("CONFIG", "SET", "repl-diskless-sync-delay", "0");
  redis_server replica;
  replica.command("REPLICAOF", "127.0.0.1", std::to_string(redis.port()));
  wait_until("the replica is in step", [&] {
    return replica.command("INFO", "replication").text.find("master_link_status:up") != std::string::npos;
  });
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, replica.url());
    auto [ec, none] = co_await mutex(c, "n").acquire(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal().find("READONLY") != std::string::npos, c.last_refusal());
  });
}

// C9: a user without the rights.
BOOST_AUTO_TEST_CASE(a_user_without_rights_is_refused) {
  redis.command("ACL", "SETUSER", "nothing", "on", ">pw", "~*", "&*", "-@all", "+hello", "+auth", "+select", "+ping",
                "+time", "+info", "+client");
  redis.command("ACL", "SETUSER", "elsewhere", "on", ">pw", "~other:*", "&*", "+@all");
  redis.command("ACL", "SETUSER", "enough", "on", ">pw", "~n", "~leasehold:*", "&*", "+@all", "-info");
  run([&]() -> awaitable<void> {
    const std::string at = ":pw@127.0.0.1:" + std::to_string(redis.port());
    for (const std::string user : {"nothing", "elsewhere"}) {
      client c(co_await asio::this_coro::executor, "redis://" + user + at);
      auto [ec, none] = co_await mutex(c, "n").acquire(as_tuple);
      BOOST_TEST(ec == error::refused);
      BOOST_TEST(c.last_refusal().find("NOPERM") != std::string::npos, c.last_refusal());
      auto [ec2, none2] = co_await mutex(c, "n").try_acquire(as_tuple);
      BOOST_TEST(ec2 == error::refused);
    }
    client c(co_await asio::this_coro::executor, "redis://enough" + at);
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(h.valid());
  });
}

// What goes out together may be one script call (protocol.md, "Bundles"). A missing right to one of its keys concerns
// the lock that has this key.
BOOST_AUTO_TEST_CASE(a_missing_right_to_one_lock_refuses_no_other) {
  redis.command("ACL", "SETUSER", "some", "on", ">pw", "~n*", "~leasehold:*", "&*", "+@all");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis://some:pw@127.0.0.1:" + std::to_string(redis.port()));
    mutex one(c, "n1"), two(c, "n2"), forbidden(c, "m");
    co_await c.ready();
    for (int i = 0; i < 3; ++i) {
      outcome first, refused, last;
      hold h1, h2;
      one.acquire([&](error_code ec, hold h) { first.ec = ec, h1 = std::move(h); });
      forbidden.acquire([&](error_code ec, hold) { refused.ec = ec; });
      two.acquire([&](error_code ec, hold h) { last.ec = ec, h2 = std::move(h); });
      co_await eventually("all have ended", [&] { return first.ended() && refused.ended() && last.ended(); });
      BOOST_TEST(!*first.ec);
      BOOST_TEST(!*last.ec);
      BOOST_TEST(*refused.ec == error::refused);
      BOOST_TEST(c.last_refusal().starts_with("NOPERM"), c.last_refusal());
      co_await h1.release();
      co_await h2.release();
    }
  });
}

// While it loads its data a server says LOADING: it will be able to answer soon. (Here: BUSY, with a script that runs.)
BOOST_AUTO_TEST_CASE(a_busy_server_is_waited_for) {
  redis.command("CONFIG", "SET", "busy-reply-threshold", "1");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    redis_connection other(redis.socket_path());
    other.send({"EVAL", "while true do end", "0"});
    wait_until("the script runs", [&] { return redis.command("PING").is_error(); });
    std::optional<hold> got;
    const auto start = std::chrono::steady_clock::now();
    mutex(c, "n").acquire({.retry = {.first = 100ms, .max = 100ms, .jitter = 0.0}}, [&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      got = std::move(h);
    });
    co_await eventually("it has asked", [&] { return c.stats().commands >= 5; });
    BOOST_TEST(!got.has_value());
    // With a pause before each but the first.
    BOOST_TEST((std::chrono::steady_clock::now() - start >= 400ms));
    redis.command("SCRIPT", "KILL");
    co_await eventually("it is acquired", [&] { return got.has_value(); });
  });
}

// A server that takes no more connections is away, and not one that has said no: it may have room soon.
BOOST_AUTO_TEST_CASE(a_server_with_too_many_clients) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    redis.command("CONFIG", "SET", "maxclients", "1");  // That is the test.
    client c(executor, redis.url(), short_timeouts());
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable, ec.message());
    acquire_options o;
    o.wait = 100ms;
    mutex lock(c, "n");
    auto [failed, none] = co_await lock.acquire(o, as_tuple);
    BOOST_TEST(failed == error::unreachable, failed.message());
    redis.command("CONFIG", "SET", "maxclients", "100");
    hold h = co_await lock.acquire();
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await c.close();
  });
}

// From now on its snapshots fail.
awaitable<void> break_snapshots(redis_server& saving) {
  const std::string folder = saving.folder() / "gone";
  std::filesystem::create_directory(folder);
  saving.command("CONFIG", "SET", "dir", folder);
  saving.command("CONFIG", "SET", "save", "3600 1000000");
  std::filesystem::remove(folder);
  saving.command("BGSAVE");
  co_await eventually("the snapshot fails", [&] {
    return saving.command("INFO", "persistence").text.find("rdb_last_bgsave_status:err") != std::string::npos;
  });
}

// MISCONF: nothing is written while snapshots fail.
BOOST_AUTO_TEST_CASE(a_server_that_cannot_save) {
  redis_server saving({"enable-protected-configs yes"});
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, saving.url(), short_timeouts());
    mutex lock(c, "n");
    hold held = co_await mutex(c, "held").acquire();
    co_await break_snapshots(saving);
    auto [ec, none] = co_await lock.acquire(as_tuple);
    BOOST_TEST(ec == error::refused, ec.message());
    BOOST_TEST(c.last_refusal().starts_with("MISCONF"), c.last_refusal());
    saving.command("CONFIG", "SET", "stop-writes-on-bgsave-error", "no");
    hold h = co_await lock.acquire();
    co_await h.release();
    co_await held.extend(40s);
    co_await held.release();
    co_await c.close();
  });
}

// While it cannot save it refuses the client's PING, and no subscription: the waiters of the client are told later on.
// It has refused before it wrote anything: the hold is a writer's, and so is its ticket.
BOOST_AUTO_TEST_CASE(a_downgrade_that_was_refused_does_not_happen_later) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    hold h = co_await shared_mutex(c, "n").acquire({.lease = 1min});
    const auto fence = h.fence();
    redis.command("CONFIG", "SET", "min-replicas-to-write", "1");
    auto asking = h.downgrade(as_tuple);
    const auto [ec] = co_await std::move(asking);
    BOOST_TEST(ec == error::refused);
    redis.command("CONFIG", "SET", "min-replicas-to-write", "0");
    const ticket t = co_await h.detach();
    BOOST_TEST(!t.is_reader());
    BOOST_TEST(t.fence() == fence);
    hold again = co_await c.resume(t);
    co_await again.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_server_that_could_not_save_has_channels) {
  redis_server saving({"enable-protected-configs yes", "cluster-enabled yes"});
  saving.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  wait_until("the slots are served",
             [&] { return saving.command("CLUSTER", "INFO").text.find("cluster_state:ok") != std::string::npos; });
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client holder(executor, saving.tcp_url()), waiter(executor, saving.tcp_url());
    hold held = co_await mutex(holder, "n").acquire({.lease = 60s});
    co_await waiter.ready();
    co_await break_snapshots(saving);
    // It listens before it joins the queue, and the server refuses to write that.
    auto [ec, none] = co_await mutex(waiter, "n").acquire({.wait = 60s}, as_tuple);
    BOOST_TEST(ec == error::refused, ec.message());
    BOOST_TEST(waiter.last_refusal().starts_with("MISCONF"), waiter.last_refusal());
    BOOST_TEST(waiter.stats().reconnects == 0U);
    saving.command("CONFIG", "SET", "stop-writes-on-bgsave-error", "no");
    std::optional<hold> got;
    mutex(waiter, "n").acquire([&](error_code e, hold h) {
      if (!e) got = std::move(h);
    });
    co_await eventually("it waits in the queue",
                        [&] { return saving.command("KEYS", "leasehold:*:queue:n").items.size() == 1U; });
    co_await eventually("both are told", [&] { return saving.command("PUBSUB", "SHARDCHANNELS").items.size() == 2U; });
    co_await held.release();
    co_await eventually("it is granted", [&] { return got.has_value(); });
    co_await got->release();
    co_await holder.close();
    co_await waiter.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// A server whose wall clock the test can step.
struct with_stepped_clock {
  stepped_clock clock;
  redis_server redis{{}, clock.environment()};

  void step(std::chrono::microseconds by) { clock.step(by); }
  std::int64_t time() { return std::stoll(redis.command("TIME").items.at(0).text); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(stepped_clocks, with_stepped_clock)

// A9: the server's leases end early by the step, so the local deadlines have to.
BOOST_AUTO_TEST_CASE(a_step_forward_shortens_every_deadline) {
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    client_options o;
    o.observer = [&](const event& e) {
      if (e.what == event::kind::clock_jump) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    hold a = co_await mutex(c, "a").acquire({.lease = 60s, .renew = renewal::none});
    hold b = co_await mutex(c, "b").acquire({.lease = 10s, .renew = renewal::none});
    watch w(b);
    const auto before = a.expires_at();
    const auto real = time();
    step(20s);
    BOOST_REQUIRE(time() >= real + 20);
    BOOST_TEST(c.stats().clock_jumps == 0U);
    // Any reply tells.
    auto other = co_await mutex(c, "c").try_acquire();
    BOOST_TEST(c.stats().clock_jumps == 1U);
    BOOST_TEST(told.size() == 1U);
    BOOST_TEST(a.expires_at() <= before - 20s + 5ms);
    BOOST_TEST(a.expires_at() >= before - 30s);
    BOOST_TEST(a.valid());
    BOOST_TEST(!b.valid());
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(!redis.get("b"));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
