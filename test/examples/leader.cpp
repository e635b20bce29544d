// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/proxy.hpp"
#include "told.hpp"

#include <boost/asio.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

struct entry {
  std::uint64_t fence;
  std::string instance;
};

// [reader]
// The valid lines. A line that a leader wrote too late has a smaller fence than a line before it, and is left out.
std::vector<entry> read_log(const std::string& path) {
  std::vector<entry> entries;
  std::uint64_t largest = 0;
  std::ifstream file(path);
  for (entry e; file >> e.fence >> e.instance;) {
    if (e.fence < largest) continue;
    largest = e.fence;
    entries.push_back(e);
  }
  return entries;
}
// [/reader]

// A way to the server that can be cut.
class way {
 public:
  explicit way(const redis_server& server) : proxy_(context_.get_executor(), server) {}
  ~way() {
    context_.stop();
    thread_.join();
  }
  way(const way&) = delete;
  way& operator=(const way&) = delete;

  std::string url() const { return proxy_.url(); }
  void cut() {
    boost::asio::post(context_, [this] {
      proxy_.refuse();
      proxy_.cut();
    });
  }

 private:
  boost::asio::io_context context_;
  proxy proxy_;
  std::thread thread_{[this] {
    const auto busy = boost::asio::make_work_guard(context_);
    context_.run();
  }};
};

struct with_leaders : with_examples {
  std::string log = folder / "log";

  child instance(const std::string& name, const std::string& lease = "10m") const {
    return start({"leader", "--log", log, "--instance", name, "--lease", lease, "--every", "5ms"});
  }

