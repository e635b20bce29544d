// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks as text for people and as JSON for programs.
#pragma once

#include <leasehold/admin.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace leasehold::cli {

// name, held, token, fence, ttl_ms, waiters.
boost::json::object as_json(const std::string& name, const lock_info&);

// JSON is UTF-8, but names and tokens are any bytes: those are added as `key`_base64.
void add_bytes(boost::json::object&, const std::string& key, const std::string& bytes);

// "12.3 s left" or "for ever".
std::string lease_text(const lock_info&);

// "fence 7" or "without a fence": another program's lock has none.
std::string fence_text(const lock_info&);

// The table's title and then a line for each lock, without line ends.
std::vector<std::string> table(const std::vector<listed_lock>&);

std::size_t waiters_in(const std::vector<listed_lock>&);

// To standard output, as it stands; throws failure if that cannot be written.
void print(const std::string&);

}  // namespace leasehold::cli
