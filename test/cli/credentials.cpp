// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Where the URL of the store comes from, which other programs see it, and that no part of a password is shown.
#include "leasehold_command.hpp"

#include <chrono>
#include <filesystem>

namespace leasehold::test {

using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(credentials, with_leasehold)

BOOST_AUTO_TEST_CASE(a_file_names_the_store) {
  const std::string file = folder.write("url", redis.url() + "\n");
  redis.command("SET", "n", "leasehold:x.1:7");
  const std::string wanted = "n: held, forever, fence 7, token x.1, 0 waiting\n";
  const words nowhere{"LEASEHOLD_REDIS=unix:///nowhere"};
  BOOST_TEST(run_leasehold({"status", "--redis-file", file, "n"}, nowhere).output == wanted);
  BOOST_TEST(run_leasehold({"status", "--redis-file=" + file, "n"}, nowhere).output == wanted);
  BOOST_TEST(run_leasehold({"status", "n"}, {"LEASEHOLD_REDIS=", "LEASEHOLD_REDIS_FILE=" + file}).output == wanted);
  BOOST_TEST(run_leasehold({"status", "--redis-file=", "--redis-file", file, "n"}, nowhere).output == wanted);
  BOOST_TEST(run_leasehold({"status", "n"}, {"LEASEHOLD_REDIS=" + redis.url(), "LEASEHOLD_REDIS_FILE="}).output ==
             wanted);
  // The more exact word counts.
  BOOST_TEST(run_leasehold({"status", "n"}, {nowhere[0], "LEASEHOLD_REDIS_FILE=" + file}).status == 69);
  BOOST_TEST(run_leasehold({"status", "--redis", redis.url(), "n"}, {"LEASEHOLD_REDIS_FILE=/no/file"}).output ==
             wanted);
  // A pipe is a file, too.
  child c({"bash", "-c", "\"$0\" status --redis-file <(echo $LEASEHOLD_REDIS) n", LEASEHOLD_CLI_PATH}, environment());
  BOOST_TEST(end_of(c).output == wanted);
  // Without a line's end, with that of another system, and with empty lines.
  for (const std::string& text : {redis.url(), redis.url() + "\r\n", "\n\n" + redis.url() + "  \n\n"}) {
    const std::string other = folder.write("other", text);
    BOOST_TEST(run_leasehold({"status", "--redis-file", other, "n"}).output == wanted);
  }
}

BOOST_AUTO_TEST_CASE(several_lines_of_a_file_are_a_quorum) {
  const redis_server b, c;
  const std::string file = folder.write("urls", redis.url() + "\n" + b.url() + "\n" + c.url() + "\n");
  const ended e = run_leasehold({"run", "--redis-file", file, "n", "--", "echo", "yes"});
  BOOST_TEST(e.status == 0, e.errors);
  BOOST_TEST(e.output == "yes\n");
  BOOST_TEST(is_error_line(run_leasehold({"status", "--redis-file", file, "n"}).errors, "quorum"));
}

BOOST_AUTO_TEST_CASE(a_file_that_names_no_store_is_refused) {
  const std::string empty = folder.write("empty", " \n\n");
  const std::pair<std::string, std::string> cases[] = {{folder / "missing", "No such file or directory"},
                                                       {folder.path(), "Is a directory"},
                                                       {empty, "no URL"},
                                                       {"/dev/zero", "no URL"}};
  for (const auto& [file, reason] : cases) {
    for (const ended& e : {run({"run", "--redis-file", file, "n", "--", "echo", "no"}),
                           run_leasehold({"list"}, {"LEASEHOLD_REDIS=", "LEASEHOLD_REDIS_FILE=" + file})}) {
      BOOST_TEST_CONTEXT(e.errors) {
        BOOST_TEST(e.status == 64);
        BOOST_TEST(is_error_line(e.errors, "'" + file + "': "));
        BOOST_TEST(contains(e.errors, reason));
        BOOST_TEST(e.output == "");
      }
    }
  }
  const ended both = run({"list", "--redis", redis.url(), "--redis-file", empty});
  BOOST_TEST(both.status == 64);
  BOOST_TEST(is_error_line(both.errors, "--redis"));
}

BOOST_AUTO_TEST_CASE(the_command_need_not_find_the_store_in_its_environment) {
  const std::string env = "env | grep '^LEASEHOLD_REDIS' | sort | cut -d= -f1";
  words variables = environment();
  variables.push_back("LEASEHOLD_REDIS_FILE=/no/file");
  const ended open = run_leasehold({"run", "n", "--", "sh", "-c", env}, variables);
  BOOST_TEST(open.output == "LEASEHOLD_REDIS\nLEASEHOLD_REDIS_FILE\n");
  const ended hidden =
      run_leasehold({"run", "--hide-redis", "n", "--", "sh", "-c", env + "; echo $LEASEHOLD_NAME"}, variables);
  BOOST_TEST(hidden.output == "n\n");
  BOOST_TEST(hidden.errors == "");
}

// Its end would be taken for a URL of its own, and shown as a wrong one.
BOOST_AUTO_TEST_CASE(a_blank_in_a_password_shows_no_part_of_it) {
  for (const std::string url : {"redis://me:fir st secr et@127.0.0.1:1", "redis://me:fir\tst@127.0.0.1:1",
                                "redis://:fir st", "redis://me:fir st"}) {
    const ended e = run_leasehold({"list"}, {"LEASEHOLD_REDIS=" + url});
    BOOST_TEST_CONTEXT(e.errors) {
      BOOST_TEST(e.status == 64);
      BOOST_TEST(!contains(e.errors, "st@"));
      BOOST_TEST(!contains(e.errors, "secr"));
      BOOST_TEST(!contains(e.errors, "'st"));
    }
  }
  // The URLs of a quorum are separated by any blanks.
  const redis_server b, c;
  const ended e = run_leasehold({"run", "n", "--", "echo", "yes"},
                                {"LEASEHOLD_REDIS= " + redis.url() + "  " + b.url() + "\n\t" + c.url() + "\n"});
  BOOST_TEST(e.output == "yes\n", e.errors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
