// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// coordinator CLUSTER ADDRESS [URL]: reads the leader and its term, tries to lead, waits for a change, monitors,
// releases.
#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <iostream>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using view = std::optional<leasehold::leader_info>;  // The leader's address (value), its term (fence), and since when.

class coordinator {
 public:
  coordinator(const leasehold::client& redis, const std::string& cluster, std::string own_address)
      : election_(redis, cluster), changes_(election_.observe()), own_(std::move(own_address)) {}

  asio::awaitable<view> current_view() { co_return co_await election_.leader(); }
  // Returns after five seconds at the latest: a leader that dies before it has proclaimed its address changes no view.
  asio::awaitable<view> view_change() {
    auto [ec, changed] = co_await changes_.next(asio::cancel_after(5s, asio::as_tuple(asio::use_awaitable)));
    if (ec && ec != asio::error::operation_aborted) throw leasehold::system_error(ec);
    if (!ec) latest_ = std::move(changed);
    co_return latest_;
  }
  asio::awaitable<bool> try_lead() {
    const auto token = asio::as_tuple(asio::use_awaitable);
    auto [ec, led] = co_await election_.campaign(own_, {.lease = 5s, .wait = 0s}, token);
    // While Redis is away, a follower goes on: it tries again after the next view_change().
    const bool later =
        ec == leasehold::error::timed_out || ec == leasehold::error::unreachable || ec == leasehold::error::lost;
    if (ec && !later) throw leasehold::system_error(ec);
    led_ = std::move(led);
    co_return led_.valid();
  }
  asio::awaitable<void> monitor() { co_await led_.lost(); }    // Returns when the leadership is lost.
  asio::awaitable<void> release() { co_await led_.resign(); }  // Throws if it was lost.

 private:
  leasehold::election election_;
  leasehold::leader_observer changes_;
  std::string own_;
  view latest_;
  leasehold::leadership led_;
};

asio::awaitable<void> run(coordinator here) {
  for (bool leads = co_await here.try_lead(); !leads; leads = co_await here.try_lead()) {
    const view now = co_await here.view_change();
    std::cout << "follows " << (now ? now->value : "nobody") << std::endl;
  }
  asio::signal_set ends(co_await asio::this_coro::executor, SIGINT, SIGTERM);
  const view own = co_await here.current_view();
  std::cout << "leads in term " << (own ? own->fence : 0) << std::endl;
  co_await (here.monitor() || ends.async_wait(asio::use_awaitable));
  co_await here.release();
}

int main(int argc, char** argv) try {
  if (argc < 3) throw std::invalid_argument("usage: coordinator CLUSTER ADDRESS [URL]");
  asio::io_context context;
  coordinator here(leasehold::client(context, argc > 3 ? argv[3] : "redis://127.0.0.1:6379"), argv[1], argv[2]);
  asio::co_spawn(context, run(std::move(here)), [](auto e) { e ? std::rethrow_exception(e) : void(); });
  context.run();
} catch (const std::exception& e) {
  return std::cerr << "coordinator: " << e.what() << std::endl, 1;
}
