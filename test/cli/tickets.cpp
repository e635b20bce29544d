// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// `leasehold acquire`, `extend` and `release`: a hold that no process keeps. And `--at-least`.
#include "leasehold_command.hpp"
#include "support/locks.hpp"
#include "support/proxy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace leasehold::test {

using namespace std::chrono_literals;

namespace {

struct with_tickets : with_leasehold {
  std::string acquire(words options = {}) {
    words all{"acquire"};
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("n");
    const ended e = run(all);
    BOOST_TEST(e.status == 0, e.errors);
    BOOST_TEST(e.output.starts_with("lh1."));
    BOOST_TEST(e.output.ends_with("\n"));
    return e.output.substr(0, e.output.size() - 1);
  }
  ended with_input(words command, const std::string& input) const {
    words all{"sh", "-c", "printf '%s\\n' \"$INPUT\" | \"$@\"", "sh"};
    const words leasehold = leasehold_command(std::move(command));
    all.insert(all.end(), leasehold.begin(), leasehold.end());
    words variables = environment();
    variables.push_back("INPUT=" + input);
    child c(all, variables);
    return end_of(c);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tickets, with_tickets)

BOOST_AUTO_TEST_CASE(a_hold_is_acquired_extended_and_released_by_three_processes) {
  for (const words& kind : {words{}, words{"--shared"}, words{"--exclusive"}, words{"--permits", "3"}}) {
    words options = kind;
    options.insert(options.end(), {"--lease", "10m"});
    const auto ticket = acquire(options);
    BOOST_TEST(redis.command("PTTL", "n").integer > 590000);
    BOOST_TEST(redis.command("PTTL", "n").integer <= 600000);
    const auto before = run({"status", "--json", "n"}).output;
    BOOST_TEST(run({"extend", "--lease", "1h", ticket}).status == 0);
    BOOST_TEST(redis.command("PTTL", "n").integer > 3590000);
    // The same hold, and no gap.
    const auto token_of = [](const std::string& json) {
      const auto at = json.find("\"token\"");
      return json.substr(at, json.find("ttl_ms", at) - at);
    };
    BOOST_TEST(token_of(run({"status", "--json", "n"}).output) == token_of(before));
    BOOST_TEST(run({"extend", ticket}).status == 0);
    BOOST_TEST(redis.command("PTTL", "n").integer > 3590000);
    const ended e = run({"release", ticket});
    BOOST_TEST(e.status == 0, e.errors);
    BOOST_TEST(e.output == "");
    BOOST_TEST(redis.command("EXISTS", "n").integer == 0);
    for (const char* again : {"release", "extend"}) {
      const ended late = run({again, ticket});
      BOOST_TEST(late.status == 74);
      BOOST_TEST(is_error_line(late.errors, "'n': lost"), late.errors);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_hold_outlives_the_process_that_acquired_it_and_the_one_that_resumed_it) {
  std::string text;
  std::uint64_t fence = 0;
  test::run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 30s});
    fence = h.fence();
    const ticket t = co_await h.detach();
    text = t.to_string();
  });
  const auto record = redis.get("n");
  BOOST_REQUIRE(record.has_value());
  BOOST_TEST(record->ends_with(std::to_string(fence)));
  BOOST_TEST(run({"extend", "--lease", "1m", text}).status == 0);
  BOOST_TEST((redis.get("n") == record));
  BOOST_TEST(redis.command("PTTL", "n").integer > 50000);
  BOOST_TEST(run({"release", text}).status == 0);
  BOOST_TEST(!redis.get("n").has_value());
}

BOOST_AUTO_TEST_CASE(a_ticket_can_come_by_standard_input) {
  const auto ticket = acquire();
  BOOST_TEST(with_input({"extend", "--lease=1h", "-"}, ticket).status == 0);
  BOOST_TEST(with_input({"extend", "-"}, ticket + " \t\r").status == 0);
  BOOST_TEST(with_input({"release", "-"}, ticket).status == 0);
  const ended none = with_input({"release", "-"}, "");
  BOOST_TEST(none.status == 64);
  BOOST_TEST(is_error_line(none.errors, "invalid ticket"), none.errors);
  // A device has no end of a line.
  words from_device{"sh", "-c", "exec \"$@\" < /dev/zero", "sh"};
  for (auto& w : leasehold_command({"release", "-"})) from_device.push_back(std::move(w));
  child c(from_device, environment());
  const ended endless = end_of(c);
  BOOST_TEST(endless.status == 64);
  BOOST_TEST(is_error_line(endless.errors, "invalid ticket"), endless.errors);
}

