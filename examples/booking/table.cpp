// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/table.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <thread>

namespace booking {

using namespace std::chrono_literals;

constexpr auto busy_timeout = 2000ms;

void table::closes::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }

// An SQL statement with its values.
class table::statement {
 public:
  statement(sqlite3* database, const char* sql) : database_(database) {
    check(sqlite3_prepare_v2(database_, sql, -1, &statement_, nullptr));
  }
  ~statement() { sqlite3_finalize(statement_); }
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

  statement& bind(int place, const std::string& text) {
    check(sqlite3_bind_text64(statement_, place, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
  }
  statement& bind(int place, std::uint64_t number) {
    check(sqlite3_bind_int64(statement_, place, static_cast<sqlite3_int64>(number)));  // A fence fits.
    return *this;
  }

  // For statements without a result, or whose result does not matter.
  void run() {
    const int status = sqlite3_step(statement_);
    if (status != SQLITE_DONE && status != SQLITE_ROW) check(status);
  }

  // The next row of the result; nothing at its end.
  std::optional<row> next() {
    const int status = sqlite3_step(statement_);
    if (status == SQLITE_DONE) return std::nullopt;
    if (status != SQLITE_ROW) check(status);
    row r;
    r.seat = text(0);
    r.state = text(1);
    r.customer = text(2);
    r.fence = static_cast<std::uint64_t>(sqlite3_column_int64(statement_, 3));
    return r;
  }

 private:
  void check(int status) {
    if (status == SQLITE_OK) return;
    throw table_error(fmt::format("the table: {}", sqlite3_errmsg(database_)), (status & 0xff) == SQLITE_BUSY);
  }

  std::string text(int column) {
    const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return std::string(begin, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
};

table::table(const std::string& file, int rows, int seats_of_a_row) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open(file.c_str(), &opened);
  database_.reset(opened);
  if (status != SQLITE_OK) throw table_error(fmt::format("{}: {}", file, sqlite3_errmsg(opened)), false);
  sqlite3_busy_timeout(opened, static_cast<int>(busy_timeout.count()));
  let_readers_go_on();
  execute("BEGIN IMMEDIATE");
  execute(
      "CREATE TABLE IF NOT EXISTS seats (seat TEXT PRIMARY KEY, state TEXT NOT NULL DEFAULT 'free',"
      " customer TEXT NOT NULL DEFAULT '', fence INTEGER NOT NULL DEFAULT 0)");
  for (int r = 0; r < rows; ++r) {
    for (int s = 1; s <= seats_of_a_row; ++s) {
      statement insert(opened, "INSERT OR IGNORE INTO seats (seat) VALUES (?1)");
      insert.bind(1, fmt::format("{}{}", static_cast<char>('A' + r), s)).run();
    }
  }
  execute("COMMIT");
}

// Readers do not wait for a writer then. SQLite does not wait for the others if several instances say so of a new file
// at once, because each would wait for the other.
void table::let_readers_go_on() {
  const auto end = std::chrono::steady_clock::now() + busy_timeout;
  for (;;) {
    try {
      return execute("PRAGMA journal_mode = WAL");
    } catch (const table_error& e) {
      if (!e.busy || std::chrono::steady_clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(5ms);
  }
}

void table::execute(const std::string& sql) { statement(database_.get(), sql.c_str()).run(); }

std::vector<row> table::all() {
  statement select(database_.get(), "SELECT seat, state, customer, fence FROM seats ORDER BY rowid");
  std::vector<row> rows;
  while (auto r = select.next()) rows.push_back(std::move(*r));
  return rows;
}

std::optional<row> table::find(const std::string& seat) {
  statement select(database_.get(), "SELECT seat, state, customer, fence FROM seats WHERE seat = ?1");
  return select.bind(1, seat).next();
}

// [fence]
change table::reserve(const std::string& seat, const std::string& customer, std::uint64_t fence) {
  statement update(database_.get(),
                   "UPDATE seats SET state = 'reserved', customer = ?3, fence = ?2"
                   " WHERE seat = ?1 AND fence <= ?2 AND state = 'free'");
  update.bind(1, seat).bind(2, fence).bind(3, customer);
  return changed(update, seat);
}
// [/fence]

change table::pay(const std::string& seat, std::uint64_t fence) {
  statement update(database_.get(),
                   "UPDATE seats SET state = 'paid', fence = ?2"
                   " WHERE seat = ?1 AND fence <= ?2 AND state = 'reserved'");
  update.bind(1, seat).bind(2, fence);
  return changed(update, seat);
}

change table::cancel(const std::string& seat, std::uint64_t fence) {
  statement update(database_.get(),
                   "UPDATE seats SET state = 'free', customer = '', fence = ?2"
                   " WHERE seat = ?1 AND fence <= ?2 AND state <> 'free'");
  update.bind(1, seat).bind(2, fence);
  return changed(update, seat);
}

change table::changed(statement& update, const std::string& seat) {
  update.run();
  change c;
  c.written = sqlite3_changes(database_.get()) == 1;
  if (auto r = find(seat)) c.now = std::move(*r);
  return c;
}

}  // namespace booking
