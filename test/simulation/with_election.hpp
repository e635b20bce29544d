// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Candidates and observers of elections, for the tests of both.
#pragma once

#include "protocol/slots.hpp"
#include "simulation/with_memory.hpp"

#include <leasehold/election.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

inline const std::string the_value = "leasehold:{0}:leader:n";

// Follows an election for as long as it lives, and keeps everything that it is told of.
class follower {
 public:
  follower(const asio::any_io_executor& e, const std::string& url, client_options o = {}, const std::string& name = "n")
      : seen_(std::make_shared<log>(client(e, url, std::move(o)), name)) {
    ask(seen_);
  }
  follower(const follower&) = delete;
  follower& operator=(const follower&) = delete;
  ~follower() { seen_->stop.emit(asio::cancellation_type::terminal); }

  const std::vector<std::optional<leader_info>>& all() const { return seen_->all; }
  std::size_t size() const { return all().size(); }
  // The largest term that it was told of. None comes after a larger one.
  std::uint64_t last_term() const {
    std::uint64_t largest = 0;
    for (const auto& found : all()) {
      if (!found) continue;
      BOOST_TEST(found->fence >= largest);
      largest = found->fence;
    }
    return largest;
  }
  // "-" for nobody.
  std::string last() const { return all().empty() ? "" : all().back() ? all().back()->value : "-"; }
  std::chrono::steady_clock::time_point since() const { return seen_->at; }
  std::optional<error_code> ended() const { return seen_->ended; }

 private:
  struct log {
    log(const client& c, const std::string& name) : observer(election(c, name).observe()) {}
    leader_observer observer;
    asio::cancellation_signal stop;
    std::vector<std::optional<leader_info>> all;
    std::chrono::steady_clock::time_point at;
    std::optional<error_code> ended;
  };
  static void ask(const std::shared_ptr<log>& s) {
    s->observer.next(asio::bind_cancellation_slot(s->stop.slot(), [s](error_code ec, std::optional<leader_info> found) {
      if (ec) {
        s->ended = ec;
        return;
      }
      s->all.push_back(std::move(found));
      s->at = now();
      ask(s);
    }));
  }

  const std::shared_ptr<log> seen_;
};

// The value of the leader, "-" if there is none.
inline awaitable<std::string> led_by(election place) {
  const auto found = co_await place.leader();
  co_return found ? found->value : "-";
}
inline awaitable<std::string> change_of(leader_observer observer) {
  const auto found = co_await observer.next();
  co_return found ? found->value : "-";
}

struct with_election : with_memory {
  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] { return redis.size() == 0; });
  }
  awaitable<void> seen(const follower& f, std::string value) {
    co_await eventually("the observer is told", [&f, &value] { return f.last() == value; });
  }
};

struct with_tagged_election : with_election {
  detail::memory::cluster slots{{&redis.server()}, 1};
  const std::string tag{detail::tag_of_slot(detail::slot_of("n"))};
};

inline client_options impatient() {
  client_options o;
  o.command_timeout = 200ms;
  o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

// A candidate who campaigns by a callback.
struct candidate {
  candidate(const asio::any_io_executor& e, const std::string& url, client_options o = {})
      : c(e, url, std::move(o)), place(c, "n") {}

  client c;
  election place;
  asio::cancellation_signal signal;
  std::optional<error_code> ec;
  leadership led;

  void campaign(std::string value, acquire_options o = {}) {
    ec.reset();
    place.campaign(std::move(value), o, asio::bind_cancellation_slot(signal.slot(), [this](error_code e, leadership l) {
                     ec = e;
                     led = std::move(l);
                   }));
  }
  bool leads() const { return ec && !*ec && led.valid(); }
};

// A candidate whose value stays on its way, until pass(): the lock is its own by then.
struct with_held_value : with_election {
  gate way{redis};

  awaitable<void> campaign(candidate& a, acquire_options o = {}) {
    way.hold_requests(1);  // The acquire arrives.
    a.campaign("a", o);
    co_await eventually("it has the lock", [&] { return redis.get("n") && way.kept() != 0; });
  }
  // The server knows the scripts then.
  awaitable<void> lead_once(candidate& a) {
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads(); });
    co_await a.led.resign();
  }
};

}  // namespace leasehold::test
