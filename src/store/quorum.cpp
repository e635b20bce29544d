// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "quorum.hpp"

#include <leasehold/error.hpp>

namespace leasehold::detail {

std::string hint_channel(std::string_view record) { return "leasehold:{0}:free:" + std::string(record); }

std::shared_ptr<store> make_quorum(server_maker, std::vector<address>, store::events&) {
  throw system_error(make_error_code(error::not_supported), "several URLs (a quorum)");
}

}  // namespace leasehold::detail
