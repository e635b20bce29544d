// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// What a lock of any kind is: a name, the script of its kind, a client.
#pragma once

#include "client_core.hpp"
#include "scripts.hpp"

#include <leasehold/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace leasehold::detail {

// Kept by everything that may outlive the lock and even the client: holds, releases.
struct lock_identity {
  lock_identity(std::string name, std::string record, const script& kind);

  std::string name;
  std::string record;  // prefix + name: the key, verbatim.
  std::string line;    // Derived from the record alone: the keys of its line.
  std::string entries;
  const script* kind;

  // The keys of a script that may see to the line: record, fence counter, line, entries.
  void write_keys(arguments& a) const;
};

class lock_state {
 public:
  lock_state(std::shared_ptr<client_handle> h, std::string name, const script& kind);

  const std::shared_ptr<client_handle> handle;
  const std::shared_ptr<const lock_identity> identity;
  const error_code bad_name;
};

// Outside the names that users may take: where the fences of one server are counted, and where its clients listen for
// their grants. (In a cluster the tag between the braces will be one that hashes to the record's slot.)
inline constexpr std::string_view fence_key = "leasehold:{0}:fence";
inline constexpr std::string_view channel_prefix = "leasehold:{0}:";

// What acquire and renew answer: "<status> <fence> <left> <s> <us>" (lua/mutex.lua).
struct lease_reply {
  explicit lease_reply(std::string_view text) noexcept;

  bool understood = false;
  std::int64_t status = 0;
  std::uint64_t fence = 0;
  std::chrono::milliseconds left{0};
  std::int64_t server_time = 0;  // Microseconds.
};

}  // namespace leasehold::detail
