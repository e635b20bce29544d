// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The market of "Redis in Action", chapter 6:
//   users:ID       a hash; field funds: the user's money
//   inventory:ID   a set: the items that the user has
//   market:        a sorted set: ITEM.OWNER for each item that is for sale, its price as the score
#pragma once

#include "market/database.hpp"

#include <leasehold/leasehold.hpp>

#include <optional>
#include <string>

namespace market {

// How it is made sure that nothing changes between what is read and what is written because of it.
enum class method {
  watch,      // It is not: EXEC refuses if it did, and all begins anew.
  one_lock,   // One lock for the whole market.
  item_lock,  // A lock for each item.
};

struct offer {
  std::string member;  // ITEM.OWNER
  std::string item;
  std::string owner;
  std::string price;
};

enum class outcome {
  done,
  refused,  // Somebody was in the way. The same can be tried again.
  gone,     // The item is not there any more, has another price, or is too dear.
};

// Somebody who sells or buys. Each does one thing at a time.
class player {
 public:
  // With method::watch the connection must be this player's own: what is watched belongs to the connection.
  // WATCH is a request of its own, as in the book; with `joined` it is in one request with what is read.
  player(database& data, leasehold::client locks, method how, bool joined, long id);

  asio::awaitable<outcome> list(const std::string& item, long price);

  // At some item of the market; nothing if there is none.
  asio::awaitable<std::optional<offer>> look();

  // When it is done, `wanted` is what to buy next: a look at another item.
  asio::awaitable<outcome> buy(std::optional<offer>& wanted);

 private:
  asio::awaitable<bool> acquire(const std::string& item, leasehold::hold& hold);
  asio::awaitable<void> watch(redis::request& read);
  asio::awaitable<outcome> give_up();

  database& data_;
  leasehold::client locks_;
  method how_;
  bool joined_;
  std::string id_;
  std::string user_;
  std::string inventory_;
};

}  // namespace market
