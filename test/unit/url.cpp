// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/url.hpp"

#include "support/unit_test.hpp"

#include <leasehold/error.hpp>

#include <algorithm>
#include <string>

using leasehold::detail::address;
using leasehold::detail::is_same_server;
using leasehold::detail::parse_url;

namespace {

// The text of the refusal, or "" if the URL is taken.
std::string refusal(const std::string& url) {
  try {
    parse_url(url);
    return "";
  } catch (const leasehold::system_error& e) {  // Every exception of the library is one.
    BOOST_TEST((e.code() == leasehold::error::invalid_url));
    return e.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(urls)

BOOST_AUTO_TEST_CASE(a_host_alone_has_the_usual_port_and_database) {
  const address a = parse_url("redis://example.org");
  BOOST_TEST((a.kind == address::scheme::redis));
  BOOST_REQUIRE(a.hosts.size() == 1U);
  BOOST_TEST(a.hosts[0].host == "example.org");
  BOOST_TEST(a.hosts[0].port == "6379");
  BOOST_TEST(a.database == 0U);
  BOOST_TEST(a.user == "");
  BOOST_TEST(a.password == "");
  BOOST_TEST(a.verify);
}

BOOST_AUTO_TEST_CASE(everything_can_be_given) {
  const address a = parse_url("redis://alice:s3cret@10.0.0.1:7000/5");
  BOOST_TEST(a.user == "alice");
  BOOST_TEST(a.password == "s3cret");
  BOOST_TEST(a.shown == "redis://***@10.0.0.1:7000/5");
  BOOST_TEST(a.hosts.at(0).host == "10.0.0.1");
  BOOST_TEST(a.hosts.at(0).port == "7000");
  BOOST_TEST(a.database == 5U);
}

BOOST_AUTO_TEST_CASE(a_password_may_stand_alone_and_be_escaped) {
  const address a = parse_url("redis://:p%40ss%3aw%2Frd@h");
  BOOST_TEST(a.user == "");
  BOOST_TEST(a.password == "p@ss:w/rd");
  // As it is written and as it is meant.
  const auto has = [&a](const char* s) { return std::count(a.secrets.begin(), a.secrets.end(), s) == 1; };
  BOOST_TEST(has("p%40ss%3aw%2Frd"));
  BOOST_TEST(has("p@ss:w/rd"));
}

BOOST_AUTO_TEST_CASE(a_password_may_contain_colons_and_at_signs) {
  const address a = parse_url("redis://u:a:b@c@h:1");
  BOOST_TEST(a.user == "u");
  BOOST_TEST(a.password == "a:b@c");
  BOOST_TEST(a.hosts.at(0).host == "h");
}

BOOST_AUTO_TEST_CASE(an_ipv6_address_stands_in_brackets) {
  const address a = parse_url("redis://[::1]:6380/2");
  BOOST_TEST(a.hosts.at(0).host == "::1");
  BOOST_TEST(a.hosts.at(0).port == "6380");
  BOOST_TEST(a.database == 2U);
  BOOST_TEST(refusal("redis://[::1") != "");
  BOOST_TEST(refusal("redis://::1") != "");
  BOOST_TEST(refusal("redis://[::1]x:1") != "");
}

BOOST_AUTO_TEST_CASE(a_name_for_tls_is_one_of_a_host) {
  BOOST_TEST(parse_url("rediss://10.0.0.1?tls_server_name=cache.example").server_name == "cache.example");
  BOOST_TEST(parse_url("rediss+cluster://h?tls_server_name=a-b_c.example").server_name == "a-b_c.example");
  BOOST_TEST(parse_url("rediss://h").server_name == "");
  for (const std::string url : {"redis://h?tls_server_name=x", "unix:///p?tls_server_name=x",
                                "rediss://h?tls_server_name=", "rediss://h?tls_server_name=a%00b",
                                "rediss://h?tls_server_name=a%20b", "rediss://h?tls_server_name=a/b"}) {
    BOOST_TEST(refusal(url).find("tls_server_name") != std::string::npos, url);
  }
  BOOST_TEST(refusal("rediss://h?tls_server_name=" + std::string(255, 'a')) == "");
  BOOST_TEST(refusal("rediss://h?tls_server_name=" + std::string(256, 'a')) != "");
}

BOOST_AUTO_TEST_CASE(tls_has_its_options) {
  BOOST_TEST(parse_url("rediss://h").verify);
  BOOST_TEST((parse_url("rediss://h").kind == address::scheme::rediss));
  BOOST_TEST(!parse_url("rediss://h?insecure=1").verify);
  BOOST_TEST(parse_url("rediss://h/3?insecure=0").verify);
  const address a = parse_url("rediss://h:1/3?ca=/etc/my%20ca.pem&insecure=1");
  BOOST_TEST(a.ca == "/etc/my ca.pem");
  BOOST_TEST(!a.verify);
  BOOST_TEST(a.database == 3U);
  const address b = parse_url("rediss://h?cert=/a.pem&key=/b.pem");
  BOOST_TEST(b.certificate == "/a.pem");
  BOOST_TEST(b.key == "/b.pem");
  for (const auto* url : {"rediss://h?cert=/a.pem", "rediss://h?key=/b.pem",
                          "rediss://h?cert=&key=", "redis://h?cert=/a&key=/b", "rediss://h?cert=/a&key="}) {
    BOOST_TEST(refusal(url) != "", url);
  }
  BOOST_TEST(refusal("rediss://h?insecure=yes") != "");
  BOOST_TEST(refusal("rediss://h?ca=") != "");
  // Without TLS they would promise what nobody keeps.
  BOOST_TEST(refusal("redis://h?insecure=1") != "");
  BOOST_TEST(refusal("redis://h?ca=/x") != "");
}

BOOST_AUTO_TEST_CASE(one_address_may_have_tagged_keys) {
  for (const auto* url : {"redis://h?keys=tagged", "rediss://u:p@h/3?insecure=1&keys=tagged", "unix:///s?keys=tagged",
                          "redis+sentinel://h/m?keys=tagged", "memory:s0?keys=tagged"}) {
    BOOST_TEST(parse_url(url).has_tagged_keys, url);
  }
  for (const auto* url : {"redis://h", "memory:s0", "redis+cluster://h"})
    BOOST_TEST(!parse_url(url).has_tagged_keys, url);
  BOOST_TEST(parse_url("memory:s0?keys=tagged").hosts.front().host == "s0");
  // In a cluster they always have.
  for (const auto* url :
       {"redis://h?keys=", "redis://h?keys=plain", "redis+cluster://h?keys=tagged", "memory:s0?keys=x",
        "memory:s0?db=1", "memory:?keys=tagged", "memory+cluster:s0?keys=tagged"}) {
    BOOST_TEST(refusal(url) != "", url);
  }
}

BOOST_AUTO_TEST_CASE(a_unix_socket_has_a_path) {
  const address a = parse_url("unix:///run/redis%20a.sock?db=4");
  BOOST_TEST((a.kind == address::scheme::unix_socket));
  BOOST_TEST(a.path == "/run/redis a.sock");
  BOOST_TEST(a.database == 4U);
  BOOST_TEST(a.hosts.empty());
  const address b = parse_url("unix://u:p@/run/redis.sock");
  BOOST_TEST(b.user == "u");
  BOOST_TEST(b.password == "p");
  BOOST_TEST(b.path == "/run/redis.sock");
  BOOST_TEST(refusal("unix://relative/path") != "");
  BOOST_TEST(refusal("unix://") != "");
  BOOST_TEST(refusal("unix:///" + std::string(107, 'x')) != "");
  BOOST_TEST(refusal("unix:///" + std::string(106, 'x')) == "");
  BOOST_TEST(refusal("unix:///a%00b") != "");
}

BOOST_AUTO_TEST_CASE(sentinel_and_cluster_are_understood) {
  const address s = parse_url("redis+sentinel://u:p@h1:26380,h2,[::1]/my-master/3");
  BOOST_TEST((s.kind == address::scheme::sentinel));
  BOOST_REQUIRE(s.hosts.size() == 3U);
  BOOST_TEST(s.hosts[0].port == "26380");
  BOOST_TEST(s.hosts[1].port == "26379");
  BOOST_TEST(s.hosts[2].host == "::1");
  BOOST_TEST(s.master == "my-master");
  BOOST_TEST(s.database == 3U);
  const address c = parse_url("redis+cluster://h1:7000,h2:7001");
  BOOST_TEST((c.kind == address::scheme::cluster));
  BOOST_TEST(c.hosts.size() == 2U);
  BOOST_TEST(!c.tls);
  BOOST_TEST(parse_url("redis+cluster://h").hosts.at(0).port == "6379");
  const address t = parse_url("rediss+cluster://h");
  BOOST_TEST((t.kind == address::scheme::cluster));
  BOOST_TEST(t.hosts.at(0).port == "6379");
  BOOST_TEST(t.tls);
  BOOST_TEST(refusal("redis+sentinel://h1") != "");
  BOOST_TEST(refusal("redis+cluster://h1/1") != "");
}

BOOST_AUTO_TEST_CASE(sentinels_have_parameters) {
  const address s = parse_url("redis+sentinel://h/m?sentinel_user=al%20ice&sentinel_password=p%26%40s");
  BOOST_TEST(s.sentinel_user == "al ice");
  BOOST_TEST(s.sentinel_password == "p&@s");
  BOOST_TEST(s.user == "");
  BOOST_TEST(!s.tls);
  const address t = parse_url("rediss+sentinel://h/m/2?insecure=1&ca=/x&sentinel_password=p");
  BOOST_TEST((t.kind == address::scheme::sentinel));
  BOOST_TEST(t.tls);
  BOOST_TEST(!t.verify);
  BOOST_TEST(t.ca == "/x");
  BOOST_TEST(t.database == 2U);
  BOOST_TEST(refusal("redis+sentinel://h/m?sentinel_user=alice") != "");
  BOOST_TEST(refusal("redis+sentinel://h/m?insecure=1") != "");
  for (const char* url :
       {"redis://h?sentinel_password=hunter2", "redis+sentinel://h/m?sentinel_password=hun&ter2",
        "redis+sentinel://h/m?sentinel_password=hun%zter2", "redis+sentinel://h?sentinel_password=hunter2",
        "redis+sentinel://u:hun?sentinel_password=t@ter2@h/m", "redis+sentinel://h/m?sentinel_password=hun#ter2",
        "redis+sentinel://u:hun@ter2@h:x/m?sentinel_password=hunter2", "redis+sentinel://u:12/hunter2@h:26379",
        "redis+sentinel://u:12/hunter2@h:26379/m"}) {
    BOOST_TEST_CONTEXT(url) {
      const std::string text = refusal(url);
      BOOST_TEST(text != "");
      BOOST_TEST(text.find("ter2") == text.npos, text);
    }
  }
}

// A quorum counts each server once.
BOOST_AUTO_TEST_CASE(one_server_is_told_from_another) {
  const auto same = [](const char* a, const char* b) {
    const bool found = is_same_server(parse_url(a), parse_url(b));
    BOOST_TEST(is_same_server(parse_url(b), parse_url(a)) == found);
    return found;
  };
  BOOST_TEST(same("redis://h:1", "redis://h:1/2"));
  BOOST_TEST(same("redis://h", "redis://h:6379"));
  BOOST_TEST(same("redis://h", "redis://h:06379"));
  BOOST_TEST(same("redis://Host:1", "redis://hOST:1"));
  BOOST_TEST(!same("redis://h:1", "redis://h:2"));
  BOOST_TEST(!same("redis://a", "redis://b"));
  BOOST_TEST(same("redis://[::1]", "redis://[0:0::0:1]"));
  BOOST_TEST(!same("redis://[::1]", "redis://[::2]"));
  BOOST_TEST(!same("redis://127.0.0.1", "redis://127.0.0.2"));
  BOOST_TEST(!same("redis://127.0.0.1", "redis://localhost"));
  BOOST_TEST(same("unix:///a", "unix:///a?db=1"));
  BOOST_TEST(!same("unix:///a", "unix:///b"));
  BOOST_TEST(!same("unix:///a", "unix:///A"));
  BOOST_TEST(!same("unix:///a", "redis://h"));
  BOOST_TEST(same("redis+sentinel://a,b/m", "redis+sentinel://b,c/m"));
  BOOST_TEST(!same("redis+sentinel://a,b/m", "redis+sentinel://b,c/n"));
  BOOST_TEST(!same("redis+sentinel://a,b/m", "redis+sentinel://c,d/m"));
  BOOST_TEST(same("memory:a", "memory:a"));
  BOOST_TEST(!same("memory:a", "memory:A"));
}

BOOST_AUTO_TEST_CASE(what_is_no_url_is_refused) {
  for (const char* url : {"",
                          "redis",
                          "redis:",
                          "redis:/",
                          "redis://",
                          "redis:///",
                          "redis://:6379",
                          "://h",
                          "http://h",
                          "REDIS//h",
                          "redis://h:0",
                          "redis://h:65536",
                          "redis://h:-1",
                          "redis://h:x",
                          "redis://h:",
                          "redis://h:1:2",
                          "redis://h/x",
                          "redis://h/-1",
                          "redis://h/99999999999999999999",
                          "redis://h/1/2",
                          "redis://h1,h2",
                          "redis://h#f",
                          "redis://h h",
                          "redis://h?unknown=1",
                          "redis://user@h",
                          "redis://%zz",
                          "redis://h%4",
                          "redis://h\n",
                          "redis://h%00x",
                          "unix:///s?db=",
                          "unix:///s?db=x",
                          "redis://h?db=1"}) {
    BOOST_TEST_CONTEXT(url) { BOOST_TEST(refusal(url) != ""); }
  }
  BOOST_TEST(refusal(std::string("redis://h\0x", 11)) != "");
}

BOOST_AUTO_TEST_SUITE_END()
