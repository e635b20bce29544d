// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "draw/table.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace lottery {

class table::statement {
 public:
  statement(const table& t, std::string_view sql) : table_(t) {
    sqlite3_stmt* s = nullptr;
    check(sqlite3_prepare_v2(t.database_.get(), sql.data(), static_cast<int>(sql.size()), &s, nullptr));
    statement_.reset(s);
  }

  statement& bind(int place, const std::string& text) {
    check(sqlite3_bind_text(statement_.get(), place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    return *this;
  }
  // A fence fits, too.
  statement& bind(int place, std::int64_t number) {
    check(sqlite3_bind_int64(statement_.get(), place, number));
    return *this;
  }

  // True if there is a row.
  bool step() {
    const int status = sqlite3_step(statement_.get());
    if (status != SQLITE_ROW && status != SQLITE_DONE) check(status);
    return status == SQLITE_ROW;
  }
  // For what has no rows: how many it has changed.
  int run() {
    step();
    return sqlite3_changes(table_.database_.get());
  }

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string text(int column) const {
    return reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  }

 private:
  struct finalize {
    void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
  };

  void check(int status) const {
    if (status == SQLITE_OK) return;
    throw std::runtime_error(fmt::format("{}: {}", table_.file_, sqlite3_errmsg(table_.database_.get())));
  }

  const table& table_;
  std::unique_ptr<sqlite3_stmt, finalize> statement_;
};

// Undone unless it was committed, also by SQLite itself if this program dies.
class table::transaction {
 public:
  explicit transaction(const table& t) : table_(t) { statement(t, "BEGIN IMMEDIATE").step(); }
  ~transaction() {
    if (!committed_) sqlite3_exec(table_.database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  void commit() {
    statement(table_, "COMMIT").step();
    committed_ = true;
  }

 private:
  const table& table_;
  bool committed_ = false;
};

// An absolute path, since SQLite takes some other names for something else than files.
table::table(const std::string& file) : file_(std::filesystem::absolute(file).string()) {
  sqlite3* database = nullptr;
  const int status = sqlite3_open(file_.c_str(), &database);
  database_.reset(database);
  if (status != SQLITE_OK) throw std::runtime_error(fmt::format("{}: {}", file_, sqlite3_errmsg(database)));
  sqlite3_busy_timeout(database, 5000);
  transaction change(*this);
  statement(*this,
            "CREATE TABLE IF NOT EXISTS draw (id TEXT PRIMARY KEY, tickets INTEGER NOT NULL, winners INTEGER NOT NULL, "
            "fence INTEGER NOT NULL, instance TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0)")
      .step();
  statement(*this,
            "CREATE TABLE IF NOT EXISTS winner (draw TEXT NOT NULL REFERENCES draw, place INTEGER NOT NULL, "
            "ticket INTEGER NOT NULL, PRIMARY KEY (draw, place), UNIQUE (draw, ticket))")
      .step();
  change.commit();
}

std::optional<progress> table::find(const draw& d) const {
  statement s(*this, "SELECT fence, instance, done, tickets, winners FROM draw WHERE id = ?1");
  if (!s.bind(1, d.id).step()) return std::nullopt;
  if (s.number(3) != d.tickets || s.number(4) != d.winners) {
    throw std::runtime_error(fmt::format("the draw {} was begun with {} tickets and {} winners, not {} and {}", d.id,
                                         s.number(3), s.number(4), d.tickets, d.winners));
  }
  return progress{{s.text(1), static_cast<std::uint64_t>(s.number(0))}, s.number(2) != 0};
}

// [begin]
answer table::begin(const draw& d, const drawer& by) {
  statement row(*this,
                "INSERT INTO draw (id, tickets, winners, fence, instance) VALUES (?1, ?2, ?3, ?4, ?5) "
                "ON CONFLICT (id) DO UPDATE SET fence = excluded.fence, instance = excluded.instance "
                "WHERE NOT done AND fence <= excluded.fence "
                "AND tickets = excluded.tickets AND winners = excluded.winners");
  row.bind(1, d.id).bind(2, d.tickets).bind(3, d.winners);
  row.bind(4, static_cast<std::int64_t>(by.fence)).bind(5, by.instance);
  return row.run() == 1 ? answer::accepted : why_refused(d);
}
// [/begin]

// [finish]
answer table::finish(const draw& d, const drawer& by, const std::vector<long>& winners) {
  transaction change(*this);
  statement row(*this,
                "UPDATE draw SET done = 1, fence = ?2, instance = ?3 WHERE id = ?1 AND NOT done AND fence <= ?2");
  row.bind(1, d.id).bind(2, static_cast<std::int64_t>(by.fence)).bind(3, by.instance);
  if (row.run() != 1) return why_refused(d);  // Nothing has been changed.
  for (std::size_t place = 0; place < winners.size(); ++place) {
    statement winner(*this, "INSERT INTO winner (draw, place, ticket) VALUES (?1, ?2, ?3)");
    winner.bind(1, d.id).bind(2, static_cast<std::int64_t>(place + 1)).bind(3, winners[place]).run();
  }
  change.commit();
  return answer::accepted;
}
// [/finish]

std::vector<long> table::winners(const draw& d) const {
  statement s(*this, "SELECT ticket FROM winner WHERE draw = ?1 ORDER BY place");
  s.bind(1, d.id);
  std::vector<long> tickets;
  while (s.step()) tickets.push_back(s.number(0));
  return tickets;
}

answer table::why_refused(const draw& d) const {
  const auto row = find(d);
  if (!row) throw std::runtime_error(fmt::format("{}: the draw {} has gone", file_, d.id));
  return row->done ? answer::done : answer::stale;
}

}  // namespace lottery
