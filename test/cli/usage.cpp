// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(usage)

BOOST_AUTO_TEST_CASE(help_and_version_go_to_standard_output) {
  const ended version = run_leasehold({"--version"});
  BOOST_TEST(version.status == 0);
  BOOST_TEST(version.output == "leasehold 0.2.0\n");
  for (const words& arguments :
       {words{"--help"}, words{"run", "--help"}, words{"status", "--help"}, words{"list", "--help"},
        words{"watch", "--help"}, words{"break", "--help"}, words{"run", "-h", "n", "--", "true"}}) {
    const ended e = run_leasehold(arguments);
    BOOST_TEST(e.status == 0);
    BOOST_TEST(e.output.find("Usage: leasehold") != e.output.npos);
    BOOST_TEST(e.errors == "");
  }
  BOOST_TEST(contains(run_leasehold({"run", "--help"}).output, "NAME... -- COMMAND"));
}

BOOST_AUTO_TEST_CASE(wrong_usage_is_status_64_and_one_line_that_names_the_word_at_fault) {
  const std::string long_name(65537, 'x');
  const std::pair<words, std::string> cases[] = {
      {{}, "subcommand"},
      {{"--frobnicate"}, "'--frobnicate'"},
      {{"frobnicate"}, "'frobnicate'"},
      {{"run"}, "NAME"},
      {{"run", "n"}, "'--'"},
      {{"run", "n", "--"}, "command is missing"},
      {{"run", "--", "make", "all"}, "NAME"},
      {{"run", "n", "ls", "-l"}, "'--' is missing before the command 'ls'"},
      {{"run", "--frobnicate", "n", "--", "true"}, "'--frobnicate'"},
      {{"run", "n", "--frobnicate"}, "'--frobnicate'"},
      {{"run", "n", "m", "--frobnicate", "o", "--", "true"}, "'--frobnicate'"},
      // CLI11 takes them for words.
      {{"run", "-5", "--", "true"}, "run: unknown option '-5'"},
      {{"run", "n", "-5", "--", "true"}, "run: unknown option '-5'"},
      {{"run", "-5", "n", "--", "true"}, "run: unknown option '-5'"},
      {{"run", "-5"}, "run: unknown option '-5'"},
      {{"run", "-!x", "--", "true"}, "run: unknown option '-!'"},
      {{"elect", "--value", "v", "-5", "--", "true"}, "elect: unknown option '-5'"},
      {{"status", "-5"}, "status: unknown option '-5'"},
      {{"status", "-.5"}, "status: unknown option '-.'"},
      {{"leader", "-5"}, "leader: unknown option '-5'"},
      {{"break", "-5"}, "break: unknown option '-5'"},
      {{"acquire", "-5"}, "acquire: unknown option '-5'"},
      {{"release", "-5"}, "release: unknown option '-5'"},
      {{"extend", "-5"}, "extend: unknown option '-5'"},
      {{"run", "n", "m", "n", "--", "true"}, "'n' is named twice"},
      {{"run", "--", "-n", "-m", "-n", "--", "true"}, "'-n' is named twice"},
      {{"elect", "--value", "v", "n", "n", "--", "true"}, "elect: one word too many: 'n'"},
      {{"run", "n", "", "--", "true"}, "''"},
      {{"run", "--", "--", "true"}, "NAME"},
      {{"run", "--prefix", "lease", "n", "hold:n", "--", "true"}, "'hold:n'"},
      {{"run", "--shared", "--exclusive", "n", "--", "true"}, "--shared"},
      {{"run", "--shared", "--permits", "2", "n", "--", "true"}, "--permits"},
      {{"run", "--permits", "2", "--exclusive", "n", "--", "true"}, "--permits"},
      {{"run", "--permits", "0", "n", "--", "true"}, "--permits '0'"},
      {{"run", "--permits", "-1", "n", "--", "true"}, "-1"},
      {{"run", "--permits", "2x", "n", "--", "true"}, "--permits '2x'"},
      {{"run", "--renewals", "0", "n", "--", "true"}, "--renewals '0'"},
      {{"run", "--renewals", "twice", "n", "--", "true"}, "--renewals 'twice'"},
      {{"run", "--permits=", "n", "--", "true"}, "--permits ''"},
      {{"run", "--permits", "4294967296", "n", "--", "true"}, "--permits '4294967296'"},
      {{"status", "--shared", "n"}, "'--shared'"},
      {{"run", "--shared=false", "n", "--", "true"}, "--shared takes no value"},
      {{"run", "--no-wait=true", "n", "--", "true"}, "--no-wait takes no value"},
      {{"run", "n", "--exclusive=", "--", "true"}, "--exclusive takes no value"},
      {{"run", "--hide-redis=0", "n", "--", "true"}, "--hide-redis takes no value"},
      {{"status", "--json=5", "n"}, "--json takes no value"},
      {{"break", "--force=no", "n"}, "--force takes no value"},
      {{"run", "--lease"}, "--lease"},
      {{"run", "--no-wait", "--wait", "1s", "n", "--", "true"}, "--no-wait"},
      {{"run", "--conflict-exit-code", "256", "n", "--", "true"}, "256"},
      {{"run", "--conflict-exit-code", "-1", "n", "--", "true"}, "-1"},
      {{"run", "--conflict-exit-code", "all", "n", "--", "true"}, "all"},
      {{"run", "--conflict-exit-code", "0x10", "n", "--", "true"}, "'0x10'"},
      {{"run", "--conflict-exit-code", "+5", "n", "--", "true"}, "'+5'"},
      {{"run", "--conflict-exit-code", "", "n", "--", "true"}, "''"},
      {{"status"}, "NAME"},
      {{"elect"}, "elect: NAME"},
      {{"elect", "--value", "v", "n"}, "elect: '--'"},
      {{"elect", "--value", "v", "--", "true"}, "elect: NAME"},
      {{"elect", "n", "--", "true"}, "--value is missing"},
      {{"elect", "--value", "v", "n", "m", "--", "true"}, "'m'"},
      {{"elect", "--value", "v", "--permits", "2", "n", "--", "true"}, "'--permits'"},
      {{"elect", "--value", "v", "--lease", "31d", "n", "--", "true"}, "--lease '31d'"},
      {{"elect", "--value", "v", "--at-least", "31d", "n", "--", "true"}, "--at-least '31d'"},
      {{"leader"}, "leader: NAME"},
      {{"leader", "a", "b"}, "'b'"},
      {{"leader", "--follow=yes", "n"}, "--follow takes no value"},
      {{"leader", "--value", "v", "n"}, "'--value'"},
      {{"status", "a", "b"}, "'b'"},
      {{"status", "a", "--", "b"}, "'b'"},
      {{"status", "--", "a", "b"}, "'b'"},
      {{"list", "n"}, "'n'"},
      {{"list", "--", "n"}, "'n'"},
      {{"list", "--force"}, "'--force'"},
      {{"list", "--redis", "bogus"}, "the URL has no scheme"},
      {{"watch", "n"}, "'n'"},
      {{"watch", "--json"}, "'--json'"},
      {{"watch", "--interval", "0"}, "--interval '0'"},
      {{"watch", "--interval", "99ms"}, "--interval '99ms'"},
      {{"watch", "--interval", "25h"}, "--interval '25h'"},
      {{"watch", "--interval", "1"}, "--interval '1'"},
      {{"watch", "--count", "0"}, "--count '0'"},
      {{"watch", "--count", "-1"}, "-1"},
      {{"watch", "--count", "1x"}, "--count '1x'"},
      {{"watch", "--count", "18446744073709551616"}, "--count '18446744073709551616'"},
      {{"break"}, "NAME"},
      {{"break", "a", "b"}, "'b'"},
      {{"break", "--json", "n"}, "'--json'"},
      {{"break", ""}, "''"},
      {{"break", "leasehold:n"}, "'leasehold:n'"},
      {{"run", "--redis", "bogus", "n", "--", "true"}, "the URL has no scheme"},
      // Without them another store would be used, or no password.
      {{"run", "--redis", "", "n", "--", "true"}, "the URL has no scheme"},
      {{"run", "--redis-file", "", "n", "--", "true"}, "--redis-file: the value is empty"},
      {{"status", "--redis-file=", "n"}, "--redis-file: the value is empty"},
      {{"list", "--redis-file", "f", "--redis-file="}, "--redis-file: the value is empty"},
      {{"list", "--password-file", ""}, "--password-file: the value is empty"},
      {{"list", "--password-command="}, "--password-command: the value is empty"},
      {{"status", "--redis", "redis://h:99999", "n"}, "redis://*** has a port"},
      {{"run", "--redis", "redis://a", "--redis", "redis+cluster://b", "n", "--", "true"}, "not supported"},
      {{"run", "--redis", "redis://a", "--redis", "redis://a", "n", "--", "true"}, "redis://a"},
      {{"run", "", "--", "true"}, "''"},
      {{"status", ""}, "''"},
      {{"status", long_name}, "'xxx"},
      {{"status", "leasehold:n"}, "'leasehold:n'"},
      {{"status", "--prefix", "lease", "hold:n"}, "'hold:n'"},
      {{"status", "two\nlines", "three\nlines"}, "'three\\nlines'"},
  };
  for (const auto& [arguments, at_fault] : cases) {
    const ended e = run_leasehold(arguments, {"LEASEHOLD_REDIS=unix:///nowhere"});
    BOOST_TEST_CONTEXT(e.errors) {
      BOOST_TEST(e.status == 64);
      BOOST_TEST(is_error_line(e.errors, at_fault));
      BOOST_TEST(e.errors.size() < 400U);
      BOOST_TEST(e.output == "");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bad_url_is_told_without_its_password) {
  for (const words& arguments : {words{"status", "--redis", "redis://me:secret@h:x", "n"}, words{"status", "n"}}) {
    const ended e = run_leasehold(arguments, {"LEASEHOLD_REDIS=redis://:secret@h:1:2"});
    BOOST_TEST(e.status == 64);
    BOOST_TEST(is_error_line(e.errors, "redis://*** has"));
    BOOST_TEST(!contains(e.errors, "secret"));
  }
}

// Nor is that for the Sentinels, which stands elsewhere.
BOOST_AUTO_TEST_CASE(a_store_that_does_not_answer_is_told_without_its_passwords) {
  for (const std::string user : {"", "me:secret@"}) {
    const std::string url = "redis+sentinel://" + user + "127.0.0.1:1/m?sentinel_user=you&sentinel_password=secret";
    const ended e = run_leasehold({"status", "--redis", url, "n"});
    BOOST_TEST(e.status == 69);
    BOOST_TEST(is_error_line(
        e.errors, user.empty() ? "redis+sentinel://127.0.0.1:1/m: " : "redis+sentinel://***@127.0.0.1:1/m: "));
    BOOST_TEST(!contains(e.errors, "secret"));
  }
}

BOOST_AUTO_TEST_CASE(durations_that_make_no_sense_are_refused_by_name) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a duration"},
      {"soon", "not a duration"},
      {"s", "not a duration"},
      {".5s", "not a duration"},
      {"1.s", "not a duration"},
      {"+1s", "not a duration"},
      {"1s ", "the unit must"},
      {"5S", "the unit must"},
      {"1s500ms", "the unit"},
      {"5", "the unit is missing"},
      {"-5s", "negative"},
      {"-0", "negative"},
      {"0.5ms", "whole number"},
      {"0.0001s", "whole number"},
      {"1e3ms", "the unit"},
      {"1.5", "the unit is missing"},
      {"9223372036854775808ms", "too long"},
      {"106751991168d", "too long"},
      {"99999999999999999999h", "too long"},
  };
  for (const auto& [text, reason] : cases) {
    for (const std::string option : {"--lease", "--wait", "--grace"}) {
      const ended e = run_leasehold({"run", option, text, "n", "--", "true"}, {"LEASEHOLD_REDIS=unix:///nowhere"});
      BOOST_TEST_CONTEXT(option << " " << text << ": " << e.errors) {
        BOOST_TEST(e.status == 64);
        BOOST_TEST(is_error_line(e.errors, option + " '" + text + "': "));
        BOOST_TEST(contains(e.errors, reason));
      }
    }
  }
  for (const std::string text : {"0", "0s", "31d", "2592000001ms"}) {
    const ended e = run_leasehold({"run", "--lease", text, "n", "--", "true"}, {"LEASEHOLD_REDIS=unix:///nowhere"});
    BOOST_TEST(e.status == 64);
    BOOST_TEST(is_error_line(e.errors, "--lease '" + text + "': "));
  }
}

