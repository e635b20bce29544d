// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// guide [URL]: the code of docs/guide.md, run from top to bottom, and of the headers' comments. They show what stands
// between the marks.

#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// [client]
asio::awaitable<void> connect(leasehold::client redis) {
  co_await redis.ready();  // Throws if the store does not answer. Not needed before the first lock.
}
// [/client]

// [acquire]
asio::awaitable<void> one_at_a_time(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  leasehold::hold hold = co_await lock.acquire();
  std::cout << "fence " << hold.fence() << std::endl;
  co_await hold.release();  // The destructor releases it, too, in the background.
}
// [/acquire]

// [options]
asio::awaitable<void> with_options(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  auto hold = co_await lock.acquire({.lease = 10s, .wait = 2s, .renew = leasehold::renewal::at_most(30)});
  co_await hold.release();
}
// [/options]

// [linger]
asio::awaitable<void> each_message(leasehold::client redis) {
  leasehold::mutex session(redis, "session:8d1f");
  for (int message = 1; message <= 3; ++message) {
    // From the second time on without a command to Redis, unless another client wanted the lock meanwhile.
    auto hold = co_await session.acquire({.lease = 10s, .linger = 1s});
    co_await hold.release();
  }
}
// [/linger]

// [wanted]
asio::awaitable<void> until_others_want_it(leasehold::client redis) {
  leasehold::mutex lock(redis, "reindex");
  leasehold::hold hold = co_await lock.acquire();
  const auto wanted = std::make_shared<bool>(false);
  hold.wanted([wanted](leasehold::error_code ec) { *wanted = !ec; });
  asio::steady_timer batch(co_await asio::this_coro::executor);
  for (int n = 1; n <= 3 && !*wanted; ++n) {
    batch.expires_after(10ms);  // The work: one batch after the other.
    co_await batch.async_wait();
  }
  co_await hold.release();
}
// [/wanted]

// [try]
asio::awaitable<void> if_it_is_free(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  if (auto hold = co_await lock.try_acquire()) {
    std::cout << "acquired" << std::endl;
    co_await hold->release();
  } else {
    std::cout << "busy" << std::endl;
  }
}
// [/try]

// [errors]
asio::awaitable<bool> told_apart(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  auto [failure, hold] = co_await lock.acquire({.wait = 500ms}, asio::as_tuple(asio::use_awaitable));
  if (failure == leasehold::error::timed_out) {
    std::cout << "busy" << std::endl;
  } else if (failure == leasehold::error::unreachable) {
    std::cout << "Redis does not answer" << std::endl;
  } else if (failure == leasehold::error::refused) {
    std::cout << "Redis says: " << redis.last_refusal() << std::endl;
  } else if (failure) {
    std::cout << failure.message() << std::endl;
  }
  co_return !failure;
}
// [/errors]

// [with_lock]
asio::awaitable<int> guarded(leasehold::client redis, std::string customer) {
  leasehold::mutex lock(redis, "customer:" + customer);
  auto body = [&](leasehold::hold& hold) -> asio::awaitable<int> {
    asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
    co_await work.async_wait();
    std::cout << customer << " is served, fence " << hold.fence() << std::endl;
    co_return 42;
  };
  co_return co_await leasehold::with_lock(lock, {.lease = 10s, .margin = 1s}, body);
}
// [/with_lock]

// [while_held]
asio::awaitable<void> work() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 20ms);
  co_await timer.async_wait();
}

asio::awaitable<void> in_two_steps(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  leasehold::hold hold = co_await lock.acquire();
  co_await leasehold::while_held(hold, work());
  co_await leasehold::while_held(hold, work());
  co_await hold.release();
}
// [/while_held]

// [cancel]
asio::awaitable<void> not_for_long(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  leasehold::hold first = co_await lock.acquire();
  // The second acquire waits for the first hold, until it is cancelled.
  auto acquire = lock.acquire(asio::cancel_after(100ms, asio::as_tuple(asio::use_awaitable)));
  auto [failure, second] = co_await std::move(acquire);
  std::cout << std::boolalpha << (failure == asio::error::operation_aborted) << std::endl;
  co_await first.release();
}
// [/cancel]

// [callback]
void with_callbacks(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  lock.acquire([](leasehold::error_code failure, leasehold::hold hold) {
    if (failure) return;
    std::cout << "fence " << hold.fence() << std::endl;
  });  // The hold is released when the handler returns.
}
// [/callback]

// [future]
void with_a_future(leasehold::client redis) {
  leasehold::mutex lock(redis, "invoice:4711");
  std::future<leasehold::hold> acquired = lock.acquire(asio::use_future);
  leasehold::hold hold = acquired.get();  // On a thread that does not run the io_context.
  hold.release(asio::use_future).get();
}
// [/future]

// [recursive]
asio::awaitable<void> entered_twice(leasehold::client redis) {
  leasehold::recursive_mutex order(redis, "order:4711", "request 9f86");
  leasehold::hold outer = co_await order.acquire();
  leasehold::hold inner = co_await order.acquire();  // Or in another service that knows the request's id.
  std::cout << "in " << inner.depth() << " times" << std::endl;
  co_await outer.release();
  co_await inner.release();  // The lock is free when the last hold is released.
}
// [/recursive]

