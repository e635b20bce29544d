// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/keys.hpp"

#include <fmt/compile.h>

namespace leasehold::detail {

std::string queue_key(std::string_view tag, std::string_view record) {
  return fmt::format(FMT_COMPILE("leasehold:{{{}}}:queue:{}"), tag, record);
}

std::string entries_key(std::string_view tag, std::string_view record) {
  return fmt::format(FMT_COMPILE("leasehold:{{{}}}:entries:{}"), tag, record);
}

std::string leader_key(std::string_view tag, std::string_view record) {
  return fmt::format(FMT_COMPILE("leasehold:{{{}}}:leader:{}"), tag, record);
}

// A client's own channel has no colon behind the tag.
bool is_leader_channel(std::string_view channel) noexcept {
  constexpr std::string_view begins = "leasehold:{", goes_on = "}:leader:";
  const auto tag_ends = channel.find('}');
  return channel.starts_with(begins) && tag_ends != channel.npos && channel.substr(tag_ends).starts_with(goes_on);
}

std::string client_channel(std::string_view tag, std::string_view client) {
  return fmt::format(FMT_COMPILE("leasehold:{{{}}}:{}"), tag, client);
}

std::string hint_channel(std::string_view record) {
  return fmt::format(FMT_COMPILE("leasehold:{{{}}}:free:{}"), only_tag, record);
}

std::string redisson_channel(std::string_view record) {
  return record.find('{') == record.npos ? fmt::format(FMT_COMPILE("redisson_lock__channel:{{{}}}"), record)
                                         : fmt::format(FMT_COMPILE("redisson_lock__channel:{}"), record);
}

}  // namespace leasehold::detail
