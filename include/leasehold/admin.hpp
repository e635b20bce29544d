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
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leasehold {

/// A lock that somebody has.
struct listed_lock : lock_info {
  std::string name;  ///< Without the client's prefix.
};

/// An entry in a lock's line. Each stands for all waiters of one client.
struct waiter {
  std::string token;                   ///< What its hold will have.
  std::chrono::milliseconds lease{0};  ///< What it asks for.
  bool silent = false;                 ///< Its client has not looked in time: it is passed over.
};

/// A lock and its line.
struct lock_status : lock_info {
  std::vector<waiter> line;  ///< In order, the first 100 at most; lock_info::waiters counts all.
};

/// A lock that was freed by force, as it was just before. `waiters` counts the next holder, too.
struct broken_lock : listed_lock {
  std::string next;  ///< The token of who has the lock now; "" if nobody has.
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
/// is no snapshot: a lock that is acquired or released meanwhile may be in the list or not. Another program's strings are
/// not in it.
///
/// @par Completion signature `void(error_code, std::vector<listed_lock>)`
/// @par Errors
/// error::unreachable: no answer to one of the scripts within client_options::command_timeout. error::refused: the server
/// said no (docs/operations.md names the rights). error::closed.
/// @par Cancellation
/// All types; nothing changes.
/// @par Executor and lifetime
/// The handler runs on its associated executor, else on the client's. The operation keeps the client open until it ends.
template <asio::completion_token_for<void(error_code, std::vector<listed_lock>)> Token>
auto list(const client& c, Token&& token) {
  return detail::initiate<&detail::start_list, void(error_code, std::vector<listed_lock>)>(detail::access::handle(c),
                                                                                         std::forward<Token>(token));
}
inline auto list(const client& c) { return list(c, asio::deferred); }

/// Who has the lock of this name, and who waits for it. Of any kind; `name` as in mutex::mutex.
///
/// Another program's string counts as a lock without a fence: its value is the token, 64 KiB of it at most.
///
/// @par Completion signature `void(error_code, lock_status)`
/// @par Errors
/// error::wrong_type: the key holds something that is no lock. error::unreachable: no answer within
/// client_options::command_timeout. error::refused, error::invalid_name, error::closed.
/// @par Cancellation
/// All types; nothing changes.
/// @par Executor and lifetime
/// As for list().
template <asio::completion_token_for<void(error_code, lock_status)> Token>
auto show(const client& c, std::string name, Token&& token) {
  return detail::initiate<&detail::start_show, void(error_code, lock_status)>(
      detail::access::handle(c), std::forward<Token>(token), std::move(name));
}
inline auto show(const client& c, std::string name) { return show(c, std::move(name), asio::deferred); }

/// Takes the lock of this name from whoever has it, and gives it to the next in line, as a release would.
///
/// The former holder is not asked. It learns of its loss at its next renewal, a third of its lease away, and may go on
/// working until then: beside the next holder. Only what checks fences is safe from that.
///
/// It asks twice: who has the lock, and to break exactly that hold. So a request that has to be repeated never breaks the
/// hold of the next one.
///
/// @param force Break another program's string, too. It is deleted or, if somebody waits for it, overwritten.
///
/// @par Completion signature `void(error_code, broken_lock)`
/// @par Errors
/// error::not_held: nobody has the lock. error::wrong_type: the key holds another program's string and `force` is false,
/// or it holds something that is no lock. error::timed_out: the lock changed hands before each request, for as long as
/// client_options::command_timeout. error::unreachable: no answer for that long; the lock may have been broken.
/// error::refused, error::invalid_name, error::closed.
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
}
inline auto break_lock(const client& c, std::string name, bool force = false) {
  return break_lock(c, std::move(name), force, asio::deferred);
}

}  // namespace leasehold
