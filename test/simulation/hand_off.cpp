// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The hand-off of a mutex, the waiting in its queue, and a few others have two forms in Lua: quick ones in
// lua/mutex.lua, and those of all kinds in lua/shared/lock.lua. Random calls run on two stores in memory, one of them
// without the quick forms: whatever can be seen of them must be the same.
#include "protocol/keys.hpp"
#include "protocol/scripts.hpp"
#include "protocol/slots.hpp"
#include "schedule/memory_host.hpp"
#include "support/rarer.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(hand_off_of_mutexes)

// Where the quick forms begin.
const std::vector<std::string> quick_forms{"if what == 'release' and queue then",
                                           "if what == 'acquire' and held and (ARGV[5] ",
                                           "if mine and waited_for and what == 'confirm' and ",
                                           "if mine and what == 'renew' and ",
                                           "if not mine and not waited_for and what == ",
                                           "if not mine and not waited_for and held and "};

std::string without_the_quick_forms() {
  std::string text(detail::scripts::mutex.text);
  for (const auto& form : quick_forms) {
    const auto at = text.find(form);
    BOOST_REQUIRE(at != text.npos);
    BOOST_REQUIRE(text.find(form, at + 1) == text.npos);
    text.replace(at, 3, "if false and ");
  }
  return text;
}

// An error says on which line it was raised.
std::string without_place(const std::string& text) { return text.substr(0, text.find(" script: ")); }

// Of a user without the right to publish.
std::string without_publish(std::string text) {
  for (auto at = text.find("PUBLISH'"); at != text.npos; at = text.find("PUBLISH'")) text[at] = 'X';
  return text;
}

struct one_form {
  explicit one_form(const std::string& text, std::string its_tag = "0")
      : tag(std::move(its_tag)), digest(host.command({"SCRIPT", "LOAD", text}).text) {}

  memory_host host;
  const std::string tag, digest;

  reply call(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"EVALSHA", digest, "4", "record", "leasehold:{" + tag + "}:fence"};
    words.insert(words.end(), {detail::queue_key(tag, "record"), detail::entries_key(tag, "record")});
    if (arguments.front() == "renew") words = {"EVALSHA", digest, "1", "record"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return host.command(words);
  }
  void forget() {
    host.command({"DEL", "record", "leasehold:{" + tag + "}:fence", detail::queue_key(tag, "record"),
                  detail::entries_key(tag, "record")});
  }
  std::vector<std::tuple<std::string, std::string>> messages() {
    std::vector<std::tuple<std::string, std::string>> all;
    for (const auto& m : host.messages()) all.emplace_back(m.channel, m.text);
    return all;
  }
};

// Only entries of this client are in the queue.
bool waits_alone(one_form& f, const std::string& client) {
  const auto all = f.host.command({"ZRANGE", detail::queue_key(f.tag, "record"), "0", "-1"}).items;
  return std::all_of(all.begin(), all.end(), [&](const reply& entry) { return entry.text.starts_with(client); });
}

