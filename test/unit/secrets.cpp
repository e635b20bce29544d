// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/secrets.hpp"

#include "fuzz/broken_urls.hpp"
#include "store/redis/connections.hpp"
#include "support/rarer.hpp"
#include "support/unit_test.hpp"

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

using detail::secrets;
using detail::without_credentials;

namespace {

// One of many small mistakes, at a place that the engine chooses.
void damage(std::string& text, std::minstd_rand& random) {
  static constexpr std::string_view pieces[] = {"@",
                                                ":",
                                                "/",
                                                "?",
                                                "#",
                                                "&",
                                                "%",
                                                "%4",
                                                ",",
                                                "[",
                                                "]",
                                                " ",
                                                "=",
                                                "//",
                                                "://",
                                                "\n",
                                                std::string_view("\0", 1),
                                                "password=",
                                                "auth=",
                                                "ca=",
                                                "sentinel_password=",
                                                "db=",
                                                "redis://",
                                                "unix://",
                                                "h",
                                                "7"};
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const std::size_t at = below(text.size() + 1);
  switch (below(5)) {
    case 0: text.erase(at, 1 + below(3)); break;
    case 1: text.insert(at, pieces[below(std::size(pieces))]); break;
    case 2:
      if (at < text.size()) text[at] = pieces[below(std::size(pieces))][0];
      break;
    case 3: text.insert(at, text.substr(below(text.size() + 1), below(8))); break;
    default:
      if (at + 1 < text.size()) std::swap(text[at], text[at + 1]);
      break;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(secrets_in_texts)

BOOST_AUTO_TEST_CASE(a_url_that_is_understood_is_shown_without_its_credentials) {
  BOOST_TEST(without_credentials("redis://h:1/2") == "redis://h:1/2");
  BOOST_TEST(without_credentials("redis://u:p@h:1/2") == "redis://***@h:1/2");
  BOOST_TEST(without_credentials("redis://:p@h") == "redis://***@h");
  BOOST_TEST(without_credentials("rediss://u:p@h?ca=/x") == "rediss://***@h");
  // Rather too much than too little: a password that is not escaped may contain anything.
  BOOST_TEST(without_credentials("unix://u:p@/run/x@y") == "unix://***@y");
  BOOST_TEST(without_credentials("rediss://u:1?ca=p@h") == "rediss://***");
  BOOST_TEST(without_credentials("redis+sentinel://u:p@h:1,i:2/m?sentinel_user=v&sentinel_password=q") ==
             "redis+sentinel://***@h:1,i:2/m");
  // A parameter in the place of a path is the name of a master.
  BOOST_TEST(without_credentials("redis+sentinel://h/sentinel_password=q/2") ==
             "redis+sentinel://h/sentinel_password***");
  BOOST_TEST(without_credentials("redis://u:p@Password=q") == "redis://***@Password***");
}

BOOST_AUTO_TEST_CASE(a_url_that_is_not_understood_shows_no_secret) {
  const std::string s(known_secret);
  for (const std::string& url : {"u:" + s + "@localhost",
                                 "redis//u:" + s + "@h",
                                 "redis:/u:" + s + "@h",
                                 "redis://u:pass word" + s + "@h",
                                 "redis://u:p@ss?" + s + "@h",
                                 "redis://h?password=" + s,
                                 "redis://h?auth=" + s,
                                 "redis://h?sentinel-password=" + s,
                                 "redis+sentinel://h/m?sentinel-password=" + s,
                                 "redis+sentinel://h/m?" + s,
                                 "redis://h?" + s + "=1",
                                 "redis://u:" + s,
                                 "redis://" + s + "@h",
                                 "redis://u:" + s + "@",
                                 s,
                                 s + "://h",
                                 "redis://" + s + ":x",
                                 "redis://h/" + s,
                                 "redis://h:" + s,
                                 "redis://u:p@h#" + s,
                                 "redis://u:%zz" + s + "@h",
                                 "unix://" + s,
                                 "redis+cluster://h/" + s,
                                 "rediss://h?insecure=" + s,
                                 "unix:///x?db=" + s,
                                 "redis://h?db=" + s}) {
    BOOST_TEST(check_broken_url(url) == "", url);
    BOOST_CHECK_THROW(detail::parse_url(url), exception);
  }
}

BOOST_AUTO_TEST_CASE(a_broken_url_is_named_by_its_scheme_and_number) {
  const auto said = [](const std::string& url, std::string_view which = {}) {
    try {
      detail::parse_url(url, which);
    } catch (const exception& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  BOOST_TEST(said("redis://u:p@h:x") == "invalid url: redis://*** has a port that is not a number from 1 to 65535");
  BOOST_TEST(said("redis://h:0", "URL 2 of 3: ").starts_with("invalid url: URL 2 of 3: redis://*** has a port"));
  BOOST_TEST(said("localhost:6379").starts_with("invalid url: the URL has no scheme: known are redis, "));
  // Only the names of known parameters are repeated.
  BOOST_TEST(said("redis://h?ca=/x").find("'ca'") != std::string::npos);
  BOOST_TEST(said("redis://h?colour=x").find("colour") == std::string::npos);
}

// As libFuzzer does it in test/fuzz, with mistakes of a simpler kind.
BOOST_AUTO_TEST_CASE(no_mistake_in_a_url_shows_its_secret) {
  const std::string s(known_secret);
  const std::vector<std::string> whole{"redis://u:S@localhost:6379/1",
                                       "redis://:S@[::1]:6379",
                                       "rediss://u:S@h?ca=/x&insecure=1",
                                       "unix://u:S@/run/redis.sock?db=2",
                                       "redis+sentinel://u:S@h1:1,h2/m/3?sentinel_user=v&sentinel_password=w",
                                       "redis+sentinel://u:p@h1,h2/m?sentinel_user=v&sentinel_password=S",
                                       "redis+cluster://u:S@h1:7000,h2",
                                       "u:S@h"};
  std::minstd_rand random(20261122);
  std::size_t shown = 0;
  for (unsigned i = 0; i < 100000 / rarer && shown < 10; ++i) {
    const std::string& url = whole[random() % whole.size()];
    std::string before = url.substr(0, url.find('S')), after = url.substr(url.find('S') + 1);
    for (auto n = 1 + random() % 4; n != 0; --n) damage(random() % 2 == 0 ? before : after, random);
    const std::string broken = before + s + after;
    const std::string wrong = check_broken_url(broken);
    if (!wrong.empty()) ++shown;
    BOOST_REQUIRE_MESSAGE(wrong.empty(), broken << ": " << wrong);
  }
}

BOOST_AUTO_TEST_CASE(a_servers_words_never_repeat_a_credential) {
  const secrets all({"alice", "s3cret-word", "s3cret", "a b\r\nc-long", "xy", "***", ""});
  BOOST_TEST(all.hide("") == "");
  BOOST_TEST(all.hide("NOAUTH Authentication required.") == "NOAUTH Authentication required.");
  BOOST_TEST(all.hide("'AUTH' 'alice' 's3cret-word' 's3cret'") == "'AUTH' '***' '***' '***'");
  BOOST_TEST(all.hide("xs3cretx") == "x***x");
  // An error is one line.
  BOOST_TEST(all.hide("'a b  c-long'") == "'***'");
  // A short one is a part of many words.
  BOOST_TEST(all.hide("proxy 'xy' xy") == "proxy '***' ***");
  // A server that repeats the beginning of a long one.
  const secrets one({std::string(200, 'k')});
  BOOST_TEST(one.hide("'" + std::string(90, 'k') + "' '") == "'***' '");
  BOOST_TEST(one.hide("'" + std::string(250, 'k') + "'") == "'***'");
  // What looks like the beginning of a credential may hide where it really begins.
  const secrets dashes({"----------word"});
  BOOST_TEST(dashes.hide("'-----------word'") == "'***'");
  BOOST_TEST(secrets().hide("anything") == "anything");
}

BOOST_AUTO_TEST_CASE(the_latest_that_were_added_are_hidden_too) {
  secrets s({"of-the-url"});
  for (std::size_t i = 0; i < 2 * secrets::most_added; ++i) s.add("added-" + std::to_string(i) + "-");
  BOOST_TEST(s.hide("of-the-url") == "***");
  BOOST_TEST(s.hide("added-" + std::to_string(2 * secrets::most_added - 1) + "-") == "***");
  BOOST_TEST(s.hide("added-" + std::to_string(secrets::most_added) + "-") == "***");
  // What is in use again is one of the latest.
  const std::string oldest = "added-" + std::to_string(secrets::most_added) + "-";
  s.add(oldest);
  s.add("another");
  BOOST_TEST(s.hide(oldest) == "***");
  BOOST_TEST(s.hide("added-0-") == "added-0-");
  s.add("");
  s.add("***");
  s.add("of-the-url");
  BOOST_TEST(s.hide("a *** b") == "a *** b");
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_know_hello_is_not_quoted) {
  for (const char* words : {"ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'p' ",
                            "ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `p`, ",
                            "ERR unknown command 'HELLO'", "ERR unsupported command 'hello'"}) {
    BOOST_TEST(detail::why_no_hello(words) ==
               "the server does not know HELLO: Redis 6.2 or later is needed; connect to Redis itself, or through a "
               "proxy that passes it on");
  }
  for (const char* words : {"WRONGPASS invalid username-password pair or user is disabled.",
                            "LOADING Redis is loading the dataset in memory"}) {
    BOOST_TEST(detail::why_no_hello(words) == words);
  }
}

BOOST_AUTO_TEST_CASE(a_file_is_named_unless_it_looks_like_a_password) {
  BOOST_TEST(detail::file_in_quotes("/etc/ssl/ca.pem") == "'/etc/ssl/ca.pem'");
  for (const char* name : {"/xsentinel_password=p", "p@h", "/xsentinel_passwordp"}) {
    BOOST_TEST(detail::file_in_quotes(name) == "'***'");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
