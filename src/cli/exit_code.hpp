// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the command's exit statuses mean: those of sysexits.h and, from 126 on, those of the shell.
#pragma once

#include <leasehold/error.hpp>

#include <stdexcept>
#include <string>

namespace leasehold::cli {

enum class exit_code : int {
  none = 1,           // No hold to break, no leader.
  usage = 64,         // EX_USAGE: wrong usage, invalid option, name or URL
  wrong_type = 65,    // EX_DATAERR: the key holds something else
  unreachable = 69,   // EX_UNAVAILABLE: the store does not answer
  internal = 70,      // EX_SOFTWARE
  system = 71,        // EX_OSERR: fork failed, for example
  lost = 74,          // EX_IOERR: the lease was lost; also output that could not be written
  not_acquired = 75,  // EX_TEMPFAIL: not acquired in time
  refused = 77,       // EX_NOPERM: the server refused
  not_executable = 126,
  not_found = 127,
  signalled = 128,  // and the signal's number
};

// Ends the program: what() goes to standard error, as one line.
class failure : public std::runtime_error {
 public:
  failure(exit_code code, const std::string& text) : runtime_error(text), code_(code) {}
  exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

exit_code code_of(const error_code&) noexcept;

}  // namespace leasehold::cli