// [shared]
asio::awaitable<void> read_and_write(leasehold::client redis) {
  leasehold::shared_mutex rates(redis, "exchange-rates");
  {
    leasehold::hold reading = co_await rates.acquire_shared();
    leasehold::hold beside = co_await rates.acquire_shared();
    std::cout << "two read" << std::endl;
  }
  leasehold::hold writing = co_await rates.acquire();
  co_await writing.downgrade();  // Other readers may enter now; no writer came in between.
  co_await writing.release();
}
// [/shared]

// [semaphore]
asio::awaitable<void> a_few_at_once(leasehold::client redis) {
  leasehold::counting_semaphore licences(redis, "licences", 5);
  leasehold::hold licence = co_await licences.acquire();
  co_await licences.resize(6);
  co_await licence.release();
}
// [/semaphore]

// [all]
asio::awaitable<void> transfer(leasehold::client redis) {
  leasehold::mutex from(redis, "account:17");
  leasehold::mutex to(redis, "account:4");
  leasehold::shared_mutex rates(redis, "exchange-rates");
  auto [payer, payee, reading] = co_await leasehold::acquire_all({.wait = 2s}, from, to, rates.shared());
  std::cout << payer.name() << ", " << payee.name() << " and " << reading.name() << std::endl;
}
// [/all]

// [observer]
leasehold::client configured(asio::io_context& context, const std::string& url) {
  leasehold::client_options options;
  options.prefix = "billing:";
  options.command_timeout = 1s;
  options.observer = [](const leasehold::event& e) {
    if (e.what == leasehold::event::kind::lost) std::cerr << "lost " << e.name << std::endl;
    if (e.what == leasehold::event::kind::evicting) std::cerr << "Redis may evict locks: " << e.text << std::endl;
    if (e.what == leasehold::event::kind::slow_wait) std::cerr << e.name << " is " << e.text << std::endl;
  };
  options.slow_wait = 5s;  // An operation that waits for so long is reported: "report is held by web1-4711 since ..."
  return leasehold::client(context, url, options);
}
// [/observer]

// [classes]
leasehold::client classified(asio::any_io_executor executor, const std::string& url) {
  leasehold::client_options options;
  // "seat:A1" and "seat:A2" are in the class "seat".
  options.classify = [](std::string_view name) { return std::string(name.substr(0, name.find(':'))); };
  return leasehold::client(executor, url, options);
}

void print_waits(const leasehold::client& redis) {
  for (const auto& [label, figures] : redis.stats_by_class()) {
    std::cout << label << ": " << figures.acquired << " acquired, " << figures.contended << " contended, p99 of waits "
              << figures.waiting_time.quantile(0.99).count() << " us" << std::endl;
  }
}
// [/classes]

// [two_clients]
std::string metrics_of(const leasehold::client& orders, const leasehold::client& jobs) {
  return leasehold::to_prometheus(
      {{"orders", orders.stats(), orders.stats_by_class()}, {"jobs", jobs.stats(), jobs.stats_by_class()}});
}
// [/two_clients]

// [password_file]
leasehold::client with_a_password_file(asio::io_context& context, const std::string& url, std::string path) {
  leasehold::client_options options;
  options.credentials = [path](const leasehold::credentials_request&, leasehold::credentials_handler done) {
    std::string password;
    std::ifstream file(path);
    if (!std::getline(file, password)) return done("there is no password in " + path);
    // The client asks again before that, so it finds a new password although its connection lives.
    done(leasehold::credentials("default", password, std::chrono::steady_clock::now() + 1min));
  };
  return leasehold::client(context, url, options);
}
// [/password_file]

// Stands for a service that signs tokens, as that of a cloud does.
asio::awaitable<std::string> sign(std::string server) {
  asio::steady_timer work(co_await asio::this_coro::executor, 5ms);
  co_await work.async_wait();
  co_return "token for " + server;
}

// [token]
leasehold::client with_tokens(asio::io_context& context, const std::string& url) {
  auto ask = [](leasehold::credentials_request request) -> asio::awaitable<leasehold::credentials> {
    const auto asked = std::chrono::steady_clock::now();
    const std::string token = co_await sign(request.server);
    leasehold::credentials given("default", token, asked + 15min);
    co_return given;
  };
  leasehold::client_options options;
  options.credentials = leasehold::credentials_from(ask);
  return leasehold::client(context, url, options);
}
// [/token]

// [threads]
void on_a_pool(asio::thread_pool& pool, leasehold::client redis) {
  for (int i = 0; i < 4; ++i) {
    asio::co_spawn(asio::make_strand(pool), guarded(redis, "number " + std::to_string(i)), asio::detached);
  }
}
// [/threads]

asio::awaitable<void> serve(std::uint64_t term) {
  std::cout << "leads in term " << term << std::endl;
  co_return;
}

