// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/refusal.hpp"

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/find.hpp>

#include <cstddef>
#include <utility>

namespace leasehold::detail {
namespace {

// Redis before version 7 wraps the error of a command inside a script in words of its own.
bool says(std::string_view words, std::string_view code) {
  if (words.starts_with(code)) return true;
  if (!words.starts_with("ERR Error running script")) return false;
  const auto at = words.find(code);
  return at != words.npos && (words[at - 1] == ' ' || words[at - 1] == '-');
}

constexpr std::string_view connect_elsewhere = "; connect to Redis itself, or through a proxy that passes it on";

// What each command is needed for.
constexpr std::pair<std::string_view, std::string_view> needed[] = {
    {"HELLO", "Redis 6.2 or later is needed"},
    {"SUBSCRIBE", "clients are notified of their grants by pub/sub"},
    {"SSUBSCRIBE", "clients are notified of their grants by pub/sub"},
    {"PUBLISH", "clients are notified of their grants by pub/sub"},
    {"EVALSHA", "locks are scripts that the server runs"},
    {"EVAL", "locks are scripts that the server runs"},
    {"TIME", "leases end by the server's clock"},
    {"SELECT", "the URL names a database"},
};

// The command that an error names: behind the word "command", perhaps in quotes. Its arguments may follow.
std::string command_in(std::string_view words) {
  const auto word = boost::algorithm::ifind_first(words, "command");
  if (word.empty()) return {};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto at = static_cast<std::size_t>(word.end() - words.begin());
  while (at < words.size() && !is_letter(words[at])) ++at;
  const auto first = at;
  while (at < words.size() && is_letter(words[at])) ++at;
  return boost::algorithm::to_upper_copy(std::string(words.substr(first, at - first)));
}

}  // namespace

bool is_about_password(std::string_view words) noexcept {
  return words.starts_with("WRONGPASS") || words.starts_with("NOAUTH") || words.starts_with("ERR invalid password");
}

std::string why_no_resp3() {
  return "the server does not speak RESP3: Redis 6.2 or later is needed" + std::string(connect_elsewhere);
}

std::string why_it_cannot_serve(std::string_view words, std::string_view command) {
  if (words.starts_with("NOPROTO")) return why_no_resp3();
  // (Comparing by a locale costs more than all else that a client does about a refusal.)
  std::string lower(words);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto has = [&lower](std::string_view part) { return lower.find(part) != lower.npos; };
  const bool is_lack = has("unknown command") || has("unsupported") || has("not supported") || has("is not allowed") ||
                       (has("unknown") && command == "HELLO");
  if (!is_lack) return has("allowed in this context") ? why_no_resp3() : std::string(words);
  // The script itself is known, but not a command in it.
  if (command.empty() && may_have_written(words)) return std::string(words);
  std::string name = command_in(words);
  // The words repeat the arguments, and among those of HELLO is the password. So they are not part of the text.
  for (const std::string& lacking : {std::move(name), std::string(command)}) {
    for (const auto& [known, why] : needed) {
      if (lacking != known) continue;
      return "the server does not know " + lacking + ": " + std::string(why) + std::string(connect_elsewhere);
    }
  }
  return std::string(words);
}

refusal classify(std::string_view words) noexcept {
  if (says(words, "WRONGTYPE ")) return refusal::wrong_type;
  if (says(words, "TRYAGAIN ")) return refusal::moving_slot;
  for (const auto* code : {"LOADING ", "BUSY ", "CLUSTERDOWN ", "MASTERDOWN ", "MOVED ", "ASK "}) {
    if (says(words, code)) return refusal::try_again;
  }
  // A slot is being moved: the script has deleted a key and then read it again. What it did before stays done. The
  // first words begin with "Attempted" since Valkey 9, and with "Script attempted" elsewhere. The second are those of
  // Redis 8.0 and Valkey 8.1 for a command of several keys of which some are there.
  for (const auto* part : {"ttempted to access a non local key", "were accessed during rehashing of the slot"}) {
    if (words.find(part) != words.npos) return refusal::try_again;
  }
  return refusal::no;
}

bool may_have_written(std::string_view error) noexcept {
  // "BUSY Redis is busy running a script" is another's script.
  if (error.starts_with("BUSY ") && error.find(" script: ") == error.npos) return false;
  return error.find(" script") != error.npos;
}

bool is_read_only(std::string_view words) noexcept { return says(words, "READONLY "); }

bool is_unsaved(std::string_view words) noexcept { return says(words, "MISCONF "); }

bool may_pass(std::string_view words) noexcept {
  return is_unsaved(words) || is_read_only(words) || says(words, "NOREPLICAS ");
}

bool is_lasting(std::string_view words) noexcept { return !is_temporary(classify(words)) && !is_about_password(words); }

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
