// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// For operators: list the locks that are held, show the holds and the queue of one lock, and free a lock by force. The
// `leasehold` command is built on these functions.
#pragma once

#include <leasehold/client.hpp>
#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/lock.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold {

/// @addtogroup ref_administration
/// @{

/// One hold of a lock.
struct listed_hold {
  std::string token;                             ///< Of another program's lock: its value, or its owner.
  std::uint64_t fence = 0;                       ///< 0 if it is another program's.
  std::optional<std::chrono::milliseconds> ttl;  ///< What is left of its lease; none without expiry.
  std::string role;                              ///< Of a shared mutex: "reader" or "writer"; "" elsewhere.
  std::string owner;                             ///< Of a recursive or shared mutex; "" if there is none.
};

/// A lock of any kind, and its holds.
struct lock_details : lock_info {
  std::string kind;  ///< "mutex", "recursive_mutex", "shared_mutex" or "counting_semaphore"; "" if the lock is free
                     ///< or another program's.
  std::string mode;  ///< Of a shared mutex: "readers" or "writer"; "" elsewhere.
  std::uint32_t limit = 0;  ///< Of a counting semaphore; 0 elsewhere.
  /// In the order of their fences, the first 100 at most; lock_info::holders counts all.
  std::vector<listed_hold> holds;
};

/// A lock that is held.
struct listed_lock : lock_details {
  std::string name;  ///< Without the client's prefix.
};

/// An entry in a lock's queue. It stands for all waiters of one client that ask for the same.
struct waiter {
  std::string token;                   ///< What its hold will have.
  std::chrono::milliseconds lease{0};  ///< What it asks for.
  bool silent = false;                 ///< Its client has not polled in time; the entry is passed over.
  std::string role;                    ///< Of a shared mutex: "reader" or "writer"; "" elsewhere.
  std::string owner;                   ///< Of a recursive or shared mutex; "" if there is none.
};

/// A lock and its queue.
struct lock_status : lock_details {
  std::vector<waiter> queue;  ///< In order, the first 100 at most; lock_info::waiters counts all.
};

/// A lock that was freed by force, as it was just before. `waiters` counts the next holder, too.
struct broken_lock : listed_lock {
  std::string next;  ///< The new holder's token (one of them, if several); "" if the lock is free now.
};

/// @}

namespace detail {
void start_list(const std::shared_ptr<client_handle>&,
                asio::any_completion_handler<void(error_code, std::vector<listed_lock>)>);
void start_show(const std::shared_ptr<client_handle>&, asio::any_completion_handler<void(error_code, lock_status)>,
                std::string name);
void start_break(const std::shared_ptr<client_handle>&, asio::any_completion_handler<void(error_code, broken_lock)>,
                 std::string name, bool force);
}  // namespace detail

/// @addtogroup ref_administration
/// @{

/// Lists the locks of this library that are held, under the client's prefix, sorted by name, each once.
///
/// The operation goes through all keys of the database, about 1,000 with each SCAN. A script is asked about 250 of them
/// at most, and with tagged keys about those of one slot. Other commands run in between. So the result is not a
/// snapshot: a lock that is acquired or released meanwhile may be in it or not. Locks of other programs are not in it.
///
/// @par Completion signature `void(error_code, std::vector<listed_lock>)`
/// @par Errors
/// error::unreachable: no answer to one of the scripts within client_options::command_timeout. error::refused: the
/// server refused a command (docs/operations.md names the rights). error::not_supported: on a quorum. error::closed.
/// @par Cancellation
/// All types; nothing changes.
/// @par Executor and lifetime
/// The handler runs on its associated executor, else on the client's. The operation keeps the client open until it
/// ends.
template <asio::completion_token_for<void(error_code, std::vector<listed_lock>)> Token>
auto list(const client& c, Token&& token) {
  return detail::initiate<&detail::start_list, void(error_code, std::vector<listed_lock>)>(detail::access::handle(c),
                                                                                           std::forward<Token>(token));
}
[[nodiscard]] inline auto list(const client& c) { return list(c, asio::deferred); }  ///< @overload

/// Shows the lock of this name, of any kind: its holds and its queue. `name` as in mutex::mutex.
///
/// Another program's string counts as a lock without a fence: its value is the token, 64 KiB of it at most. So does the
/// hash of another program's reentrant lock: its owner is the token, too.
///
/// @par Completion signature `void(error_code, lock_status)`
/// @par Errors
/// error::wrong_type: the key holds something that is no lock. error::unreachable: no answer within
/// client_options::command_timeout. error::not_supported: on a quorum. error::refused, error::invalid_name,
/// error::closed.
/// @par Cancellation
/// All types; nothing changes.
/// @par Executor and lifetime
/// As for list().
template <asio::completion_token_for<void(error_code, lock_status)> Token>
auto show(const client& c, std::string name, Token&& token) {
  return detail::initiate<&detail::start_show, void(error_code, lock_status)>(
      detail::access::handle(c), std::forward<Token>(token), std::move(name));
}
[[nodiscard]] inline auto show(const client& c, std::string name) {
  return show(c, std::move(name), asio::deferred);
}  ///< @overload

/// Frees the lock of this name by force: ends all its holds at once, and grants the lock to the next waiter in the
/// queue, as a release would.
///
/// The former holder is not asked. Its client is sent a message, and learns of the loss within a round trip. The client
/// misses the message if it was cut off, or if in a cluster it was granted the lock less than a second before. It then
/// learns of the loss at its next renewal, a third of its lease away. Until then the former holder may go on working,
/// at the same time as the next one. Only a resource that checks fences is safe from that.
///
/// The operation sends two requests: the first reads the holds, the second breaks the lock while the oldest of these
/// holds is there. So a request that has to be repeated never breaks the hold of the next holder.
///
/// With `force` it breaks another program's string or reentrant lock, too.
///
/// @par Completion signature `void(error_code, broken_lock)`
/// @par Errors
/// error::not_held: the lock is free. error::wrong_type: the key holds another program's lock and `force` is false,
/// or it holds something that is no lock. error::timed_out: the lock changed hands before each request, for as long as
/// client_options::command_timeout. error::unreachable: no answer for that long; the lock may have been broken.
/// error::not_supported: on a quorum. error::refused, error::invalid_name, error::closed.
/// @par Cancellation
/// All types. A request that is under way goes on.
/// @par Executor and lifetime
/// As for list().
template <asio::completion_token_for<void(error_code, broken_lock)> Token>
auto break_lock(const client& c, std::string name, bool force, Token&& token) {
  return detail::initiate<&detail::start_break, void(error_code, broken_lock)>(
      detail::access::handle(c), std::forward<Token>(token), std::move(name), force);
}
template <asio::completion_token_for<void(error_code, broken_lock)> Token>
auto break_lock(const client& c, std::string name, Token&& token) {
  return break_lock(c, std::move(name), false, std::forward<Token>(token));
}  ///< @overload
[[nodiscard]] inline auto break_lock(const client& c, std::string name, bool force = false) {
  return break_lock(c, std::move(name), force, asio::deferred);
}  ///< @overload

/// @}

}  // namespace leasehold
