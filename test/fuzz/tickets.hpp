// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The texts of tickets.
#pragma once

#include "protocol/ticket_text.hpp"

#include <string>
#include <string_view>

namespace leasehold::test {

inline std::string check_tickets(std::string_view text) {
  const auto read = detail::read_ticket(text);
  if (read.wrong != nullptr) return std::string_view(read.wrong).empty() ? "nothing says what is wrong" : "";
  const auto& f = read.fields;
  if (f.kind == nullptr || f.name.empty() || f.token.empty() || f.lease.count() <= 0) return "no hold has that";
  if (detail::ticket_text(f) != text) return "written again, it is another text";
  return {};
}

}  // namespace leasehold::test
