// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/connection_state.hpp"

#include "store/redis/request_writer.hpp"
#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

using namespace std::chrono_literals;

const detail::script script_of_the_call{"none", "0123456789012345678901234567890123456789", "return 1"};

class one_caller final : public detail::caller {
 public:
  detail::request request_of(std::uint32_t) const override {
    detail::request r;
    r.verb = detail::verb::renew;
    r.of_kind = &script_of_the_call;
    r.keys = {"n", "f", "q", "e"};
    return r;
  }
  void answered(std::uint32_t, const detail::answer& a) override { has_failed = a.from_store == nullptr; }

  std::optional<bool> has_failed;
};

// A connection that writes nothing, and an owner that notes what it is told.
struct with_state : detail::call_runner::connection, detail::store::events {
  bool can_send() const override { return state.can_send(); }
  void flush() override { sent = runner.calls().flush(now); }
  void flush_later() override {}
  void drain_later() override {}
  void on_push(const detail::reply&) override { told.push_back("push"); }
  bool ends_with(std::string_view) override { return false; }

  std::string objection(const std::string& run_id) override { return run_id == "twin" ? "is counted already" : ""; }
  void on_up(const detail::store::server& s) override {
    told.push_back(std::string("up") + (s.again ? " again" : "") + (s.another ? " another" : ""));
  }
  void on_down(std::string_view why) override { told.push_back("down: " + std::string(why)); }
  void on_no_answer(std::string_view why) override { told.push_back("no answer: " + std::string(why)); }
  void on_refused(std::string_view why) override { told.push_back("refused: " + std::string(why)); }
  void on_clock_jump(clock::duration jump) override {
    told.push_back("jump of " + std::to_string(std::chrono::round<std::chrono::seconds>(jump).count()) + " s");
  }
  void on_message(std::string_view) override {}
  void on_channel(std::string_view) override {}
  void on_grants_pushed(std::uint16_t) override {}
  void on_rerouted() override {}
  void on_moved(std::uint16_t) override {}
  void on_credentials(std::string_view) override {}
  void on_stopped() override {}

  // Returns the objection.
  std::string greet(const std::string& run_id = "a") {
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch() + ahead).count();
    return state.on_greeting({run_id, {}, time, now}, now, [this] { told.push_back("listens"); });
  }
  std::string connect(const std::string& run_id = "a") {
    state.begins();
    return greet(run_id);
  }
  clock::duration end(std::string_view why) { return state.ended(why, now, 0.0).pause; }
  std::vector<std::string> take() { return std::exchange(told, {}); }

  clock::time_point now = clock::now();
  clock::duration ahead{0};  // The server's clock.
  std::vector<std::string> told;
  std::shared_ptr<detail::pipeline::batch> sent;
  detail::call_runner runner{*this, nullptr, 0.0,
                             detail::pipeline(detail::request_writer::make, 5s, /*may_bundle=*/false)};
  detail::connection_state state{backoff{std::chrono::milliseconds(50), std::chrono::milliseconds(1000), 2.0, 0.0},
                                 runner, *this};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(connection_states, with_state)

