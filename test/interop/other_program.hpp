// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the tests with locks of other programs share.
#pragma once

#include "support/child.hpp"
#include "support/with_redis.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

// All that the program writes to its standard output, without the line's end.
inline std::string output_of(std::vector<std::string> command) {
  child c(std::move(command));
  std::string text = c.read_rest();
  if (const int status = c.wait(); status != 0) {
    throw std::runtime_error("ended with status " + std::to_string(status) + ": " + c.errors());
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// What redis-cli prints; "" for nil.
inline std::string redis_cli(const redis_server& redis, std::vector<std::string> words) {
  std::vector<std::string> command{"redis-cli", "-s", redis.socket_path()};
  command.insert(command.end(), words.begin(), words.end());
  return output_of(std::move(command));
}

// The fields and values of a hash, sorted by the fields.
inline std::vector<std::string> hash_of(redis_server& redis, const std::string& key) {
  const reply r = redis.command("HGETALL", key);
  std::map<std::string, std::string> fields;  // Valkey changes their order without a write.
  for (std::size_t i = 0; i + 1 < r.items.size(); i += 2) fields[r.items[i].text] = r.items[i + 1].text;
  std::vector<std::string> all;
  for (const auto& [field, value] : fields) all.insert(all.end(), {field, value});
  return all;
}

inline std::string count_of(redis_server& redis, const std::string& key, const std::string& owner) {
  return redis.command("HGET", key, owner).text;
}

// Somebody of ours who waits for a lock, in the background.
class waiter {
 public:
  template <class Lock>
  explicit waiter(const Lock& lock, acquire_options options = {}) {
    lock.acquire(options, [got = got_](error_code ec, hold h) {
      BOOST_TEST(!ec, ec.message());
      *got = std::move(h);
    });
  }

  bool is_in() const { return got_->has_value(); }
  hold& got() { return got_->value(); }

  // Polls again and again: what it sees does not change unless the lock is released.
  awaitable<void> polls(client c, int times) const {
    const auto before = c.stats().commands;
    co_await eventually("it polls", [&] { return c.stats().commands >= before + static_cast<unsigned>(times); });
  }

 private:
  std::shared_ptr<std::optional<hold>> got_ = std::make_shared<std::optional<hold>>();
};

// It waits in the queue.
inline awaitable<void> wait_in_queue(redis_server& redis, std::string name, int how_many = 1) {
  co_await eventually("it waits in the queue",
                      [&] { return redis.command("ZCARD", "leasehold:{0}:queue:" + name).integer == how_many; });
}

}  // namespace leasehold::test
