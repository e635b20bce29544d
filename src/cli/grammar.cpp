// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "grammar.hpp"

#include <leasehold/election.hpp>

#include <fmt/format.h>

#include <memory>

namespace leasehold::cli {
namespace {

constexpr const char* exit_codes = R"(Exit status of run: the command's own; 128 + n when signal n ended it; and
   64  wrong usage, invalid option, name, URL or file; what a quorum does not support; or a lock
       that an outer run holds
   65  the key holds something else than this kind of lock, or a semaphore with another limit
   69  the store is unreachable, too few servers of a quorum or too few replicas answered, or the
       password of --password-file or --password-command is wrong
   70  an error in leasehold itself
   71  a call of the operating system failed: fork, for example
   74  the lease was lost: the command was stopped, was not started, or had not been covered to
      its end; or the output could not be written
   75  not acquired in time (see --conflict-exit-code)
   77  the store refused: a wrong password in its URL or a missing right, for example
  126  the command cannot be executed
  127  the command was not found)";

constexpr const char* duration_help = "Durations: 250ms, 5s, 2m, 1.5h, 1d.";

// CLI11 knows nothing of the words after "--".
class formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    const std::string& name = app->get_name();
    return fmt::format("\nUsage: {}\n", name == "run"       ? run_usage
                                        : name == "elect"   ? elect_usage
                                        : name == "leader"  ? leader_usage
                                        : name == "status"  ? status_usage
                                        : name == "list"    ? list_usage
                                        : name == "watch"   ? watch_usage
                                        : name == "acquire" ? acquire_usage
                                        : name == "extend"  ? extend_usage
                                        : name == "release" ? release_usage
                                        : name == "break"   ? break_usage
                                                            : "leasehold SUBCOMMAND ...");
  }
};

CLI::Option* add_text(CLI::App& app, const std::string& option, std::string& value, const char* placeholder,
                      const std::string& help) {
  return app.add_option(option, value, help)->option_text(placeholder)->type_name(placeholder)->take_last();
}

// An empty value would count as not given: another store would be used, or no password.
CLI::Validator not_empty() {
  CLI::Validator v([](const std::string& value) { return std::string(value.empty() ? "the value is empty" : ""); }, "");
  v.application_index(0);  // The last value is the one that counts.
  return v;
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
      ->check(not_empty())
      ->excludes(redis);
  CLI::Option* file = add_text(app, "--password-file", t.store.password_file, "FILE",
                               "Read the password from the first line of FILE, before each\n"
                               "connection and every minute. So it may change")
                          ->check(not_empty());
  add_text(app, "--password-command", t.store.password_command, "CMD",
           "The same, with the first line that CMD prints. sh runs it")
      ->check(not_empty())
      ->excludes(file);
  add_text(app, "--user", t.store.user, "NAME", "Whose password that is (default: the server's default user)");
  add_text(app, "--prefix", t.store.prefix, "TEXT", prefix_help);
  // What is left over is reported by parse_options: CLI11 does not know what is missing.
  app.allow_extras();
}

// Those of a subcommand that is about a named lock.
void add_common(CLI::App& app, typed& t, const char* name_help = "The lock's name: 1 to 65536 bytes") {
  add_store(app, t, "Put in front of NAME to make the key in Redis");
  app.add_option("NAME", t.name, name_help)->option_text(" ");
}

// What kind of lock NAME is.
void add_kind(CLI::App& app, typed& t, const char* shared_help, const char* exclusive_help, const char* permits_help) {
  CLI::Option* shared = app.add_flag("--shared", t.shared, shared_help)->option_text(" ");
  CLI::Option* exclusive = app.add_flag("--exclusive", t.exclusive, exclusive_help)->option_text(" ");
  CLI::Option* permits = add_text(app, "--permits", t.permits, "N", permits_help);
  shared->excludes(exclusive)->excludes(permits);
  exclusive->excludes(permits);
}

void add_at_least(CLI::App& app, typed& t) {
  add_text(app, "--at-least", t.at_least, "TIME",
           "Keep all others out for so long after the lock was acquired,\n"
           "even if it is released earlier (default: 0)");
}

