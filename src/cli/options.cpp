// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "options.hpp"

#include "duration.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace leasehold::cli {
namespace {

constexpr const char* default_url = "redis://127.0.0.1:6379";
constexpr const char* run_usage = "leasehold run [OPTION]... NAME... -- COMMAND [ARG]...";
constexpr const char* status_usage = "leasehold status [OPTION]... NAME";
constexpr const char* list_usage = "leasehold list [OPTION]...";
constexpr const char* watch_usage = "leasehold watch [OPTION]...";
constexpr const char* break_usage = "leasehold break [OPTION]... NAME";
constexpr std::array<std::string_view, 5> subcommands{"run", "status", "list", "watch", "break"};
// For the completion of the shells, not for people. CLI11 does not know it, and --help does not show it.
constexpr const char* complete_word = "__complete";
constexpr const char* all_subcommands = "run, status, list, watch or break";

constexpr const char* exit_codes = R"(Exit status of run: the command's own; 128 + n when signal n ended it; and
   64  wrong usage, invalid option, name, URL or file; what a quorum does not support; or a lock
       that an outer run holds
   65  the key holds something else than this kind of lock, or a semaphore with another limit
   69  the store is unreachable
   70  an error in leasehold itself
   71  a call of the operating system failed: fork, for example
   74  the lease was lost: the command was stopped, was not started, or had not been covered to
      its end; or the output could not be written
   75  not acquired in time (see --conflict-exit-code)
   77  the store refused: a wrong password, for example
  126  the command cannot be executed
  127  the command was not found)";

constexpr const char* duration_help = "Durations: 250ms, 5s, 2m, 1.5h, 1d.";

failure wrong_usage(const std::string& text) { return {exit_code::usage, text}; }

// CLI11 knows nothing of the words after "--".
class formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    const std::string& name = app->get_name();
    return fmt::format("\nUsage: {}\n", name == "run"      ? run_usage
                                        : name == "status" ? status_usage
                                        : name == "list"   ? list_usage
                                        : name == "watch"  ? watch_usage
                                        : name == "break"  ? break_usage
                                                           : "leasehold SUBCOMMAND ...");
  }
};

// What the user typed, before anything is made of it.
struct typed {
  store_options store;
  std::string name;
  std::string lease = "30s";
  std::string wait;
  std::string grace = "5s";
  std::string conflict_exit_code;
  bool no_wait = false;
  bool shared = false;
  bool exclusive = false;
  std::string permits;
  std::string replicas;
  std::string renewals;
  bool hide_redis = false;
  bool wait_children = false;
  bool json = false;
  bool force = false;
  std::string interval = "1s";
  std::string count;
};

CLI::Option* add_text(CLI::App& app, const std::string& option, std::string& value, const char* placeholder,
                      const std::string& help) {
  return app.add_option(option, value, help)->option_text(placeholder)->type_name(placeholder)->take_last();
}

// The options of every subcommand.
void add_store(CLI::App& app, typed& t, const char* prefix_help) {
  CLI::Option* redis = app.add_option("--redis", t.store.urls,
                                      fmt::format("The store: redis://[USER:PASSWORD@]HOST[:PORT][/DB],\n"
                                                  "rediss://... (TLS), unix:///PATH,\n"
                                                  "redis+sentinel://HOST,.../MASTER or\n"
                                                  "redis+cluster://HOST,...; given several times: a quorum of\n"
                                                  "servers (default: $LEASEHOLD_REDIS, where a quorum's URLs\n"
                                                  "have blanks between them, else the URLs in the file\n"
                                                  "$LEASEHOLD_REDIS_FILE, else {})",
                                                  default_url))
                           ->option_text("URL")
                           ->type_name("URL")
                           // One URL each time: NAME, which may follow, is not another one.
                           ->allow_extra_args(false);
  add_text(app, "--redis-file", t.store.file, "FILE",
           "Read the URL from FILE: one in each line, several for a\nquorum. Other users do not see it there")
      ->excludes(redis);
  add_text(app, "--prefix", t.store.prefix, "TEXT", prefix_help);
  // What is left over is reported below: CLI11 does not know what is missing.
  app.allow_extras();
}

