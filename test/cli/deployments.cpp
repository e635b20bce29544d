// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Every deployment on the command line.
#include "leasehold_command.hpp"

#include "support/cluster_servers.hpp"
#include "support/quorum_servers.hpp"
#include "support/sentinel_group.hpp"
#include "support/terminal.hpp"

#include <fmt/format.h>

#include <csignal>
#include <deque>

namespace leasehold::test {

namespace {

words operator+(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

words environment(const std::string& urls) { return {fmt::format("LEASEHOLD_REDIS={}", urls)}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(deployments)

BOOST_AUTO_TEST_CASE(a_quorum) {
  quorum_servers servers(3);
  words options;
  std::string urls;
  for (const auto& url : servers.urls()) {
    options = options + words{"--redis", url};
    urls += ' ' + url;
  }
  BOOST_TEST(run_leasehold(words{"run"} + options + words{"n", "--", "echo", "in"}).output == "in\n");
  BOOST_TEST(run_leasehold({"run", "n", "--", "echo", "in"}, environment(urls)).output == "in\n");
  // What a quorum has not.
  for (const words& rest :
       {words{"run", "--permits", "2", "n", "--", "true"}, words{"run", "--replicas", "1", "n", "--", "true"},
        words{"status", "n"}, words{"list"}, words{"break", "n"}}) {
    const ended e = run_leasehold(words{rest.front()} + options + words(std::next(rest.begin()), rest.end()));
    BOOST_TEST_CONTEXT(e.errors) {
      BOOST_TEST(e.status == 64);
      BOOST_TEST(is_error_line(e.errors, "not supported on a quorum"));
    }
  }
  servers[2].kill();
  BOOST_TEST(run_leasehold(words{"run"} + options + words{"n", "--", "echo", "in"}).output == "in\n");
  servers[1].kill();
  const ended e = run_leasehold(words{"run", "--no-wait"} + options + words{"n", "--", "echo", "in"});
  BOOST_TEST(e.status == 69);
  BOOST_TEST(is_error_line(e.errors, "no quorum"));
  BOOST_TEST(e.output == "");
}

// It would wait forever, and holds what it waits for on every server.
BOOST_AUTO_TEST_CASE(a_run_inside_a_run_of_the_same_lock_on_a_quorum_is_refused) {
  quorum_servers servers(3);
  std::string urls;
  for (const auto& url : servers.urls()) urls += ' ' + url;
  const std::string inner = fmt::format("{} run ", LEASEHOLD_CLI_PATH);
  const std::pair<words, std::string> cases[] = {
      {{}, inner + "n -- echo no"},
      {{}, inner + "other n -- echo no"},
      {{}, inner + "other -- " + inner + "--wait 1h n -- echo no"},
      {{"--exclusive"}, inner + "--shared n -- echo no"},
      {{"--shared"}, inner + "--exclusive n -- echo no"},
  };
  for (const auto& [how, command] : cases) {
    BOOST_TEST_CONTEXT(command) {
      const ended e = run_leasehold(words{"run"} + how + words{"n", "--", "sh", "-c", command}, environment(urls));
      BOOST_TEST(e.status == 64);
      BOOST_TEST(is_error_line(e.errors, "'n': a leasehold run around this one holds it"), e.errors);
      BOOST_TEST(e.output == "");
    }
  }
  // Its reader is one of several.
  std::deque<child> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back(leasehold_command({"run", "--shared", "n", "--", "sh", "-c", wait_for_a_signal}),
                        environment(urls));
    BOOST_TEST(others.back().read_line().value() == "ready");
  }
  const ended among = run_leasehold(
      {"run", "--shared", "n", "--", "sh", "-c", inner + "--exclusive --wait 20s n -- echo no"}, environment(urls));
  BOOST_TEST(among.status == 64);
  BOOST_TEST(is_error_line(among.errors, "'n': a leasehold run around this one holds it"), among.errors);
  for (auto& reader : others) reader.signal(SIGTERM);
  const ended beside =
      run_leasehold({"run", "--shared", "n", "--", "sh", "-c", inner + "m -- " + inner + "--shared n -- echo yes"},
                    environment(urls));
  BOOST_TEST(beside.status == 0, beside.errors);
  BOOST_TEST(beside.output == "yes\n");
}

// A single one is named, several are counted.
BOOST_AUTO_TEST_CASE(a_terminal_is_told_what_it_waits_for_on_a_quorum) {
  quorum_servers servers(3);
  std::string urls;
  for (const auto& url : servers.urls()) urls += ' ' + url;
  const words reads{"run", "--shared", "n", "--", "sh", "-c", wait_for_a_signal};
  child first(leasehold_command(reads), environment(urls)), second(leasehold_command(reads), environment(urls));
  for (child* const reader : {&first, &second}) BOOST_TEST(reader->read_line().value() == "ready");
  terminal writer(leasehold_command({"run", "--exclusive", "n", "--", "echo", "written"}), environment(urls));
  writer.read_until("leasehold: waiting for 'n': held by 2 readers, ");
  for (child* const reader : {&first, &second}) reader->signal(SIGTERM);
  BOOST_TEST(writer.wait() == 0);
  child holder(leasehold_command({"run", "m", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN; " + wait_for_a_signal}),
               environment(urls));
  const std::string token = holder.read_line().value();
  terminal other(leasehold_command({"run", "m", "--", "echo", "in"}), environment(urls));
  other.read_until("leasehold: waiting for 'm': held by " + token + ", ");
  holder.signal(SIGTERM);
  BOOST_TEST(other.wait() == 0);
}

BOOST_AUTO_TEST_CASE(a_cluster) {
  cluster_servers cluster(3);
  BOOST_TEST(run_leasehold({"run", "a", "b", "c", "--", "echo", "in"}, environment(cluster.url())).output == "in\n");
  const ended inside =
      run_leasehold({"run", "n", "--", "sh", "-c", fmt::format("{0} status n && {0} list", LEASEHOLD_CLI_PATH)},
                    environment(cluster.url()));
  BOOST_TEST(contains(inside.output, "n: held, "));
  BOOST_TEST(contains(inside.output, "\nn "));
}

BOOST_AUTO_TEST_CASE(a_sentinel_group_with_replicas) {
  sentinel_group group;
  BOOST_TEST(run_leasehold({"run", "--replicas", "1", "n", "--", "echo", "in"}, environment(group.url())).output ==
             "in\n");
  const ended e =
      run_leasehold({"run", "--replicas", "9", "--no-wait", "n", "--", "echo", "in"}, environment(group.url()));
  BOOST_TEST(e.status == 69);
  BOOST_TEST(is_error_line(e.errors, "no quorum"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