void add_waiting(CLI::App& app, typed& t) {
  CLI::Option* wait = add_text(app, "--wait", t.wait, "TIME", "How long to wait for the lock (default: forever)");
  add_text(app, "--replicas", t.replicas, "N", "Only if N replicas have acknowledged it (default: none)");
  app.add_flag("--no-wait", t.no_wait, "Try once")->excludes(wait)->option_text(" ");
}

void add_conflict(CLI::App& app, typed& t) {
  add_text(app, "--conflict-exit-code", t.conflict_exit_code, "N",
           "Exit status if the lock was not acquired in time; with 0\nnothing is printed either (default: 75)");
}

// What `run` and `elect` have in common.
void add_command(CLI::App& run, typed& t) {
  add_text(run, "--lease", t.lease, "TIME", "How long Redis keeps the lock after the last renewal (default: 30s)");
  add_text(run, "--renewals", t.renewals, "N",
           "Renew the lease N times and no more: a command that hangs is\nstopped then (default: no limit)");
  add_at_least(run, t);
  add_waiting(run, t);
  add_text(run, "--grace", t.grace, "TIME",
           "If the lease is lost: how long the command may take to end\nafter SIGTERM, before SIGKILL (default: 5s).\n"
           "If it is not given: at most a third of the lease");
  add_conflict(run, t);
  run.add_flag("--wait-children", t.wait_children,
               "Hold the lock until all processes that the command has\n"
               "started have ended, also those in the background")
      ->option_text(" ");
  run.add_flag("--hide-redis", t.hide_redis,
               "Remove LEASEHOLD_REDIS and LEASEHOLD_REDIS_FILE from the\ncommand's environment")
      ->option_text(" ");
}

void add_run(CLI::App& run, typed& t) {
  add_common(run, t, "The lock's name: 1 to 65536 bytes. Several names: all or none\nof these locks");
  add_kind(run, t,
           "NAME is a shared mutex: run at the same time as other\nreaders, and never at the same time as a writer",
           "NAME is a shared mutex: run as its only writer",
           "NAME is a semaphore: at most N run at a time. The same N\n"
           "everywhere (without any of these NAME is a mutex)");
  add_command(run, t);
  run.footer(
      fmt::format("The command finds LEASEHOLD_NAME, LEASEHOLD_TOKEN and LEASEHOLD_FENCE in its environment.\n"
                  "Of several locks there is a name in each line, and a token and a fence in each word.\n{}\n\n{}",
                  duration_help, exit_codes));
}

void add_elect(CLI::App& elect, typed& t) {
  add_common(elect, t, "The election's name: 1 to 65536 bytes");
  add_text(elect, "--value", t.value, "TEXT",
           fmt::format("What others see of the leader: its address, for example.\n{} bytes at most", longest_value));
  add_command(elect, t);
  elect.footer(
      fmt::format("All candidates for NAME wait in one queue. The leader holds the mutex NAME; leasehold leader NAME\n"
                  "shows its value. The command finds LEASEHOLD_NAME, LEASEHOLD_TOKEN and LEASEHOLD_FENCE in its\n"
                  "environment. A quorum has no elections.\n{}\n\nExit status: as for run.",
                  duration_help));
}

void add_leader(CLI::App& leader, typed& t) {
  add_common(leader, t, "The election's name: 1 to 65536 bytes");
  leader.add_flag("--follow", t.follow, "Go on, and print each change until a signal comes")->option_text(" ");
  leader
      .add_flag("--json", t.json,
                "Print one JSON object, with --follow one in each line:\n"
                "name, value, fence, since (without a leader null)")
      ->option_text(" ");
  leader.footer(
      "The value of the leader is printed. Without a leader nothing is, with --follow an empty line.\n\n"
      "Exit status: 0; 1 if there is no leader; 128 + n after signal n; else as for run.");
}

void add_status(CLI::App& status, typed& t) {
  add_common(status, t);
  status.add_flag("--json", t.json,
                  "Print one JSON object: name, held, token, fence, ttl_ms, waiters,\n"
                  "queue (token, lease_ms, silent, role, owner), kind, holders,\n"
                  "mode, limit, lingers, owner, holds (token, fence, ttl_ms, role,\n"
                  "owner, rests)");
  status.footer(
      "The first 100 holds and the first 100 waiters are shown. A silent waiter has not polled\n"
      "in time: it is passed over.\n\nExit status: 0 whether the lock is held or free, else as for run.");
}

