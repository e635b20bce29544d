// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "told.hpp"

#include <sqlite3.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

using options = std::map<std::string, std::string>;

struct with_draws : with_examples {
  std::string file = folder / "draws.db";

  child instance(const std::string& name, const options& other = {}) const {
    options all{
        {"--table", file}, {"--draw", "christmas"}, {"--instance", name}, {"--lease", "10m"}, {"--work", "20ms"}};
    for (const auto& [option, value] : other) all[option] = value;
    words command{"draw"};
    for (const auto& [option, value] : all) command.insert(command.end(), {option, value});
    return start(std::move(command));
  }

  // Each row of the result, its columns joined by '|'.
  std::vector<std::string> sql(const std::string& text) const {
    sqlite3* database = nullptr;
    const int opened = sqlite3_open(file.c_str(), &database);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closes(database, sqlite3_close);
    if (opened != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(database));
    sqlite3_busy_timeout(database, 10000);
    std::vector<std::string> rows;
    auto add = [](void* to, int columns, char** values, char**) {
      std::string row;
      for (int i = 0; i < columns; ++i) row.append(i > 0 ? "|" : "").append(values[i] ? values[i] : "NULL");
      static_cast<std::vector<std::string>*>(to)->push_back(row);
      return 0;
    };
    if (sqlite3_exec(database, text.c_str(), add, &rows, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(database));
    }
    return rows;
  }

  std::vector<std::string> all_rows() const {
    auto rows = sql("SELECT * FROM draw ORDER BY id");
    const auto winners = sql("SELECT * FROM winner ORDER BY draw, place");
    rows.insert(rows.end(), winners.begin(), winners.end());
    return rows;
  }

  // One draw, done by that instance, with ten winners of the tickets 1 to 1000.
  void require_drawn_by(const std::string& name) const {
    BOOST_TEST(sql("SELECT id, instance, done FROM draw") == words{"christmas|" + name + "|1"},
               boost::test_tools::per_element());
    BOOST_TEST(sql("SELECT count(*), count(DISTINCT ticket), min(ticket) >= 1, max(ticket) <= 1000 FROM winner") ==
                   words{"10|10|1|1"},
               boost::test_tools::per_element());
  }
};

