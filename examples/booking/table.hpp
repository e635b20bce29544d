// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The rows of the seats in an SQLite file, which stands for the database that all instances share. Every change carries
// the fence of the lock that it was made under, and a row refuses a smaller one than it has seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct sqlite3;

namespace booking {

struct row {
  std::string seat;      // "A1"
  std::string state;     // "free", "reserved" or "paid"
  std::string customer;  // "" of a free seat
  std::uint64_t fence = 0;
};

// What became of a change: the row as it is now, and whether the change made it so.
struct change {
  bool written = false;
  row now;
};

struct table_error : std::runtime_error {
  table_error(const std::string& what, bool is_busy) : std::runtime_error(what), busy(is_busy) {}
  bool busy;  // Another process had the file for too long.
};

// Every function blocks, for some milliseconds as a rule and for two seconds if the file is busy; then it throws
// table_error. One thread at a time may call them.
class table {
 public:
  // Makes the table, and the seats A1, A2, ..., B1, ... that are not in it yet.
  table(const std::string& file, int rows, int seats_of_a_row);

  std::vector<row> all();
  std::optional<row> find(const std::string& seat);

  change reserve(const std::string& seat, const std::string& customer, std::uint64_t fence);
  change pay(const std::string& seat, std::uint64_t fence);
  change cancel(const std::string& seat, std::uint64_t fence);

 private:
  struct closes {
    void operator()(sqlite3*) const noexcept;
  };
  class statement;

  void let_readers_go_on();
  void execute(const std::string& sql);
  change changed(statement& update, const std::string& seat);

  std::unique_ptr<sqlite3, closes> database_;
};

}  // namespace booking
