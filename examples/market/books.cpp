// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "market/books.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace market {
namespace {

constexpr std::string_view books = "market:books";

// All keys of the market.
constexpr std::array<std::string_view, 4> patterns{"market:", "market:books", "users:*", "inventory:*"};

// How many elements are asked for at a time.
constexpr long page = 5000;
// More are never made: that would be 3 hours at 10,000 a second.
constexpr long most_items = 100'000'000;

std::optional<long> parse(std::string_view text) {
  long value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// All keys of the shape "users:*". SCAN may name one twice.
asio::awaitable<std::vector<std::string>> find_keys(database& data, std::string_view pattern) {
  std::vector<std::string> keys;
  std::string cursor = "0";
  do {
    redis::request scan;
    scan.push("SCAN", cursor, "MATCH", pattern, "COUNT", page);
    std::vector<reply> found = co_await data.run(scan);
    cursor = found[0].items.at(0);
    for (std::size_t i = 1; i < found[0].items.size(); ++i) keys.push_back(std::move(found[0].items[i]));
  } while (cursor != "0");
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  co_return keys;
}

// Where each item is. Tells of those that are in several places, and of what is no item.
class places {
 public:
  explicit places(long items) : of_(static_cast<std::size_t>(items) + 1) { names_.emplace_back("nowhere"); }

  // What is put next is there.
  void enter(std::string name) { names_.push_back(std::move(name)); }

  // Where a scan may show an element twice, the second time is no second item.
  void put(std::string_view text, bool scanned) {
    const auto item = parse(text);
    if (!item || *item < 1 || static_cast<std::size_t>(*item) >= of_.size()) {
      tell(fmt::format("\"{}\", which was never made, is {}", text, names_.back()));
      return;
    }
    std::uint32_t& place = of_[static_cast<std::size_t>(*item)];
    if (scanned && place == names_.size() - 1) return;
    if (place != 0) tell(fmt::format("item {} is {} and {}", *item, names_[place], names_.back()));
    place = static_cast<std::uint32_t>(names_.size() - 1);
  }

  void tell(std::string problem) {
    if (++count_ <= shown) problems_.push_back(std::move(problem));
  }

  std::vector<std::string> problems() {
    for (std::size_t item = 1; item < of_.size(); ++item) {
      if (of_[item] == 0) tell(fmt::format("item {} is nowhere", item));
    }
    if (count_ > shown) problems_.push_back(fmt::format("and {} more", count_ - shown));
    return std::move(problems_);
  }

 private:
  static constexpr std::size_t shown = 10;

  std::vector<std::uint32_t> of_;
  std::vector<std::string> names_;
  std::vector<std::string> problems_;
  std::size_t count_ = 0;
};

asio::awaitable<void> check_inventory(database& data, const std::string& key, places& items) {
  items.enter("in " + key);
  std::string cursor = "0";
  do {
    redis::request scan;
    scan.push("SSCAN", key, cursor, "COUNT", page);
    const std::vector<reply> found = co_await data.run(scan);
    cursor = found[0].items.at(0);
    for (std::size_t i = 1; i < found[0].items.size(); ++i) items.put(found[0].items[i], /*scanned=*/true);
  } while (cursor != "0");
}

asio::awaitable<void> check_market(database& data, places& items) {
  items.enter("on the market");
  for (long rank = 0;; rank += page) {
    redis::request read;
    read.push("ZRANGE", "market:", rank, rank + page - 1);
    const std::vector<reply> found = co_await data.run(read);
    for (const std::string& member : found[0].items) {
      const auto dot = member.find('.');
      if (dot == member.npos || !parse(std::string_view(member).substr(dot + 1))) {
        items.tell(fmt::format("\"{}\" on the market is not ITEM.OWNER", member));
        continue;
      }
      items.put(std::string_view(member).substr(0, dot), /*scanned=*/false);
    }
    if (found[0].items.size() < static_cast<std::size_t>(page)) break;
  }
}

}  // namespace

asio::awaitable<void> open_books(database& data, long sellers, long buyers, long funds, long stock) {
  const long users = sellers + buyers;
  redis::request create;
  create.push("MULTI");
  create.push("HSET", books, "items", stock, "funds", users * funds);
  for (long id = 1; id <= users; ++id) create.push("HSET", fmt::format("users:{}", id), "funds", funds);
  for (long item = 1; item <= stock; ++item) {
    create.push("ZADD", "market:", 1 + item % 100, fmt::format("{}.{}", item, 1 + item % sellers));
  }
  create.push("EXEC");
  co_await data.run(create);
}

asio::awaitable<void> make_items(database& data, long user, long first, long number) {
  std::vector<std::string> items;
  for (long i = 0; i < number; ++i) items.push_back(std::to_string(first + i));
  redis::request make;
  make.push("MULTI");
  make.push("HINCRBY", books, "items", number);
  make.push_range("SADD", fmt::format("inventory:{}", user), items);
  make.push("EXEC");
  co_await data.run(make);
}

asio::awaitable<std::vector<std::string>> check_books(database& data) {
  redis::request read;
  read.push("HMGET", books, "items", "funds");
  const std::vector<reply> written = co_await data.run(read);
  const auto made = parse(written[0].items.at(0));
  const auto paid_in = parse(written[0].items.at(1));
  if (!made || !paid_in || *made < 0 || *made > most_items) {
    throw std::runtime_error(fmt::format("there is no market here: no number of items and sum of funds in {}", books));
  }

  std::vector<std::string> problems;
  long sum = 0;
  const std::vector<std::string> users = co_await find_keys(data, "users:*");
  for (const std::string& user : users) {
    redis::request ask;
    ask.push("HGET", user, "funds");
    const std::vector<reply> answer = co_await data.run(ask);
    const auto funds = parse(answer[0].text);
    if (!funds) {
      problems.push_back(fmt::format("the funds of {} are no number: \"{}\"", user, answer[0].text));
      continue;
    }
    if (*funds < 0) problems.push_back(fmt::format("{} has less than nothing: {}", user, *funds));
    if (__builtin_add_overflow(sum, *funds, &sum)) {
      throw std::runtime_error(fmt::format("the funds are beyond counting at {}", user));
    }
  }
  if (sum != *paid_in) {
    problems.push_back(fmt::format("the funds of all users are {} and were {}: {} {}", sum, *paid_in,
                                   sum < *paid_in ? *paid_in - sum : sum - *paid_in,
                                   sum < *paid_in ? "vanished" : "appeared"));
  }

  places items(*made);
  const std::vector<std::string> inventories = co_await find_keys(data, "inventory:*");
  for (const std::string& inventory : inventories) co_await check_inventory(data, inventory, items);
  co_await check_market(data, items);
  for (std::string& problem : items.problems()) problems.push_back(std::move(problem));
  co_return problems;
}

asio::awaitable<std::string> find_books(database& data) {
  for (const std::string_view pattern : patterns) {
    const std::vector<std::string> keys = co_await find_keys(data, pattern);
    if (!keys.empty()) co_return keys.front();
  }
  co_return std::string();
}

asio::awaitable<void> remove_books(database& data) {
  for (const std::string_view pattern : patterns) {
    const std::vector<std::string> keys = co_await find_keys(data, pattern);
    if (keys.empty()) continue;
    redis::request remove;
    remove.push_range("UNLINK", keys);
    co_await data.run(remove);
  }
}

}  // namespace market
