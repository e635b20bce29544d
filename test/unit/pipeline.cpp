// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a connection does with its calls, without a connection.
#include "store/pipeline.hpp"
#include "store/call_runner.hpp"

#include "protocol/slots.hpp"
#include "store/redis/request_writer.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

using namespace std::chrono_literals;
using detail::pipeline;

const detail::script script_of_calls{"none", "0123456789012345678901234567890123456789", "return 1"};

class pipeline_caller final : public detail::caller {
 public:
  detail::request request_of(std::uint32_t tag) const override {
    detail::request r;
    r.verb = its_verb;
    r.of_kind = its_verb == detail::verb::renew ? &script_of_calls : &detail::scripts::mutex;
    names[tag % 100] = its_verb == detail::verb::renew ? "n" : "n" + std::to_string(tag % 100);
    r.keys = {names[tag % 100], fences, "q", "e"};
    if (its_verb != detail::verb::renew) r.token = "t";
    r.lease = std::chrono::milliseconds(its_verb == detail::verb::acquire ? 1000 : tag);
    r.publishes_first = notifies;
    return r;
  }
  bool wants(std::uint32_t) const override { return wanted; }
  turn turn_of(std::uint32_t) const override { return its_turn; }
  std::chrono::milliseconds patience_of(std::uint32_t) const override { return patience; }
  // "<tag>: <the words of an error, or answered, or nothing>"
  void answered(std::uint32_t tag, const detail::answer& a) override {
    const bool is_error = a.from_store != nullptr && a.from_store->refused;
    answers.push_back(std::to_string(tag) + ": " +
                      (is_error                  ? std::string(a.from_store->words)
                       : a.from_store == nullptr ? "nothing"
                                                 : "answered"));
  }

  mutable std::map<std::uint32_t, std::string> names;
  detail::verb its_verb = detail::verb::renew;
  std::string_view fences = detail::only_fence_key;
  bool notifies = false;
  bool wanted = true;
  std::vector<std::string> answers;
  turn its_turn = turn::asks;
  std::chrono::milliseconds patience = std::chrono::milliseconds::max();
};

struct with_pipeline {
  pipeline::call call(std::uint32_t tag) { return call(tag, caller); }
  pipeline::call call(std::uint32_t tag, std::shared_ptr<pipeline_caller> of) { return {std::move(of), tag, now}; }
  pipeline::then add(std::uint32_t tag) { return calls.add(call(tag), server, /*pushes_grants=*/false); }
  static const boost::redis::request& sent(const std::shared_ptr<pipeline::batch>& b) {
    return detail::request_writer::of(*b);
  }
  detail::reply reply(std::string_view text) {
    detail::reply r;
    r.add(text);
    return r;
  }
  // What has come of calls since the last time: "<tag>=<reply>", "<tag> failed".
  std::vector<std::string> results() {
    std::vector<std::string> all;
    while (calls.has_results()) {
      auto r = calls.next_result();
      if (!r.arrived) {
        all.push_back(std::to_string(r.of.front().tag) + " failed");
        continue;
      }
      for_each_reply(r.of, r.from_server, [&](const pipeline::call& c, const detail::reply& one) {
        all.push_back(std::to_string(c.tag) + (one.is_error() ? "!" : "=") + std::string(one.text(0)));
      });
    }
    return all;
  }

  clock::time_point now = clock::time_point(1h);
  detail::server_clock server{0.0};
  std::shared_ptr<pipeline_caller> caller = std::make_shared<pipeline_caller>();
  pipeline calls{detail::request_writer::make, 5s, /*may_bundle=*/true};
};

// A connection that writes nothing, and its server's replies.
struct with_runner : detail::call_runner::connection, detail::redis_server::router {
  explicit with_runner(std::size_t most = 3)
      : runner(*this, this, 0.0, pipeline(detail::request_writer::make, 5s, /*may_bundle=*/true, most)) {}