// Those of a subcommand that is about a named lock.
void add_common(CLI::App& app, typed& t, const char* name_help = "The lock's name: 1 to 65536 bytes") {
  add_store(app, t, "Put in front of NAME to make the key in Redis");
  app.add_option("NAME", t.name, name_help)->option_text(" ");
}

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

// Whether a word looks like a URL: redis+sentinel://...
bool begins_with_scheme(std::string_view word) {
  const auto end = word.find("://");
  return end != word.npos && end != 0 && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz+") == end;
}

void refuse_options(const CLI::App& app, const std::vector<std::string>& words) {
  for (const auto& word : words) {
    if (word.size() <= 1 || word[0] != '-') continue;
    throw wrong_usage(
        fmt::format("{}unknown option {}", app.get_parent() ? app.get_name() + ": " : "", word_in_quotes(word)));
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
std::vector<std::string> take_names(const CLI::App& app, typed& t, std::optional<std::vector<std::string>>& rest) {
  std::vector<std::string> names = app.remaining();
  if (app.get_option("NAME")->count() > 0) {
    if (!rest && !names.empty()) {
      refuse_options(app, {names[0]});
      throw wrong_usage(
          fmt::format("run: '--' is missing before the command {}: {}", word_in_quotes(names[0]), run_usage));
    }
    refuse_options(app, names);
    names.insert(names.begin(), std::move(t.name));
    return names;
  }
  refuse_options(app, names);
  if (!rest) throw wrong_usage(fmt::format("run: NAME is missing: {}", run_usage));
  const auto second = std::find(rest->begin(), rest->end(), "--");
  if (second == rest->begin() || second == rest->end()) {
    throw wrong_usage(fmt::format("run: NAME is missing: {}", run_usage));
  }
  names.assign(std::make_move_iterator(rest->begin()), std::make_move_iterator(second));
  rest->erase(rest->begin(), second + 1);
  return names;
}

void check_names(const std::vector<std::string>& names, const store_options& where) {
  for (const auto& name : names) check_name(name, where);
  auto sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw wrong_usage(fmt::format("run: {} is named twice", in_quotes(*twice)));
}

// MAX_ARG_STRLEN, with pages of 4 KiB.
constexpr std::size_t longest_variable = 131072;

// "<host>-<process>-<32 digits>.<number>", and a blank; the first two have 32 characters at most.
constexpr std::size_t longest_token = 32 + 1 + 32 + 1 + 6 + 1;

run_options to_run(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  run_options o;
  o.names = take_names(app, t, rest);
  if (!rest) {
    throw wrong_usage(
        fmt::format("run: '--' and the command are missing after {}: {}", word_in_quotes(o.names.back()), run_usage));
  }
  if (rest->empty()) throw wrong_usage(fmt::format("run: the command is missing after '--': {}", run_usage));
  o.store = store_of(std::move(t.store));
  check_names(o.names, o.store);
  // The command finds the names in its environment, and Linux takes no longer words there.
  std::size_t length = std::string_view("LEASEHOLD_NAME=").size();
  for (const auto& name : o.names) length += name.size() + 1;
  if (length > longest_variable) {
    throw wrong_usage(
        fmt::format("run: the NAMEs together are longer than LEASEHOLD_NAME can be, {} bytes", longest_variable));
  }
  if (o.names.size() > longest_variable / longest_token) {
    throw wrong_usage(
        fmt::format("run: {} NAMEs are too many: LEASEHOLD_TOKEN, which has a word for each, can be {} bytes long",
                    o.names.size(), longest_variable));
  }
  o.hide_redis = t.hide_redis;
  o.wait_children = t.wait_children;
  if (t.shared) o.kind = lock_kind::reader;
  if (t.exclusive) o.kind = lock_kind::writer;
  if (app.get_option("--permits")->count() > 0) {
    o.kind = lock_kind::permit;
    o.permits = count<std::uint32_t>("--permits", t.permits, "from 1 to 4294967295");
  }
  if (app.get_option("--replicas")->count() > 0) {
    o.replicas = count<std::uint32_t>("--replicas", t.replicas, "from 1 to 4294967295");
  }
  if (app.get_option("--renewals")->count() > 0) {
    o.renew = renewal::at_most(count<std::uint32_t>("--renewals", t.renewals, "from 1 to 4294967295"));
  }
  o.lease = duration("--lease", t.lease);
  if (o.lease < std::chrono::milliseconds(1) || o.lease > std::chrono::hours(24 * 30)) {
    throw wrong_usage(fmt::format("--lease {}: a lease is 1ms to 30d", word_in_quotes(t.lease)));
  }
  if (t.no_wait) {
    o.wait = std::chrono::milliseconds(0);
  } else if (app.get_option("--wait")->count() > 0) {
    o.wait = duration("--wait", t.wait);
  }
  o.grace = duration("--grace", t.grace);
  if (app.get_option("--conflict-exit-code")->count() > 0) {
    o.conflict_exit_code = count<int>("--conflict-exit-code", t.conflict_exit_code, "from 0 to 255", 0, 255);
  }
  o.command = std::move(*rest);
  return o;
}

// NAME, which follows "--" if it looks like an option.
void take_name(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest, const char* usage) {
  check_left_over(app);
  if (app.get_option("NAME")->count() > 0) {
    if (rest && !rest->empty()) {
      throw wrong_usage(fmt::format("{}: one word too many: {}", app.get_name(), word_in_quotes((*rest)[0])));
    }
  } else if (rest && rest->size() == 1) {
    t.name = std::move((*rest)[0]);
  } else if (rest && rest->size() > 1) {
    throw wrong_usage(fmt::format("{}: one word too many: {}", app.get_name(), word_in_quotes((*rest)[1])));
  } else {
    throw wrong_usage(fmt::format("{}: NAME is missing: {}", app.get_name(), usage));
  }
}

void refuse_words(const CLI::App& app, const std::optional<std::vector<std::string>>& rest) {
  check_left_over(app);
  if (!rest || rest->empty()) return;
  throw wrong_usage(fmt::format("{}: one word too many: {}", app.get_name(), word_in_quotes((*rest)[0])));
}

// Of a subcommand that takes one NAME.
template <class Options>
Options to_named(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest, const char* usage) {
  take_name(app, t, std::move(rest), usage);
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

break_options to_break(const CLI::App& app, typed& t, std::optional<std::vector<std::string>> rest) {
  auto o = to_named<break_options>(app, t, std::move(rest), break_usage);
  o.force = t.force;
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

// What its subcommands inherit is set before they are added.
struct program : CLI::App {
  program() : App("Runs a command while holding a lock in Redis: flock(1) for a fleet.", "leasehold") {
    const auto format = std::make_shared<cli::formatter>();
    format->column_width(30);
    formatter(format);
    set_version_flag("--version", "leasehold " LEASEHOLD_VERSION, "Print the version");
    // At most: what is missing, and what cannot be understood, is reported below.
    require_subcommand(0, 1);
    allow_extras();
    footer("Run leasehold SUBCOMMAND --help for more.");
    get_help_ptr()->description("Print this and exit");
  }
};

// All subcommands and options, as CLI11 knows them.
struct grammar {
  grammar();

  typed t;
  program app;
  CLI::App& run = *app.add_subcommand("run", "Acquire the lock NAME, run COMMAND while it is held, and release it.");
  CLI::App& status = *app.add_subcommand("status", "Show the holders of the lock NAME and its waiters.");
  CLI::App& list = *app.add_subcommand("list", "List the locks that are held.");
  CLI::App& watch = *app.add_subcommand("watch", "Show the locks that are held, live, as top does.");
  CLI::App& by_force = *app.add_subcommand("break", "Free the lock NAME by force, and show its former holders.");
};

grammar::grammar() {
  add_common(run, t, "The lock's name: 1 to 65536 bytes. Several names: all or none\nof these locks");
  CLI::Option* shared =
      run.add_flag(
             "--shared", t.shared,
             "NAME is a shared mutex: run at the same time as other\nreaders, and never at the same time as a writer")
          ->option_text(" ");
  CLI::Option* exclusive =
      run.add_flag("--exclusive", t.exclusive, "NAME is a shared mutex: run as its only writer")->option_text(" ");
  CLI::Option* permits = add_text(run, "--permits", t.permits, "N",
                                  "NAME is a semaphore: at most N run at a time. The same N\n"
                                  "everywhere (without any of these NAME is a mutex)");
  shared->excludes(exclusive)->excludes(permits);
  exclusive->excludes(permits);
  add_text(run, "--lease", t.lease, "TIME", "How long Redis keeps the lock after the last renewal (default: 30s)");
  add_text(run, "--renewals", t.renewals, "N",
           "Renew the lease N times and no more: a command that hangs is\nstopped then (default: no limit)");
  CLI::Option* wait = add_text(run, "--wait", t.wait, "TIME", "How long to wait for the lock (default: forever)");
  add_text(run, "--replicas", t.replicas, "N", "Only if N replicas have acknowledged it (default: none)");
  run.add_flag("--no-wait", t.no_wait, "Try once")->excludes(wait)->option_text(" ");
  add_text(run, "--grace", t.grace, "TIME",
           "If the lease is lost: how long the command may take to end\nafter SIGTERM, before SIGKILL (default: 5s)");
  add_text(run, "--conflict-exit-code", t.conflict_exit_code, "N",
           "Exit status if the lock was not acquired in time; with 0\nnothing is printed either (default: 75)");
  run.add_flag("--wait-children", t.wait_children,
               "Hold the lock until all processes that the command has\n"
               "started have ended, also those in the background")
      ->option_text(" ");
  run.add_flag("--hide-redis", t.hide_redis,
               "Remove LEASEHOLD_REDIS and LEASEHOLD_REDIS_FILE from the\ncommand's environment")
      ->option_text(" ");
  run.footer(
      fmt::format("The command finds LEASEHOLD_NAME, LEASEHOLD_TOKEN and LEASEHOLD_FENCE in its environment.\n"
                  "Of several locks there is a name in each line, and a token and a fence in each word.\n{}\n\n{}",
                  duration_help, exit_codes));

  add_common(status, t);
  status.add_flag("--json", t.json,
                  "Print one JSON object: name, held, token, fence, ttl_ms, waiters,\n"
                  "queue (token, lease_ms, silent, role, owner), kind, holders,\n"
                  "mode, limit, owner, holds (token, fence, ttl_ms, role, owner)");
  status.footer(
      "The first 100 holds and the first 100 waiters are shown. A silent waiter has not polled\n"
      "in time: it is passed over.\n\nExit status: 0 whether the lock is held or free, else as for run.");

  constexpr const char* which_locks = "Only locks whose key in Redis begins with it; names are\nshown without it";
  constexpr const char* goes_through_all = "This goes through all keys of the database.";

  add_store(list, t, which_locks);
  list.add_flag("--json", t.json,
                "Print one JSON array with an object for each lock, as status\n"
                "does, without the queue");
  list.footer(fmt::format("{}\n\nExit status: 0, else as for run.", goes_through_all));

  add_store(watch, t, which_locks);
  add_text(watch, "--interval", t.interval, "TIME", "Time between two polls: 100ms to 1d (default: 1s)");
  add_text(watch, "--count", t.count, "N", "How many times to poll (default: until q or Ctrl-C)");
  watch.footer(
      fmt::format("Locks with the longest queue come first. Without a terminal one table is printed\n"
                  "each time. {}\n{}\n\n"
                  "Exit status: 0; 128 + n after signal n; 69 if the store was unreachable at the last poll;\n"
                  "else as for run.",
                  goes_through_all, duration_help));

  add_common(by_force, t);
  by_force.add_flag("--force", t.force, "Also if the key holds another program's string or\nreentrant lock");
  by_force.footer(
      "All holds end, and the next waiter is granted the lock. The former holders learn of it at their\n"
      "next renewal, and may go on until then.\n\n"
      "Exit status: 0; 1 if the lock is not held; 75 if it changes hands too fast; else as for run.");
}

// The URLs in a text with blanks between them. A word without a scheme is not another URL but a part of the one before
// it: of a password with a blank in it, for example, which must not be taken for a URL that may be shown.
std::vector<std::string> urls_in_words(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  std::vector<std::string> urls;
  for (std::size_t end = 0, begin; (begin = text.find_first_not_of(blanks, end)) != text.npos;) {
    const std::size_t blank_from = end;
    end = std::min(text.find_first_of(blanks, begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (urls.empty() || begins_with_scheme(word)) {
      urls.push_back(word);
    } else {
      urls.back() += text.substr(blank_from, begin - blank_from) + word;
    }
  }
  return urls;
}

// One URL in each line.
std::vector<std::string> urls_in_file(const std::string& path) {
  // Enough for thousands of URLs, and an end for a device.
  constexpr std::size_t longest = 1 << 20;
  std::string text(longest + 1, '\0');
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    throw wrong_usage(fmt::format("{}: {}", word_in_quotes(path), std::strerror(errno != 0 ? errno : EIO)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::vector<std::string> urls;
  std::istringstream lines(text);
  for (std::string line; text.size() <= longest && std::getline(lines, line);) {
    while (!line.empty() && std::string_view(" \t\r").find(line.back()) != std::string_view::npos) line.pop_back();
    if (!line.empty()) urls.push_back(std::move(line));
  }
  if (urls.empty()) throw wrong_usage(fmt::format("{}: there is no URL in this file", word_in_quotes(path)));
  return urls;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
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

store_options store_of(store_options given) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (given.urls.empty() && given.file.empty()) {
    given.urls = urls_in_words(variable("LEASEHOLD_REDIS"));
    if (given.urls.empty()) given.file = variable("LEASEHOLD_REDIS_FILE");
  }
  if (given.urls.empty() && !given.file.empty()) given.urls = urls_in_file(given.file);
  if (given.urls.empty()) given.urls.emplace_back(default_url);
  return given;
}

std::vector<known_subcommand> known_subcommands() {
  const grammar g;
  const std::vector<const CLI::App*> apps{&g.app, &g.run, &g.status, &g.list, &g.watch, &g.by_force};
  std::vector<known_subcommand> all;
  for (const CLI::App* app : apps) {
    known_subcommand known{app->get_parent() ? app->get_name() : "",
                           app->get_description(),
                           app->get_option_no_throw("NAME") != nullptr,
                           {}};
    for (const CLI::Option* option : app->get_options()) {
      if (!option->nonpositional()) continue;
      const bool takes_value = option->get_items_expected_max() > 0;
      known_option o{names_of(*option), takes_value ? option->get_type_name() : "", option->get_description(), {}};
      // One more URL is one more server of a quorum; of other options the last one counts.
      if (o.value != "URL") o.excludes = o.names;
      for (const CLI::Option* other : option->get_excludes()) {
        const auto names = names_of(*other);
        o.excludes.insert(o.excludes.end(), names.begin(), names.end());
      }
      known.options.push_back(std::move(o));
    }
    all.push_back(std::move(known));
  }
  return all;
}

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
    information i;
    i.text = out.str();
    return i;
  } catch (const CLI::ParseError& e) {
    throw wrong_usage(e.what());
  }
  check_left_over(g.app);
  if (g.app.got_subcommand(&g.run)) return to_run(g.run, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.status)) return to_status(g.status, g.t, std::move(rest));
  if (g.app.got_subcommand(&g.list)) return to_list(g.list, g.t, rest);
  if (g.app.got_subcommand(&g.watch)) return to_watch(g.watch, g.t, rest);
  if (g.app.got_subcommand(&g.by_force)) return to_break(g.by_force, g.t, std::move(rest));
  throw wrong_usage(fmt::format("a subcommand is missing: {}", all_subcommands));
}

}  // namespace leasehold::cli
