// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "example.hpp"
#include "support/prometheus_text.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

// The numbers in the first line of the output that begins with `name`: listed, bought, retries, too late.
std::vector<long> row(const std::string& output, const std::string& name) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::erase(line, ',');
    std::istringstream words(line.substr(name.size()));
    std::vector<long> numbers;
    for (long number = 0; numbers.size() < 4 && words >> number;) numbers.push_back(number);
    return numbers;
  }
  return {};
}

std::string first_of(redis_server& redis, const std::string& inventory) {
  return redis.command("SRANDMEMBER", inventory).text;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(market, with_examples)

BOOST_AUTO_TEST_CASE(each_method_trades_and_nothing_is_lost) {
  const ended e = run({"market", "--seconds", "1", "--loads", "1+1", "--out", folder.path()});
  BOOST_TEST(e.status == 0, e.output + e.errors);
  BOOST_TEST(e.errors == "");
  for (const std::string method : {"WATCH", "one lock", "lock per item"}) {
    const std::vector<long> numbers = row(e.output, method);
    BOOST_REQUIRE_MESSAGE(numbers.size() == 4U, e.output);
    BOOST_TEST(numbers[0] > 0, method + " listed nothing\n" + e.output);
    BOOST_TEST(numbers[1] > 0, method + " bought nothing\n" + e.output);
  }
  // The book's figures, for a second: 145,000 / 60 listed with WATCH, 110,000 / 60 bought with a lock per item.
  BOOST_TEST(contains(e.output, "times 1/60"), e.output);
  BOOST_TEST(contains(e.output, "2,417"), e.output);
  BOOST_TEST(contains(e.output, "1,834"), e.output);
  BOOST_TEST(contains(e.output, "After each run all money and each item was there."), e.output);

  std::ifstream file(folder / "market.svg");
  std::stringstream picture;
  picture << file.rdbuf();
  BOOST_TEST(picture.str().starts_with("<svg "));
  BOOST_TEST(picture.str().ends_with("</svg>\n"));
  for (const std::string method : {"WATCH", "one lock", "lock per item", "1 seller, 1 buyer"}) {
    BOOST_TEST(contains(picture.str(), method), picture.str());
  }
  // It had a Redis of its own.
  BOOST_TEST(redis.size() == 0U);
  // The two players share a client.
  for (const auto& [file_name, label] :
       {std::pair<std::string, std::string>{"1+1-one.prom", "market"}, {"1+1-item.prom", "item"}}) {
    std::ifstream metrics(folder / file_name);
    const prometheus_text page(std::string(std::istreambuf_iterator<char>(metrics), {}));
    const prometheus_text::labels its{{"class", label}, {"client", "market"}};
    BOOST_TEST(page.all("leasehold_class_acquired_total").size() == 1U);
    BOOST_TEST(page.value("leasehold_class_acquired_total", its) > 0);
    BOOST_TEST(page.value("leasehold_class_waiting_seconds_count", its) ==
               page.value("leasehold_waiting_seconds_count", {{"client", "market"}}));
  }
  BOOST_TEST(!std::ifstream(folder / "1+1-watch.prom"));
}

BOOST_AUTO_TEST_CASE(what_appears_or_vanishes_is_found) {
  // Five buyers with clients of their own, as in the book, who meet at the locks in Redis.
  const ended e = run({"market", "--redis", redis.url(), "--keep", "--seconds", "1", "--loads", "2+5", "--methods",
                       "item", "--clients", "own", "--wait", "awake"});
  BOOST_REQUIRE_MESSAGE(e.status == 0, e.output + e.errors);
  const std::vector<long> numbers = row(e.output, "lock per item");
  BOOST_REQUIRE(numbers.size() == 4U);
  BOOST_TEST(numbers[1] > 0);
  // Two sellers, five buyers, their inventories but those that are empty, the market, the books; and no lock.
  BOOST_TEST(redis.size() <= 16U);
  const auto check = [&] { return run({"market", "--check", "--redis", redis.url()}); };
  const auto finds = [&](const std::string& problem) {
    const ended checked = check();
    BOOST_TEST(checked.status == 1, checked.output);
    BOOST_TEST(contains(checked.errors, problem), problem + "\n" + checked.errors);
  };
  BOOST_TEST(check().status == 0);

  redis.command("HINCRBY", "users:3", "funds", "-7");
  finds(": 7 vanished");
  redis.command("HINCRBY", "users:1", "funds", "10");
  finds(": 3 appeared");
  redis.command("HINCRBY", "users:3", "funds", "-3");
  BOOST_TEST(check().status == 0);

  std::string buyer = "inventory:3";
  for (int id = 3; first_of(redis, buyer).empty() && id <= 7; ++id) buyer = "inventory:" + std::to_string(id);
  const std::string item = first_of(redis, buyer);
  BOOST_REQUIRE(!item.empty());
  redis.command("SREM", buyer, item);
  finds("item " + item + " is nowhere");
  redis.command("ZADD", "market:", "5", item + ".3");
  BOOST_TEST(check().status == 0);
  redis.command("ZADD", "market:", "5", item + ".4");
  finds("item " + item + " is on the market and on the market");
  redis.command("ZREM", "market:", item + ".4");
  redis.command("SADD", buyer, item);
  finds("item " + item + " is in " + buyer + " and on the market");
  redis.command("ZREM", "market:", item + ".3");
  redis.command("SADD", buyer, "unicorn");
  finds("\"unicorn\", which was never made, is in " + buyer);
  redis.command("SREM", buyer, "unicorn");
  BOOST_TEST(check().status == 0);

  // A market that is there is not written over.
  const ended again = run({"market", "--redis", redis.url(), "--seconds", "1"});
  BOOST_TEST(again.status == 1);
  BOOST_TEST(contains(again.errors, "there is a key \"market"), again.errors);
  redis.command("FLUSHALL");
  const ended nothing = check();
  BOOST_TEST(nothing.status == 1);
  BOOST_TEST(contains(nothing.errors, "there is no market here"), nothing.errors);
}

BOOST_AUTO_TEST_CASE(an_interrupted_market_leaves_nothing_behind) {
  child c = start({"market", "--redis", redis.url(), "--seconds", "600", "--loads", "1+1", "--methods", "item"});
  wait_until("a purchase", [&] { return redis.command("EXISTS", "inventory:2").integer == 1; });
  c.signal(SIGINT);
  const ended e = end_of(c);
  BOOST_TEST(e.status == 128 + SIGINT, e.output + e.errors);
  BOOST_TEST(contains(e.errors, "interrupted"), e.errors);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_redis_that_dies_ends_the_market) {
  child c = start({"market", "--redis", redis.url(), "--seconds", "600", "--loads", "2+2", "--methods", "watch"});
  wait_until("the market", [&] { return redis.command("EXISTS", "market:").integer == 1; });
  redis.kill();
  const ended e = end_of(c);
  BOOST_TEST(e.status == 1, e.output + e.errors);
  BOOST_TEST(contains(e.errors, "the connection to Redis: "), e.errors);
}

BOOST_AUTO_TEST_CASE(a_redis_that_is_not_there_is_told_soon) {
  redis.kill();
  for (const bool checks : {true, false}) {
    const auto begin = std::chrono::steady_clock::now();
    words command{"market", "--redis", redis.url()};
    if (checks) command.push_back("--check");
    const ended e = run(command);
    BOOST_TEST(e.status == 1, e.output + e.errors);
    BOOST_TEST(contains(e.errors, "the connection to Redis: "), e.errors);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)));
  }
}