BOOST_FIXTURE_TEST_CASE(durations_are_numbers_with_a_unit, with_leasehold) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"2500ms", 2'500}, {"5s", 5'000},          {"2m", 120'000},
      {"1h", 3'600'000}, {"30d", 2'592'000'000}, {"1.5s", 1'500},
      {"0.25m", 15'000}, {"0.0000025d", 216},    {"1.50000000000000s", 1'500},
  };
  for (const auto& [text, milliseconds] : cases) {
    // Beside the lease's real length, the command finds what is left of it.
    const auto left_in = [](const ended& e) { return std::stoll("0" + e.output); };
    const ended e = best_of_five(
        [&, text = text] {
          return run({"run", "--lease", text, "n", "--", "redis-cli", "-s", redis.socket_path(), "PTTL", "n"});
        },
        [&, least = milliseconds - 2'000](const ended& one) { return one.status == 0 && left_in(one) > least; });
    BOOST_TEST_CONTEXT(text << " " << e.errors) {
      BOOST_TEST(e.status == 0);
      BOOST_TEST(left_in(e) <= milliseconds);
      BOOST_TEST(left_in(e) > milliseconds - 2'000);
    }
  }
  for (const std::string wait : {"0", "0ms", "0s", "9223372036854775807ms", "106751991167d"}) {
    BOOST_TEST(run({"run", "--wait", wait, "--grace", wait, "n", "--", "true"}).status == 0);
  }
}

BOOST_FIXTURE_TEST_CASE(the_last_of_two_options_counts, with_leasehold) {
  BOOST_TEST(
      run({"run", "--prefix", "a:", "--prefix=b:", "n", "--", "redis-cli", "-s", redis.socket_path(), "EXISTS", "b:n"})
          .output == "1\n");
}

// CLI11 has a use for it, and would lose it silently.
BOOST_AUTO_TEST_CASE(two_plus_signs_are_not_lost) {
  for (const words& arguments : {words{"run", "a", "++", "--", "true"}, words{"run", "++", "--", "true"},
                                 words{"status", "++"}, words{"run", "--prefix", "++", "a", "--", "true"}}) {
    const ended e = run_leasehold(arguments, {"LEASEHOLD_REDIS=unix:///nowhere"});
    BOOST_TEST(e.status == 64);
    BOOST_TEST(is_error_line(e.errors, "'++'"));
  }
}

BOOST_AUTO_TEST_CASE(names_that_are_too_long_together_are_refused) {
  const ended e = run_leasehold({"run", std::string(65536, 'a'), std::string(65536, 'b'), "--", "true"},
                                {"LEASEHOLD_REDIS=unix:///nowhere"});
  BOOST_TEST(e.status == 64);
  BOOST_TEST(is_error_line(e.errors, "LEASEHOLD_NAME"));
}

BOOST_AUTO_TEST_CASE(names_whose_tokens_are_too_long_together_are_refused) {
  words arguments{"run"};
  for (int i = 0; i < 3000; ++i) arguments.push_back(std::to_string(i));
  arguments.insert(arguments.end(), {"--", "true"});
  const ended e = run_leasehold(arguments, {"LEASEHOLD_REDIS=unix:///nowhere"});
  BOOST_TEST(e.status == 64);
  BOOST_TEST(is_error_line(e.errors, "LEASEHOLD_TOKEN"));
}

BOOST_AUTO_TEST_CASE(no_password_is_shown_of_a_broken_url) {
  for (const std::string url :
       {"u:secret@localhost", "redis//u:secret@h", "redis://u:se secret@h", "redis://u:secret word@h",
        "redis://h redis://u:secret", "redis://secret@h", "redis://u:p@ss?secret@h", "redis://h?password=secret",
        "redis://h?auth=secret", "redis+sentinel://h/m?sentinel-password=secret", "redis://u:secret",
        "redis://u:p@a redis://u:secret@b:x redis://u:p@c", "redis://h?secret"}) {
    const ended e = run_leasehold({"status", "n"}, {"LEASEHOLD_REDIS=" + url});
    BOOST_TEST(e.status == 64, url);
    BOOST_TEST(is_error_line(e.errors, "invalid url: "), e.errors);
    BOOST_TEST(!contains(e.errors, "secret"), e.errors);
    BOOST_TEST(e.output == "");
    // Completion says nothing at all.
    const ended c = run_leasehold({"__complete", "status", ""}, {"LEASEHOLD_REDIS=" + url});
    BOOST_TEST(!contains(c.output + c.errors, "secret"), c.output + c.errors);
  }
}

BOOST_AUTO_TEST_CASE(no_password_is_shown_of_a_url_in_the_wrong_place) {
  for (const auto& arguments :
       {words{"list", "redis://:secret@h"}, words{"watch", "--", "redis://:secret@h"}, words{"u:secret@h"},
        words{"run", "u:secret@h"}, words{"run", "n", "redis://u:secret"}, words{"list", "redis//u:secret@h"},
        words{"run", "--lease", "u:secret@h", "n", "--", "true"}}) {
    const ended e = run_leasehold(arguments, {"LEASEHOLD_REDIS=unix:///nowhere"});
    BOOST_TEST(e.status == 64);
    BOOST_TEST(is_error_line(e.errors, "***"), e.errors);
    BOOST_TEST(!contains(e.errors, "secret"), e.errors);
  }
}

BOOST_AUTO_TEST_CASE(no_value_is_shown_of_an_unknown_option) {
  const std::pair<words, std::string> cases[] = {
      {{"list", "--redi=redis://:secret@h"}, "list: unknown option '--redi'"},
      {{"list", "--password=secret"}, "unknown option '--password'"},
      {{"list", "--pass=secret"}, "unknown option '--pass'"},
      {{"--redis=redis://:secret@h", "list"}, "unknown option '--redis'"},
      {{"--passwd=secret", "list"}, "unknown option '--passwd'"},
      {{"run", "-psecret", "n", "--", "true"}, "unknown option '-p'"},
      {{"run", "n", "--pass=secret"}, "unknown option '--pass'"}};
  for (const auto& [arguments, text] : cases) {
    const ended e = run_leasehold(arguments, {"LEASEHOLD_REDIS=unix:///nowhere"});
    BOOST_TEST(e.status == 64);
    BOOST_TEST(is_error_line(e.errors, text), e.errors);
    BOOST_TEST(!contains(e.errors, "secret"), e.errors);
  }
}

BOOST_AUTO_TEST_CASE(a_closed_standard_output_is_one_that_cannot_be_written) {
  child c({"sh", "-c", "exec \"$0\" --version >&-", LEASEHOLD_CLI_PATH});
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "standard output"));
}

