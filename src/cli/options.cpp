// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "options.hpp"

#include "duration.hpp"
#include "grammar.hpp"
#include "text.hpp"

#include <leasehold/election.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::cli {
namespace {

constexpr std::array<std::string_view, 10> subcommands{"run",   "elect",   "leader", "status",  "list",
                                                       "watch", "acquire", "extend", "release", "break"};
// For the completion of the shells, not for people. CLI11 does not know it, and --help does not show it.
constexpr const char* complete_word = "__complete";
constexpr const char* all_subcommands = "run, elect, leader, status, list, watch, acquire, extend, release or break";

failure wrong_usage(const std::string& text) { return {exit_code::usage, text}; }

std::chrono::milliseconds duration(const char* option, const std::string& text) {
  try {
    return parse_duration(text);
  } catch (const std::invalid_argument& e) {
    throw wrong_usage(fmt::format("{} {}: {}", option, word_in_quotes(text), e.what()));
  }
}

template <class Number>
Number count(const char* option, const std::string& text, const char* range, Number least = 1,
             Number most = std::numeric_limits<Number>::max()) {
  Number n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec == std::errc() && end == text.data() + text.size() && n >= least && n <= most) return n;
  throw wrong_usage(fmt::format("{} {}: not a number {}", option, word_in_quotes(text), range));
}

// The library says the same, but not before the store answers.
void check_name(const std::string& name, const store_options& where) {
  if (!name.empty() && name.size() <= 65536 && !(where.prefix + name).starts_with("leasehold:")) return;
  throw wrong_usage(
      fmt::format("{}: invalid name: it has 1 to 65536 bytes and, with its prefix, does not begin with 'leasehold:'",
                  in_quotes(name)));
}

void refuse_options(const CLI::App& app, const std::vector<std::string>& words) {
  for (const auto& word : words) {
    if (word.size() <= 1 || word[0] != '-') continue;
    throw wrong_usage(
        fmt::format("{}unknown option {}", app.get_parent() ? app.get_name() + ": " : "", option_in_quotes(word)));
  }
}

// The words that CLI11 did not understand.
void check_left_over(const CLI::App& app) {
  const auto rest = app.remaining();
  refuse_options(app, rest);
  if (rest.empty()) return;
  throw wrong_usage(
      fmt::format("{}one word too many: {}", app.get_parent() ? app.get_name() + ": " : "", word_in_quotes(rest[0])));
}

// The names before the command. Names that look like options stand between two separators: `run -- -name -- command`.
std::vector<std::string> take_names(const CLI::App& app, typed& t, std::optional<std::vector<std::string>>& rest,
                                    const char* usage) {
  const std::string& subcommand = app.get_name();
  std::vector<std::string> names = app.remaining();
  if (app.get_option("NAME")->count() > 0) {
    // To CLI11 "-5" is a word.
    refuse_options(app, {t.name});
    if (!rest && !names.empty()) {
      refuse_options(app, {names[0]});
      throw wrong_usage(
          fmt::format("{}: '--' is missing before the command {}: {}", subcommand, word_in_quotes(names[0]), usage));
    }
    refuse_options(app, names);
    names.insert(names.begin(), std::move(t.name));
    return names;
  }
  refuse_options(app, names);
  if (!rest) throw wrong_usage(fmt::format("{}: NAME is missing: {}", subcommand, usage));
  const auto second = std::find(rest->begin(), rest->end(), "--");
  if (second == rest->begin() || second == rest->end()) {
    throw wrong_usage(fmt::format("{}: NAME is missing: {}", subcommand, usage));
  }
  names.assign(std::make_move_iterator(rest->begin()), std::make_move_iterator(second));
  rest->erase(rest->begin(), second + 1);
  return names;
}

// MAX_ARG_STRLEN, with pages of 4 KiB.
constexpr std::size_t longest_variable = 131072;

// "<host>-<process>-<32 digits>.<number>", and a blank; the first two have 32 characters at most.
constexpr std::size_t longest_token = 32 + 1 + 32 + 1 + 6 + 1;

