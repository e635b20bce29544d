// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/refusal.hpp"

namespace leasehold::detail {
namespace {

// Redis before version 7 wraps the error of a command inside a script in words of its own.
bool says(std::string_view words, std::string_view code) {
  if (words.starts_with(code)) return true;
  if (!words.starts_with("ERR Error running script")) return false;
  const auto at = words.find(code);
  return at != words.npos && (words[at - 1] == ' ' || words[at - 1] == '-');
}

}  // namespace

refusal classify(std::string_view words) noexcept {
  if (says(words, "WRONGTYPE ")) return refusal::wrong_type;
  if (says(words, "TRYAGAIN ")) return refusal::moving_slot;
  for (const auto* code : {"LOADING ", "BUSY ", "CLUSTERDOWN ", "MASTERDOWN ", "MOVED ", "ASK "}) {
    if (says(words, code)) return refusal::try_again;
  }
  // A slot is being moved: the script has deleted a key and then read it again. What it did before stays done.
  if (words.find("attempted to access a non local key") != words.npos) return refusal::try_again;
  return refusal::no;
}

bool may_have_written(std::string_view error) noexcept { return error.find(" script") != error.npos; }

bool is_read_only(std::string_view words) noexcept { return says(words, "READONLY "); }

bool is_unknown_script(std::string_view words) noexcept { return words.starts_with("NOSCRIPT"); }

bool is_moved(std::string_view words) noexcept { return words.starts_with("MOVED "); }

bool is_cross_slot(std::string_view words) noexcept {
  // Some proxies have other words: "ERR 'a' and 'b' not in the same slot".
  return words.starts_with("CROSSSLOT") || (words.starts_with("ERR ") && words.find(" same slot") != words.npos);
}

bool wants_tagged_keys(std::string_view words) noexcept {
  return is_cross_slot(words) || words.find("leasehold: the keys of this server are tagged") != words.npos;
}

bool is_redirection(std::string_view words) noexcept { return is_moved(words) || words.starts_with("ASK "); }

}  // namespace leasehold::detail
