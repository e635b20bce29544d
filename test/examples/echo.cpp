// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "told.hpp"

#include <boost/asio.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace leasehold::test {

using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(echo, with_examples)

BOOST_AUTO_TEST_CASE(the_quickstart_writes_its_report) {
  const ended e = run({"quickstart", redis.url()});
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.output.starts_with("written with fence "), e.output);
  BOOST_TEST(e.errors == "");
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(the_quickstart_names_a_lock_that_stays_busy) {
  redis.command("SET", "report:nightly", "of another program");
  const ended e = run({"quickstart", redis.url()});
  BOOST_TEST(e.status == 1);
  BOOST_TEST(e.output == "");
  BOOST_TEST(e.errors == "timed out: lock 'report:nightly' at " + redis.url() + "\n");
}

BOOST_AUTO_TEST_CASE(bad_arguments_are_refused_by_name) {
  const ended url = run({"quickstart", "--help"});
  BOOST_TEST(url.status == 1);
  BOOST_TEST(contains(url.errors, "invalid url"), url.errors);
  const ended lease = run({"echo_server", "--lease", "0s"});
  BOOST_TEST(lease.status == 64);
  BOOST_TEST(contains(lease.errors, "--lease"), lease.errors);
}

BOOST_AUTO_TEST_CASE(servers_that_share_a_lock_answer_every_request) {
  child first = start({"echo_server", "--name", "first", "--hold", "1ms"});
  child second = start({"echo_server", "--name", "second", "--hold", "1ms"});
  std::string servers;
  for (child* c : {&first, &second}) {
    const std::string line = c->read_line().value_or("");
    BOOST_REQUIRE(line.starts_with("listening "));
    if (!servers.empty()) servers += ',';
    servers += "127.0.0.1:";
    servers += line.substr(10);
  }
  const ended load =
      run({"echo_client", "--servers", servers, "--connections", "6", "--requests", "20", "--names", "2"});
  BOOST_TEST(load.status == 0, load.output + load.errors);
  BOOST_TEST(contains(load.output, "120"), load.output);
  for (child* c : {&first, &second}) {
    c->signal(SIGTERM);
    BOOST_TEST(end_of(*c).status == 0);
  }
  BOOST_TEST(redis.size() == 0U);
}

// A socket that is shut down for receiving still yields what its client goes on sending.
BOOST_AUTO_TEST_CASE(a_server_ends_though_a_client_goes_on_asking) {
  child server = start({"echo_server", "--hold", "100ms"});
  const std::string line = server.read_line().value_or("");
  BOOST_REQUIRE(line.starts_with("listening "));
  const std::string asks = "exec 3<>/dev/tcp/127.0.0.1/$0; cat <&3 >/dev/null & exec yes 'a text' >&3";
  const child client({"bash", "-c", asks, line.substr(10)});
  next(server, "waiting");
  next(server, "acquired");
  server.signal(SIGTERM);
  BOOST_TEST(server.wait() == 0, server.errors());
}

// All of them wait when the server goes on: it accepts some, then sees the signal, and has one more accepted by then.
BOOST_AUTO_TEST_CASE(connections_that_come_with_the_signal_do_not_keep_a_server) {
  child server = start({"echo_server"});
  const std::string line = server.read_line().value_or("");
  BOOST_REQUIRE(line.starts_with("listening "));
  const boost::asio::ip::tcp::endpoint where(boost::asio::ip::address_v4::loopback(),
                                             static_cast<unsigned short>(std::stoul(line.substr(10))));
  server.stop();
  boost::asio::io_context context;
  std::vector<boost::asio::ip::tcp::socket> clients;
  for (int n = 0; n < 10; ++n) clients.emplace_back(context).connect(where);
  server.signal(SIGTERM);
  server.signal(SIGCONT);
  BOOST_TEST(end_of(server).status == 0, server.errors());
}

BOOST_AUTO_TEST_CASE(the_client_pauses_between_its_requests) {
  child server = start({"echo_server", "--hold", "1ms"});
  const std::string line = server.read_line().value_or("");
  BOOST_REQUIRE(line.starts_with("listening "));
  const auto begin = std::chrono::steady_clock::now();
  const ended load = run({"echo_client", "--servers", "127.0.0.1:" + line.substr(10), "--connections", "1",
                          "--requests", "5", "--pause", "200ms"});
  BOOST_TEST(load.status == 0, load.output + load.errors);
  // Four pauses, each of half that time at least.
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 400ms));
  server.signal(SIGTERM);
  BOOST_TEST(end_of(server).status == 0);
}

// That it ends with status 0 means that all its checks have passed: among them, that another server took the lock over,
// and that each of the other two locks was granted meanwhile and did not stand still for the length of a lease.
BOOST_AUTO_TEST_CASE(the_demo_survives_the_death_of_a_holder) {
  const ended e = best_of_five(
      [&] {
        return run({"demo", "--bin-dir", LEASEHOLD_EXAMPLES_DIR, "--out", folder.path(), "--seconds", "6"});
      },
      [](const ended& one) { return one.status == 0; });  // It measures times.
  BOOST_TEST(e.status == 0, e.output + e.errors);
  std::size_t went_on = 0;
  for (auto at = e.output.find("went on meanwhile: "); at != e.output.npos; at = e.output.find("went on", at + 1)) {
    ++went_on;
  }
  BOOST_TEST(went_on == 2U, e.output);
  std::ifstream file(folder / "demo.svg");
  const std::string picture{std::istreambuf_iterator<char>(file), {}};
  BOOST_TEST(contains(picture, " goes on meanwhile: it is granted "), picture);
}

// The reader of its output has ended: `demo | head`.
BOOST_AUTO_TEST_CASE(a_demo_that_nobody_reads_leaves_nothing_behind) {
  child c({"bash", "-c",
           "set -o pipefail; TMPDIR=$2 \"$0/demo\" --bin-dir \"$0\" --out \"$1\" --seconds 600 | head -n 1",
           LEASEHOLD_EXAMPLES_DIR, folder / "out", folder.path()});
  const ended e = end_of(c);
  BOOST_TEST(e.status == 128 + SIGPIPE, e.errors);
  BOOST_TEST(contains(e.output, "A private Redis runs at "), e.output);
  for (const auto& left : std::filesystem::directory_iterator(folder.path())) {
    BOOST_TEST(left.path().filename() == "out", left.path());
  }
}

BOOST_AUTO_TEST_CASE(a_demo_runs_where_the_folder_for_temporary_files_has_a_long_name) {
  child c({"bash", "-c",
           "mkdir $2 && set -o pipefail; TMPDIR=$2 \"$0/demo\" --bin-dir \"$0\" --out \"$1\" --seconds 600 | head -n 1",
           LEASEHOLD_EXAMPLES_DIR, folder / "out", folder / std::string(100, 'x')});
  const ended e = end_of(c);
  BOOST_TEST(contains(e.output, "A private Redis runs at /tmp/leasehold-demo."), e.output + e.errors);
}

BOOST_AUTO_TEST_CASE(a_mistyped_option_is_named) {
  const ended e = run({"echo_server", "--lease", "soon"});
  BOOST_TEST(e.status != 0);
  BOOST_TEST(contains(e.errors, "\"soon\" is no duration"), e.errors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
