// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/client.hpp>
#include <leasehold/lock.hpp>

#include <memory>
#include <string>

namespace leasehold {

namespace detail::kinds {
extern const kind mutex;
}

/// One holder at a time.
///
/// The lock is the key `prefix + name` itself, a string that `SET NX PX` clients in other languages respect. The mutex
/// is not recursive: a program that acquires it twice waits for itself.
///
/// <!-- examples/guide.cpp mutex -->
/// @code
/// leasehold::client redis(co_await asio::this_coro::executor, url);
/// leasehold::mutex lock(redis, "report:2026-11");
/// if (auto hold = co_await lock.try_acquire()) write_report(hold->fence());
/// @endcode
///
/// A release may pass the lock on to another coroutine of the same client before other clients have their turn, for
/// client_options::cohort at most.
/// @ingroup ref_locks
class mutex : public basic_lock {
 public:
  /// A bad name (empty, longer than 65,536 bytes, or beginning with "leasehold:" with its prefix) is reported by the
  /// operations as error::invalid_name.
  mutex(const client& c, std::string name)
      : basic_lock(detail::make_lock(detail::access::handle(c), detail::kinds::mutex, std::move(name))) {}
  template <detail::only_a_view Name>
  mutex(const client& c, const Name& name) : mutex(c, detail::string_of(name)) {}  ///< @overload
};

}  // namespace leasehold
