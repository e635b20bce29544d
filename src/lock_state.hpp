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
  std::string name;
  std::string record;  // prefix + name: the key, verbatim.
  const script* kind;
};

class lock_state {
 public:
  lock_state(std::shared_ptr<client_handle> h, std::string name, const script& kind);

  const std::shared_ptr<client_handle> handle;
  const std::shared_ptr<const lock_identity> identity;
  const error_code bad_name;
};

// Where the fences of one server are counted; outside the names that users may take.
inline constexpr std::string_view fence_key = "leasehold:fence";

// Is it a record of ours, and if so with which token and fence? ("leasehold:<token>:<fence>")
struct lock_record {
  std::string_view token;
  std::uint64_t fence = 0;
};
bool parse_record(std::string_view value, lock_record&) noexcept;

// What acquire and renew answer: "<status> <fence> <left> <s> <us>" (lua/mutex.lua).
struct lease_reply {
  explicit lease_reply(std::string_view text) noexcept;

  std::int64_t status = 0;
  std::uint64_t fence = 0;
  std::chrono::milliseconds left{0};
  std::int64_t server_time = 0;  // Microseconds.
};

}  // namespace leasehold::detail