std::string in_a_second() {
  const std::time_t then = std::time(nullptr) + 1;
  std::tm local{};
  ::localtime_r(&then, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(draw, with_draws)

BOOST_AUTO_TEST_CASE(of_five_instances_that_start_together_one_draws) {
  const options together{{"--at", in_a_second()}};
  child instances[] = {instance("alpha", together), instance("beta", together), instance("gamma", together),
                       instance("delta", together), instance("epsilon", together)};
  std::size_t drawings = 0;
  std::string drawn_by;
  std::set<std::string> results;
  for (child& c : instances) {
    while (const auto line = c.read_line()) {
      const told t{*line};
      if (t.what() == "drawing") {
        ++drawings;
        drawn_by = t.text("instance");
      } else if (t.what() == "done") {
        results.insert(t.text("fence") + " " + t.text("by") + " " + t.text("winners"));
      } else {
        BOOST_TEST((t.what() == "waiting" || t.what() == "writing"), *line);
      }
    }
    BOOST_TEST(c.wait() == 0, c.errors());
  }
  BOOST_TEST(drawings == 1U);
  BOOST_TEST(results.size() == 1U);
  require_drawn_by(drawn_by);
  BOOST_TEST(redis.size() == 0U);

  // What is done stays as it is.
  const auto rows = all_rows();
  child late = instance("late");
  BOOST_TEST(next(late, "done").text("by") == drawn_by);
  BOOST_TEST(end_of(late).status == 0);
  BOOST_TEST(all_rows() == rows, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_waits_for_the_time_can_be_ended) {
  // Also if that is now.
  child early = instance("early", {{"--at", "23:59:59"}, {"--work", "10m"}});
  BOOST_TEST(next(early, "waiting").text("until") == "23:59:59");
  early.signal(SIGTERM);
  BOOST_TEST(end_of(early).status == 128 + SIGTERM);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(another_one_draws_if_the_first_dies_in_the_middle) {
  child first = instance("first", {{"--lease", short_lease}, {"--work", "10m"}});
  next(first, "waiting");
  const auto dead = next(first, "drawing").number("fence");
  child second = instance("second");
  next(second, "waiting");
  child impatient = instance("impatient", {{"--wait", "50ms"}});
  const ended e = end_of(impatient);
  BOOST_TEST(e.status == 1);
  BOOST_TEST(contains(e.errors, "timed out"), e.errors);
  first.signal(SIGKILL);
  const told drawing = next(second, "drawing");
  BOOST_TEST(drawing.text("after") == "first");
  BOOST_TEST(drawing.number("fence") > dead);
  next(second, "writing");
  BOOST_TEST(next(second, "done").number("fence") == drawing.number("fence"));
  BOOST_TEST(end_of(second).status == 0);
  require_drawn_by("second");
}

BOOST_AUTO_TEST_CASE(one_that_was_frozen_is_refused_when_the_draw_is_done) {
  child before_writing = instance("before_writing", {{"--lease", short_lease}, {"--stall", "3s"}});
  child at_work = instance("at_work", {{"--draw", "easter"}, {"--lease", short_lease}, {"--work", "10m"}});
  next(at_work, "waiting");
  next(at_work, "drawing");
  at_work.stop();
  next(before_writing, "waiting");
  next(before_writing, "drawing");
  const auto fence = next(before_writing, "writing").number("fence");
  before_writing.stop();
  for (const char* name : {"christmas", "easter"}) {
    child heir = instance("heir", {{"--draw", name}});
    next(heir, "waiting");
    next(heir, "drawing");
    next(heir, "writing");
    BOOST_TEST(next(heir, "done").text("by") == "heir");
  }
  const auto rows = all_rows();

  before_writing.signal(SIGCONT);
  const told refused = next(before_writing, "refused");
  BOOST_TEST(refused.number("fence") == fence);
  BOOST_TEST(refused.number("table") > fence);
  BOOST_TEST(contains(refused.line, "is done"), refused.line);
  next(before_writing, "lost");
  BOOST_TEST(next(before_writing, "done").text("by") == "heir");
  BOOST_TEST(end_of(before_writing).status == 0);

  // This one does not come to the table at all: its work was cancelled.
  at_work.signal(SIGCONT);
  next(at_work, "lost");
  BOOST_TEST(next(at_work, "done").text("by") == "heir");
  BOOST_TEST(end_of(at_work).status == 0);
  BOOST_TEST(all_rows() == rows, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_was_frozen_is_refused_while_another_one_draws) {
  child frozen = instance("frozen", {{"--lease", short_lease}, {"--stall", "3s"}});
  next(frozen, "waiting");
  next(frozen, "drawing");
  next(frozen, "writing");
  frozen.stop();
  child heir = instance("heir", {{"--work", "10m"}});
  next(heir, "waiting");
  const auto fence = next(heir, "drawing").number("fence");
  frozen.signal(SIGCONT);
  const told refused = next(frozen, "refused");
  BOOST_TEST(refused.number("table") == fence);
  BOOST_TEST(contains(refused.line, "has a larger fence"), refused.line);
  next(frozen, "lost");
  next(frozen, "waiting");
  BOOST_TEST(sql("SELECT * FROM winner").size() == 0U);
  // Interrupted, the heir releases the lock, and it is the other one's turn after all.
  heir.signal(SIGTERM);
  BOOST_TEST(end_of(heir).status == 128 + SIGTERM);
  const told drawing = next(frozen, "drawing");
  BOOST_TEST(drawing.text("after") == "heir");
  BOOST_TEST(drawing.number("fence") > fence);
}

BOOST_AUTO_TEST_CASE(the_table_has_the_last_word) {
  child slow = instance("slow", {{"--draw", "easter"}, {"--stall", "3s"}});
  next(slow, "waiting");
  next(slow, "drawing");
  next(slow, "writing");
  // Somebody has drawn by hand.
  sql("UPDATE draw SET done = 1");
  // And this draw has seen a lock that is still to come.
  sql("INSERT INTO draw VALUES ('christmas', 1000, 10, 9223372036854775807, 'tomorrow', 0)");
  const auto rows = all_rows();

  child today = instance("today");
  next(today, "waiting");
  const told refused = next(today, "refused");
  BOOST_TEST(refused.text("table") == "9223372036854775807");
  const ended e = end_of(today);
  BOOST_TEST(e.status == 1);
  BOOST_TEST(e.output == "");
  BOOST_TEST(contains(e.errors, "Redis has lost its fences"), e.errors);

  BOOST_TEST(contains(next(slow, "refused").line, "is done"));
  next(slow, "done");
  BOOST_TEST(end_of(slow).status == 0);
  BOOST_TEST(all_rows() == rows, boost::test_tools::per_element());
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(winners_are_written_all_or_none) {
  child other = instance("other", {{"--draw", "easter"}});
  BOOST_TEST(end_of(other).status == 0);
  // The seventh place is taken.
  sql("INSERT INTO winner VALUES ('christmas', 7, 1001)");
  child one = instance("one");
  const ended e = end_of(one);
  BOOST_TEST(e.status == 1);
  BOOST_TEST(contains(e.errors, "UNIQUE constraint failed"), e.errors);
  BOOST_TEST(sql("SELECT done FROM draw WHERE id = 'christmas'") == words{"0"}, boost::test_tools::per_element());
  BOOST_TEST(sql("SELECT * FROM winner WHERE draw = 'christmas'") == words{"christmas|7|1001"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_draw_keeps_the_numbers_with_which_it_was_begun) {
  child first = instance("first");
  BOOST_TEST(end_of(first).status == 0);
  child other = instance("other", {{"--tickets", "1001"}});
  const ended e = end_of(other);
  BOOST_TEST(e.status == 1);
  BOOST_TEST(contains(e.errors, "christmas was begun with 1000 tickets and 10 winners, not 1001 and 10"), e.errors);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_named) {
  const std::vector<std::pair<options, std::string>> mistakes{
      {{{"--lease", "soon"}}, "\"soon\" is no duration"},
      {{{"--lease", "0s"}}, "--lease: "},
      {{{"--at", "24:00:00"}}, "\"24:00:00\" is no time of day"},
      {{{"--tickets", "9"}}, "--winners: 1 to 9"},
      {{{"--table", ""}}, "--table is needed"},
      {{{"--redis", "http://x"}}, "invalid url"},
      {{{"--table", folder.path()}}, folder.path()},
  };
  for (const auto& [mistaken, text] : mistakes) {
    child c = instance("one", mistaken);
    const ended e = end_of(c);
    BOOST_TEST((e.status == 64 || e.status == 1), e.status);
    BOOST_TEST(contains(e.errors, text), e.errors);
    BOOST_TEST(e.output == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