void check_names(const CLI::App& app, const std::vector<std::string>& names, const store_options& where) {
  for (const auto& name : names) check_name(name, where);
  auto sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw wrong_usage(fmt::format("{}: {} is named twice", app.get_name(), in_quotes(*twice)));
  // The command finds the names in its environment, and Linux takes no longer words there.
  std::size_t length = std::string_view("LEASEHOLD_NAME=").size();
  for (const auto& name : names) length += name.size() + 1;
  if (length > longest_variable) {
    throw wrong_usage(fmt::format("{}: the NAMEs together are longer than LEASEHOLD_NAME can be, {} bytes",
                                  app.get_name(), longest_variable));
  }
  if (names.size() > longest_variable / longest_token) {
    throw wrong_usage(
        fmt::format("{}: {} NAMEs are too many: LEASEHOLD_TOKEN, which has a word for each, can be {} bytes long",
                    app.get_name(), names.size(), longest_variable));
  }
}

std::chrono::milliseconds lease_of(const typed& t) {
  const auto lease = duration("--lease", t.lease);
  if (lease < std::chrono::milliseconds(1) || lease > std::chrono::hours(24 * 30)) {
    throw wrong_usage(fmt::format("--lease {}: a lease is 1ms to 30d", word_in_quotes(t.lease)));
  }
  return lease;
}

// What kind of lock `run` and `acquire` acquire,
void take_kind(const CLI::App& app, const typed& t, run_options& o) {
  if (t.shared) o.kind = lock_kind::reader;
  if (t.exclusive) o.kind = lock_kind::writer;
  if (app.get_option("--permits")->count() > 0) {
    o.kind = lock_kind::permit;
    o.permits = count<std::uint32_t>("--permits", t.permits, "from 1 to 4294967295");
  }
}

// and how they and `elect` do it.
void take_how(const CLI::App& app, const typed& t, run_options& o) {
  if (app.get_option("--replicas")->count() > 0) {
    o.replicas = count<std::uint32_t>("--replicas", t.replicas, "from 1 to 4294967295");
  }
  o.lease = lease_of(t);
  if (app.get_option("--at-least")->count() > 0) {
    o.at_least = duration("--at-least", t.at_least);
    if (o.at_least > std::chrono::hours(24 * 30)) {
      throw wrong_usage(fmt::format("--at-least {}: that is 30d at most", word_in_quotes(t.at_least)));
    }
  }
  if (t.no_wait) {
    o.wait = std::chrono::milliseconds(0);
  } else if (app.get_option("--wait")->count() > 0) {
    o.wait = duration("--wait", t.wait);
  }
  if (app.get_option("--conflict-exit-code")->count() > 0) {
    o.conflict_exit_code = count<int>("--conflict-exit-code", t.conflict_exit_code, "from 0 to 255", 0, 255);
  }
}

// What `run` and `elect` have in common.
run_options to_command(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest, const char* usage) {
  const std::string& subcommand = app.get_name();
  run_options o;
  o.names = take_names(app, t, rest, usage);
  if (!rest) {
    throw wrong_usage(fmt::format("{}: '--' and the command are missing after {}: {}", subcommand,
                                  word_in_quotes(o.names.back()), usage));
  }
  if (rest->empty()) throw wrong_usage(fmt::format("{}: the command is missing after '--': {}", subcommand, usage));
  o.store = store_of(std::move(t.store));
  o.hide_redis = t.hide_redis;
  o.wait_children = t.wait_children;
  take_how(app, t, o);
  if (app.get_option("--renewals")->count() > 0) {
    o.renew = renewal::at_most(count<std::uint32_t>("--renewals", t.renewals, "from 1 to 4294967295"));
  }
  o.grace = duration("--grace", t.grace);
  // Then SIGKILL comes before the lease ends.
  if (app.get_option("--grace")->count() == 0) o.grace = std::min(o.grace, o.lease / 3);
  o.command = std::move(*rest);
  return o;
}

run_options to_run(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  auto o = to_command(app, t, std::move(rest), run_usage);
  check_names(app, o.names, o.store);
  take_kind(app, t, o);
  return o;
}