BOOST_AUTO_TEST_CASE(a_bad_option_is_named) {
  const std::vector<std::pair<words, std::string>> all{
      {{"market", "--loads", "5x1"}, "\"5x1\" is no load"},
      {{"market", "--loads", "0+1"}, "\"0+1\": 1 to 1000 sellers"},
      {{"market", "--loads", "1+b"}, "\"b\" is no number"},
      {{"market", "--methods", "hope"}, "\"hope\" is no method"},
      {{"market", "--loads", "5+1,5+1"}, "\"5+1\" is named twice"},
      {{"market", "--methods", "item,watch,item"}, "\"item\" is named twice"},
      {{"market", "--methods", ""}, "--loads and --methods need one at least"},
      {{"market", "--seconds", "0"}, "--seconds: 1 to 3600"},
      {{"market", "--clients", "many"}, "--clients: shared or own, not \"many\""},
      {{"market", "--watch", "tv"}, "--watch: apart or joined, not \"tv\""},
      {{"market", "--wait", "abed"}, "--wait: asleep or awake, not \"abed\""},
      {{"market", "--check"}, "--check and --keep need --redis"},
      {{"market", "--redis", "redis://somebody:secret@127.0.0.1:70000"}, "not a number from 1 to 65535"},
      {{"market", "--price", "5"}, "unknown option \"--price\""},
  };
  for (const auto& [command, problem] : all) {
    const ended e = run(command);
    BOOST_TEST(e.status != 0);
    BOOST_TEST(contains(e.errors, problem), problem + "\n" + e.errors);
    BOOST_TEST(!contains(e.errors, "secret"), e.errors);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
