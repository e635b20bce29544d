// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// A store that is one Redis server, over Boost.Redis: the one that the URL names, or the master of a Sentinel group.
#pragma once

#include "store.hpp"

#include "../url.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <utility>

namespace leasehold::detail {

// The store and the strand on `executor` that it lives on. It listens on the channel of `client`. Throws system_error(invalid_url) for a TLS setting that
// cannot be used (an unreadable file, say).
std::pair<std::shared_ptr<store>, boost::asio::any_io_executor> make_redis_store(
    const boost::asio::any_io_executor& executor, address where, const client_options& options, const std::string& client,
    store::events& events);

}  // namespace leasehold::detail
