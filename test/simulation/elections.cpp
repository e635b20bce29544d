// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/elections.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace leasehold::simulation {
namespace {

using std::chrono::milliseconds;

// Above every value of its term.
constexpr std::uint64_t over = std::numeric_limits<std::uint64_t>::max();

// An observer asks that often, whatever messages were lost, and what it learns then takes a moment more.
constexpr milliseconds now_and_then{5300};

std::string text_of(const std::optional<leader_info>& found) {
  return found ? fmt::format("term {} of \"{}\"", found->fence, found->value) : "nobody";
}

}  // namespace

std::string elections::value_of(std::string_view worker) { return fmt::format("{} {}", ++values_, worker); }

void elections::follow(process& p, const std::string& name) {
  auto f = std::make_shared<follower>(follower{.by = &p, .name = name});
  f->since = world_.now();
  followers_.push_back(f);
  asio::co_spawn(p.executor(), observe(this, std::move(f)), asio::detached);
}

asio::awaitable<void> elections::observe(elections* all, std::shared_ptr<follower> f) {
  const auto observer = election(f->by->client(), f->name).observe();
  for (;;) {
    auto waiting = observer.next(as_tuple);
    auto [ec, found] = co_await std::move(waiting);
    ++all->reached_["observer: " + (ec ? ec.message() : found ? "a leader" : "nobody")];
    if (ec == error::closed) break;
    if (!ec) all->told(*f, std::move(found));
    if (ec) co_await f->by->sleep(milliseconds(20));
  }
  f->has_ended = true;
}

std::uint64_t elections::number_of(const std::string& value) {
  return value.find(' ') == std::string::npos ? 0 : std::stoull(value);
}

// A value is of one worker and one term, and a term of one worker.
elections::state elections::check(const std::string& name, const leader_info& found) {
  const auto number = number_of(found.value);
  if (number == 0 || number > values_) throw broken(fmt::format("{}: nobody has proclaimed {}", name, text_of(found)));
  const auto who = found.value.substr(found.value.find(' ') + 1);
  const auto term = std::pair(name, found.fence);
  const auto its = workers_.try_emplace(term, who).first->second;
  if (its != who) throw broken(fmt::format("{}: {} is of {}", name, text_of(found), its));
  const auto first = terms_.try_emplace(number, term).first->second;
  if (first != term) throw broken(fmt::format("{}: {} was proclaimed in term {}", name, text_of(found), first.second));
  return {found.fence, number};
}

void elections::told(follower& f, std::optional<leader_info> found) {
  // Thrown by a coroutine that nobody waits for.
  const auto complain = [&](const std::string& what) {
    if (complaint_.empty()) {
      complaint_ = fmt::format("an observer of {} in {} {}; before: {}, now: {}", f.name, f.by->name(), what,
                               text_of(f.last), text_of(found));
    }
  };
  if (!f.is_new && found == f.last) complain("is told the same again");
  if (found) {
    try {
      const auto now = check(f.name, *found);
      if (now.term > f.newest.term) f.of_its_term.clear();
      // What follows a refused value is the last one that was proclaimed with success, or a later one.
      const auto is_later = [&](std::uint64_t told) { return told > now.value && done_.contains(told); };
      const bool is_restored = now.term == f.newest.term && refused_.contains(f.newest.value) &&
                               std::none_of(f.of_its_term.begin(), f.of_its_term.end(), is_later);
      f.of_its_term.push_back(now.value);
      if (now < f.newest && !is_restored) complain("goes back");
      f.newest = is_restored ? now : std::max(f.newest, now);
    } catch (const broken& e) {
      complain(e.what());
    }
  }
  f.is_new = false;
  f.last = std::move(found);
}

void elections::set(const std::string& name, const fact& one) {
  auto& its = facts_[name];
  if (its.reached < one.reached) its = one;
}

void elections::proclaimed(const std::shared_ptr<held>& leader, const std::string& value) {
  if (leader->led.value() != value) {
    throw broken(fmt::format("{} has proclaimed \"{}\" and says \"{}\"", leader->worker, value, leader->led.value()));
  }
  const auto reached = check(leader->name, {value, leader->fence, {}});
  done_.insert(reached.value);
  set(leader->name, {reached, world_.now(), leader, leader->by});
}

void elections::resigned(const held& leader) {
  set(leader.name, {{leader.fence, over}, world_.now(), nullptr, leader.by});
}

elections::state elections::known(const std::string& name) const {
  const auto its = facts_.find(name);
  return its == facts_.end() ? state() : its->second.reached;
}

bool elections::leads(const fact& one) const { return one.leader && !one.by->is_dead() && judge_.works(*one.leader); }

void elections::answered(const std::string& name, state known_before, const std::optional<leader_info>& found) {
  ++reached_[found ? "leader: somebody" : "leader: nobody"];
  const auto now = found ? check(name, *found) : state();
  if (judge_.is_excused()) return;
  if (found && now < known_before)
    throw broken(fmt::format("{} is said to be led by {}, which was over before", name, text_of(found)));
  const auto its = facts_.find(name);
  if (found || its == facts_.end() || its->second.reached != known_before || !leads(its->second)) return;
  throw broken(fmt::format("{} is said to be led by nobody, and {} leads with term {}", name,
                           its->second.leader->worker, its->second.reached.term));
}

// Nothing hinders messages, so each observer knows what was done.
void elections::look() {
  if (!complaint_.empty()) throw broken(complaint_);
  if (judge_.is_excused()) return;
  for (const auto& f : followers_) {
    if (f->has_ended || f->by->is_dead()) continue;
    const auto its = facts_.find(f->name);
    if (its == facts_.end()) continue;
    const auto& [reached, at, leader, by] = its->second;
    // What a process that has died would have told; and who listens to a node that a slot has left.
    auto* const cluster = world_.cluster();
    const bool is_told = !by->is_dead() && (cluster == nullptr || cluster->is_settled());
    // (An answer that was held back may say that the server is busy: then the observer asks again 50 ms later.)
    auto takes =
        is_told ? 10 * world_.slowest + 4 * world_.gathering + milliseconds(70) : clock::duration(now_and_then);
    // A client of a cluster is up without its connection to one of the nodes.
    if (is_told && cluster != nullptr) takes += longest_pause_between_connections;
    if (world_.now() - std::max({at, f->since, judge_.last_hindered()}) <= takes) continue;
    const bool is_led = leads(its->second);
    const bool knows = f->last ? f->newest >= reached : !is_led;
    if (knows) continue;
    throw broken(fmt::format("an observer of {} in {} believes in {}, and {} {} term {}", f->name, f->by->name(),
                             text_of(f->last), by->name(), is_led ? "leads with" : "has ended", reached.term));
  }
}

bool elections::is_quiet() const {
  return std::all_of(followers_.begin(), followers_.end(),
                     [](const auto& f) { return f->has_ended || f->by->is_dead() || (!f->is_new && !f->last); });
}

}  // namespace leasehold::simulation
