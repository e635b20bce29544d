// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The names of keys and channels (docs/protocol.md, "Keys"). The keys that belong to a record carry a tag: that of the
// record's slot in the tagged layout, and the only one in the plain layout.
#pragma once

#include "protocol/slots.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace leasehold::detail {

// The layout of a client's keys: plain at first, unless its URL says otherwise, and never plain again once it is
// tagged.
class key_layout {
 public:
  explicit key_layout(bool is_tagged) noexcept : is_tagged_(is_tagged) {}

  // From any thread.
  bool is_tagged() const noexcept { return is_tagged_.load(std::memory_order_relaxed); }
  // On the client's strand.
  void tag() noexcept { is_tagged_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_tagged_;
};

// The deployment of the store and the options of the client on which names depend.
struct key_space {
  std::string prefix;  // Of every record.
  std::shared_ptr<const key_layout> layout;
  bool has_queue = true;  // Not a quorum.
  bool redisson = false;  // client_options::redisson.
};

std::string queue_key(std::string_view tag, std::string_view record);
std::string entries_key(std::string_view tag, std::string_view record);
// The key of an election's value, which is also the channel on which its changes are announced.
std::string leader_key(std::string_view tag, std::string_view record);
bool is_leader_channel(std::string_view channel) noexcept;

// The channel on which a client is notified of its grants, where there is one.
std::string client_channel(std::string_view tag, std::string_view client);
// The channel on which a quorum announces releases of this record: there is no queue on a quorum.
std::string hint_channel(std::string_view record);
// The channel on which Redisson announces releases, formed from the lock's name as Redisson does it.
std::string redisson_channel(std::string_view record);

}  // namespace leasehold::detail
