// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/slots.hpp"

#include <boost/crc.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace leasehold::detail {
namespace {

// CRC-16/XMODEM: polynomial 0x1021, nothing reflected, from 0.
std::uint16_t crc16(std::string_view s) noexcept {
  return boost::crc<16, 0x1021, 0, 0, false, false>(s.data(), s.size());
}

constexpr std::string_view before_tag = "leasehold:{", behind_tag = "}:fence";

// Every fence key; the tags are parts of them.
const std::vector<std::string>& fence_keys() {
  static const std::vector<std::string> all = [] {
    constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuvwxyz";
    std::vector<std::string> keys(number_of_slots);
    std::size_t missing = keys.size();
    // All strings of letters, the shorter ones first.
    std::vector<std::size_t> at(2, 0);
    while (missing != 0) {
      std::string tag;
      for (const auto i : at) tag += letters[i];
      auto& key = keys[crc16(tag) % number_of_slots];
      if (key.empty()) {
        key.append(before_tag).append(tag).append(behind_tag);
        --missing;
      }
      std::size_t i = 0;
      while (i != at.size() && ++at[i] == letters.size()) at[i++] = 0;
      if (i == at.size()) at.push_back(0);
    }
    return keys;
  }();
  return all;
}

}  // namespace

std::uint16_t slot_of(std::string_view key) noexcept {
  if (const auto open = key.find('{'); open != key.npos) {
    const auto close = key.find('}', open + 1);
    if (close != key.npos && close != open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % number_of_slots;
}

std::string_view fence_key(std::uint16_t slot) { return fence_keys()[slot]; }

std::string_view tag_of_slot(std::uint16_t slot) {
  std::string_view key = fence_key(slot);
  key.remove_prefix(before_tag.size());
  key.remove_suffix(behind_tag.size());
  return key;
}

}  // namespace leasehold::detail
