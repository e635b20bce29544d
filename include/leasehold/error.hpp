// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <memory>
#include <string>
#include <type_traits>

namespace leasehold {

using boost::system::error_code;
using boost::system::system_error;

/// @addtogroup ref_errors
/// @{

/// Everything that can go wrong, in one category. Cancellation is `boost::asio::error::operation_aborted` and nothing
/// else is. `message()` is the enumerator with spaces, for example "timed out".
enum class error {
  timed_out = 1,  ///< `acquire_options::wait` ended while the store said that the lock is busy.
  lost,           ///< The hold was already lost: its lease ended, or Redis no longer knows its token.
  not_held,       ///< The hold is empty or was released already.
  no_quorum,      ///< Fewer than a majority of a quorum's servers answered, or too few replicas acknowledged the grant.
  unreachable,    ///< The store did not answer in time.
  refused,        ///< Refused by the server (NOAUTH, NOPERM, READONLY, OOM, ...); its words: `client::last_refusal()`.
  wrong_type,     ///< The key holds something that is not a lock of this kind.
  wrong_limit,    ///< The semaphore exists with another limit.
  invalid_name,   ///< A name is 1 to 65,536 bytes, and with its prefix does not begin with "leasehold:".
  invalid_option,  ///< An option is out of its documented range, for example a negative duration.
  invalid_url,     ///< The URL cannot be understood.
  not_supported,   ///< This kind of lock or deployment cannot do that.
  closed,          ///< The client was closed.
  invalid_ticket,  ///< The text is no ticket of a hold, or a part of it is missing.
};

/// The one category of every `leasehold::error`; its name is "leasehold".
const boost::system::error_category& error_category() noexcept;

inline error_code make_error_code(error e) noexcept { return {static_cast<int>(e), error_category()}; }  ///< For Boost.

/// What the library itself throws: by the constructor of a client, `with_lock`, `while_held`, `ticket::parse`,
/// `to_prometheus`, and the functions of leasehold::blocking and leasehold::testing. It names what has failed.
///
/// `what()` is one line for people, for example
/// "unreachable: lock 'invoice:4711' at redis://10.0.0.7: Connection refused". It contains no credential of a URL.
///
/// `co_await lock.acquire()` is Asio's: it throws a plain system_error, which has the code only.
/// basic_lock::explain and client::explain make this text of a code.
class exception : public system_error {
 public:
  /// What the exception is about. "" where that is not known.
  struct context {
    std::string lock = {};    ///< The name of the lock, without the client's prefix.
    std::string option = {};  ///< The option that is at fault, for example "acquire_options::lease".
    std::string server = {};  ///< The URL of the store, or several with ", " between them, without credentials.
    std::string detail = {};  ///< The server's words, or another reason.
  };

  exception(error_code code, context about);  ///< Makes the text.

  const char* what() const noexcept override;  ///< One line: message(), then what is known.
  const std::string& lock() const noexcept;    ///< See context.
  const std::string& option() const noexcept;  ///< See context.
  const std::string& server() const noexcept;  ///< See context.
  const std::string& detail() const noexcept;  ///< See context.

 private:
  struct parts;
  std::shared_ptr<const parts> parts_;  // Copying an exception must not throw.
};

/// @}

}  // namespace leasehold

template <>
struct boost::system::is_error_code_enum<leasehold::error> : std::true_type {};
