// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Elections in a schedule: who follows them, and what must be true of what leaders and observers are told. Each value
// is proclaimed once, and its number tells which of two is the older one of a term.
#pragma once

#include "simulation/schedule.hpp"

#include <leasehold/election.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::simulation {

// For results instead of exceptions.
inline constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

class elections {
 public:
  // The state of an election: a term, and the number of the latest value.
  struct state {
    std::uint64_t term = 0, value = 0;
    auto operator<=>(const state&) const = default;
  };

  elections(world& w, judge& j, reach& reached) : world_(w), judge_(j), reached_(reached) {}
  elections(const elections&) = delete;
  elections& operator=(const elections&) = delete;

  // The process is an observer of this election as long as it lives.
  void follow(process&, const std::string& name);
  // What the worker is about to proclaim.
  std::string value_of(std::string_view worker);

  // The leader has campaigned, or proclaimed, with success: from now on others can see it.
  void proclaimed(const std::shared_ptr<held>& leader, const std::string& value);
  // It was told that the server refuses this value. Late bytes may bring it, before the value of before is sent again.
  void refused(const std::string& value) { refused_.insert(number_of(value)); }
  // It has resigned with success.
  void resigned(const held&);
  // What is known to be over of an election now; to be had before election::leader is asked.
  state known(const std::string& name) const;
  // What that has answered.
  void answered(const std::string& name, state known_before, const std::optional<leader_info>&);

  void look();
  // Each observer that lives has been told last that nobody leads.
  bool is_quiet() const;

 private:
  // What was done last with success.
  struct fact {
    state reached;
    clock::time_point at{};
    std::shared_ptr<held> leader{};  // Null: the term is over.
    process* by = nullptr;
  };
  struct follower {
    process* by;
    std::string name;
    bool is_new = true;
    std::optional<leader_info> last{};
    state newest{};
    std::vector<std::uint64_t> of_its_term{};  // The numbers of the values that it was told.
    clock::time_point since{};
    bool has_ended = false;
  };
  static asio::awaitable<void> observe(elections*, std::shared_ptr<follower>);
  void told(follower&, std::optional<leader_info>);
  static std::uint64_t number_of(const std::string& value);
  state check(const std::string& name, const leader_info&);
  void set(const std::string& name, const fact&);
  bool leads(const fact&) const;

  world& world_;
  judge& judge_;
  reach& reached_;
  std::uint64_t values_ = 0;
  std::map<std::string, fact> facts_;                                     // By name.
  std::map<std::pair<std::string, std::uint64_t>, std::string> workers_;  // By name and term.
  std::map<std::uint64_t, std::pair<std::string, std::uint64_t>> terms_;  // By the number of the value.
  std::set<std::uint64_t> refused_, done_;                                // The numbers of values. Done: with success.
  std::deque<std::shared_ptr<follower>> followers_;
  std::string complaint_;  // To be made at the next look.
};

}  // namespace leasehold::simulation