  // Of everybody, or of one leader.
  std::size_t lines() const {
    std::size_t n = 0;
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) ++n;
    return n;
  }
  std::size_t lines_of(const told& leading) const {
    std::size_t n = 0;
    std::ifstream file(log);
    for (entry e; file >> e.fence >> e.instance;) n += e.fence == leading.number("fence");
    return n;
  }

  // Those that count.
  std::size_t counted_of(const told& leading) const {
    std::size_t n = 0;
    for (const entry& e : read_log(log)) n += e.fence == leading.number("fence");
    return n;
  }

  void await_lines_of(const told& leading) const {
    const std::size_t before = counted_of(leading);
    wait_until("lines of " + leading.line, [&] { return counted_of(leading) >= before + 3; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(leader, with_leaders)

BOOST_AUTO_TEST_CASE(a_follower_leads_when_the_leader_dies) {
  child first = instance("first", short_lease);
  next(first, "following");
  const told dead = next(first, "leading");
  child second = instance("second");
  next(second, "following");
  await_lines_of(dead);
  first.signal(SIGKILL);
  const told heir = next(second, "leading");
  BOOST_TEST(heir.number("fence") > dead.number("fence"));
  await_lines_of(heir);
  BOOST_TEST(lines_of(dead) == counted_of(dead));
}

BOOST_AUTO_TEST_CASE(at_sigterm_the_leader_makes_way_at_once) {
  // Nobody could wait for the end of its lease.
  child first = instance("first");
  next(first, "following");
  const told before = next(first, "leading");
  child second = instance("second");
  next(second, "following");
  wait_until("a follower in the queue", [this] { return redis.size() > 2; });
  await_lines_of(before);
  first.signal(SIGTERM);
  next(first, "stopped");
  const ended e = end_of(first);
  BOOST_TEST(e.status == 0, e.errors);
  BOOST_TEST(e.output == "");
  const told heir = next(second, "leading");
  BOOST_TEST(heir.number("fence") > before.number("fence"));
  await_lines_of(heir);
  second.signal(SIGTERM);
  next(second, "stopped");
  BOOST_TEST(end_of(second).status == 0);
  BOOST_TEST(redis.size() == 0U);
  // Here no line can be late: the work had ended when the lock went back.
  BOOST_TEST(read_log(log).size() == lines());
}

BOOST_AUTO_TEST_CASE(nobody_leads_while_redis_does_not_answer) {
  child first = instance("first", short_lease);
  next(first, "following");
  const told before = next(first, "leading");
  // A connection that is cut and comes up again costs nothing.
  redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  await_lines_of(before);
  redis.stop();
  next(first, "stopped");
  next(first, "following");
  const std::size_t written_then = lines();
  // A program starts meanwhile.
  child second = instance("second");
  next(second, "following");
  BOOST_TEST(lines() == written_then);
  const auto thawed = std::chrono::steady_clock::now().time_since_epoch();
  redis.go_on();
  // Either of them.
  wait_until("lines in the log", [&] { return lines() > written_then + 3; });
  // Whoever led before has written nothing since.
  BOOST_TEST(read_log(log).at(written_then).fence > before.number("fence"));
  const entry latest = read_log(log).back();
  BOOST_TEST(latest.fence > before.number("fence"));
  const told after = next(latest.instance == "first" ? first : second, "leading");
  BOOST_TEST(after.number("fence") == latest.fence);
  BOOST_TEST(after.number("at") > static_cast<std::uint64_t>(std::chrono::nanoseconds(thawed).count()));
}

BOOST_AUTO_TEST_CASE(a_leader_that_is_cut_off_stops_and_a_follower_leads) {
  way cable(redis);
  child first = start({"leader", "--redis", cable.url(), "--log", log, "--instance", "first", "--lease", short_lease,
                       "--every", "5ms"});
  next(first, "following");
  const told before = next(first, "leading");
  child second = instance("second");
  next(second, "following");
  await_lines_of(before);
  cable.cut();
  next(first, "stopped");
  next(first, "following");
  const told heir = next(second, "leading");
  BOOST_TEST(heir.number("fence") > before.number("fence"));
  await_lines_of(heir);
  BOOST_TEST(lines_of(before) - counted_of(before) <= 1U);
}

BOOST_AUTO_TEST_CASE(somebody_leads_anew_on_a_redis_that_has_lost_all) {
  // It is not the end of this lease that tells the leader.
  child first = instance("first");
  next(first, "following");
  const told before = next(first, "leading");
  await_lines_of(before);
  redis.kill();
  redis.start();
  next(first, "stopped");
  next(first, "following");
  const told after = next(first, "leading");
  BOOST_TEST(after.number("fence") > before.number("fence"));
  await_lines_of(after);
  BOOST_TEST(lines_of(before) == counted_of(before));
}

BOOST_AUTO_TEST_CASE(a_leader_whose_work_fails_makes_way) {
  const ended e = run({"leader", "--log", "/dev/full", "--lease", "10m"});
  BOOST_TEST(e.status == 1);
  BOOST_TEST(contains(e.output, "\nstopped service "), e.output);
  BOOST_TEST(contains(e.errors, "/dev/full: No space left on device"), e.errors);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_leader_that_was_frozen_follows) {
  child first = instance("first", short_lease);
  next(first, "following");
  const told frozen = next(first, "leading");
  child second = instance("second");
  next(second, "following");
  await_lines_of(frozen);
  first.stop();
  const told heir = next(second, "leading");
  BOOST_TEST(heir.number("fence") > frozen.number("fence"));
  await_lines_of(heir);
  first.signal(SIGCONT);
  next(first, "stopped");
  next(first, "following");
  await_lines_of(heir);
  // It may have been frozen between its last look at the clock and its write. Then there is one line too many.
  BOOST_TEST(lines_of(frozen) - counted_of(frozen) <= 1U);
  // That is rare, so such a line is made here.
  const std::size_t before = counted_of(frozen);
  std::ofstream(log, std::ios::app) << frozen.text("fence") << " first\n" << std::flush;
  await_lines_of(heir);
  BOOST_TEST(lines_of(frozen) > before);
  BOOST_TEST(counted_of(frozen) == before);
  // The one that was frozen follows in earnest.
  second.signal(SIGTERM);
  BOOST_TEST(next(first, "leading").number("fence") > heir.number("fence"));
}

BOOST_AUTO_TEST_CASE(clients_find_each_leader_at_its_address) {
  child client = start({"leader_client"});
  next(client, "nobody");
  child first = instance("first");
  next(first, "following");
  const told before = next(first, "leading");
  const told found = next(client, "found");
  BOOST_TEST(found.number("fence") == before.number("fence"));
  BOOST_TEST(found.text("value").starts_with("127.0.0.1:"));
  BOOST_TEST(next(client, "answered").number("fence") == before.number("fence"));
  child second = instance("second");
  next(second, "following");
  wait_until("a follower in the queue", [this] { return redis.size() > 2; });
  first.signal(SIGTERM);
  const told heir = next(second, "leading");
  std::string line;
  // Between the two there may be a moment without a leader.
  do line = client.read_line().value_or("answered ended at=0 fence=0");
  while (!line.starts_with("answered"));
  BOOST_TEST(told{line}.number("fence") == heir.number("fence"));
  client.signal(SIGTERM);
  BOOST_TEST(end_of(client).status == 0);
}

BOOST_AUTO_TEST_CASE(a_coordinator_leads_follows_and_releases) {
  child first = start({"coordinator", "cluster", "10.0.0.1:7000", redis.url()});
  BOOST_TEST(first.read_line().value().starts_with("leads in term "));
  child second = start({"coordinator", "cluster", "10.0.0.2:7000", redis.url()});
  BOOST_TEST(second.read_line().value() == "follows 10.0.0.1:7000");
  first.signal(SIGTERM);
  BOOST_TEST(end_of(first).status == 0);
  std::string line;
  do line = second.read_line().value_or("leads no more");
  while (!line.starts_with("leads"));
  BOOST_TEST(line.starts_with("leads in term "));
  second.signal(SIGTERM);
  BOOST_TEST(end_of(second).status == 0);
  BOOST_TEST(redis.size() == 0U);
  BOOST_TEST(contains(run({"coordinator"}).errors, "usage: coordinator"));
}

#ifndef __SANITIZE_ADDRESS__  // The sanitizers need descriptors of their own.
// The wait of the first client for its answer shows that the leader has tried to accept it meanwhile.
BOOST_AUTO_TEST_CASE(a_leader_answers_clients_after_it_had_no_descriptor_left) {
  child only = start({"leader", "--log", log, "--instance", "only", "--every", "5ms", "--address", "127.0.0.2"});
  next(only, "following");
  const told led = next(only, "leading");
  child observer = start({"leader_client"});
  const std::string address = next(observer, "found").text("value");
  BOOST_REQUIRE(address.starts_with("127.0.0.2:"));
  next(observer, "answered");
  std::optional<no_descriptors_for> exhausted(only);
  child client({"bash", "-c", "exec 3<>/dev/tcp/127.0.0.2/$0; echo connected; exec cat <&3", address.substr(10)});
  BOOST_TEST(client.read_line().value() == "connected");
  await_lines_of(led);
  exhausted.reset();
  BOOST_TEST(client.read_line().value() == led.text("fence") + " only");
}
#endif

// The server answers that the lock is held, and by no leader, until it is free: there is no change of the view.
BOOST_AUTO_TEST_CASE(a_coordinator_leads_after_a_leader_that_died_before_it_had_an_address) {
  redis.command("SET", "cluster", "x", "PX", "2000");
  child c = start({"coordinator", "cluster", "10.0.0.1:7000", redis.url()});
  std::string line;
  do line = c.read_line().value_or("leads no more");
  while (!line.starts_with("leads"));
  BOOST_TEST(line.starts_with("leads in term "), c.errors());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_named) {
  const std::vector<std::pair<words, std::string>> mistakes{
      {{}, "--log is needed"},
      {{"--log", folder.path()}, folder.path()},
      {{"--log", log, "--lease", "0s"}, "--lease: "},
      {{"--log", log, "--every", "0s"}, "--every: "},
      {{"--log", log, "--address", "nowhere"}, "--address: "},
      {{"--log", log, "--address", "0.0.0.0"}, "--address: "},
      {{"--log", log, "--redis", "http://x"}, "invalid url"},
  };
  for (const auto& [options, text] : mistakes) {
    words command{"leader"};
    command.insert(command.end(), options.begin(), options.end());
    const ended e = run(std::move(command));
    BOOST_TEST((e.status == 64 || e.status == 1), e.status);
    BOOST_TEST(contains(e.errors, text), e.errors);
    BOOST_TEST(e.output == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