  bool can_send() const override { return is_up; }
  void flush() override {
    if (auto b = runner.calls().flush(clock::now())) batches.push_back(std::move(b));
  }
  void flush_later() override { flushes_later = true; }
  void drain_later() override { drains_later = true; }
  void on_push(const detail::reply& push) override { seen.push_back("push " + std::string(push.text(0))); }
  bool ends_with(std::string_view words) override {
    seen.push_back("ends? " + std::string(words));
    return words.starts_with("READONLY");
  }
  bool redirect(detail::redis_server::call& c, std::string_view words) override {
    seen.push_back("redirect " + std::to_string(c.tag) + " " + std::string(words));
    return words.starts_with("MOVED");
  }
  bool may_bundle() const override { return true; }
  bool pushes_grants(std::uint16_t) const override { return false; }
  void on_shard_channel(std::string_view, bool) override {}

  void run(std::initializer_list<std::uint32_t> tags) {
    for (const auto tag : tags) runner.run(caller, tag);
    if (std::exchange(flushes_later, false)) flush();
  }
  // The server replies to the last batch.
  void reply(std::initializer_list<const char*> words) {
    const auto b = batches.back();
    runner.collect([&](pipeline& calls) {
      for (const std::string_view w : words) {
        detail::reply r;
        if (w.starts_with('-')) r.set_error();
        r.add(w.starts_with('-') ? w.substr(1) : w);
        calls.on_reply(*b, std::move(r));
      }
      calls.end(b);
    });
    BOOST_TEST(std::exchange(drains_later, false));
    runner.drain();
    if (std::exchange(flushes_later, false)) flush();
  }
  std::string last_request() const { return std::string(detail::request_writer::of(*batches.back()).payload()); }

  bool is_up = true, flushes_later = false, drains_later = false;
  std::vector<std::string> seen;
  std::vector<std::shared_ptr<pipeline::batch>> batches;
  std::shared_ptr<pipeline_caller> caller = std::make_shared<pipeline_caller>();
  detail::call_runner runner;
};

