// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/login.hpp"

#include "time/random.hpp"

#include <utility>

namespace leasehold::detail {

login::login(boost::asio::any_io_executor strand, const client_options& options, role of, credentials of_url,
             bool may_ask)
    : strand_(std::move(strand)),
      options_(options),
      role_(of),
      may_ask_(may_ask && options.credentials != nullptr),
      credentials_(std::move(of_url)),
      schedule_(options.reconnect),
      limit_(strand_),
      next_(strand_),
      random_(static_cast<std::minstd_rand::result_type>(random_bits())) {}

void login::ask(std::string server, boost::asio::any_completion_handler<void()> handler) {
  server_ = std::move(server);
  limit_.expires_after(options_.connect_timeout);
  limit_.async_wait([weak = weak_from_this(), handler = std::move(handler)](error_code) mutable {
    if (const auto self = weak.lock()) ++self->number_;
    std::move(handler)();
  });
  request();
}

void login::request() {
  problem_ = "no credentials: no answer";
  const credentials_handler answer([weak = weak_from_this(), number = ++number_](std::string why, credentials given) {
    const auto self = weak.lock();
    if (self && number == self->number_) self->on_answer(std::move(why), std::move(given));
  });
  options_.credentials(credentials_request(server_, role_, strand_), answer);
}

void login::on_answer(std::string why, credentials given) {
  ++number_;
  problem_ = why.empty() ? std::string() : "no credentials: " + why;
  if (why.empty()) credentials_ = std::move(given);
  limit_.cancel();
}

void login::keep(living l) {
  if (!may_ask_) return;
  ++life_;
  living_ = std::move(l);
  authenticated({});
}

void login::authenticated(std::string_view words) {
  if (!living_.authenticate) return;
  if (!words.empty()) return fail("the server refuses the new credentials: " + std::string(words));
  reported_.clear();
  const auto now = clock::now();
  ask_again_at(schedule_.accepted(now, reauthentication::left_of(credentials_, to_steady(now))));
}

void login::release() {
  ++life_;
  ++number_;
  living_ = {};
  next_.cancel();
  limit_.cancel();
}

void login::ask_again_at(clock::time_point due) {
  if (due == clock::time_point::max()) return;
  next_.expires_at(due);
  next_.async_wait([weak = weak_from_this(), life = life_](error_code ec) {
    const auto self = weak.lock();
    if (!ec && self && life == self->life_) self->ask_again();
  });
}

void login::ask_again() {
  limit_.expires_after(options_.connect_timeout);
  limit_.async_wait([weak = weak_from_this(), life = life_](error_code) {
    const auto self = weak.lock();
    if (self && life == self->life_) self->renew();
  });
  request();
}

void login::renew() {
  ++number_;
  if (!problem_.empty()) return fail(problem_);
  living_.authenticate(credentials_);
}

void login::fail(const std::string& why) {
  // It is asked for every second: the same failure is reported once.
  if (std::exchange(reported_, why) != why) living_.report(why);
  ask_again_at(schedule_.failed(clock::now(), std::uniform_real_distribution<double>(0.0, 1.0)(random_)));
}

}  // namespace leasehold::detail
