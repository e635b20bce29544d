// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"

#include <cstdint>
#include <memory>
#include <regex>
#include <sstream>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(kinds, with_leasehold)

namespace {

// Runs until $FOLDER/<file> is there.
words until(const std::string& file) {
  return {"--", "sh", "-c", "echo $LEASEHOLD_TOKEN; until [ -e $FOLDER/" + file + " ]; do sleep 0.01; done"};
}

words operator+(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

BOOST_AUTO_TEST_CASE(readers_run_together_and_a_writer_waits_for_them) {
  child one = start(words{"run", "--shared", "n"} + until("end"));
  child two = start(words{"run", "--shared", "n"} + until("end"));
  const std::string token = one.read_line().value();
  BOOST_TEST(two.read_line().has_value());
  child writer = start(words{"run", "--exclusive", "n"} + until("written"));
  ended text{};
  wait_until("the writer waits", [&] { return contains((text = run({"status", "n"})).output, ", 1 waiting\n"); });
  BOOST_TEST_CONTEXT(text.output) {
    BOOST_TEST(std::regex_search(text.output, std::regex("^n: 2 readers, [0-9.]+ s left, fence [0-9]+, 1 waiting\n")));
    BOOST_TEST(std::regex_search(text.output, std::regex("\n  \\*  " + token + "  [0-9.]+ s left  reader\n")));
    BOOST_TEST(std::regex_search(text.output, std::regex("\n  1  [^ ]+  30.0 s  writer\n$")));
  }
  const ended json = run({"status", "--json", "n"});
  BOOST_TEST_CONTEXT(json.output) {
    BOOST_TEST(contains(json.output, R"("silent":false,"role":"writer"}],"kind":"shared_mutex","holders":2,)"
                                     R"("mode":"readers","holds":[{"token":")"));
    BOOST_TEST(contains(json.output, "\"role\":\"reader\"}"));
  }
  // He would overtake the writer.
  BOOST_TEST(run({"run", "--shared", "--no-wait", "n", "--", "echo", "no"}).status == 75);
  folder.write("end", "");
  BOOST_TEST(writer.read_line().has_value());
  BOOST_TEST(one.wait() == 0);
  BOOST_TEST(two.wait() == 0);
  text = run({"status", "n"});
  BOOST_TEST(text.output.starts_with("n: 1 writer, "));
  for (const std::string side : {"--shared", "--exclusive"}) {
    BOOST_TEST(run({"run", side, "--no-wait", "n", "--", "echo", "no"}).status == 75);
  }
  folder.write("written", "");
  BOOST_TEST(writer.wait() == 0);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(there_are_as_many_permits_as_asked_for) {
  child one = start(words{"run", "--permits", "2", "n"} + until("one"));
  child two = start(words{"run", "--permits", "2", "n"} + until("two"));
  BOOST_TEST(one.read_line().has_value());
  const std::string token = two.read_line().value();
  child three = start({"run", "--permits", "2", "n", "--", "echo", "in"});
  ended text{};
  wait_until("the third waits", [&] { return contains((text = run({"status", "n"})).output, ", 1 waiting\n"); });
  BOOST_TEST_CONTEXT(text.output) {
    BOOST_TEST(text.output.starts_with("n: 2 of 2 permits, "));
    BOOST_TEST(std::regex_search(text.output, std::regex("\n  \\*  " + token + "  [0-9.]+ s left  fence [0-9]+\n")));
  }
  BOOST_TEST(contains(run({"status", "--json", "n"}).output,
                      R"("kind":"counting_semaphore","holders":2,"limit":2,"holds":[{"token":")"));
  folder.write("one", "");
  BOOST_TEST(three.read_line().value() == "in");
  BOOST_TEST(three.wait() == 0);
  BOOST_TEST(contains(run({"status", "n"}).output, "n: 1 of 2 permits, "));
  folder.write("two", "");
  BOOST_TEST(one.wait() == 0);
  BOOST_TEST(two.wait() == 0);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(of_twenty_processes_no_more_run_at_once_than_there_are_permits) {
  std::vector<std::unique_ptr<child>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<child>(
        leasehold_command({"run", "--wait", "60s", "--permits", "2", "n", "--", "sh", "-c",
                           "cd $FOLDER; mkdir in.$$; ls -d in.* | wc -l >> counts; sleep 0.02; rmdir in.$$"}),
        environment()));
  }
  for (auto& c : all) BOOST_TEST(c->wait() == 0);
  std::istringstream counts(read_file(folder / "counts"));
  int lines = 0;
  for (int in; counts >> in; ++lines) BOOST_TEST(in <= 2);
  BOOST_TEST(lines == 20);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(another_kind_of_lock_is_status_65_and_both_are_named) {
  child mutex = start(words{"run", "--prefix", "p:", "mutex"} + until("end"));
  child reader = start(words{"run", "--prefix", "p:", "--shared", "shared"} + until("end"));
  child permit = start(words{"run", "--prefix", "p:", "--permits", "3", "semaphore"} + until("end"));
  for (child* c : {&mutex, &reader, &permit}) BOOST_TEST(c->read_line().has_value());
  redis.command("SET", "p:string", "somebody else");
  redis.command("HSET", "p:hash", "a", "b");
  const std::tuple<words, std::string, std::string> cases[] = {
      {{"shared"}, "asked for a mutex", "the key 'p:shared' is a shared mutex"},
      {{"semaphore"}, "asked for a mutex", "the key 'p:semaphore' is a counting semaphore"},
      {{"hash"}, "asked for a mutex", "the key 'p:hash' is something that is no lock"},
      {{"--shared", "mutex"}, "asked for a shared mutex", "the key 'p:mutex' is a mutex"},
      {{"--exclusive", "semaphore"}, "asked for a shared mutex", "the key 'p:semaphore' is a counting semaphore"},
      {{"--exclusive", "string"}, "asked for a shared mutex", "the key 'p:string' is another program's lock"},
      {{"--permits", "3", "shared"}, "asked for a counting semaphore", "the key 'p:shared' is a shared mutex"},
      {{"--permits", "2", "semaphore"}, "wrong limit: asked for a counting semaphore with 2 permits", "one with 3"},
      {{"--permits", "1", "free", "semaphore"}, "with 1 permit,", "'p:semaphore' is one with 3"},
      {{"free", "shared"}, "asked for a mutex", "'p:shared'"},
      {{"string", "hash"}, "asked for a mutex", "'p:hash'"},
  };
  for (const auto& [arguments, asked, found] : cases) {
    for (const words& how : {words{}, words{"--no-wait"}, words{"--wait", "60s"}}) {
      // With a busy one in front nobody looks at the others.
      if (!how.empty() && arguments.size() > 1 && arguments[0] != "--permits" && arguments[0][0] != '-') continue;
      const ended e = run(words{"run", "--prefix", "p:"} + how + arguments + words{"--", "echo", "no"});
      BOOST_TEST_CONTEXT(e.errors) {
        BOOST_TEST(e.status == 65);
        BOOST_TEST(is_error_line(e.errors, asked));
        BOOST_TEST(contains(e.errors, found));
        BOOST_TEST(e.output == "");
      }
    }
  }
  folder.write("end", "");
  for (child* c : {&mutex, &reader, &permit}) BOOST_TEST(c->wait() == 0);
  BOOST_TEST(redis.size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_table_tells_kinds_and_how_far_they_are_taken) {
  child reader = start(words{"run", "--shared", "a"} + until("end"));
  child writer = start(words{"run", "--exclusive", "b"} + until("end"));
  child permit = start(words{"run", "--permits", "3", "c"} + until("end"));
  const std::string token = reader.read_line().value();
  for (child* c : {&writer, &permit}) BOOST_TEST(c->read_line().has_value());
  redis.command("HSET", "d", "request 7", "2", "leasehold", "recursive_mutex 7 1 9000000000000000 request 7",
                "leasehold:x.1", "9000000000000000 7 request 7");
  for (const words& how : {words{"list"}, words{"watch", "--count", "1"}}) {
    const ended e = run(how);
    BOOST_TEST_CONTEXT(e.output) {
      BOOST_TEST(e.status == 0);
      BOOST_TEST(contains(e.output, "  0  1 reader   " + token + "\n"));
      BOOST_TEST(contains(e.output, "  0  1 writer   "));
      BOOST_TEST(contains(e.output, "  0  1 of 3     "));
      BOOST_TEST(contains(e.output, "  0  2 times    x.1  request 7\n"));
    }
  }
  const ended json = run({"list", "--json"});
  BOOST_TEST(
      contains(json.output, R"("kind":"recursive_mutex","holders":2,"owner":"request 7","holds":[{"token":"x.1",)"));
  const std::string status = run({"status", "d"}).output;
  BOOST_TEST(status.starts_with("d: held 2 times by request 7, forever, fence 7, 0 waiting\n  *  x.1  "), status);
  // The other one was acquired by another program.
  BOOST_TEST(status.ends_with(" s left\n     and 1 more\n"), status);
  folder.write("end", "");
  for (child* c : {&reader, &writer, &permit}) BOOST_TEST(c->wait() == 0);
}

BOOST_AUTO_TEST_CASE(break_ends_all_holds) {
  words how{"run", "--lease", "10m", "--shared", "n", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN; " + wait_for_a_signal};
  child one = start(how);
  child two = start(how);
  const std::string token = one.read_line().value();
  BOOST_TEST(two.read_line().has_value());
  child writer = start({"run", "--exclusive", "n", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN"});
  wait_until("the writer waits", [&] { return contains(run({"status", "n"}).output, ", 1 waiting\n"); });
  const ended e = run({"break", "n"});
  BOOST_TEST(e.status == 0);
  const std::string next = writer.read_line().value();
  BOOST_TEST_CONTEXT(e.output) {
    BOOST_TEST(std::regex_search(e.output, std::regex("^n: was held by 2 readers, fence [0-9]+, [0-9.]+ s left; ")));
    BOOST_TEST(contains(e.output, "; handed to " + next + "\n"));
    BOOST_TEST(contains(e.output, "\n  *  " + token + "  "));
  }
  BOOST_TEST(writer.wait() == 0);
  BOOST_TEST(end_of(one).status == 74);
  BOOST_TEST(end_of(two).status == 74);
  redis.command("HSET", "r", "me", "2");
  BOOST_TEST(run({"break", "r"}).status == 65);
  BOOST_TEST(run({"break", "--force", "r"}).output ==
             "r: was held 2 times by me, without a fence, forever; free now\n");
}

BOOST_AUTO_TEST_CASE(a_reader_whose_hold_is_gone_is_stopped) {
  child c = start({"run", "--lease", short_lease, "--shared", "n", "--", "sh", "-c", wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  redis.command("DEL", "n");
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "'n'"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
