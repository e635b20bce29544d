// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The kinds of locks, as values: a row for each way of holding one. Everything else in which they differ is in their
// scripts.
#pragma once

#include "protocol/scripts.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace leasehold::detail {

// What an ask says. It tells those apart that want one lock (lua/shared/call.lua).
enum class ask_is : std::uint8_t { nothing, owner, role_and_owner, limit };

// Whether several holds with the same ask can exist at once.
enum class hold_mode : std::uint8_t {
  exclusive,  // One hold at a time.
  shared,     // Several holds at a time.
};

enum class role : std::uint8_t { none, writer, reader };

struct kind {
  const script* code;
  ask_is ask = ask_is::nothing;
  hold_mode mode = hold_mode::exclusive;
  detail::role role = role::none;
  bool shares_fence = false;  // A hold that joins others with the same ask has their fence.
  bool is_redissons = false;  // Redisson has locks of the same form.
  // The holder has a value that others see (lua/election.lua). The hold is not passed on within a client, so each has a
  // token and a record of its own.
  bool is_election = false;
};

// The rows are in kind.cpp. The public header of a kind declares its own rows.
namespace kinds {

// For the operators' requests, which do not depend on the kind.
extern const kind any;

}  // namespace kinds

// Without `any`.
std::span<const kind* const> all_kinds() noexcept;

// By the name of its script; of a shared mutex, the one of its readers or of its writers. Null: there is none.
const kind* kind_of(std::string_view name, bool is_reader) noexcept;

// By the name of its script, as replies have it; another program's lock: nothing.
ask_is ask_of_kind(std::string_view name) noexcept;

// Of an owner; "" where an ask says nothing, or is a number.
std::string make_ask(const kind&, const std::string& owner);
// The ask of a writer becomes that of a reader.
void ask_to_read(std::string& ask) noexcept;

// What an ask says about an asker.
struct asker {
  detail::role role = role::none;
  std::string_view owner;
};
asker read_ask(ask_is, std::string_view ask) noexcept;

}  // namespace leasehold::detail