constexpr const char* which_locks = "Only locks whose key in Redis begins with it; names are\nshown without it";
constexpr const char* goes_through_all = "This goes through all keys of the database.";

void add_list(CLI::App& list, typed& t) {
  add_store(list, t, which_locks);
  list.add_flag("--json", t.json,
                "Print one JSON array with an object for each lock, as status\n"
                "does, without the queue");
  list.footer(fmt::format("{}\n\nExit status: 0, else as for run.", goes_through_all));
}

void add_watch(CLI::App& watch, typed& t) {
  add_store(watch, t, which_locks);
  add_text(watch, "--interval", t.interval, "TIME", "Time between two polls: 100ms to 1d (default: 1s)");
  add_text(watch, "--count", t.count, "N", "How many times to poll (default: until q or Ctrl-C)");
  watch.footer(
      fmt::format("Locks with the longest queue come first. Without a terminal one table is printed\n"
                  "each time. {}\n{}\n\n"
                  "Exit status: 0; 128 + n after signal n; 69 if the store was unreachable at the last poll;\n"
                  "else as for run.",
                  goes_through_all, duration_help));
}

constexpr const char* ticket_help =
    "What acquire has printed; - is the first line of standard\ninput, so that other users do not see it";

void add_acquire(CLI::App& acquire, typed& t) {
  add_common(acquire, t);
  add_kind(acquire, t, "NAME is a shared mutex: acquire it as a reader",
           "NAME is a shared mutex: acquire it as its writer",
           "NAME is a semaphore: acquire one of N permits. The same N\n"
           "everywhere (without any of these NAME is a mutex)");
  add_text(acquire, "--lease", t.lease, "TIME", "How long the hold lasts, unless it is extended (default: 30s)");
  add_at_least(acquire, t);
  add_waiting(acquire, t);
  add_conflict(acquire, t);
  acquire.footer(
      fmt::format("Nothing renews the lease: extend it before it ends. The ticket is all that is needed to extend or\n"
                  "release the hold, so it is as secret as the lock is important.\n{}\n\n"
                  "Exit status: 0, else as for run.",
                  duration_help));
}

void add_ticket(CLI::App& app, typed& t) {
  add_store(app, t, "That of the acquire which has printed the ticket");
  app.add_option("TICKET", t.ticket, ticket_help)->option_text(" ");
}

void add_extend(CLI::App& extend, typed& t) {
  add_ticket(extend, t);
  add_text(extend, "--lease", t.lease, "TIME",
           "The hold ends that long from now, never sooner than before\n(default: the lease of the ticket)");
  extend.footer(
      fmt::format("The ticket stays good.\n{}\n\n"
                  "Exit status: 0; 74 if the hold was released or its lease has ended; else as for run.",
                  duration_help));
}

void add_release(CLI::App& release, typed& t) {
  add_ticket(release, t);
  release.footer("Exit status: 0; 74 if the hold was released or its lease has ended; else as for run.");
}

void add_break(CLI::App& by_force, typed& t) {
  add_common(by_force, t);
  by_force.add_flag("--force", t.force, "Also if the key holds another program's string or\nreentrant lock");
  by_force.footer(
      "All holds end, and the next waiter is granted the lock. The former holders are notified, and may\n"
      "go on until then: a holder that the message does not reach, until its next renewal.\n\n"
      "Exit status: 0; 1 if the lock is not held; 75 if it changes hands too fast; else as for run.");
}

}  // namespace

program::program() : App("Runs a command while holding a lock in Redis: flock(1) for a fleet.", "leasehold") {
  const auto format = std::make_shared<cli::formatter>();
  format->column_width(30);
  formatter(format);
  set_version_flag("--version", "leasehold " LEASEHOLD_VERSION, "Print the version");
  // At most: what is missing, and what cannot be understood, is reported by parse_options.
  require_subcommand(0, 1);
  allow_extras();
  footer("Run leasehold SUBCOMMAND --help for more.");
  get_help_ptr()->description("Print this and exit");
}

grammar::grammar() {
  add_run(run, t);
  add_elect(elect, t);
  add_leader(leader, t);
  add_status(status, t);
  add_list(list, t);
  add_watch(watch, t);
  add_acquire(acquire, t);
  add_extend(extend, t);
  add_release(release, t);
  add_break(by_force, t);
}

}  // namespace leasehold::cli
