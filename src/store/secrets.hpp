// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Keeps credentials out of every text that people read: exceptions, events, last_refusal(), last_failure(), and the
// output of the command. This is the only place that hides them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

// A URL that parse_url could read: without user, password and parameters, and without what is behind_password.
std::string without_credentials(std::string_view url);

// The part behind the word "password", which may be a password in a wrong place: "/sentinel_password=P" instead of
// "?sentinel_password=P". Empty if there is none.
std::string_view behind_password(std::string_view text);

// A URL that parse_url could not read. Any part of it may be a password, so only a known scheme is shown.
std::string only_scheme(std::string_view url);

// The name of a file in a URL's parameter. "'***'" if it may contain a password, as in ?ca=/x,sentinel_password=P.
std::string file_in_quotes(std::string_view name);

// The credentials of a client: those of its addresses, and the latest that client_options::credentials gave.
class secrets {
 public:
  // A server repeats what it was sent lately, if at all.
  static constexpr std::size_t most_added = 256;

  secrets() = default;
  explicit secrets(std::vector<std::string> all);

  // One more. Of those that were added, the latest are kept.
  void add(const std::string&);

  // The text (a server may repeat what it was sent) with "***" in place of each credential.
  std::string hide(std::string_view text) const;

 private:
  std::vector<std::string> all_;   // Of the addresses.
  std::deque<std::string> added_;  // The latest last.
};

}  // namespace leasehold::detail
