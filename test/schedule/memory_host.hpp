// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "schedule/script_host.hpp"
#include "store/memory/database.hpp"
#include "store/memory/scripting.hpp"

#include <deque>

namespace leasehold::test {

// The store in memory. Commands run when they are sent.
class memory_host : public script_host {
 public:
  memory_host();

  void set_time(std::int64_t microseconds) override { database_.set_time(std::chrono::microseconds(microseconds)); }
  void load(std::string_view text) override { scripting_.load(text); }
  void send(const std::vector<std::string>& words) override { replies_.push_back(run(words)); }
  reply receive() override;
  std::vector<message> messages() override;

  detail::memory::database& database() { return database_; }
  detail::memory::scripting& scripting() { return scripting_; }

 private:
  // EVAL, EVALSHA, SCRIPT LOAD, CONFIG SET maxmemory (0: memory is not short), and the commands of the database.
  reply run(const std::vector<std::string>& words);

  detail::memory::database database_;
  detail::memory::scripting scripting_;
  std::deque<reply> replies_;
  std::vector<message> messages_;
};

}  // namespace leasehold::test
