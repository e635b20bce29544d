// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/refusal.hpp"
#include "support/unit_test.hpp"

namespace leasehold::test {

using namespace detail;

BOOST_AUTO_TEST_SUITE(refusals)

BOOST_AUTO_TEST_CASE(what_passes_is_tried_again) {
  for (const char* words :
       {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.",
        "TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN The cluster is down",
        "MASTERDOWN Link with MASTER is down", "MOVED 1 127.0.0.1:7000", "ASK 1 127.0.0.1:7000",
        "ERR Script attempted to access a non local key in a cluster node script: 59b8, on @user_script:122.",
        "ERR Attempted to access a non local key in a cluster node script: on @user_script:1.",
        "ERR Unable to execute command 'exists' in script because undeclared keys were accessed "
        "during rehashing of the slot script: 59b8, on @user_script:122.",
        "ERR Error running script (call to f_1): @user_script:3: -LOADING Redis is loading"}) {
    BOOST_TEST(is_temporary(classify(words)), words);
  }
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_being_moved_is_told_from_other_reasons) {
  BOOST_TEST((classify("TRYAGAIN Multiple keys request during rehashing of slot") == refusal::moving_slot));
  BOOST_TEST((classify("LOADING Redis is loading the dataset in memory") == refusal::try_again));
  BOOST_TEST(is_temporary(refusal::no_majority));
  BOOST_TEST(is_redirection("ASK 1 127.0.0.1:7000"));
  BOOST_TEST(!is_moved("ASK 1 127.0.0.1:7000"));
  BOOST_TEST(is_moved("MOVED 1 127.0.0.1:7000"));
  BOOST_TEST(!is_redirection("MOVED"));
}

BOOST_AUTO_TEST_CASE(what_stays_is_told) {
  for (const char* words :
       {"NOAUTH Authentication required.", "NOPERM this user has no permissions",
        "READONLY You can't write against a read only replica.", "OOM command not allowed", "ERR", ""}) {
    BOOST_TEST((classify(words) == refusal::no), words);
  }
  BOOST_TEST((classify("WRONGTYPE Operation against a key") == refusal::wrong_type));
}

BOOST_AUTO_TEST_CASE(what_passes_with_the_state_of_a_server_is_told_from_a_missing_right) {
  for (const char* words : {"MISCONF Redis is configured to save RDB snapshots", "NOREPLICAS Not enough good replicas",
                            "READONLY You can't write against a read only replica."}) {
    BOOST_TEST(may_pass(words), words);
  }
  for (const char* words : {"NOPERM this user has no permissions", "OOM command not allowed", "NOAUTH", "BUSY Redis"}) {
    BOOST_TEST(!may_pass(words), words);
  }
}

BOOST_AUTO_TEST_CASE(a_channel_is_refused_for_good_by_a_missing_right_and_not_by_a_password) {
  BOOST_TEST(is_lasting("NOPERM this user has no permissions to run the 'ssubscribe' command"));
  BOOST_TEST(is_lasting("ERR unknown command 'SSUBSCRIBE'"));
  BOOST_TEST(!is_lasting("NOAUTH Authentication required."));
  BOOST_TEST(!is_lasting("WRONGPASS invalid username-password pair"));
  BOOST_TEST(!is_lasting("CLUSTERDOWN The cluster is down"));
}

BOOST_AUTO_TEST_CASE(a_server_that_wants_tagged_keys_says_so) {
  BOOST_TEST(is_cross_slot("CROSSSLOT Keys in request don't hash to the same slot"));
  BOOST_TEST(wants_tagged_keys("CROSSSLOT Keys in request don't hash to the same slot"));
  BOOST_TEST(is_cross_slot("ERR 'a' and 'b' not in the same slot"));
  BOOST_TEST(is_cross_slot("ERR eval/evalsha command keys must be in same slot"));
  // As Redis 7, Redis 6 and a bundle wrap it.
  for (const char* words :
       {"ERR user_script:7: leasehold: the keys of this server are tagged; see ?keys=tagged script: 59b8, on "
        "@user_script:7.",
        "ERR Error running script (call to f_1): @user_script:7: user_script:7: leasehold: the keys of this server are "
        "tagged; see ?keys=tagged",
        "ERR Error running script: user_script:7: leasehold: the keys of this server are tagged; see ?keys=tagged "
        "script: bundle"}) {
    BOOST_TEST(wants_tagged_keys(words), words);
    BOOST_TEST(!is_cross_slot(words), words);
    BOOST_TEST((classify(words) == refusal::no), words);
  }
  BOOST_TEST(!wants_tagged_keys("ERR leasehold: the fence counter leasehold:{0}:fence is out of range"));
  BOOST_TEST(!wants_tagged_keys("MOVED 1 127.0.0.1:7000"));
}

BOOST_AUTO_TEST_CASE(a_script_that_fails_on_its_way_may_have_written) {
  BOOST_TEST(
      may_have_written("OOM command not allowed when used memory > 'maxmemory'. script: 59b8, on @user_script:7."));
  BOOST_TEST(may_have_written("ERR Error running script (call to f_1): @user_script:3: -OOM"));
  BOOST_TEST(!may_have_written("WRONGTYPE n is not a mutex"));
  BOOST_TEST(may_have_written("BUSY it says so. script: 59b8, on @user_script:7."));
  BOOST_TEST(
      !may_have_written("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."));
  BOOST_TEST(!may_have_written("NOAUTH Authentication required."));
}

BOOST_AUTO_TEST_CASE(a_command_that_is_missing_is_named_with_what_it_is_for) {
  const auto lacks = [](const char* words, const std::string& command) {
    return why_it_cannot_serve(words).starts_with("the server does not know " + command + ": ");
  };
  BOOST_TEST(lacks("ERR unknown command 'EVALSHA', with args beginning with: 'HELLO' ", "EVALSHA"));
  BOOST_TEST(lacks("ERR unknown command `evalsha`, with args beginning with: ", "EVALSHA"));
  BOOST_TEST(lacks("ERR unsupported command `subscribe`", "SUBSCRIBE"));
  BOOST_TEST(lacks("unsupported command 'HELLO'", "HELLO"));
  BOOST_TEST(lacks("ERR handle request, command 'PUBLISH' is not allowed", "PUBLISH"));
  BOOST_TEST(lacks("ERR unknown command 'TIME'", "TIME"));
  BOOST_TEST(why_it_cannot_serve("ERR only (P)SUBSCRIBE / PING / QUIT allowed in this context") == why_no_resp3());
  BOOST_TEST(why_it_cannot_serve("NOPROTO sorry") == why_no_resp3());
}

BOOST_AUTO_TEST_CASE(other_words_are_not_replaced) {
  for (const char* words :
       {"NOPERM this user has no permissions to run the 'evalsha' command", "OOM command not allowed when used memory",
        "ERR unknown command 'FOO', with args beginning with: 'EVALSHA' ", "ERR not supported", "",
        "ERR Unknown Redis command called from script script: 59b8, on @user_script:122.",
        "WRONGPASS invalid username-password pair or user is disabled."}) {
    BOOST_TEST(why_it_cannot_serve(words) == words);
  }
}

BOOST_AUTO_TEST_CASE(what_is_about_the_password_is_told_from_other_reasons) {
  BOOST_TEST(is_about_password("WRONGPASS invalid username-password pair or user is disabled."));
  BOOST_TEST(is_about_password("NOAUTH Authentication required."));
  BOOST_TEST(is_about_password("ERR invalid password"));
  BOOST_TEST(!is_about_password("NOPERM this user has no permissions"));
  BOOST_TEST(!is_about_password("ERR NOAUTH"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