using texts = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(a_connection_is_up_from_its_greeting_until_it_is_given_up) {
  state.begins();
  BOOST_TEST(!state.can_send());
  BOOST_TEST(greet() == "");
  BOOST_TEST(state.can_send());
  state.give_up("because");
  BOOST_TEST(!state.can_send());
  BOOST_TEST(state.why_given_up() == "because");
  state.give_up("");
  BOOST_TEST(state.why_given_up() == "because");
  end(state.why_given_up());
  state.begins();
  BOOST_TEST(!state.can_send());
  BOOST_TEST(state.why_given_up() == "");
  BOOST_TEST(take() == (texts{"listens", "up", "down: because"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_connection_has_a_number_of_its_own) {
  connect();
  const auto first = state.epoch();
  BOOST_TEST(state.is_present(first));
  state.give_up("");
  BOOST_TEST(!state.is_present(first));
  end("");
  connect();
  const auto second = state.epoch();
  BOOST_TEST(!state.is_present(first));
  BOOST_TEST(state.is_present(second));
  // Between two connections there is none.
  end("");
  BOOST_TEST(!state.is_present(second));
  BOOST_TEST(!state.can_send());
}

BOOST_AUTO_TEST_CASE(the_owner_is_told_once_why_a_connection_ended) {
  state.begins();
  end("nobody there");
  state.begins();
  state.on_refused("a wrong password");
  end("a wrong password");
  // Another password may come.
  state.begins();
  state.on_refused("an old password", /*may_change=*/true);
  end("an old password");
  // The refusal was of the connection before.
  state.begins();
  end("nobody there");
  connect();
  end("reset");
  BOOST_TEST(take() == (texts{"no answer: nobody there", "refused: a wrong password", "no answer: an old password",
                              "no answer: nobody there", "listens", "up", "down: reset"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_server_to_which_the_owner_objects_is_not_up) {
  BOOST_TEST(connect("twin") == "is counted already");
  BOOST_TEST(!state.can_send());
  end("is counted already");
  // That server is not known.
  connect("a");
  BOOST_TEST(take() == (texts{"refused: is counted already", "listens", "up"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_clock_of_another_server_has_not_jumped) {
  connect("a");
  end("reset");
  ahead = 60s;
  connect("a");
  end("reset");
  ahead = 600s;
  connect("b");
  BOOST_TEST(take() == (texts{"listens", "up", "down: reset", "listens", "jump of 60 s", "up again", "down: reset",
                              "listens", "up again another"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(only_a_connection_that_was_up_for_a_while_is_followed_by_the_first_pause) {
  state.begins();
  BOOST_TEST((end("") == 50ms));
  state.begins();
  BOOST_TEST((end("") == 100ms));
  connect();
  now += 1s;
  BOOST_TEST((end("") == 50ms));
  connect();
  BOOST_TEST((end("") == 50ms));
  connect();
  BOOST_TEST((end("") == 200ms));
}

BOOST_AUTO_TEST_CASE(calls_that_wait_when_a_connection_ends_fail) {
  connect();
  const auto one = std::make_shared<one_caller>(), other = std::make_shared<one_caller>();
  runner.run(one, 1);
  runner.calls().wait({other, 2, now});
  end("reset");
  runner.drain();
  BOOST_TEST((one->has_failed == true));
  BOOST_TEST((other->has_failed == true));
}

BOOST_AUTO_TEST_CASE(a_connection_that_does_not_come_up_is_silent) {
  state.begins();
  BOOST_TEST(state.watch(now + 1s));
  BOOST_TEST(!state.on_watch(now + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(a_connection_is_watched_until_the_earliest_time) {
  state.begins();
  BOOST_TEST(!state.watch(clock::time_point::max()));
  BOOST_TEST(state.watch(now + 2s));
  BOOST_TEST(!state.watch(now + 2s));
  BOOST_TEST(state.watch(now + 1s));
  BOOST_TEST(state.is_watched_until(now + 1s));
  // Then its greeting is not waited for any more.
  greet();
  BOOST_TEST(!state.is_watched_until(now + 1s));
  BOOST_TEST(state.watch(now + 3s));
  end("");
  BOOST_TEST(!state.is_watched_until(now + 3s));
}

// What is written between two connections is not watched, but by the next one's time.
BOOST_AUTO_TEST_CASE(a_connection_is_not_watched_by_the_time_of_the_one_before) {
  connect();
  end("");
  BOOST_TEST(state.watch(now + 1s));
  state.begins();
  BOOST_TEST(state.watch(now + 2s));
}

BOOST_AUTO_TEST_CASE(a_connection_on_which_nothing_is_heard_is_silent_at_the_second_look) {
  connect();
  BOOST_TEST((state.on_watch(now) == clock::time_point::max()));
  const auto caller = std::make_shared<one_caller>();
  runner.run(caller, 1);
  flush();
  BOOST_REQUIRE((state.on_watch(now) == now + 5s));
  BOOST_TEST(state.watch(now + 5s));
  now += 5s;
  const auto again = state.on_watch(now);
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST(!state.on_watch(*again).has_value());
}

// Otherwise they would be taken for those of the next one.
BOOST_AUTO_TEST_CASE(what_has_arrived_when_a_connection_ends_is_passed_on_at_once) {
  connect();
  take();
  const auto caller = std::make_shared<one_caller>();
  runner.run(caller, 1);
  flush();
  runner.collect([this](detail::pipeline& calls) {
    calls.on_push({});
    calls.on_reply(*sent, {});
  });
  end("lost");
  BOOST_TEST((caller->has_failed == false));
  BOOST_TEST(take() == (texts{"down: lost", "push"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_address_of_several_is_not_worth_telling) {
  state.next().found({"::1", "127.0.0.1"});
  state.next().next_address("localhost", 1s);
  state.begins();
  end("nobody there");
  BOOST_TEST(take().empty());
  state.next().next_address("localhost", 1s);
  state.begins();
  end("nobody there");
  BOOST_TEST(take() == (texts{"no answer: nobody there"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_or_told_while_it_stops) {
  connect();
  take();
  state.stop();
  BOOST_TEST(state.is_stopping());
  BOOST_TEST(!state.can_send());
  end("closed");
  BOOST_TEST(take().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
