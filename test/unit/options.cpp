// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/options.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <functional>
#include <limits>
#include <string>

using namespace std::chrono_literals;
using leasehold::acquire_options;
using leasehold::backoff;
using leasehold::client_options;
using leasehold::error;
using leasehold::error_code;
using leasehold::renewal;
using leasehold::detail::check;
using leasehold::detail::check_lease;
using leasehold::detail::check_name;
using leasehold::detail::default_label;
using leasehold::detail::wrong_option;
using std::chrono::milliseconds;

// Both are values that a program may keep in constants.
static_assert(renewal::automatic == renewal::automatic);
static_assert(renewal::none == renewal::at_most(0));
static_assert(renewal::at_most(3) == renewal::at_most(3));
static_assert(renewal::at_most(3) != renewal::at_most(4));
static_assert(renewal::automatic != renewal::at_most(1000000));
static_assert(renewal::at_most(7).limit() == 7);
static_assert(backoff() == backoff{10ms, 500ms, 2.0, 1.0});
static_assert(backoff() != backoff{10ms, 500ms, 2.0, 0.5});
static_assert(leasehold::forever == milliseconds::max());
static_assert(acquire_options().renew == renewal::automatic && acquire_options().wait == leasehold::forever);

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

error_code after(const std::function<void(acquire_options&)>& change) {
  acquire_options o;
  change(o);
  return check(o);
}

// The member that check() names, or "" if all is well.
std::string refused(const std::function<void(client_options&)>& change) {
  client_options o;
  change(o);
  try {
    check(o);
    return "";
  } catch (const leasehold::exception& e) {
    BOOST_TEST((e.code() == error::invalid_option));
    BOOST_TEST(e.what() == "invalid option: " + e.option());
    return e.option();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(the_defaults_are_valid) {
  BOOST_TEST(!check(acquire_options()));
  BOOST_TEST(refused([](client_options&) {}) == "");
}

// The values are those of the pages, such as docs/guide.md and docs/troubleshooting.md.
BOOST_AUTO_TEST_CASE(the_defaults_are_those_of_the_documentation) {
  const client_options c;
  BOOST_TEST(c.label == "");
  BOOST_TEST(c.connect_timeout == 5s);
  BOOST_TEST(c.command_timeout == 2s);
  BOOST_TEST(c.drift == 0.01);
  BOOST_TEST(c.drift_floor == 2ms);
  BOOST_TEST(c.cohort == 10ms);
  BOOST_TEST(c.restart_delay == 30s);
  BOOST_TEST(c.idle_timeout == 1s);
  BOOST_TEST(c.slow_wait == leasehold::forever);
  BOOST_TEST(!c.repair_missing_expiry);
  BOOST_TEST(!c.redisson);
  const acquire_options a;
  BOOST_TEST(a.lease == 30s);
  BOOST_TEST(a.wait == leasehold::forever);
  BOOST_TEST((a.renew == renewal::automatic));
  BOOST_TEST((a.retry == backoff()));
  BOOST_TEST(a.retry.max == 500ms);
  BOOST_TEST(a.replicas == 0U);
  BOOST_TEST(a.margin == 0ms);
  BOOST_TEST(a.at_least == 0ms);
  BOOST_TEST(a.linger == 0ms);
}

BOOST_AUTO_TEST_CASE(a_lease_is_one_millisecond_to_thirty_days) {
  BOOST_TEST(!check_lease(1ms));
  BOOST_TEST(!check_lease(30s));
  BOOST_TEST(!check_lease(std::chrono::hours(24 * 30)));
  BOOST_TEST((check_lease(0ms) == error::invalid_option));
  BOOST_TEST((check_lease(-1ms) == error::invalid_option));
  BOOST_TEST((check_lease(std::chrono::hours(24 * 30) + 1ms) == error::invalid_option));
  BOOST_TEST((check_lease(milliseconds::max()) == error::invalid_option));
  BOOST_TEST((check_lease(milliseconds::min()) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.lease = 0ms; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.lease = leasehold::forever; }) == error::invalid_option));
  BOOST_TEST(!after([](auto& o) { o.lease = 1ms; }));
}

BOOST_AUTO_TEST_CASE(a_wait_is_zero_or_more) {
  BOOST_TEST(!after([](auto& o) { o.wait = 0ms; }));
  BOOST_TEST(!after([](auto& o) { o.wait = milliseconds::max() - 1ms; }));
  BOOST_TEST(!after([](auto& o) { o.wait = leasehold::forever; }));
  BOOST_TEST((after([](auto& o) { o.wait = -1ms; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.wait = milliseconds::min(); }) == error::invalid_option));
}