BOOST_AUTO_TEST_CASE(a_forged_or_damaged_or_old_ticket_is_refused_and_not_shown) {
  const auto old = acquire();
  BOOST_TEST(run({"release", old}).status == 0);
  const auto ticket = acquire();
  const auto record = redis.get("n");
  const ended lost = run({"release", old});
  BOOST_TEST(lost.status == 74);
  for (const auto& wrong :
       {ticket.substr(0, ticket.size() - 3), ticket + "A", std::string("lh2.AAAA"), std::string("x")}) {
    for (const char* subcommand : {"release", "extend"}) {
      const ended e = run({subcommand, wrong});
      BOOST_TEST(e.status == 64);
      BOOST_TEST(is_error_line(e.errors, "invalid ticket"), e.errors);
      BOOST_TEST(!contains(e.errors, ticket.substr(0, 20)));
    }
  }
  BOOST_TEST((redis.get("n") == record));
}

BOOST_AUTO_TEST_CASE(a_ticket_in_a_wrong_place_is_not_shown) {
  const auto ticket = acquire();
  for (const words& wrong :
       {words{"release", "x", ticket}, words{"extend", "x", "--", ticket}, words{"extend", "--", "x", ticket},
        words{"release", "--ticket=" + ticket}, words{"list", ticket}, words{"status", "n", ticket},
        words{"run", ticket}, words{ticket}, words{"extend", "--lease", ticket, "x"}}) {
    const ended e = run(wrong);
    BOOST_TEST(e.status == 64);
    BOOST_TEST(is_error_line(e.errors, ""), e.errors);
    BOOST_TEST(!contains(e.errors, "lh1."), e.errors);
  }
}

BOOST_AUTO_TEST_CASE(a_ticket_may_follow_the_separator) {
  const auto ticket = acquire();
  BOOST_TEST(run({"extend", "--lease", "1h", "--", ticket}).status == 0);
  BOOST_TEST(run({"release", "--", ticket}).status == 0);
  BOOST_TEST(!redis.get("n").has_value());
}

BOOST_AUTO_TEST_CASE(acquire_waits_and_gives_up_as_run_does) {
  redis.command("SET", "n", "somebody else", "PX", "600000");
  const ended busy = run({"acquire", "--no-wait", "n"});
  BOOST_TEST(busy.status == 75);
  BOOST_TEST(busy.output == "");
  BOOST_TEST(is_error_line(busy.errors, "'n': not acquired"), busy.errors);
  // So long that the store is reached in time on a machine that stands still meanwhile.
  const ended silent = run({"acquire", "--wait", "4s", "--conflict-exit-code", "0", "n"});
  BOOST_TEST(silent.status == 0);
  BOOST_TEST(silent.output + silent.errors == "");
  child c = start({"acquire", "n"});
  wait_until("it waits", [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 1; });
  redis.command("DEL", "n");
  const ended e = end_of(c);
  BOOST_TEST(e.status == 0, e.errors);
  BOOST_TEST(e.output.starts_with("lh1."));
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_waiting_and_leaves_nothing) {
  redis.command("SET", "n", "somebody else", "PX", "600000");
  const auto waiters = [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer; };
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    child c = start({"acquire", "n"});
    wait_until("it waits", [&] { return waiters() == 1; });
    c.signal(signal);
    const ended e = end_of(c);
    BOOST_TEST(e.status == 128 + signal);
    BOOST_TEST(e.output == "");
    wait_until(
        "its entry is gone", [&] { return waiters() == 0; }, soon);
  }
  // One that is ignored, as by nohup, stays ignored.
  child c({"sh", "-c", "trap '' HUP; exec \"$0\" acquire n", LEASEHOLD_CLI_PATH}, environment());
  wait_until("it waits", [&] { return waiters() == 1; });
  c.signal(SIGHUP);
  c.signal(SIGTERM);
  BOOST_TEST(c.wait() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_ticket_that_cannot_be_written_is_no_hold) {
  child c({"sh", "-c", "\"$0\" acquire n > /dev/full", LEASEHOLD_CLI_PATH}, environment());
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74, e.errors);
  BOOST_TEST(!redis.get("n").has_value());
}

