// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "exit_code.hpp"

namespace leasehold::cli {

exit_code code_of(const error_code& ec) noexcept {
  if (ec.category() != error_category()) return exit_code::internal;
  switch (static_cast<error>(ec.value())) {
    case error::timed_out: return exit_code::not_acquired;
    case error::lost:
    case error::not_held: return exit_code::lost;
    case error::no_quorum:
    case error::unreachable:
    case error::closed: return exit_code::unreachable;
    case error::refused: return exit_code::refused;
    case error::wrong_type:
    case error::wrong_limit: return exit_code::wrong_type;
    case error::invalid_name:
    case error::invalid_option:
    case error::invalid_url:
    case error::invalid_ticket:
    case error::not_supported: return exit_code::usage;
  }
  return exit_code::internal;
}

}  // namespace leasehold::cli