// What a user gets who writes seconds::max(): the conversion overflows, usually into a negative number of milliseconds.
BOOST_AUTO_TEST_CASE(the_longest_number_of_seconds_overflows_into_an_invalid_wait) {
  const auto seconds = std::chrono::seconds::max();
  const milliseconds converted(static_cast<milliseconds::rep>(static_cast<std::uint64_t>(seconds.count()) * 1000U));
  BOOST_TEST(converted < 0ms);
  BOOST_TEST((after([&](auto& o) { o.wait = converted; }) == error::invalid_option));
  BOOST_TEST((after([&](auto& o) { o.lease = converted; }) == error::invalid_option));
}

BOOST_AUTO_TEST_CASE(a_margin_is_less_than_the_lease) {
  BOOST_TEST(!after([](auto& o) { o.lease = 10ms, o.margin = 9ms; }));
  BOOST_TEST((after([](auto& o) { o.lease = 10ms, o.margin = 10ms; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.margin = -1ms; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.margin = milliseconds::max(); }) == error::invalid_option));
}

BOOST_AUTO_TEST_CASE(a_lock_lingers_and_rests_for_zero_to_thirty_days) {
  acquire_options o;
  BOOST_TEST((wrong_option(o) == nullptr));
  for (const auto right : {0ms, milliseconds(std::chrono::hours(24 * 30))}) {
    BOOST_TEST(!after([&](auto& changed) { changed.linger = right; }));
    BOOST_TEST(!after([&](auto& changed) { changed.at_least = right; }));
  }
  for (const auto wrong :
       {-1ms, milliseconds(std::chrono::hours(24 * 30)) + 1ms, milliseconds::min(), milliseconds::max()}) {
    BOOST_TEST((after([&](auto& changed) { changed.linger = wrong; }) == error::invalid_option));
    BOOST_TEST((after([&](auto& changed) { changed.at_least = wrong; }) == error::invalid_option));
  }
  o.linger = -1ms;
  BOOST_TEST(std::string(wrong_option(o)) == "acquire_options::linger");
  o.at_least = -1ms;
  BOOST_TEST(std::string(wrong_option(o)) == "acquire_options::at_least");
}

BOOST_AUTO_TEST_CASE(a_backoff_is_in_its_bounds) {
  BOOST_TEST(!after([](auto& o) { o.retry = {1ms, 1ms, 1.0, 0.0}; }));
  BOOST_TEST(!after([](auto& o) { o.retry = {1ms, std::chrono::hours(24 * 30), 1e308, 1.0}; }));
  BOOST_TEST((after([](auto& o) { o.retry.first = 0ms; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.first = -1ms; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.max = 9ms; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.max = leasehold::forever; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.factor = 0.99; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.factor = infinity; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.factor = not_a_number; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.jitter = -0.01; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.jitter = 1.01; }) == error::invalid_option));
  BOOST_TEST((after([](auto& o) { o.retry.jitter = not_a_number; }) == error::invalid_option));
}

BOOST_AUTO_TEST_CASE(the_default_label_is_host_and_process_and_always_a_label) {
  BOOST_TEST(default_label("web1", 4711) == "web1-4711");
  BOOST_TEST(default_label("web1.example.org", 4711) == "web1-example-org-4711");
  BOOST_TEST(default_label("l\xc3\xa4s", 1) == "l--s-1");
  BOOST_TEST(default_label("", 1) == "-1");
  BOOST_TEST(default_label(std::string(300, 'h'), 4194304) == "hhhhhhhhhhhhhhhhhhhhhhhh-4194304");
  for (const std::string host : {"web1.example.org", "", "\xff: "}) {
    BOOST_TEST(refused([&](auto& o) { o.label = default_label(host, 4194304); }) == "");
  }
}