// The program that reads the ticket ends while the command waits for the lock.
BOOST_AUTO_TEST_CASE(a_ticket_that_has_no_reader_any_more_is_no_hold) {
  redis.command("SET", "n", "somebody else", "PX", "600000");
  const std::string pipe = folder / "pipe";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  BOOST_REQUIRE(reader >= 0);
  child c({"sh", "-c", "exec \"$0\" acquire n > \"$FOLDER/pipe\"", LEASEHOLD_CLI_PATH}, environment());
  wait_until("it waits", [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 1; });
  ::close(reader);
  redis.command("DEL", "n");
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74, e.errors);
  BOOST_TEST(!redis.get("n").has_value());
}

// The lock is not busy for longer than before, and the program does not wait for the end of a long lease.
BOOST_AUTO_TEST_CASE(a_release_without_an_answer_ends_and_lengthens_nothing) {
  const auto ticket = acquire({"--lease", "10m"});
  redis.command("PEXPIRE", "n", "60000");
  boost::asio::io_context context;
  proxy way(context.get_executor(), redis);
  words variables = environment();
  variables.front() = "LEASEHOLD_REDIS=" + way.url();
  child c(leasehold_command({"release", ticket}), variables);
  while (!contains(way.requests(), "renew")) context.run_one();
  way.hold_requests();
  wait_until("its end", [&] {
    context.poll();
    return c.status().has_value();
  });
  BOOST_TEST(c.wait() == 69);
  BOOST_TEST(redis.command("PTTL", "n").integer > 40000);
  BOOST_TEST(redis.command("PTTL", "n").integer <= 60000);
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_out_of_range_is_named) {
  const auto refused = [&](const words& command, const std::string& at_fault) {
    const ended e = run(command);
    BOOST_TEST(e.status == 64);
    BOOST_TEST(is_error_line(e.errors, at_fault), e.errors);
  };
  refused({"acquire"}, "NAME is missing");
  refused({"acquire", "n", "m"}, "one word too many");
  refused({"acquire", "--lease", "31d", "n"}, "--lease '31d'");
  refused({"extend"}, "TICKET is missing");
  refused({"release", "a", "b"}, "one word too many");
  refused({"extend", "--lease", "0", "lh1.A"}, "--lease '0'");
  refused({"run", "--at-least", "31d", "n", "--", "true"}, "--at-least '31d'");
}

BOOST_AUTO_TEST_CASE(three_hosts_run_a_short_job_once) {
  const std::string job = "sleep 0.1; echo ran >> \"$FOLDER/ran\"";
  std::vector<std::unique_ptr<child>> hosts;
  for (int i = 0; i < 3; ++i) {
    // Cron starts them that far apart; no event is waited for.
    if (i != 0) std::this_thread::sleep_for(400ms);
    hosts.push_back(std::make_unique<child>(leasehold_command({"run", "--no-wait", "--conflict-exit-code", "0",
                                                               "--at-least", "1m", "n", "--", "sh", "-c", job}),
                                            environment()));
  }
  const auto last = std::chrono::steady_clock::now();
  for (auto& h : hosts) {
    const ended e = end_of(*h);
    BOOST_TEST(e.status == 0);
    BOOST_TEST(e.output + e.errors == "");
  }
  BOOST_TEST((std::chrono::steady_clock::now() - last < 30s));
  BOOST_TEST(read_file(folder.path() + "/ran") == "ran\n");
  // It rests, and no process keeps it: for a minute from the grant, and for a hundredth more, since clocks differ.
  BOOST_TEST(redis.command("PTTL", "n").integer > 30000);
  BOOST_TEST(redis.command("PTTL", "n").integer < 60500);
  const auto status = run({"status", "n"}).output;
  BOOST_TEST(contains(status, "n: resting, "), status);
  BOOST_TEST(contains(status, ", token ~"), status);
  const auto broken = run({"break", "n"}).output;
  BOOST_TEST(broken.starts_with("n: was resting after "), broken);
  BOOST_TEST(!contains(broken, "~"), broken);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
