// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/acquire_options.hpp>
#include <leasehold/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace leasehold {

namespace detail {
struct access;
struct ticket_fields;
}  // namespace detail

/// A hold that no client keeps any more: what hold::detach yields, and client::resume takes.
///
/// With it, a hold outlives its process, or changes hands: a web request acquires the lock and a worker releases it, or
/// a program replaces its binary and goes on with the same fence. No client renews the lease meanwhile, so the ticket
/// has to be resumed before the lease ends.
///
/// <!-- examples/guide.cpp ticket -->
/// @code
/// const leasehold::ticket detached = co_await hold.detach();
/// const std::string text = detached.to_string();  // One word, for a queue, a file or another process.
/// leasehold::hold resumed = co_await worker.resume(leasehold::ticket::parse(text));
/// @endcode
///
/// A ticket is as secret as the lock is important: the text is all that a program needs to extend or release the hold.
/// It contains the name of the lock, but no credential of the server.
///
/// A value, cheap to copy. Thread safety: as of a value.
/// @ingroup ref_holds
class ticket {
 public:
  ticket() noexcept = default;  ///< An empty ticket, which is of no hold: error::invalid_ticket for client::resume.

  /// Reads the text that to_string() has made, also one of an earlier version of the library.
  /// @throws exception error::invalid_ticket: the text is no ticket, or a part of it is missing. exception::detail says
  /// what is wrong, and repeats nothing of the text.
  static ticket parse(std::string_view text);
  static ticket parse(std::string_view text, error_code& ec);  ///< The same without an exception.

  /// One printable line without blanks, beginning with "lh1." and followed by letters, digits, "-" and "_". "" for an
  /// empty ticket.
  std::string to_string() const;

  explicit operator bool() const noexcept { return fields_ != nullptr; }  ///< False for an empty ticket.

  /// "mutex", "recursive_mutex", "shared_mutex" or "counting_semaphore".
  const std::string& kind() const noexcept;
  bool is_reader() const noexcept;                   ///< Of a reader of a shared mutex.
  const std::string& name() const noexcept;          ///< The lock's, without the client's prefix.
  const std::string& owner() const noexcept;         ///< Of a recursive or a shared mutex; else "".
  std::uint32_t limit() const noexcept;              ///< Of a counting semaphore; else 0.
  const std::string& token() const noexcept;         ///< As hold::token.
  std::uint64_t fence() const noexcept;              ///< As hold::fence.
  std::chrono::milliseconds lease() const noexcept;  ///< The lease that began when the hold was detached.

  friend bool operator==(const ticket& a, const ticket& b) noexcept { return a.equals(b); }  ///< Of their texts.

 private:
  friend detail::access;
  explicit ticket(std::shared_ptr<const detail::ticket_fields> fields) noexcept : fields_(std::move(fields)) {}
  bool equals(const ticket&) const noexcept;

  std::shared_ptr<const detail::ticket_fields> fields_;
};

/// How to go on with a hold that was detached: `client.resume(ticket, {.margin = 1s})`.
///
/// Members are trivially destructible and only ever appended, as those of acquire_options.
/// @ingroup ref_holds
struct resume_options {
  /// The lease from now on: 1 ms to 30 days, else error::invalid_option. 0: that of the ticket. A lease is never
  /// shortened.
  std::chrono::milliseconds lease{0};

  /// As acquire_options::renew. The renewals are counted from the resumption.
  renewal renew = renewal::automatic;

  /// As acquire_options::margin.
  std::chrono::milliseconds margin{0};
};

static_assert(std::is_aggregate_v<resume_options> && std::is_trivially_destructible_v<resume_options>,
              "g++ 12 corrupts memory in co_await expressions with any other kind of aggregate temporary");

}  // namespace leasehold
