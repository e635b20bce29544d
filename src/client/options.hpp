// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which names, options and durations are valid.
#pragma once

#include <leasehold/acquire_options.hpp>
#include <leasehold/client.hpp>
#include <leasehold/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::detail {

inline constexpr std::chrono::milliseconds longest_lease = std::chrono::hours(24 * 30);

error_code check_lease(std::chrono::milliseconds) noexcept;
// The name of the first member that is out of range; null if all are in range.
const char* wrong_option(const acquire_options&) noexcept;
error_code check(const acquire_options&) noexcept;
// What the server is asked for: the first lease covers at_least, so that the death of the holder does not shorten it.
std::chrono::milliseconds first_lease(const acquire_options&) noexcept;

// `record` is prefix + name.
error_code check_name(std::string_view name, std::string_view record) noexcept;

// Throws exception(invalid_option) that names the member that is out of range.
void check(const client_options&);

// Whether a client may have this label.
bool is_label(std::string_view label) noexcept;

// The label of a client whose options name none: `<host>-<pid>`, shortened to fit the rule for labels. The pid is never
// cut.
std::string default_label(std::string_view host, std::int64_t pid);

}  // namespace leasehold::detail
