// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A model of the data of one Redis server, in memory: the commands that the scripts of leasehold and their tests use,
// with the replies and the errors of Redis 7. test/integration/memory_model.cpp compares it with real servers.
#pragma once

#include "store/memory/reply.hpp"
#include "store/memory/values.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail::memory {

// The error of a replica for commands that write.
inline constexpr const char* not_of_a_replica = "READONLY You can't write against a read only replica.";

struct command;

// Copyable: a test keeps an older copy for a failover.
class database {
 public:
  using words = std::span<const std::string_view>;
  // Returns the number of clients that have received the message. of_slot: by SPUBLISH, and not by PUBLISH.
  using publisher = std::function<std::int64_t(std::string_view channel, std::string_view message, bool of_slot)>;

  // Sets the server's clock, and with it what has expired. Keys that had expired do not come back if the clock is set
  // back: a real server deletes expired keys within milliseconds.
  void set_time(std::chrono::microseconds since_epoch);
  std::chrono::microseconds time() const { return std::chrono::microseconds(now_us_); }

  void set_publisher(publisher p) { publish_ = std::move(p); }

  // From now on, commands that may need memory are refused, as if `maxmemory` is exceeded and there is nothing to
  // evict.
  void set_out_of_memory(bool is) { is_out_of_memory_ = is; }
  bool is_out_of_memory() const { return is_out_of_memory_; }

  // From now on, commands that write are refused with this error, as on a replica. Empty: they are not refused any
  // more.
  void set_refusal_of_writes(std::string error) { refusal_of_writes_ = std::move(error); }

  // From now on, scripts may not call this command, as if an ACL denies it. Empty: they may call all of them.
  void deny_in_scripts(std::string command) { denied_in_scripts_ = std::move(command); }

  // From now on, scripts may only call commands whose keys this accepts. Null: all of them.
  void limit_scripts(std::function<bool(words keys)> may_access) { may_access_ = std::move(may_access); }

  reply execute(words);
  reply execute(std::initializer_list<std::string_view> w) { return execute(words(w.begin(), w.size())); }
  reply execute(const std::vector<std::string>&);

  // The command that the first word names; null: there is none.
  static const command* command_of(words);
  // The keys among its words.
  static words keys_in(const command*, words);

  // A look at the data that is no command: whether there is such a key, and the string at the key, or in the field of
  // the hash at the key. Empty: there is none. Valid until the next call of a function that is not const.
  bool has(std::string_view key) const { return peek(key) != nullptr; }
  std::string_view text(std::string_view key) const;
  std::string_view text(std::string_view key, std::string_view field) const;

  // Runs a command of a script. `has_written` belongs to the script: after its first write, a shortage of memory does
  // not stop it. Clear it when the script begins.
  reply execute_in_script(const command*, words, bool& has_written);

  // As MIGRATE, or as DUMP and RESTORE with REPLACE: by the other clock, the key has the same time to live left. A key
  // that does not exist is not moved.
  void move_key(const std::string& key, database& to);

  // The number of commands that have changed something that replicas learn of.
  std::uint64_t changes() const { return changes_; }

  // All keys that have not expired, one per line, in the order of their bytes: the key, its expiry in milliseconds
  // since 1970 (-1: none), its type and its content. Fields of hashes and members of sets are sorted by their bytes.
  std::string dump() const;

  // The names of all keys that have not expired, in the order of their bytes.
  std::vector<std::string> keys() const;

  // The number of keys that have not expired.
  std::size_t size() const;

 private:
  friend struct commands;

  struct stored {
    any_value value;
    std::int64_t expires = -1;  // In milliseconds since 1970; -1: never.
  };

  std::int64_t now_ms() const { return now_us_ / 1000; }
  bool has_expired(const stored& s) const { return s.expires >= 0 && now_ms() > s.expires; }
  stored* find(std::string_view key);
  const any_value* peek(std::string_view key) const;
  bool erase(std::string_view key);

  reply run(const command&, words);

  string_map<stored> keys_;
  std::int64_t now_us_ = 0;
  std::uint64_t changes_ = 0;
  bool is_out_of_memory_ = false;
  std::string refusal_of_writes_;
  std::string denied_in_scripts_;
  std::function<bool(words)> may_access_;
  publisher publish_;
};

}  // namespace leasehold::detail::memory