// What is known before the store answers.
void refuse_quorum(const CLI::App& app, const store_options& where) {
  if (where.urls.size() <= 1) return;
  throw wrong_usage(fmt::format("{}: not supported on a quorum of servers", app.get_name()));
}

run_options to_elect(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  auto o = to_command(app, t, std::move(rest), elect_usage);
  if (o.names.size() > 1) throw wrong_usage(fmt::format("elect: one word too many: {}", word_in_quotes(o.names[1])));
  check_names(app, o.names, o.store);
  if (app.get_option("--value")->count() == 0) {
    throw wrong_usage(fmt::format("elect: --value is missing: {}", elect_usage));
  }
  if (t.value.size() > longest_value) {
    throw wrong_usage(fmt::format("--value: longer than {} bytes", longest_value));
  }
  refuse_quorum(app, o.store);
  o.kind = lock_kind::leadership;
  o.value = std::move(t.value);
  return o;
}

// NAME or TICKET, which may follow "--", and has to if it looks like an option.
void take_word(const CLI::App& app, const char* which, std::string& word, std::optional<std::vector<std::string>> rest,
               const char* usage) {
  check_left_over(app);
  const std::size_t wanted = app.get_option(which)->count() > 0 ? 0 : 1;
  if (rest && rest->size() > wanted) {
    throw wrong_usage(fmt::format("{}: one word too many: {}", app.get_name(), word_in_quotes((*rest)[wanted])));
  }
  // To CLI11 "-5" is a word.
  if (wanted == 0) return refuse_options(app, {word});
  if (!rest || rest->empty()) throw wrong_usage(fmt::format("{}: {} is missing: {}", app.get_name(), which, usage));
  word = std::move((*rest)[0]);
}

void refuse_words(const CLI::App& app, const std::optional<std::vector<std::string>>& rest) {
  check_left_over(app);
  if (!rest || rest->empty()) return;
  throw wrong_usage(fmt::format("{}: one word too many: {}", app.get_name(), word_in_quotes((*rest)[0])));
}

// Of a subcommand that takes one NAME.
template <class Options>
Options to_named(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest, const char* usage) {
  take_word(app, "NAME", t.name, std::move(rest), usage);
  Options o;
  o.store = store_of(std::move(t.store));
  o.name = std::move(t.name);
  check_name(o.name, o.store);
  return o;
}

status_options to_status(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  auto o = to_named<status_options>(app, t, std::move(rest), status_usage);
  o.json = t.json;
  return o;
}

leader_options to_leader(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  auto o = to_named<leader_options>(app, t, std::move(rest), leader_usage);
  refuse_quorum(app, o.store);
  o.follow = t.follow;
  o.json = t.json;
  return o;
}

break_options to_break(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  auto o = to_named<break_options>(app, t, std::move(rest), break_usage);
  o.force = t.force;
  return o;
}

acquire_command to_acquire(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  take_word(app, "NAME", t.name, std::move(rest), acquire_usage);
  acquire_command o;
  o.how.store = store_of(std::move(t.store));
  o.how.names.push_back(std::move(t.name));
  check_name(o.how.names[0], o.how.store);
  take_kind(app, t, o.how);
  take_how(app, t, o.how);
  o.how.grace = std::chrono::milliseconds(0);
  return o;
}

void take_ticket(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest, ticket_options& o,
                 const char* usage) {
  take_word(app, "TICKET", t.ticket, std::move(rest), usage);
  o.store = store_of(std::move(t.store));
  o.ticket = std::move(t.ticket);
}

extend_options to_extend(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  extend_options o;
  take_ticket(app, t, std::move(rest), o, extend_usage);
  if (app.get_option("--lease")->count() > 0) o.lease = lease_of(t);
  return o;
}

release_options to_release(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  release_options o;
  take_ticket(app, t, std::move(rest), o, release_usage);
  return o;
}