#ifndef __SANITIZE_ADDRESS__  // The sanitizers need descriptors of their own.
// Too few descriptors for Asio.
BOOST_AUTO_TEST_CASE(what_the_system_refuses_is_told_as_that) {
  child c({"sh", "-c", "exec 3>&-; ulimit -n 4; exec \"$0\" run n -- true", LEASEHOLD_CLI_PATH},
          {"LEASEHOLD_REDIS=unix:///nowhere"});
  const ended e = end_of(c);
  BOOST_TEST(e.status == 71);
  BOOST_TEST(is_error_line(e.errors, "Too many open files"), e.errors);
  BOOST_TEST(!contains(e.errors, "/"), e.errors);  // The path of a header that was built with.
}
#endif

BOOST_AUTO_TEST_CASE(help_that_cannot_be_written_is_an_error) {
  for (const std::string what : {"--help", "--version", "run --help"}) {
    child c({"sh", "-c", "exec \"$0\" " + what + " > /dev/full", LEASEHOLD_CLI_PATH});
    const ended e = end_of(c);
    BOOST_TEST(e.status == 74);
    BOOST_TEST(is_error_line(e.errors, "standard output"));
  }
}

BOOST_FIXTURE_TEST_CASE(words_after_the_separator_belong_to_the_command, with_leasehold) {
  const ended e =
      run({"run", "--prefix=", "n", "--", "printf", "[%s]", "--lease", "--", "", "-h", "a b", "++", "[x]", "{}"});
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.output == "[--lease][--][][-h][a b][++][[x]][{}]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
