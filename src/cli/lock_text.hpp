// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Locks as text for people and as JSON for programs.
#pragma once

#include "exit_code.hpp"

#include <leasehold/admin.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace leasehold::cli {

// name, held, token, fence, ttl_ms, waiters.
boost::json::object as_json(const std::string& name, const lock_info&);

// The fields after that: kind, holders, mode, limit, owner where there is one, holds.
void add_details(boost::json::object&, const lock_details&);

// role and owner, where there is one.
void add_asker(boost::json::object&, const std::string& role, const std::string& owner);

// "shared mutex", of a name of lock_details::kind.
std::string kind_in_words(std::string kind);

// The holders of a lock that is held: "held", "3 readers", "1 writer", "2 of 3 permits", "held 2 times by request 7".
std::string holders_text(const lock_details&);

// The same as a part of a sentence: "held by web1-4711-...", "held by 3 readers", "held 2 times by request 7".
std::string held_by_text(const lock_details&);

// What follows a token: "  reader  request 7", or "".
std::string asker_text(const std::string& role, const std::string& owner);

// Whether one token says all about its holds: it is a mutex, or another program's string.
bool is_mutex(const lock_details&);

// A line with its end for each hold; none where the lock's own line says all.
std::string holds_text(const lock_details&);

// JSON is UTF-8, but names and tokens are any bytes: those are added as `key`_base64.
void add_bytes(boost::json::object&, const std::string& key, const std::string& bytes);

// "12.3 s left" or "forever".
std::string lease_text(const lock_info&);

// "fence 7" or "without a fence": another program's lock has none.
std::string fence_text(const lock_info&);

// The table's title and then a line for each lock, without line ends.
std::vector<std::string> table(const std::vector<listed_lock>&);

std::size_t waiters_in(const std::vector<listed_lock>&);

// To standard output, as it stands; throws failure if that cannot be written.
void print(const std::string&);
// With the reason that errno has.
failure not_written();

}  // namespace leasehold::cli