struct with_busy_runner : with_runner {
  with_busy_runner() : with_runner(pipeline::most_under_way) {
    for (std::uint32_t tag = 0; tag != 40; ++tag) runner.run(caller, tag);
    flush();
    for (auto& push : {"first", "last"}) {
      runner.collect([&](pipeline& calls) {
        detail::reply r;
        r.add(push);
        calls.on_push(std::move(r));
        for (int i = 0; i != 20; ++i) calls.on_reply(*batches.back(), {});
      });
    }
    flushes_later = false;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(pipelines, with_pipeline)

using texts = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(calls_of_one_turn_travel_together) {
  BOOST_TEST((add(1) == pipeline::then::flush_at_the_end));
  BOOST_TEST((add(2) == pipeline::then::nothing));
  const auto b = calls.flush(now);
  BOOST_REQUIRE(b);
  BOOST_TEST(sent(b).get_commands() == 2U);
  BOOST_TEST(sent(b).payload() ==
             "*7\r\n$7\r\nEVALSHA\r\n$40\r\n0123456789012345678901234567890123456789\r\n$1\r\n1\r\n$1\r\nn\r\n$"
             "5\r\nrenew\r\n$0\r\n\r\n$1\r\n1\r\n"
             "*7\r\n$7\r\nEVALSHA\r\n$40\r\n0123456789012345678901234567890123456789\r\n$1\r\n1\r\n$1\r\nn\r\n$"
             "5\r\nrenew\r\n$0\r\n\r\n$1\r\n2\r\n");
  BOOST_TEST(calls.flush(now) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_call_that_was_alone_the_last_time_is_sent_at_once) {
  add(1);
  const auto first = calls.flush(now);
  // Not while another is under way.
  BOOST_TEST((add(2) == pipeline::then::flush_at_the_end));
  const auto second = calls.flush(now);
  calls.on_reply(*first, reply("a"));
  calls.end(first);
  calls.on_reply(*second, reply("b"));
  calls.end(second);
  add(3);
  const auto alone = calls.flush(now);
  calls.on_reply(*alone, reply("c"));
  calls.end(alone);
  BOOST_TEST((add(4) == pipeline::then::flush_now));
}

BOOST_AUTO_TEST_CASE(a_script_is_sent_whole_if_the_server_does_not_know_it) {
  auto c = call(1);
  c.whole_text = true;
  calls.add(std::move(c), server, /*pushes_grants=*/false);
  BOOST_TEST(sent(calls.flush(now)).payload().starts_with("*7\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n"));
}

BOOST_AUTO_TEST_CASE(each_reply_belongs_to_the_next_call) {
  caller->notifies = true;  // PING stands in front of such a call, and its reply is nobody's.
  add(1);
  auto asks_elsewhere = call(2);
  asks_elsewhere.asking = true;  // ASKING, too.
  calls.add(std::move(asks_elsewhere), server, /*pushes_grants=*/false);
  const auto b = calls.flush(now);
  BOOST_TEST(sent(b).get_commands() == 4U);
  for (const char* const text : {"PONG", "one", "OK", "two", "not asked for"}) calls.on_reply(*b, reply(text));
  BOOST_TEST(results() == (texts{"1=one", "2=two"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_has_no_reply_when_its_request_ends_has_failed) {
  add(1);
  add(2);
  const auto b = calls.flush(now);
  calls.on_reply(*b, reply("one"));
  calls.end(b);
  BOOST_TEST(results() == (texts{"1=one", "2 failed"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_was_not_sent_fails_with_the_connection) {
  add(1);
  calls.flush(now);
  add(2);
  calls.wait(call(3));
  calls.drop();
  BOOST_TEST(results() == (texts{"2 failed", "3 failed"}), boost::test_tools::per_element());
  BOOST_TEST(calls.flush(now) == nullptr);
}

BOOST_AUTO_TEST_CASE(acquires_and_releases_of_one_turn_are_one_command) {
  const auto acquires = std::make_shared<pipeline_caller>(), releases = std::make_shared<pipeline_caller>();
  acquires->its_verb = detail::verb::acquire;
  releases->its_verb = detail::verb::release;
  const auto add_of = [&](std::uint32_t tag, const auto& of) { calls.add(call(tag, of), server, true); };
  const auto send = [&](std::initializer_list<std::initializer_list<const char*>> replies, std::size_t commands) {
    const auto b = calls.flush(now);
    BOOST_TEST(sent(b).get_commands() == commands);
    for (const auto& texts_of_one : replies) {
      detail::reply r;
      for (const char* const text : texts_of_one) r.add(text);
      calls.on_reply(*b, std::move(r));
    }
    calls.end(b);
    return results();
  };
  // One reply for all, or one for each, and an error is that of one request.
  for (const std::uint32_t tag : {1U, 2U, 3U}) add_of(tag, tag == 2 ? acquires : releases);
  BOOST_TEST(send({{"1", "granted"}}, 1) == (texts{"1=1", "2=granted", "3=1"}), boost::test_tools::per_element());
  for (const std::uint32_t tag : {1U, 2U, 3U}) add_of(tag, tag == 2 ? acquires : releases);
  BOOST_TEST(send({{"1", "!OOM no", "granted"}}, 1) == (texts{"1=1", "2=granted", "3!OOM no"}),
             boost::test_tools::per_element());
  // A record is named once, so what is asked of it keeps its order; and so does all that goes out by itself.
  for (const std::uint32_t tag : {1U, 2U, 102U}) add_of(tag, tag == 102 ? acquires : releases);
  add(3);
  add_of(4, acquires);
  BOOST_TEST(send({{"1"}, {"granted"}, {"renewed"}, {"busy"}}, 4) ==
                 (texts{"1=1", "2=1", "102=granted", "3=renewed", "4=busy"}),
             boost::test_tools::per_element());
  // Whatever is not answered fails.
  for (std::uint32_t tag = 0; tag != 9; ++tag) add_of(tag, releases);
  BOOST_TEST(send({{"1"}}, 2).back() == "8 failed");
  // Tagged keys are those of different slots, which must not be in one call.
  releases->fences = "leasehold:{06S}:fence";
  for (const std::uint32_t tag : {1U, 2U}) add_of(tag, releases);
  BOOST_TEST(send({{"1"}, {"1"}}, 2) == (texts{"1=1", "2=1"}), boost::test_tools::per_element());
  releases->fences = detail::only_fence_key;
  // Where no calls must go out together.
  pipeline alone{detail::request_writer::make, 5s, /*may_bundle=*/false};
  alone.add(call(1, releases), server, true);
  alone.add(call(2, releases), server, true);
  BOOST_TEST(sent(alone.flush(now)).get_commands() == 2U);
}

// The server then works on one bundle while the client is busy with the replies to others.
BOOST_AUTO_TEST_CASE(a_bundle_has_a_quarter_of_the_calls_under_way) {
  caller->its_verb = detail::verb::release;
  const auto sizes = [this](std::uint32_t n) {
    for (std::uint32_t tag = 0; tag != n; ++tag) add(tag);
    const auto b = calls.flush(now);
    std::vector<std::size_t> all;
    for (const auto& of : b->commands) all.push_back(of.size());
    return all;
  };
  using numbers = std::vector<std::size_t>;
  // Fewer than eight are not worth a command of their own.
  BOOST_TEST(sizes(20) == (numbers{8, 8, 4}), boost::test_tools::per_element());
  BOOST_TEST(sizes(40) == (numbers{8, 9, 12, 11}), boost::test_tools::per_element());
  sizes(90);
  BOOST_TEST(sizes(100) == (numbers{50, 50}), boost::test_tools::per_element());
  // And not more than a bundle holds.
  sizes(100);
  BOOST_TEST(sizes(100) == (numbers{64, 36}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(calls_wait_for_room_and_those_that_keep_a_hold_go_first) {
  for (std::size_t i = 0; i < pipeline::most_under_way; ++i) {
    BOOST_TEST_REQUIRE(calls.has_room_for(call(0)));
    add(0);
  }
  const auto b = calls.flush(now);
  const auto keeps = std::make_shared<pipeline_caller>(), releases = std::make_shared<pipeline_caller>();
  keeps->its_turn = detail::caller::turn::keeps;
  releases->its_turn = detail::caller::turn::releases;
  for (const auto& c : {call(1), call(2, releases), call(3, keeps), call(4)}) {
    BOOST_TEST(!calls.has_room_for(c));
    calls.wait(c);
  }
  BOOST_TEST(!calls.next_waiting(now));
  for (int i = 0; i < 3; ++i) calls.on_reply(*b, reply(""));
  // Replies that are not taken yet are in the way, too.
  BOOST_TEST(!calls.next_waiting(now));
  results();
  // There is room, but those that wait go first; none of a later turn is waited for.
  BOOST_TEST(!calls.has_room_for(call(5)));
  BOOST_TEST(calls.next_waiting(now)->tag == 3U);
  BOOST_TEST(calls.has_room_for(call(6, keeps)));
  BOOST_TEST(!calls.has_room_for(call(6, releases)));
  now += 1s;
  const auto next = calls.next_waiting(now);
  BOOST_TEST(next->tag == 2U);
  BOOST_TEST((next->sent == now));
  caller->wanted = false;
  BOOST_TEST(!calls.next_waiting(now));
  BOOST_TEST(results() == (texts{"1 failed", "4 failed"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_connection_is_silent_when_no_reply_comes_for_the_patience_of_a_call) {
  BOOST_TEST((calls.silent_at() == clock::time_point::max()));
  add(1);
  const auto patient = calls.flush(now);
  BOOST_TEST((calls.silent_at() == now + 5s));
  caller->patience = 2s;
  now += 1s;
  add(2);
  const auto impatient = calls.flush(now);
  BOOST_TEST((calls.silent_at() == now + 2s));
  // Whatever arrives shows that the server answers.
  now += 1s;
  calls.on_push(reply("message"));
  calls.heard(now);
  BOOST_TEST((calls.silent_at() == now + 2s));
  calls.on_reply(*patient, reply(""));
  calls.on_reply(*impatient, reply(""));
  BOOST_TEST((calls.silent_at() == clock::time_point::max()));
  // What takes the place of the impatient call is as patient as ever.
  calls.end(patient);
  calls.end(impatient);
  caller->patience = std::chrono::milliseconds::max();
  add(3);
  BOOST_TEST((calls.flush(now) == impatient));
  BOOST_TEST((calls.silent_at() == now + 5s));
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_for_room_has_no_less_patience) {
  add(1);
  calls.flush(now);
  caller->patience = 1s;
  now += 3s;
  BOOST_TEST((calls.wait(call(2)) == now + 1s));
  BOOST_TEST((calls.silent_at() == now + 1s));
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_behind_some_that_were_not_sent_yet_has_no_less_patience) {
  add(1);
  caller->patience = 1s;
  BOOST_TEST((calls.wait(call(2)) == clock::time_point::max()));
  calls.flush(now);
  BOOST_TEST((calls.silent_at() == now + 1s));
}

BOOST_AUTO_TEST_CASE(what_is_written_beside_the_calls_has_to_be_answered) {
  const auto other = calls.expect(now, 8s);
  BOOST_TEST((calls.silent_at() == now + 8s));
  // Calls wait behind it.
  now += 1s;
  add(1);
  const auto b = calls.flush(now);
  BOOST_TEST((calls.silent_at() == now + 5s));
  now += 4s;
  calls.heard(now);
  BOOST_TEST((calls.silent_at() == now + 5s));
  calls.on_reply(*b, reply(""));
  BOOST_TEST((calls.silent_at() == now + 8s));
  calls.end(b);
  calls.end(other);
  BOOST_TEST((calls.silent_at() == clock::time_point::max()));
  BOOST_TEST(results() == (std::vector<std::string>{"1="}), boost::test_tools::per_element());
  // Its batch is not used for calls.
  add(2);
  BOOST_TEST((calls.flush(now) == b));
  add(3);
  BOOST_TEST((calls.flush(now) != other));
}

// Its memory would stay for good.
BOOST_AUTO_TEST_CASE(a_batch_of_a_thousand_calls_is_not_used_again) {
  for (const std::uint32_t most : {1U, 1000U}) {
    for (std::uint32_t tag = 0; tag != most; ++tag) add(tag);
    const auto b = calls.flush(now);
    for (std::uint32_t tag = 0; tag != most; ++tag) calls.on_reply(*b, reply(""));
    calls.end(b);
    BOOST_TEST(results().size() == most);
    add(1);
    const auto next = calls.flush(now);
    BOOST_TEST((next == b) == (most == 1U));
    calls.end(next);
    results();
  }
}

// Perhaps the process stood still, and the replies have arrived.
BOOST_AUTO_TEST_CASE(a_silent_connection_is_looked_at_twice) {
  add(1);
  const auto b = calls.flush(now);
  BOOST_TEST((calls.look_for_silence(now) == now + 5s));
  now += 6s;
  const auto again = calls.look_for_silence(now);
  BOOST_REQUIRE(again);
  BOOST_TEST((*again > now && *again < now + 1s));
  BOOST_TEST(!calls.look_for_silence(*again));
  // Something was heard in between.
  calls.heard(now);
  BOOST_TEST((calls.look_for_silence(now + 6s)).has_value());
  calls.end(b);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(call_runners, with_runner)

using texts = std::vector<std::string>;

constexpr const char* unknown = "-NOSCRIPT No matching script.";

BOOST_AUTO_TEST_CASE(a_script_that_the_server_does_not_know_is_sent_once_more_and_whole) {
  run({1});
  BOOST_TEST(last_request().find("EVALSHA") != std::string::npos);
  reply({unknown});
  BOOST_TEST(last_request().find("EVAL\r\n$8\r\nreturn 1") != std::string::npos);
  BOOST_TEST(caller->answers.empty());
  reply({unknown});
  BOOST_TEST(batches.size() == 2U);
  BOOST_TEST(caller->answers == (texts{"1: NOSCRIPT No matching script."}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_text_of_a_script_goes_out_once_for_all_that_need_it) {
  const auto texts_in = [](std::string_view request) {
    int n = 0;
    for (auto at = request.find("EVAL\r\n"); at != std::string::npos; at = request.find("EVAL\r\n", at + 1)) ++n;
    return n;
  };
  run({1, 2, 3});
  reply({unknown, unknown, unknown});
  BOOST_TEST(batches.back()->commands.size() == 3U);
  BOOST_TEST(texts_in(last_request()) == 1);
  // The first was not run after all.
  reply({"-MOVED 7 127.0.0.1:1", unknown, "1"});
  BOOST_TEST(texts_in(last_request()) == 1);
  reply({"1"});
  BOOST_TEST(caller->answers == (texts{"3: answered", "2: answered"}), boost::test_tools::per_element());
  // Each script has a text of its own, that of bundles too; and the next connection may meet another server.
  const auto releases = std::make_shared<pipeline_caller>();
  releases->its_verb = detail::verb::release;
  const auto add = [this](std::uint32_t tag, const std::shared_ptr<pipeline_caller>& of) {
    detail::redis_server::call c{of, tag, clock::now()};
    c.whole_text = true;
    runner.calls().add(std::move(c), runner.clock_there(), /*pushes_grants=*/false);
  };
  for (int i = 0; i != 2; ++i) {
    add(1, releases);
    add(2, caller);
    add(3, releases);
    flush();
    BOOST_TEST(texts_in(last_request()) == 2);
    reply({"1", "1", "1"});
  }
}

// The replies to one batch are passed on in portions, and what has to be sent again goes out in several batches.
BOOST_AUTO_TEST_CASE(the_text_of_a_script_is_not_sent_again_while_it_is_on_its_way) {
  const auto send = [this](std::uint32_t tag) {
    detail::redis_server::call c{caller, tag, clock::now()};
    c.whole_text = true;
    runner.calls().add(std::move(c), runner.clock_there(), /*pushes_grants=*/false);
    flush();
    return last_request().find("EVAL\r\n") != std::string::npos;
  };
  BOOST_TEST(send(1));
  const auto first = batches.back();
  BOOST_TEST(!send(2));
  detail::reply moved;
  moved.set_error();
  runner.collect([&](pipeline& calls) { calls.on_reply(*first, std::move(moved)); });
  // It may not have been run, and the others have to bring it themselves.
  BOOST_TEST(send(3));
  BOOST_TEST(!send(4));
  // What a batch brought is not what it brings when it is used again.
  runner.collect([&](pipeline& calls) {
    for (const auto& b : batches) calls.end(b);
  });
  BOOST_TEST(send(5));
}

BOOST_AUTO_TEST_CASE(a_script_that_the_server_does_not_know_is_not_sent_again_in_vain) {
  run({1});
  caller->wanted = false;
  reply({unknown});
  caller->wanted = true;
  run({2});
  is_up = false;
  reply({unknown});
  BOOST_TEST(batches.size() == 2U);
  BOOST_TEST(caller->answers == (texts{"1: nothing", "2: nothing"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_call_of_a_bundle_that_is_refused_as_a_whole_is_sent_alone) {
  constexpr const char* refusal = "-NOPERM No permissions to access a key";
  caller->its_verb = detail::verb::release;
  run({1, 2});
  BOOST_TEST(batches.back()->commands.size() == 1U);
  reply({refusal});
  BOOST_TEST(batches.size() == 2U);
  BOOST_TEST(batches.back()->commands.size() == 2U);
  BOOST_TEST(caller->answers.empty());
  reply({"1", refusal});
  BOOST_TEST(caller->answers == (texts{"1: answered", "2: NOPERM No permissions to access a key"}),
             boost::test_tools::per_element());
  // The text of the bundle's script is not that of theirs.
  run({7, 8});
  reply({unknown});
  reply({refusal});
  BOOST_TEST(last_request().find("EVAL\r\n") == std::string::npos);
  reply({"1", "1"});
  batches.resize(2);
  // Not on a connection that has ended, and not for a caller that has gone.
  caller->answers.clear();
  run({3, 4});
  is_up = false;
  reply({refusal});
  is_up = true;
  run({5, 6});
  caller->wanted = false;
  reply({refusal});
  BOOST_TEST(batches.size() == 4U);
  BOOST_TEST(caller->answers.size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_redirection_is_followed_while_the_caller_wants_the_call) {
  run({1});
  reply({"-MOVED 7 127.0.0.1:1"});
  BOOST_TEST(caller->answers.empty());
  // The router does not take the call over: these words are its answer.
  run({2});
  reply({"-ASK 7 127.0.0.1:1"});
  caller->wanted = false;
  run({3});
  reply({"-MOVED 8 127.0.0.1:1"});
  BOOST_TEST(seen == (texts{"redirect 1 MOVED 7 127.0.0.1:1", "redirect 2 ASK 7 127.0.0.1:1", "ends? ASK 7 127.0.0.1:1",
                            "ends? MOVED 8 127.0.0.1:1"}),
             boost::test_tools::per_element());
  BOOST_TEST(caller->answers == (texts{"2: ASK 7 127.0.0.1:1", "3: MOVED 8 127.0.0.1:1"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(words_about_the_connection_are_no_answer) {
  run({1});
  reply({"-READONLY You can't write against a read only replica."});
  BOOST_TEST(caller->answers == (texts{"1: nothing"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_is_sent_when_there_is_room_and_the_connection_lasts) {
  run({1, 2, 3, 4, 5});
  BOOST_TEST(batches.back()->commands.size() == 3U);
  reply({"1", "1", "1"});
  BOOST_TEST(batches.size() == 2U);
  BOOST_TEST(batches.back()->commands.size() == 2U);
  // What waits when the connection has ended is not written to it, and fails.
  run({6, 7, 8});
  is_up = false;
  reply({"1"});
  BOOST_TEST(batches.size() == 3U);
  runner.collect([](pipeline& calls) { calls.drop(); });
  runner.drain();
  BOOST_TEST(caller->answers ==
                 (texts{"1: answered", "2: answered", "3: answered", "6: answered", "7: nothing", "8: nothing"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pushes_keep_their_order_among_replies) {
  run({1});
  runner.collect([&](pipeline& calls) {
    detail::reply push;
    push.add("message");
    calls.on_push(std::move(push));
  });
  BOOST_TEST(std::exchange(drains_later, false));
  runner.collect([&](pipeline& calls) {
    detail::reply r;
    r.set_error();
    r.add("ERR no");
    calls.on_reply(*batches.back(), std::move(r));
  });
  // They are taken together.
  BOOST_TEST(!drains_later);
  runner.drain();
  BOOST_TEST(seen == (texts{"push message", "ends? ERR no"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(only_what_arrives_shows_that_the_server_answers) {
  run({1, 2, 3, 4});
  runner.collect([](pipeline& calls) { calls.drop(); });
  runner.drain();
  drains_later = false;
  BOOST_TEST(caller->answers == (texts{"4: nothing"}), boost::test_tools::per_element());
  BOOST_TEST((runner.calls().heard_at() == clock::time_point()));
  reply({"1", "1", "1"});
  BOOST_TEST((runner.calls().heard_at() != clock::time_point()));
}

BOOST_AUTO_TEST_CASE(a_call_that_is_taken_over_is_sent_by_its_digest) {
  detail::redis_server::call c{caller, 1, clock::now()};
  c.whole_text = true;
  runner.take_over(std::move(c));
  flush();
  BOOST_TEST(last_request().find("EVALSHA") != std::string::npos);
}

// What the callers of one portion ask for is with the server while the client passes on the next.
BOOST_FIXTURE_TEST_CASE(results_are_passed_on_in_portions, with_busy_runner) {
  BOOST_TEST(std::exchange(drains_later, false));
  runner.drain();
  BOOST_TEST(caller->answers.size() == 10U);
  BOOST_TEST(seen == (texts{"push first"}), boost::test_tools::per_element());
  run({40});
  BOOST_TEST(batches.size() == 2U);
  int turns = 1;
  for (; std::exchange(drains_later, false); ++turns) runner.drain();
  BOOST_TEST(turns == 5);
  BOOST_TEST(seen == (texts{"push first", "push last"}), boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(caller->answers.size() == 40U);
  for (std::size_t i = 0; i != 40; ++i) BOOST_TEST(caller->answers[i] == std::to_string(i) + ": answered");
}

// They come before the connection that follows.
BOOST_FIXTURE_TEST_CASE(failures_are_passed_on_in_one_turn, with_busy_runner) {
  runner.drain_all();
  for (std::uint32_t tag = 40; tag != 140; ++tag) runner.run(caller, tag);
  flush();
  is_up = false;
  runner.collect([this](pipeline& calls) { calls.end(batches.back()); });
  runner.drain();
  BOOST_TEST(caller->answers.size() == 140U);
  BOOST_TEST(caller->answers.back() == "139: nothing");
}

BOOST_FIXTURE_TEST_CASE(what_has_arrived_can_be_passed_on_at_once, with_busy_runner) {
  runner.drain();
  runner.drain_all();
  BOOST_TEST(caller->answers.size() == 40U);
  BOOST_TEST(seen.size() == 2U);
  // The turn that was asked for before finds nothing.
  drains_later = false;
  runner.drain();
  BOOST_TEST(!drains_later);
  BOOST_TEST(caller->answers.size() == 40U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
