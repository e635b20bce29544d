// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/client.hpp>
#include <leasehold/lock.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace leasehold {

namespace detail {
namespace kinds {
extern const kind counting_semaphore;
}
void start_resize(const std::shared_ptr<lock_state>&, asio::any_completion_handler<void(error_code)>,
                  std::uint32_t limit);
}  // namespace detail

/// At most `limit` holds at a time, each with its own token and lease, granted in the order of the queue.
///
/// All users of a semaphore must give the same limit: a limit other than that of the current holds is
/// error::wrong_limit. A semaphore without holds has no limit. Its fences order the grants that one client sees; they
/// are no barrier, since several holds are valid at once.
///
/// Not on a quorum: every operation is error::not_supported there. Each server would count its own permits, and limits
/// that hold on every server do not bound the holders that have a majority: with three servers and a limit of 2, three
/// holders can have two servers each.
/// @ingroup ref_locks
class counting_semaphore : public basic_lock {
 public:
  /// A bad name is reported by the operations as error::invalid_name, a limit of 0 as error::invalid_option.
  counting_semaphore(const client& c, std::string name, std::uint32_t limit)
      : basic_lock(detail::make_lock(detail::access::handle(c), detail::kinds::counting_semaphore, std::move(name), {},
                                     limit)) {}
  template <detail::only_a_view Name>
  counting_semaphore(const client& c, const Name& name, std::uint32_t limit)
      : counting_semaphore(c, detail::string_of(name), limit) {}  ///< @overload

  /// Changes the limit for the current holds, for the waiters, and for this object and its copies. With a higher limit,
  /// further permits are granted at once. With a lower one, no hold is lost, and no waiter is granted a permit until
  /// enough holds have ended.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// error::invalid_option: a limit of 0. error::unreachable: no answer within client_options::command_timeout; the
  /// limit may have changed or not, and a request of this call that arrives late is refused. error::refused,
  /// error::wrong_type, error::invalid_name, error::closed.
  /// @par Cancellation
  /// All types; a request that was sent may still take effect, until client_options::command_timeout after the call.
  template <asio::completion_token_for<void(error_code)> Token>
  auto resize(std::uint32_t limit, Token&& token) const {
    return detail::initiate<&detail::start_resize, void(error_code)>(lock_, std::forward<Token>(token), limit);
  }
  [[nodiscard]] auto resize(std::uint32_t limit) const { return resize(limit, asio::deferred); }  ///< @overload
};

}  // namespace leasehold
