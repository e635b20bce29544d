// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// For operators: which locks there are, who waits for one, and how to free it by force. The `leasehold` command is made of
// these.
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

/// One of those who have a lock.
struct listed_hold {
  std::string token;                             ///< Of another program: its value, or its owner.
  std::uint64_t fence = 0;                       ///< 0 if it is another program's.
  std::optional<std::chrono::milliseconds> ttl;  ///< What is left of its lease; none without expiry.
  std::string role;                              ///< Of a shared mutex: "reader" or "writer"; "" elsewhere.
  std::string owner;                             ///< Of a recursive or shared mutex; "" if there is none.
};

/// A lock of any kind, and who has it.
struct lock_details : lock_info {
  std::string kind;  ///< "mutex", "recursive_mutex", "shared_mutex" or "counting_semaphore"; "" if the lock is free
                     ///< or another program's.
  std::string mode;  ///< Of a shared mutex: "readers" or "writer"; "" elsewhere.
  std::uint32_t limit = 0;  ///< Of a counting semaphore; 0 elsewhere.
  /// In the order of their fences, the first 100 at most; lock_info::holders counts all.
  std::vector<listed_hold> holds;
};

/// A lock that somebody has.
struct listed_lock : lock_details {
  std::string name;  ///< Without the client's prefix.
};

/// An entry in a lock's queue. Each stands for all waiters of one client who ask for the same.
struct waiter {
  std::string token;                   ///< What its hold will have.
  std::chrono::milliseconds lease{0};  ///< What it asks for.
  bool silent = false;                 ///< Its client has not polled in time: it is passed over.
  std::string role;                    ///< Of a shared mutex: "reader" or "writer"; "" elsewhere.
  std::string owner;                   ///< Of a recursive or shared mutex; "" if there is none.
};

/// A lock and its queue.
struct lock_status : lock_details {
  std::vector<waiter> queue;  ///< In order, the first 100 at most; lock_info::waiters counts all.
};

/// A lock that was freed by force, as it was just before. `waiters` counts the next holder, too.
struct broken_lock : listed_lock {
  std::string next;  ///< The token of who has the lock now, of one of them if there are several; "" if nobody has.
};

namespace detail {
void start_list(const std::shared_ptr<client_handle>&,
                asio::any_completion_handler<void(error_code, std::vector<listed_lock>)>);
void start_show(const std::shared_ptr<client_handle>&, asio::any_completion_handler<void(error_code, lock_status)>,
                std::string name);
void start_break(const std::shared_ptr<client_handle>&, asio::any_completion_handler<void(error_code, broken_lock)>,
                 std::string name, bool force);
}  // namespace detail

/// All locks of this library under the client's prefix that somebody has, sorted by name, each once.
///
/// This goes through all keys of the database, about 1,000 with each script, and lets other commands run in between. So it
/// is no snapshot: a lock that is acquired or released meanwhile may be in the list or not. Another program's locks are
/// not in it.
///
/// @par Completion signature `void(error_code, std::vector<listed_lock>)`
/// @par Errors
/// error::unreachable: no answer to one of the scripts within client_options::command_timeout. error::refused: the server
/// said no (docs/operations.md names the rights). error::not_supported: on a quorum. error::closed.
/// @par Cancellation
/// All types; nothing changes.
/// @par Executor and lifetime
/// The handler runs on its associated executor, else on the client's. The operation keeps the client open until it ends.
template <asio::completion_token_for<void(error_code, std::vector<listed_lock>)> Token>
auto list(const client& c, Token&& token) {
  return detail::initiate<&detail::start_list, void(error_code, std::vector<listed_lock>)>(detail::access::handle(c),
                                                                                           std::forward<Token>(token));
}
[[nodiscard]] inline auto list(const client& c) { return list(c, asio::deferred); }  ///< @overload

/// Who has the lock of this name, and who waits for it. Of any kind; `name` as in mutex::mutex.
///
/// Another program's string counts as a lock without a fence: its value is the token, 64 KiB of it at most. So does the
/// hash of another program's reentrant lock: its owner is the token, too.
///
/// @par Completion signature `void(error_code, lock_status)`
/// @par Errors
/// error::wrong_type: the key holds something that is no lock. error::unreachable: no answer within
/// client_options::command_timeout. error::not_supported: on a quorum. error::refused, error::invalid_name, error::closed.
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

/// Takes the lock of this name from whoever has it, all holds at once, and gives it to the next waiter in the queue, as
/// a release would.
///
/// The former holder is not asked. Its client is sent a message and learns of the loss within a round trip; without that
/// message (it was cut off, or in a cluster was granted the lock less than a second before) at its next renewal, a third of its
/// lease away. It may go on working until then: beside the next holder. Only what checks fences is safe from that.
///
/// It asks twice: who has the lock, and to break it while the oldest of these holds is there. So a request that has to be
/// repeated never breaks the hold of the next one.
///
/// With `force` it breaks another program's string or reentrant lock, too.
///
/// @par Completion signature `void(error_code, broken_lock)`
/// @par Errors
/// error::not_held: nobody has the lock. error::wrong_type: the key holds another program's lock and `force` is false,
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

}  // namespace leasehold
