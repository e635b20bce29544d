// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The judge finds what is wrong, and nothing else.
#include "judge/history.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit_test.hpp"

#include <initializer_list>
#include <string>
#include <vector>

namespace leasehold::test {
namespace {

constexpr instant second = 1000000000;

// A tenure of a second, in seconds.
tenure held(std::string kind, std::string who, double granted, std::uint64_t fence) {
  tenure t;
  t.kind = std::move(kind);
  t.who = std::move(who);
  t.name = "n";
  t.granted = static_cast<instant>(granted * second);
  t.called = *t.granted - second / 10;
  t.limit = *t.granted;
  t.fence = fence;
  t.at_first = t.expires = *t.granted + 2 * second;
  t.given_up = *t.granted + second;
  return t;
}

process_history process(std::initializer_list<tenure> tenures) {
  process_history p;
  for (const tenure& t : tenures) p.tenures[std::to_string(p.tenures.size())] = t;
  return p;
}

std::string judged(const process_history& p, const excuses& e = {}) {
  const judgement j = judge({p}, e);
  if (j.violations.empty()) return {};
  const std::string& first = j.violations.front();
  return first.substr(0, first.find(':'));
}

std::string judged(std::initializer_list<tenure> tenures, const excuses& e = {}) { return judged(process(tenures), e); }

excuses losing(instant from, instant to) {
  excuses e;
  e.losing = {{from, to}};
  return e;
}

// By a second, at the tenth.
excuses stepped() {
  excuses e;
  e.steps = {{{10 * second, 10 * second + 1}, second}};
  return e;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_judge)

BOOST_AUTO_TEST_CASE(finds_two_at_a_time) {
  BOOST_TEST(judged({held("mutex", "-", 10, 1), held("mutex", "-", 11, 2)}) == "");
  BOOST_TEST(judged({held("mutex", "-", 10, 1), held("mutex", "-", 10.9, 2)}) == "together");
  tenure freed = held("mutex", "-", 10, 1);
  freed.given_up.reset();
  freed.told = freed.expires;
  BOOST_TEST(judged({freed, held("mutex", "-", 11.9, 2)}) == "together");
  BOOST_TEST(judged({freed, held("mutex", "-", 12, 2)}) == "");
  BOOST_TEST(judged({held("shared_mutex", "r", 10, 1), held("shared_mutex", "r", 10.5, 1)}) == "");
  BOOST_TEST(judged({held("shared_mutex", "r", 10, 1), held("shared_mutex", "w", 10.5, 2)}) == "together");
  BOOST_TEST(judged({held("shared_mutex", "w", 10, 1), held("shared_mutex", "w", 10.5, 2)}) == "together");
  BOOST_TEST(judged({held("recursive_mutex", "a", 10, 1), held("recursive_mutex", "a", 10.5, 1)}) == "");
  BOOST_TEST(judged({held("recursive_mutex", "a", 10, 1), held("recursive_mutex", "b", 10.5, 2)}) == "together");
  const tenure permit = held("counting_semaphore", "2", 10, 1);
  BOOST_TEST(judged({permit, held("counting_semaphore", "2", 10.5, 2)}) == "");
  BOOST_TEST(judged({permit, held("counting_semaphore", "2", 10.5, 2), held("counting_semaphore", "2", 10.8, 3)}) ==
             "more than the limit");
}

BOOST_AUTO_TEST_CASE(allows_two_where_grants_were_lost_if_their_fences_differ) {
  const tenure first = held("mutex", "-", 10, 1);
  BOOST_TEST(judged({first, held("mutex", "-", 10.5, 2)}, losing(10 * second, 11 * second)) == "");
  BOOST_TEST(judged({first, held("mutex", "-", 10.5, 2)}, losing(9 * second, 9 * second + 1)) == "together");
  BOOST_TEST(judged({first, held("mutex", "-", 10.5, 2)}, losing(11 * second, 12 * second)) == "together");
  BOOST_TEST(judged({first, held("mutex", "-", 10.5, 1)}, losing(10 * second, 11 * second)) ==
             "together with the same fence");
}

// An early loss, and two at a time, by no more than the step, and only those whose leases had begun.
BOOST_AUTO_TEST_CASE(allows_what_a_step_of_the_clock_does) {
  const tenure first = held("mutex", "-", 10, 1);
  BOOST_TEST(judged({first, held("mutex", "-", 10.1, 2)}, stepped()) == "");
  BOOST_TEST(judged({first, held("mutex", "-", 10.1, 1)}, stepped()) == "together with the same fence");
  tenure longer = first;
  longer.given_up = longer.expires;
  BOOST_TEST(judged({longer, held("mutex", "-", 10.9, 2)}, stepped()) == "together");
  BOOST_TEST(judged({longer, held("mutex", "-", 11.1, 2)}, stepped()) == "");
  BOOST_TEST(judged({held("mutex", "-", 10.2, 1), held("mutex", "-", 10.9, 2)}, stepped()) == "together");
  const tenure permit = held("counting_semaphore", "1", 10, 1);
  BOOST_TEST(judged({permit, held("counting_semaphore", "1", 10.1, 2)}, stepped()) == "");
  BOOST_TEST(judged({permit, held("counting_semaphore", "1", 10.2, 2), held("counting_semaphore", "1", 10.3, 3)},
                    stepped()) == "more than the limit");
  BOOST_TEST(judged({held("mutex", "-", 10, 3), held("mutex", "-", 12, 2)}, stepped()) == "a fence that does not grow");
  // The first one's grant arrived when its lease, and that of the second, had ended.
  tenure arrives_late = held("mutex", "-", 10.9, 1);
  arrives_late.called = 9 * second;
  tenure meanwhile = held("mutex", "-", 10.5, 2);
  meanwhile.given_up = 10 * second + second / 2 + 1;
  arrives_late.expires = 11 * second;
  BOOST_TEST(judged({arrives_late, meanwhile}) == "a fence that does not grow");
  BOOST_TEST(judged({arrives_late, meanwhile}, stepped()) == "");

  tenure lost = first;
  lost.given_up.reset();
  lost.told = 10 * second + 1;
  BOOST_TEST(judged({lost}, stepped()) == "");
  lost = held("mutex", "-", 20, 1);
  lost.given_up.reset();
  lost.told = 20 * second + 1;
  BOOST_TEST(judged({lost}, stepped()) == "lost without a reason");
  // Whoever has seen it knows better.
  tenure knows = first;
  knows.jumps = {10 * second + second / 20};
  BOOST_TEST(judged({knows, held("mutex", "-", 10.1, 2)}, stepped()) == "together");
  knows.jumps = {10 * second + second / 5};
  BOOST_TEST(judged({knows, held("mutex", "-", 10.1, 2)}, stepped()) == "");
  process_history p = process({first});
  p.jumps = {10 * second};
  BOOST_TEST(judged(p, stepped()) == "");
  BOOST_TEST(judged(p) == "saw a step of a clock that was not stepped");
}

BOOST_AUTO_TEST_CASE(finds_fences_that_do_not_grow) {
  BOOST_TEST(judged({held("mutex", "-", 10, 2), held("mutex", "-", 12, 2)}) == "a fence that does not grow");
  BOOST_TEST(judged({held("mutex", "-", 10, 3), held("mutex", "-", 12, 2)}) == "a fence that does not grow");
  // Whatever is lost: the first was granted before the second was asked for.
  BOOST_TEST(judged({held("mutex", "-", 10, 3), held("mutex", "-", 12, 2)}, losing(10 * second, 12 * second)) ==
             "a fence that does not grow");
  tenure early = held("mutex", "-", 12, 2);
  early.called = 9 * second;
  BOOST_TEST(judged({held("mutex", "-", 10, 3), early}) == "a fence that does not grow");
  BOOST_TEST(judged({held("mutex", "-", 10, 3), early}, losing(10 * second, 12 * second)) == "");
  // A client passes on what was granted to one who has gone.
  BOOST_TEST(judged({held("counting_semaphore", "2", 10, 2), held("counting_semaphore", "2", 12, 1)}) == "");
  BOOST_TEST(judged({held("counting_semaphore", "2", 10, 2), held("counting_semaphore", "2", 12, 2)}) ==
             "the same fence twice");
  BOOST_TEST(judged({held("shared_mutex", "r", 10, 2), held("shared_mutex", "w", 12, 2)}) ==
             "a fence that does not grow");
  tenure reader = held("shared_mutex", "r", 12, 2);
  reader.called = 9 * second;
  const process_history readers = process({held("shared_mutex", "r", 10, 3), reader});
  BOOST_TEST(judged(readers) == "a fence that does not grow");
  BOOST_TEST(judge({readers}, {.quorum = true}).violations.empty());
  // Nor do those of one phase who came one after the other; an owner's re-entries do.
  tenure later = held("shared_mutex", "r", 12, 2);
  later.called = 23 * second / 2;
  tenure earlier = held("shared_mutex", "r", 10, 3);
  BOOST_TEST(judged(process({earlier, later})) == "a fence that does not grow");
  BOOST_TEST(judge({process({earlier, later})}, {.quorum = true}).violations.empty());
  for (tenure* t : {&earlier, &later}) t->kind = "recursive_mutex";
  BOOST_TEST(!judge({process({earlier, later})}, {.quorum = true}).violations.empty());
  // But for those that join another one, which overlaps.
  tenure other = earlier;
  other.fence = 2;
  BOOST_TEST(judge({process({earlier, other, later})}, {.quorum = true}).violations.empty());
}

// A fail-over loses the end of the owner's earlier tenure, which is there again then.
BOOST_AUTO_TEST_CASE(allows_an_owner_to_find_what_a_fail_over_has_brought_back) {
  const excuses lossy = losing(9 * second, 13 * second);
  tenure earlier = held("recursive_mutex", "first", 9, 2);
  earlier.given_up = 19 * second / 2;
  const tenure between = held("recursive_mutex", "second", 10, 3);
  const tenure again = held("recursive_mutex", "first", 12, 2);
  BOOST_TEST(judged({earlier, between, again}, lossy) == "");
  BOOST_TEST(judged({between, again}, lossy) == "a fence that does not grow");
  // Also one that its client has given up before it knew of it.
  tenure in_vain = earlier;
  in_vain.granted.reset();
  in_vain.given_up.reset();
  in_vain.ended = 10 * second;
  in_vain.reason = "timed out";
  BOOST_TEST(judged({in_vain, between, again}, lossy) == "");
  BOOST_TEST(judged({in_vain, between, again}) == "a fence that does not grow");
  // Its fence would have been later than that of a grant before it was asked for.
  tenure before = between;
  before.granted = 8 * second;
  before.called = 7 * second;
  before.given_up = before.expires = *before.granted + 1;
  BOOST_TEST(judged({before, in_vain, again}, lossy) == "a fence that does not grow");
  in_vain.who = "second";
  BOOST_TEST(judged({in_vain, between, again}, lossy) == "a fence that does not grow");
}

// From a ticket: its fence is that of the hold before, unless somebody else was granted the lock meanwhile.
BOOST_AUTO_TEST_CASE(allows_a_hold_that_goes_on_with_its_fence) {
  tenure goes_on = held("mutex", "-", 12, 2);
  goes_on.resumed = true;
  BOOST_TEST(judged({held("mutex", "-", 10, 2), goes_on}) == "");
  BOOST_TEST(judged({held("mutex", "-", 8, 2), held("mutex", "-", 10, 3), goes_on}) == "a fence that does not grow");
  BOOST_TEST(judged({held("mutex", "-", 11.5, 2), goes_on}) == "together with the same fence");
  goes_on.kind = "counting_semaphore";
  goes_on.who = "2";
  BOOST_TEST(judged({held("counting_semaphore", "2", 10, 2), goes_on}) == "");
}

BOOST_AUTO_TEST_CASE(finds_what_comes_late_or_never) {
  tenure lost = held("mutex", "-", 10, 1);
  lost.given_up.reset();
  BOOST_TEST(judged({lost}) == "its loss was not told");
  lost.told = lost.expires + 10 * second;
  BOOST_TEST(judged({lost}) == "its loss was told late");
  process_history p = process({lost});
  p.frozen.push_back({*lost.granted + 1, *lost.told - second});
  BOOST_TEST(judged(p) == "");
  lost.told = *lost.granted + 1;
  BOOST_TEST(judged({lost}) == "lost without a reason");
  BOOST_TEST(judged({lost}, losing(10 * second, 11 * second)) == "");
  excuses forgetting;
  forgetting.forgetting = {{10 * second, 11 * second}};
  BOOST_TEST(judged({lost}, forgetting) == "");
  BOOST_TEST(judged({held("mutex", "-", 10, 1), held("mutex", "-", 10.9, 2)}, forgetting) == "together");
  process_history killed = process({held("mutex", "-", 10, 1)});
  killed.tenures["0"].given_up.reset();
  killed.killed = 10 * second + 2;
  BOOST_TEST(judged(killed) == "");

  tenure waits = held("mutex", "-", 10, 1);
  waits.granted.reset();
  BOOST_TEST(judged({waits}) == "has not ended");
  waits.ended = *waits.limit + second;
  waits.reason = "timed out";
  BOOST_TEST(judged({waits}) == "");
  waits.ended = *waits.limit + 10 * second;
  BOOST_TEST(judged({waits}) == "ended late, with timed out");
  waits.limit.reset();
  BOOST_TEST(judged({waits}) == "asked for ever and ended with timed out");
  waits.reason = "Operation canceled";
  BOOST_TEST(judged({waits}) == "ended with Operation canceled");
}

BOOST_AUTO_TEST_CASE(finds_a_part_of_what_was_asked_for_together) {
  tenure a = held("mutex", "-", 10, 1);
  tenure b = held("mutex", "-", 10, 1);
  b.name = "m";
  a.together = b.together = "1";
  BOOST_TEST(judged({a, b}) == "");
  tenure ended = b;
  ended.granted.reset();
  ended.ended = *a.granted;
  ended.reason = "timed out";
  BOOST_TEST(judged({a, ended}) == "a part of what was asked for together");
  ended.together.clear();
  BOOST_TEST(judged({a, ended}) == "");
  b.at_first = *a.granted - 2 * second;
  BOOST_TEST(judged({a, b}) == "not all of them at once");
  process_history p = process({held("mutex", "-", 10, 1)});
  p.counts["held_by_nobody"] = 1;
  BOOST_TEST(judged(p) == "holds that nobody has");
}

// Which limit was in force is certain only after a resize, and while somebody is in.
BOOST_AUTO_TEST_CASE(knows_the_limits_of_a_semaphore) {
  const tenure first = held("counting_semaphore", "2", 10, 1);
  const tenure another = held("counting_semaphore", "2", 10.5, 2);
  const tenure third = held("counting_semaphore", "2", 10.8, 3);
  const auto resized = [](double called, std::uint64_t limit, const char* reason) {
    operation o;
    o.what = "resize";
    o.name = "n";
    o.resize = limit;
    o.called = static_cast<instant>(called * second);
    o.limit = o.called + second;
    o.ended = o.called + second / 100;
    o.reason = reason;
    return o;
  };
  const auto judged_with = [&](std::initializer_list<tenure> tenures, std::initializer_list<operation> resizes) {
    process_history p = process(tenures);
    for (const operation& o : resizes) p.operations[std::to_string(p.operations.size())] = o;
    return judged(p);
  };
  BOOST_TEST(judged_with({first, another, third}, {}) == "more than the limit");
  BOOST_TEST(judged_with({first, another, third}, {resized(10.1, 3, "Success")}) == "");
  BOOST_TEST(judged_with({first, another, third}, {resized(10.1, 3, "unreachable")}) == "");
  BOOST_TEST(judged_with({first, another}, {resized(10.1, 1, "Success")}) == "more than the limit");
  BOOST_TEST(judged_with({first, another}, {resized(10.1, 1, "unreachable")}) == "");
  // The second was in before.
  BOOST_TEST(judged_with({first, another}, {resized(10.45, 1, "Success")}) == "");
  BOOST_TEST(judged_with({first, another}, {resized(10.1, 1, "Success"), resized(10.2, 2, "Success")}) == "");
  BOOST_TEST(judged_with({first, another}, {resized(10.1, 2, "Success"), resized(10.2, 1, "Success")}) ==
             "more than the limit");
  // Nobody was in for a while, and the next one brought the limit that he knew.
  BOOST_TEST(judged_with({first, held("counting_semaphore", "2", 11.1, 2), held("counting_semaphore", "2", 11.5, 3)},
                         {resized(10.1, 1, "Success")}) == "");
  tenure refused = held("counting_semaphore", "2", 10, 1);
  refused.granted.reset();
  refused.ended = 10 * second;
  refused.reason = "wrong limit";
  BOOST_TEST(judged({refused}) == "ended with wrong limit");
  BOOST_TEST(judged_with({refused}, {resized(9, 3, "Success")}) == "");
}

BOOST_AUTO_TEST_CASE(reads_notes) {
  const temporary_folder folder;
  process_history p;
  p.name = "p";
  p.read(folder.write("notes",
                      "call 1 shared_mutex n w 5 100 0 7 0\n"
                      "grant 1 6 77 200\n"
                      "expires 1 300\n"
                      "expires 1 250\n"
                      "jump 0 35\n"
                      "jump 1 36\n"
                      "give_up 1 40\n"
                      "call 2 mutex m - 9 -1 1 0 1\n"
                      "together 2 1\n"
                      "end 2 50 Operation canceled\n"
                      "resize 3 permits 2\n"
                      "begin 3 resize 60 90\n"
                      "done 3 70 timed out\n"
                      "count passed 3\n"
                      "jump 0 80\n"
                      "end 1 7"));
  const tenure& t = p.tenures.at("1");
  BOOST_TEST(t.id == "p/1");
  BOOST_TEST(t.who == "w");
  BOOST_TEST(t.limit.value() == 105);
  BOOST_TEST(t.margin == 7);
  BOOST_TEST(t.granted.value() == 6);
  BOOST_TEST(t.fence == 77U);
  BOOST_TEST(t.expires == 250);
  BOOST_TEST(t.claimed_until() == 40);
  BOOST_TEST(!t.ended.has_value());
  BOOST_TEST(!p.tenures.at("2").limit.has_value());
  BOOST_TEST(p.tenures.at("2").cancelled);
  BOOST_TEST(p.tenures.at("2").together == "1");
  BOOST_TEST(p.tenures.at("2").reason == "Operation canceled");
  BOOST_TEST(p.operations.at("3").limit == 90);
  BOOST_TEST(p.operations.at("3").name == "permits");
  BOOST_TEST(p.operations.at("3").resize == 2U);
  BOOST_TEST(p.operations.at("3").reason == "timed out");
  BOOST_TEST(p.counts.at("passed") == 3U);
  BOOST_TEST((p.jumps == std::vector<instant>{35, 36, 80}));
  BOOST_TEST((t.jumps == std::vector<instant>{35}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