BOOST_AUTO_TEST_CASE(options_of_a_client_are_in_their_bounds) {
  BOOST_TEST(refused([](auto& o) { o.connect_timeout = 0ms; }) == "client_options::connect_timeout");
  BOOST_TEST(refused([](auto& o) { o.connect_timeout = leasehold::forever; }) == "client_options::connect_timeout");
  BOOST_TEST(refused([](auto& o) { o.connect_timeout = 1ms; }) == "");
  BOOST_TEST(refused([](auto& o) { o.command_timeout = -1ms; }) == "client_options::command_timeout");
  BOOST_TEST(refused([](auto& o) { o.command_timeout = std::chrono::hours(24 * 31); }) ==
             "client_options::command_timeout");
  BOOST_TEST(refused([](auto& o) { o.drift = -0.01; }) == "client_options::drift");
  BOOST_TEST(refused([](auto& o) { o.drift = 0.51; }) == "client_options::drift");
  BOOST_TEST(refused([](auto& o) { o.drift = not_a_number; }) == "client_options::drift");
  BOOST_TEST(refused([](auto& o) { o.drift = 0.5; }) == "");
  BOOST_TEST(refused([](auto& o) { o.cohort = -1us; }) == "client_options::cohort");
  BOOST_TEST(refused([](auto& o) { o.cohort = 1000001us; }) == "client_options::cohort");
  BOOST_TEST(refused([](auto& o) { o.cohort = 1s; }) == "");
  BOOST_TEST(refused([](auto& o) { o.prefix = std::string(65536, 'p'); }) == "");
  BOOST_TEST(refused([](auto& o) { o.prefix = std::string(65537, 'p'); }) == "client_options::prefix");
  BOOST_TEST(refused([](auto& o) { o.drift_floor = -1ms; }) == "client_options::drift_floor");
  BOOST_TEST(refused([](auto& o) { o.drift_floor = 61s; }) == "client_options::drift_floor");
  BOOST_TEST(refused([](auto& o) { o.restart_delay = -1ms; }) == "client_options::restart_delay");
  BOOST_TEST(refused([](auto& o) { o.restart_delay = std::chrono::hours(24 * 31); }) ==
             "client_options::restart_delay");
  BOOST_TEST(refused([](auto& o) { o.restart_delay = 0ms; }) == "");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = 0ms; }) == "client_options::idle_timeout");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = -1ms; }) == "client_options::idle_timeout");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = std::chrono::milliseconds::min(); }) ==
             "client_options::idle_timeout");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = leasehold::forever - 1ms; }) == "client_options::idle_timeout");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = std::chrono::hours(24 * 30) + 1ms; }) ==
             "client_options::idle_timeout");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = std::chrono::hours(24 * 31); }) == "client_options::idle_timeout");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = std::chrono::hours(24 * 30); }) == "");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = 1ms; }) == "");
  BOOST_TEST(refused([](auto& o) { o.idle_timeout = leasehold::forever; }) == "");
  for (const auto wrong : {0ms, -1ms, leasehold::forever - 1ms, milliseconds(std::chrono::hours(24 * 30)) + 1ms}) {
    BOOST_TEST(refused([&](auto& o) { o.slow_wait = wrong; }) == "client_options::slow_wait");
  }
  for (const auto right : {1ms, milliseconds(std::chrono::hours(24 * 30)), leasehold::forever}) {
    BOOST_TEST(refused([&](auto& o) { o.slow_wait = right; }) == "");
  }
  BOOST_TEST(refused([](auto& o) { o.reconnect.first = 0ms; }) == "client_options::reconnect");
  BOOST_TEST(refused([](auto& o) { o.reconnect.factor = not_a_number; }) == "client_options::reconnect");
  BOOST_TEST(refused([](auto& o) { o.prefix = std::string(70000, 'x'); }) == "client_options::prefix");
  BOOST_TEST(refused([](auto& o) { o.label = std::string(32, 'x'); }) == "");
  BOOST_TEST(refused([](auto& o) { o.label = "Web_1-b"; }) == "");
  for (const std::string& label : {std::string(33, 'x'), std::string("a.b"), std::string("a b"), std::string("a:b"),
                                   std::string("l\xc3\xa4s"), std::string("a\0b", 3)}) {
    BOOST_TEST(refused([&](auto& o) { o.label = label; }) == "client_options::label");
  }
}

BOOST_AUTO_TEST_CASE(a_name_is_one_to_65536_arbitrary_bytes) {
  const auto checked = [](const std::string& name, const std::string& prefix = "") {
    return check_name(name, prefix + name);
  };
  BOOST_TEST(!checked("a"));
  BOOST_TEST(!checked(std::string("\0\xff\r\n {}", 7)));
  BOOST_TEST(!checked(std::string(65536, 'x')));
  BOOST_TEST((checked("") == error::invalid_name));
  BOOST_TEST((checked("", "prefix:") == error::invalid_name));
  BOOST_TEST((checked(std::string(65537, 'x')) == error::invalid_name));
  BOOST_TEST((checked(std::string(1 << 20, 'x')) == error::invalid_name));
}

// B9: the keys that the library derives are its own.
BOOST_AUTO_TEST_CASE(a_record_does_not_begin_as_the_librarys_own_keys) {
  const auto checked = [](const std::string& prefix, const std::string& name) {
    return check_name(name, prefix + name);
  };
  BOOST_TEST((checked("", "leasehold:x") == error::invalid_name));
  BOOST_TEST((checked("", "leasehold:") == error::invalid_name));
  BOOST_TEST((checked("lease", "hold:x") == error::invalid_name));
  BOOST_TEST((checked("leasehold:", "x") == error::invalid_name));
  BOOST_TEST(!checked("", "leasehold"));
  BOOST_TEST(!checked("my:", "leasehold:x"));
}

BOOST_AUTO_TEST_SUITE_END()
