// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/channels.hpp"

#include <boost/redis/resp3/serialization.hpp>
#include <boost/redis/resp3/type.hpp>

namespace leasehold::detail {

void boost_redis_to_bulk(std::string& payload, const behind_ping& b) {
  namespace resp3 = boost::redis::resp3;
  resp3::boost_redis_to_bulk(payload, std::string_view("leasehold"));
  resp3::add_header(payload, resp3::type::array, 2);
  resp3::add_bulk(payload, b.command);
  resp3::add_bulk(payload, b.channel);
}

}  // namespace leasehold::detail