void compare_both_forms(bool may_publish) {
  const auto text_for_user = [&](const std::string& text) { return may_publish ? text : without_publish(text); };
  one_form quick{text_for_user(std::string(detail::scripts::mutex.text))};
  one_form common{text_for_user(without_the_quick_forms())};
  std::mt19937 random(20261124);
  const auto upto = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n)(random); };
  std::int64_t now = 1800000000000000;
  // Three clients with two tokens each. Some holders are told that another client waits.
  const std::vector<std::string> tokens{"a.1", "a.2l", "b.1", "b.2l", "c.1", "c.2"};
  std::size_t handed_off = 0, kept = 0, watching = 0, wanted = 0, differ = 0;
  for (std::size_t step = 0; step < 50000 / rarer && differ < 5; ++step) {
    // Within a poll, mostly; a poll that is late; a server that stood still.
    const auto much = upto(99);
    now += much < 90 ? upto(200000) : much < 98 ? upto(3000000) : upto(30000000);
    const std::string& token = tokens[static_cast<std::size_t>(upto(5))];
    const std::string lease = std::to_string(100 + upto(5000));
    std::vector<std::string> words;
    switch (upto(9)) {
      case 0:
      case 1:
      case 2:
      case 3:
        words = {"acquire", token, lease, "9007199254740991", std::to_string(upto(9)), "", upto(1) == 0 ? "" : "1"};
        break;
      case 4: words = {"acquire", token, lease, std::to_string(now + upto(9) * 1000 - 1000), "", ""}; break;
      case 5: words = {upto(1) == 0 ? "confirm" : "renew", token, lease}; break;
      case 6: words = {"release", token, lease, ""}; break;
      case 7: words = {upto(3) == 0 ? "want" : "release", token}; break;
      default: words = {"release", token}; break;
    }
    // What a holder does is done by the holder, mostly.
    if (words[0] != "acquire" && upto(9) != 0) {
      const auto held = quick.host.command({"GET", "record"}).text;
      if (held.size() > 10) words[1] = held.substr(10, held.find(':', 10) - 10);
    }
    // What another program does to the record; memory that is short for one call.
    std::vector<std::string> before;
    switch (upto(200)) {
      case 0: before = {"PERSIST", "record"}; break;
      case 1: before = {"SET", "record", "of another program", "PX", "100"}; break;
      default: break;
    }
    const bool is_short = upto(50) == 0;
    for (one_form* const f : {&quick, &common}) {
      f->host.set_time(now);
      if (!before.empty()) f->host.command(before);
      f->host.database().set_out_of_memory(is_short);
    }
    const reply a = quick.call(words), b = common.call(words);
    const auto told = quick.messages();
    const bool answers_same = a.type == b.type && without_place(a.text) == without_place(b.text) &&
                              a.integer == b.integer && told == common.messages();
    bool same = answers_same && quick.host.database().dump() == common.host.database().dump();
    // A hold that its client keeps: the quick form leaves that client's own entries, and the other one removes those
    // that have been silent for long.
    if (answers_same && !same && words[0] == "release" && a.type == '$' &&
        waits_alone(quick, words[1].substr(0, words[1].find('.') + 1)) &&
        quick.host.command({"GET", "record"}).text == common.host.command({"GET", "record"}).text) {
      for (one_form* const f : {&quick, &common}) f->forget();
      same = true;
    }
    std::string all;
    for (const auto& w : words) all += w + ' ';
    if (!same) ++differ;
    BOOST_TEST(same, step << ": " << all << "-> " << a.text << a.integer << " and " << b.text << b.integer << '\n'
                          << quick.host.database().dump() << '\n'
                          << common.host.database().dump());
    if (words[0] == "release" && a.type == '$') ++kept;
    for (const auto& [channel, text] : told) {
      handed_off += text.starts_with("granted") && words[0] == "release" ? 1U : 0U;
      watching += text.starts_with("watch") ? 1U : 0U;
      wanted += text.starts_with("wanted") ? 1U : 0U;
    }
  }
  BOOST_TEST(kept > 100U / rarer);
  if (!may_publish) {
    BOOST_TEST(handed_off + watching + wanted == 0U);
    return;
  }
  BOOST_TEST(handed_off > 2000U / rarer);
  BOOST_TEST(watching > 100U / rarer);
  BOOST_TEST(wanted > 100U / rarer);
}

BOOST_AUTO_TEST_CASE(both_forms_do_the_same) { compare_both_forms(true); }

BOOST_AUTO_TEST_CASE(both_forms_do_the_same_without_the_right_to_publish) { compare_both_forms(false); }

