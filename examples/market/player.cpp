// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "market/player.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <charconv>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace market {

using namespace std::chrono_literals;

namespace {

// Money is counted in whole numbers. Redis writes one that is a score as it writes an integer.
long money(std::string_view whose, std::string_view text) {
  long value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size()) return value;
  throw std::runtime_error(fmt::format("the money of {} is no whole number: \"{}\"", whose, text));
}

void push_look(redis::request& request) { request.push("ZRANDMEMBER", "market:", 1, "WITHSCORES"); }

std::optional<offer> read_look(const reply& found) {
  if (found.items.empty()) return std::nullopt;
  const std::string& member = found.items.at(0);
  const auto dot = member.find('.');
  if (dot == member.npos) throw std::runtime_error(fmt::format("market: has \"{}\", which is not ITEM.OWNER", member));
  return offer{member, member.substr(0, dot), member.substr(dot + 1), found.items.at(1)};
}

}  // namespace

player::player(database& data, leasehold::client locks, method how, bool joined, long id)
    : data_(data),
      locks_(std::move(locks)),
      how_(how),
      joined_(joined),
      id_(std::to_string(id)),
      user_(fmt::format("users:{}", id)),
      inventory_(fmt::format("inventory:{}", id)) {}

// [acquire]
asio::awaitable<bool> player::acquire(const std::string& item, leasehold::hold& hold) {
  leasehold::mutex lock(locks_, how_ == method::item_lock ? "market:item:" + item : "market");
  auto operation = lock.acquire({.lease = 10s, .wait = 1s}, asio::as_tuple(asio::use_awaitable));
  auto [failure, acquired] = co_await std::move(operation);
  if (failure == leasehold::error::timed_out) co_return false;
  if (failure) throw leasehold::system_error(failure);
  hold = std::move(acquired);
  co_return true;
}
// [/acquire]

asio::awaitable<void> player::watch(redis::request& request) {
  if (joined_) co_return;
  co_await data_.run(request);
  request.clear();
}

asio::awaitable<outcome> player::give_up() {
  if (how_ == method::watch) {
    redis::request forget;
    forget.push("UNWATCH");
    co_await data_.run(forget);
  }
  co_return outcome::gone;
}

asio::awaitable<outcome> player::list(const std::string& item, long price) {
  leasehold::hold hold;
  redis::request read;
  if (how_ == method::watch) {
    read.push("WATCH", inventory_);
    co_await watch(read);
  } else if (!co_await acquire(item, hold)) {
    co_return outcome::refused;
  }
  read.push("SISMEMBER", inventory_, item);
  const std::vector<reply> found = co_await data_.run(read);
  if (found.back().text != "1") co_return co_await give_up();
  if (how_ != method::watch && !hold.valid()) co_return outcome::refused;

  const std::string member = fmt::format("{}.{}", item, id_);
  redis::request write;
  write.push("MULTI");
  write.push("ZADD", "market:", price, member);
  write.push("SREM", inventory_, item);
  write.push("EXEC");
  const std::vector<reply> done = co_await data_.run(write);
  if (done.back().nil) co_return outcome::refused;
  if (done.back().items != std::vector<std::string>{"1", "1"}) {
    throw std::runtime_error(fmt::format("item {} was listed by another player meanwhile", item));
  }
  co_return outcome::done;
}

asio::awaitable<std::optional<offer>> player::look() {
  redis::request request;
  push_look(request);
  const std::vector<reply> found = co_await data_.run(request);
  std::optional<offer> seen = read_look(found.front());
  co_return seen;
}

// [buy]
asio::awaitable<outcome> player::buy(std::optional<offer>& wanted) {
  leasehold::hold hold;  // Its destructor releases it, and nothing waits for that.
  redis::request read;
  if (how_ == method::watch) {
    read.push("WATCH", "market:", user_);
    co_await watch(read);
  } else if (!co_await acquire(wanted->item, hold)) {
    co_return outcome::refused;
  }
  read.push("ZSCORE", "market:", wanted->member);
  read.push("HGET", user_, "funds");
  const std::vector<reply> found = co_await data_.run(read);
  const reply& price = found[found.size() - 2];
  const reply& funds = found[found.size() - 1];
  if (price.text != wanted->price) co_return co_await give_up();
  if (money(user_, funds.text) < money(wanted->member, price.text)) co_return co_await give_up();
  // A program that was paused for longer than the lease does not hold the lock any more.
  if (how_ != method::watch && !hold.valid()) co_return outcome::refused;

  redis::request write;
  write.push("MULTI");
  write.push("HINCRBY", fmt::format("users:{}", wanted->owner), "funds", price.text);
  write.push("HINCRBY", user_, "funds", fmt::format("-{}", price.text));
  write.push("SADD", inventory_, wanted->item);
  write.push("ZREM", "market:", wanted->member);
  write.push("EXEC");
  push_look(write);
  const std::vector<reply> done = co_await data_.run(write);
  const reply& exec = done[done.size() - 2];
  if (exec.nil) co_return outcome::refused;  // Only if something was watched.
  if (exec.items.back() != "1") {
    throw std::runtime_error(fmt::format("item {} was sold to another player meanwhile", wanted->item));
  }
  wanted = read_look(done.back());
  co_return outcome::done;
}
// [/buy]

}  // namespace market
