// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The slots of a cluster ("Redis cluster specification": CRC16 of the key, or of its hash tag, modulo 16384), and a tag
// for each slot: a short string that hashes to it. A key that belongs to a record carries the tag of the record's slot
// between braces. So it is in the same slot as the record, whatever braces the name contains.
#pragma once

#include <cstdint>
#include <string_view>

namespace leasehold::detail {

inline constexpr std::uint16_t number_of_slots = 16384;

std::uint16_t slot_of(std::string_view key) noexcept;

// Digits and lower-case letters, two at least. The view stays valid forever.
std::string_view tag_of_slot(std::uint16_t slot);

// In the plain layout, where there are no slots.
inline constexpr std::string_view only_tag = "0";

// The key under which the fences of a tag are counted. The view stays valid forever.
std::string_view fence_key(std::uint16_t slot);
inline constexpr std::string_view only_fence_key = "leasehold:{0}:fence";
// What clients with the tagged layout put in the place of the plain layout's counter (lua/shared/fence.lua).
inline constexpr std::string_view mark_of_tags = "tagged";

}  // namespace leasehold::detail