// A client that cannot be notified polls when it had planned to. So its entry counts as living until then, and no other
// waiter passes it.
BOOST_AUTO_TEST_CASE(without_the_right_to_publish_no_waiter_is_passed) {
  constexpr std::int64_t begin = 1800000000000000;
  const std::string polls_rarely = "1 30000 " + std::to_string(begin + 5000000);
  for (const std::string& tag : {std::string("0"), std::string(detail::tag_of_slot(detail::slot_of("record")))}) {
    for (const std::string& text : {std::string(detail::scripts::mutex.text), without_the_quick_forms()}) {
      one_form f(without_publish(text), tag);
      f.host.set_time(begin);
      const auto acquire = [&](const std::string& token) {
        const reply r = f.call({"acquire", token, "30000", "9007199254740991", "1", "", ""});
        BOOST_TEST(!r.is_error(), r.text);
        return r.text.substr(0, 1);
      };
      const auto entry = [&](const std::string& token) {
        return f.host.command({"HGET", detail::entries_key(tag, "record"), token}).text;
      };
      BOOST_TEST(acquire("a.1") == "1");
      for (const std::string token : {"b.1", "c.1", "d.1"}) {
        acquire(token);
        f.host.command({"HSET", detail::entries_key(tag, "record"), token, polls_rarely});
      }
      acquire("e.1");
      BOOST_TEST(entry("b.1") == polls_rarely);  // Came to the front: a poll.
      BOOST_TEST(f.call({"release", "a.1"}).integer == 1);
      BOOST_TEST(f.host.command({"GET", "record"}).text.starts_with("leasehold:b.1:"));
      BOOST_TEST(entry("b.1") == polls_rarely);  // Granted.
      BOOST_TEST(entry("c.1") == polls_rarely);  // Came to the front: a hand-off.
      // The grant ends after 2 s, and is repeated until the client polls.
      for (std::int64_t now = begin; now < begin + 4800000; now += 600000) {
        f.host.set_time(now);
        BOOST_TEST(acquire("d.1") != "1");
      }
      BOOST_TEST(f.call({"confirm", "b.1", "30000"}).text.starts_with("1 "));
      BOOST_TEST(entry("c.1") == polls_rarely);  // Came to the front: a confirmation.
      BOOST_TEST(f.call({"release", "b.1"}).integer == 1);
      BOOST_TEST(f.host.command({"GET", "record"}).text.starts_with("leasehold:c.1:"));
      BOOST_TEST(f.messages().empty());
    }
  }
}

// With tagged keys a message stays in the record's slot. A server without channels of slots refuses it, and the client
// listens on its channel of the plain layout there. Each of the quick forms that have a message is called once.
BOOST_AUTO_TEST_CASE(both_forms_notify_where_clients_with_tagged_keys_listen) {
  const std::string tag(detail::tag_of_slot(detail::slot_of("record")));
  constexpr std::int64_t now = 1800000000000000;
  const std::string polls_rarely = "1 30000 " + std::to_string(now + 5000000);
  for (const bool has_channels : {true, false}) {
    const std::string where = has_channels ? tag : "0";
    const auto message = [&](const std::string& client, const std::string& text) {
      return detail::client_channel(where, client) + ' ' + text;
    };
    for (std::string text : {std::string(detail::scripts::mutex.text), without_the_quick_forms()}) {
      if (!has_channels) {
        for (auto at = text.find("SPUBLISH"); at != text.npos; at = text.find("SPUBLISH")) text[at] = 'X';
      }
      one_form f(text, tag);
      f.host.set_time(now);
      // The channel, the first word and the token of each message.
      const auto told_by = [&f](const std::vector<std::string>& arguments) {
        const reply r = f.call(arguments);
        BOOST_TEST(!r.is_error(), r.text);
        std::vector<std::string> all;
        for (const auto& [channel, its_text] : f.messages()) {
          all.push_back(channel + ' ' + its_text.substr(0, its_text.find(' ', its_text.find(' ') + 1)));
        }
        return all;
      };
      const auto join = [&](const std::string& token) {
        return told_by({"acquire", token, "30000", "9007199254740991", "1", "", ""});
      };
      const auto let_it_poll_rarely = [&](const std::string& token) {
        f.host.command({"HSET", detail::entries_key(tag, "record"), token, polls_rarely});
      };
      using messages = std::vector<std::string>;
      BOOST_TEST(told_by({"acquire", "a.1", "30000", "9007199254740991", "", "", ""}).empty());
      BOOST_TEST(join("b.1").empty());
      BOOST_TEST(join("c.1").empty());
      let_it_poll_rarely("c.1");
      BOOST_TEST(join("d.1") == (messages{message("c", "watch c.1")}), boost::test_tools::per_element());
      BOOST_TEST(told_by({"release", "a.1"}) == (messages{message("b", "granted b.1"), message("d", "watch d.1")}),
                 boost::test_tools::per_element());
      let_it_poll_rarely("c.1");
      BOOST_TEST(told_by({"confirm", "b.1", "30000"}) == (messages{message("c", "watch c.1")}),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
