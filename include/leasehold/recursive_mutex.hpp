// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/client.hpp>
#include <leasehold/lock.hpp>

#include <memory>
#include <string>

namespace leasehold {

namespace detail::kinds {
extern const kind recursive_mutex;
}

/// One owner at a time, which may acquire the lock again: from another coroutine, client or process.
///
/// The caller chooses the owner: the id of a request that travels through several services, for example; never a
/// thread. Each acquisition is a hold of its own, with its own token and lease. hold::depth() says how many times the
/// owner had the lock when the hold was granted (by this client, if it was passed on within the client). All holds of
/// one tenure have the same fence (on a quorum mostly: docs/guarantees.md). The lock is free when the last of them has
/// been released or has expired, in any order. An owner that holds the lock does not wait behind the waiters in the
/// queue, because they wait for it.
///
/// The lock is the key `prefix + name`, a hash with the field `owner -> count` that the classic reentrant scripts
/// respect (docs/interop.md).
/// @ingroup ref_locks
class recursive_mutex : public basic_lock {
 public:
  /// A bad name, and an owner that is empty, longer than 65,536 bytes, "leasehold" or begins with "leasehold:", is
  /// reported by the operations as error::invalid_name.
  recursive_mutex(const client& c, std::string name, const std::string& owner)
      : basic_lock(
            detail::make_lock(detail::access::handle(c), detail::kinds::recursive_mutex, std::move(name), owner)) {}
  template <class Name, class Owner>
  requires detail::only_a_view<Name> || detail::only_a_view<Owner> recursive_mutex(const client& c, const Name& name,
                                                                                   const Owner& owner)
      : recursive_mutex(c, detail::string_of(name), detail::string_of(owner)) {}  ///< @overload
};

}  // namespace leasehold
