// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which with_lock a lock is for. A call without a namespace that has acquire_options finds the one for coroutines and
// the one of leasehold::blocking. Nothing here is for users.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <vector>

namespace leasehold {

namespace blocking {
class basic_lock;
}

namespace detail {

// A lock of leasehold::blocking, a tuple or a vector of them.
template <class Lock>
inline constexpr bool is_blocking = std::derived_from<std::remove_cvref_t<Lock>, blocking::basic_lock>;
template <class... Locks>
inline constexpr bool is_blocking<std::tuple<Locks...>> = (is_blocking<Locks> || ...);
template <class Lock>
inline constexpr bool is_blocking<std::vector<Lock>> = is_blocking<Lock>;

template <class Lock>
concept for_threads = is_blocking<Lock>;
template <class Lock>
concept for_coroutines = !is_blocking<Lock>;

}  // namespace detail
}  // namespace leasehold