// [elections]
asio::awaitable<void> lead_for_a_while(leasehold::client redis) {
  leasehold::election election(redis, "api");
  leasehold::leadership led = co_await election.campaign("10.0.0.7:8000", {.lease = 10s, .margin = 1s});
  co_await leasehold::while_held(led.hold(), serve(led.term()));
  co_await led.proclaim("10.0.0.7:8001");  // Others see another value from now on.
  co_await led.resign();
}

asio::awaitable<void> follow(leasehold::client redis) {
  leasehold::leader_observer changes = leasehold::election(redis, "api").observe();
  for (int i = 0; i < 2; ++i) {
    const std::optional<leasehold::leader_info> leader = co_await changes.next();  // First of all, the present state.
    std::cout << (leader ? leader->value : "no leader") << std::endl;
  }
}
// [/elections]

asio::awaitable<void> lead_once(leasehold::election election) {
  // [election]
  leasehold::leadership led = co_await election.campaign("10.0.0.7:8000", {.lease = 10s});
  co_await leasehold::while_held(led.hold(), serve(led.term()));
  co_await led.resign();
  // [/election]
}

void write_report(std::uint64_t fence) { std::cout << "report " << fence << std::endl; }

asio::awaitable<void> report_once(std::string url) {
  // [mutex]
  leasehold::client redis(co_await asio::this_coro::executor, url);
  leasehold::mutex lock(redis, "report:2026-11");
  if (auto hold = co_await lock.try_acquire()) write_report(hold->fence());
  // [/mutex]
}

asio::awaitable<void> write_row(std::uint64_t fence) {
  std::cout << "row " << fence << std::endl;
  co_return;
}

asio::awaitable<void> write_under(leasehold::mutex lock) {
  // [hold]
  leasehold::hold hold = co_await lock.acquire({.lease = 10s});
  co_await write_row(hold.fence());
  co_await hold.release();
  // [/hold]
}

asio::awaitable<void> hand_over(leasehold::hold hold, leasehold::client worker) {
  // [ticket]
  const leasehold::ticket detached = co_await hold.detach();
  const std::string text = detached.to_string();  // One word, for a queue, a file or another process.
  leasehold::hold resumed = co_await worker.resume(leasehold::ticket::parse(text));
  // [/ticket]
  co_await resumed.release();
}

// [at_least]
asio::awaitable<void> once_in_the_fleet(leasehold::client redis) {
  leasehold::mutex lock(redis, "newsletter");
  if (auto hold = co_await lock.try_acquire({.at_least = 1min})) {
    std::cout << "sent" << std::endl;
    co_await hold->release();  // Completes at once, and the lock stays busy for the rest of the minute.
  }
}
// [/at_least]

asio::awaitable<void> watched(std::string url, leasehold::client jobs) {
  leasehold::client orders = classified(co_await asio::this_coro::executor, url);
  co_await one_at_a_time(orders);
  print_waits(orders);
  std::cout << metrics_of(orders, jobs).size() << " bytes of metrics" << std::endl;
}

asio::awaitable<void> all(leasehold::client redis, std::string url) {
  co_await report_once(url);
  co_await write_under(leasehold::mutex(redis, "row"));
  co_await connect(redis);
  co_await one_at_a_time(redis);
  co_await with_options(redis);
  co_await each_message(redis);
  co_await until_others_want_it(redis);
  co_await if_it_is_free(redis);
  const bool acquired = co_await told_apart(redis);
  std::cout << acquired << std::endl;
  const int answer = co_await guarded(redis, "Smith");
  std::cout << answer << std::endl;
  co_await in_two_steps(redis);
  co_await not_for_long(redis);
  with_callbacks(redis);
  co_await entered_twice(redis);
  co_await read_and_write(redis);
  co_await a_few_at_once(redis);
  co_await transfer(redis);
  leasehold::mutex order(redis, "order:17");
  leasehold::hold of_order = co_await order.acquire();
  co_await hand_over(std::move(of_order), redis);
  co_await once_in_the_fleet(redis);
  co_await watched(url, redis);
  asio::co_spawn(redis.get_executor(), follow(redis), asio::detached);
  co_await lead_for_a_while(redis);
  co_await lead_once(leasehold::election(redis, "once"));
}

}  // namespace

int main(int argc, char** argv) try {
  const char* given = argc > 1 ? argv[1] : std::getenv("LEASEHOLD_REDIS");
  const std::string url = given ? given : "redis://127.0.0.1:6379";
  {
    asio::io_context context;
    asio::co_spawn(context, all(configured(context, url), url), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    context.run();
  }
  {
    // A server without a password accepts any from its default user, and so the first line of any file.
    asio::io_context context;
    const auto rethrow = [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    };
    asio::co_spawn(context, connect(with_a_password_file(context, url, "/proc/version")), rethrow);
    asio::co_spawn(context, connect(with_tokens(context, url)), rethrow);
    context.run();
  }
  asio::thread_pool pool(2);
  leasehold::client redis(pool, url);
  with_a_future(redis);
  on_a_pool(pool, std::move(redis));
  pool.join();
} catch (const std::exception& e) {
  std::cerr << "guide: " << e.what() << std::endl;
  return 1;
}
