// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a ticket says of a hold, and its text (docs/protocol.md, "Tickets"). No I/O.
#pragma once

#include "protocol/kind.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::detail {

struct ticket_fields {
  const detail::kind* kind = nullptr;
  std::string kind_name;  // Of its script.
  std::string name;       // Without the client's prefix.
  std::string owner;
  std::uint32_t limit = 0;
  std::string token;
  std::uint64_t fence = 0;
  std::uint64_t recorded = 0;  // The fence in the record: another one if the hold was passed on in a cohort.
  std::chrono::milliseconds lease{0};
  std::uint32_t depth = 1;
  // What was left of acquire_options::at_least, and the server's clock then, in microseconds; 0: not known.
  std::chrono::milliseconds rest{0};
  std::int64_t rest_from = 0;
};

std::string ticket_text(const ticket_fields&);

struct ticket_read {
  ticket_fields fields;
  const char* wrong = nullptr;  // What is wrong with the text; null: nothing, and the fields are valid.
};
ticket_read read_ticket(std::string_view text);

}  // namespace leasehold::detail