list_options to_list(const CLI::App& app, typed& t, const std::optional<std::vector<std::string>>& rest) {
  refuse_words(app, rest);
  list_options o;
  o.store = store_of(std::move(t.store));
  o.json = t.json;
  return o;
}

watch_options to_watch(const CLI::App& app, typed& t, const std::optional<std::vector<std::string>>& rest) {
  refuse_words(app, rest);
  watch_options o;
  o.store = store_of(std::move(t.store));
  o.interval = duration("--interval", t.interval);
  if (o.interval < std::chrono::milliseconds(100) || o.interval > std::chrono::hours(24)) {
    throw wrong_usage(fmt::format("--interval {}: an interval is 100ms to 1d", word_in_quotes(t.interval)));
  }
  if (app.get_option("--count")->count() > 0) o.count = count<std::uint64_t>("--count", t.count, "from 1 on");
  return o;
}

// CLI11 takes --shared=false for a flag that is not given, and --json=5 for one that is.
void refuse_values_of_flags(const grammar& g, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  const auto named = [&](const CLI::App* subcommand) { return subcommand->get_name() == arguments[0]; };
  const auto subcommand = g.app.get_subcommands(named);
  if (subcommand.empty()) return;
  for (const auto& word : arguments) {
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* option = subcommand[0]->get_option_no_throw(name);
    if (name == word || !name.starts_with("--") || !option || option->get_items_expected_max() > 0) continue;
    throw wrong_usage(fmt::format("{}: {} takes no value", arguments[0], name));
  }
}

}  // namespace

request parse_options(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments[0] == complete_word) {
    return complete_options{{std::make_move_iterator(arguments.begin() + 1), std::make_move_iterator(arguments.end())}};
  }
  // Only the command itself may interpret its words: they are cut off before CLI11 sees them.
  std::optional<std::vector<std::string>> rest;
  if (const auto separator = std::find(arguments.begin(), arguments.end(), "--"); separator != arguments.end()) {
    rest.emplace(std::make_move_iterator(separator + 1), std::make_move_iterator(arguments.end()));
    arguments.erase(separator, arguments.end());
  }
  // CLI11 would take it for the end of the subcommand's words, and say nothing.
  if (std::find(arguments.begin(), arguments.end(), "++") != arguments.end()) {
    throw wrong_usage("'++' is not allowed before '--': a NAME like that goes after '--', a value after '='");
  }
  grammar g;
  refuse_values_of_flags(g, arguments);
  // CLI11 would take the word after "--prefix=" for the value.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--") || !arguments[i].ends_with('=') ||
        arguments[i].find('=') + 1 != arguments[i].size())
      continue;
    arguments[i].pop_back();
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
  }

  try {
    if (!arguments.empty() && !arguments[0].starts_with('-') &&
        std::find(subcommands.begin(), subcommands.end(), arguments[0]) == subcommands.end()) {
      throw wrong_usage(fmt::format("unknown subcommand {}: {}", word_in_quotes(arguments[0]), all_subcommands));
    }
    // CLI11 wants them in reverse.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    g.app.parse(std::move(reversed));
  } catch (const CLI::Success& success) {
    // --help or --version; CLI11 knows what to print for which.
    std::ostringstream out, none;
    g.app.exit(success, out, none);
    return information{out.str()};
  } catch (const CLI::ParseError& e) {
    throw wrong_usage(e.what());
  }
  check_left_over(g.app);
  if (g.app.got_subcommand(&g.run)) return to_run(g.run, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.elect)) return to_elect(g.elect, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.leader)) return to_leader(g.leader, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.status)) return to_status(g.status, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.list)) return to_list(g.list, g.t, rest);
  if (g.app.got_subcommand(&g.watch)) return to_watch(g.watch, g.t, rest);
  if (g.app.got_subcommand(&g.acquire)) return to_acquire(g.acquire, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.extend)) return to_extend(g.extend, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.release)) return to_release(g.release, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.by_force)) return to_break(g.by_force, g.t, std::move(rest));
  throw wrong_usage(fmt::format("a subcommand is missing: {}", all_subcommands));
}

}  // namespace leasehold::cli
