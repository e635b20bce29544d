// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A store that is one Redis server, over Boost.Redis: the one that the URL names, or the master of a Sentinel group. It
// may also be a part of a cluster or quorum.
#pragma once

#include "store/server.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <string>

namespace leasehold::detail {

// Makes servers on one strand of the executor. The options belong to the client and outlive every copy of the maker.
server_maker make_redis_servers(const boost::asio::any_io_executor& executor, const client_options& options,
                                std::string client);

}  // namespace leasehold::detail
