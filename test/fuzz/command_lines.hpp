// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The words of a command, one in each line of the input: what is understood of them, and what the last one can become.
#pragma once

#include "cli/candidates.hpp"
#include "cli/options.hpp"
#include "fuzz/known_secret.hpp"
#include "fuzz/replies_of.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace leasehold::test {

inline bool is_name(const std::string& name, const cli::store_options& where) {
  return !name.empty() && name.size() <= 65536 && !(where.prefix + name).starts_with("leasehold:");
}

inline std::string check_request(const cli::run_options& o) {
  using namespace std::chrono_literals;
  if (o.store.urls.empty() || o.names.empty() || o.command.empty()) return "run: there is no store, name or command";
  for (const auto& name : o.names) {
    if (!is_name(name, o.store)) return "run: a name is invalid";
  }
  if (std::set<std::string>(o.names.begin(), o.names.end()).size() != o.names.size())
    return "run: a name is there twice";
  if (o.lease < 1ms || o.lease > std::chrono::hours(24 * 30)) return "run: the lease is out of range";
  if (o.wait < 0ms || o.grace < 0ms) return "run: a time is negative";
  if (o.at_least < 0ms || o.at_least > std::chrono::hours(24 * 30)) return "run: at-least is out of range";
  if (o.conflict_exit_code < 0 || o.conflict_exit_code > 255) return "run: the exit status is out of range";
  if ((o.kind == cli::lock_kind::permit) != (o.permits != 0)) return "run: permits are not those of a semaphore";
  if ((o.kind != cli::lock_kind::leadership && !o.value.empty()) || o.value.size() > 65536) {
    return "run: the value is not that of a leader";
  }
  if (o.kind == cli::lock_kind::leadership && (o.names.size() != 1 || o.store.urls.size() != 1)) {
    return "elect: there are several names or servers";
  }
  return {};
}
inline std::string check_request(const cli::leader_options& o) {
  return o.store.urls.size() != 1 || !is_name(o.name, o.store) ? "leader: there is no store or no valid name" : "";
}
inline std::string check_request(const cli::status_options& o) {
  return o.store.urls.empty() || !is_name(o.name, o.store) ? "status: there is no store or no valid name" : "";
}
inline std::string check_request(const cli::break_options& o) {
  return o.store.urls.empty() || !is_name(o.name, o.store) ? "break: there is no store or no valid name" : "";
}
inline std::string check_request(const cli::list_options& o) { return o.store.urls.empty() ? "list: no store" : ""; }
inline std::string check_request(const cli::watch_options& o) {
  using namespace std::chrono_literals;
  return o.store.urls.empty() || o.interval < 100ms || o.interval > 24h ? "watch: out of range" : "";
}
inline std::string check_request(const cli::acquire_command& o) {
  auto run = o.how;
  if (run.names.size() != 1) return "acquire: there is not one name";
  run.command.emplace_back("none");
  return check_request(run);
}
inline std::string check_request(const cli::extend_options& o) {
  using namespace std::chrono_literals;
  return o.store.urls.empty() || o.lease < 0ms || o.lease > std::chrono::hours(24 * 30) ? "extend: out of range" : "";
}
inline std::string check_request(const cli::release_options& o) {
  return o.store.urls.empty() ? "release: there is no store" : "";
}
inline std::string check_request(const cli::information& i) { return i.text.empty() ? "the help is empty" : ""; }
inline std::string check_request(const cli::complete_options&) { return {}; }

inline std::string check_completion(const std::vector<std::string>& words) {
  const auto held = [](const cli::store_options&) { return std::vector<std::string>{"jobs", "-x", "a b", "@"}; };
  const auto c = cli::complete_words(words, held);
  const std::string last = words.empty() ? std::string() : words.back();
  if (c.first.starts_with("command ")) {
    std::size_t n = 0;
    std::from_chars(c.first.data() + 8, c.first.data() + c.first.size(), n);
    return n == 0 || n >= words.size() ? "the command begins where there is no word" : "";
  }
  if (c.first != "words" && c.first != "files" && c.first != "beginnings") return "the completion is of no known form";
  for (const auto& one : c.candidates) {
    if (!one.word.starts_with(last)) return "a candidate does not begin with the word: " + one.word;
  }
  return {};
}

inline std::string check_command_lines(std::string_view input) {
  std::vector<std::string> words;
  const std::string text = with_secret(input);
  for (std::string_view rest = text; !rest.empty();) words.emplace_back(take_part(rest, '\n'));
  // No file is read but those of the folder in which this runs.
  if (text.find("--redis-file") != text.npos) {
    for (auto& w : words) std::erase(w, '/');
  }
  if (auto wrong = check_completion(words); !wrong.empty()) return wrong;
  // Where the secret stands in another place it may be shown.
  const bool hidden = std::all_of(words.begin(), words.end(), [](const std::string& w) {
    return !shows_secret(w) || (w.starts_with('-') ? shows_behind_password(w) : has_credential(w));
  });
  try {
    const auto wanted = cli::parse_options(words);
    return std::visit([](const auto& o) { return std::string(check_request(o)); }, wanted);
  } catch (const cli::failure& f) {
    if (f.code() != cli::exit_code::usage) return "what is wrong with the words is not called wrong usage";
    if (std::string_view(f.what()).empty()) return "nobody says what is wrong";
    if (hidden && shows_secret(f.what())) return "the secret is shown: " + std::string(f.what());
  }
  return {};
}

}  // namespace leasehold::test
