// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/leftovers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace leasehold::simulation {
namespace {

using std::chrono::milliseconds;

// On a slower network releases are judged when it is fast again.
constexpr milliseconds slow{50};

// Until command_timeout has passed, an earlier request may run; then the release is sent once more. It may have to wait
// in the client for what other servers answer.
clock::duration allowed(process& p, clock::duration slowest) {
  const auto limit = p.core().options().command_timeout;
  return limit + limit / 50 + 8 * slowest + milliseconds(200);
}

}  // namespace

leftovers::leftovers(world& w, std::vector<std::string> names)
    : world_(w), names_(std::move(names)), servers_(w.number_of_servers()) {
  for (std::size_t i = 0; i < servers_.size(); ++i) first_offsets_.push_back(w.clock_of_server(i).offset);
}

void leftovers::granted(std::string_view token) {
  if (!excused_.contains(std::string(token))) tokens_[std::string(token.substr(0, token.find('.')))].emplace(token);
}

void leftovers::ends(process& p) {
  if (p.is_dead() || --users_[&p] != 0) return;
  for (const auto& token : std::exchange(tokens_[p.core().identity().id()], {})) is_not_needed(p, token);
}

void leftovers::released(process& p, const std::string& token) {
  if (tokens_[p.core().identity().id()].erase(token) != 0) is_not_needed(p, token);
}

void leftovers::is_not_needed(process& p, const std::string& token) {
  const auto now = world_.now();
  leftovers_.push_back({&p, token, now, now + allowed(p, clock::duration{0}), std::vector<bool>(servers_.size())});
}

void leftovers::is_excused(const std::string& token) {
  excused_.insert(token);
  for (auto& [client, tokens] : tokens_) tokens.erase(token);
  std::erase_if(leftovers_, [&token](const auto& l) { return l.token == token; });
}

void leftovers::forget(const process& p) {
  users_.erase(&p);
  clients_.erase(&p);
  std::erase_if(leftovers_, [&p](const auto& l) { return l.by == &p; });
}

void leftovers::look_for_hindrances() {
  const auto now = world_.now();
  if (world_.slowest > slow) how_slow_ = std::max(how_slow_, world_.slowest);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    // What was sent on a slow network is still on its way for a while.
    if (!world_.serves(i) || world_.slowest > slow)
      servers_[i] = now + longest_pause_between_connections + 2 * how_slow_;
  }
  for (auto* const p : world_.processes()) {
    auto& its = clients_[p];
    const auto before = std::exchange(its.connections, p->connections_so_far());
    // If it stood still between a request and its answer, it knows the clock of the server only so well.
    if (before != its.connections || p->is_frozen() || p->is_cut_off() || !p->core().up()) {
      its.since = now + world_.longest_reconnection + p->frozen();
    }
  }
}

std::string leftovers::look(const has_function& has) {
  look_for_hindrances();
  const auto now = world_.now();
  bool looked = false;
  for (auto& l : leftovers_) {
    if (now < l.looked_at) continue;
    const auto its = std::max(l.since, clients_[l.by].since);
    const auto before = now - allowed(*l.by, world_.slowest);
    l.looked_at = clock::time_point::max();
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (l.is_gone[i]) continue;
      if (before < std::max(its, servers_[i])) {
        l.looked_at = std::min(l.looked_at, std::max(its, servers_[i]) + allowed(*l.by, clock::duration{0}));
        continue;
      }
      l.is_gone[i] = looked = true;
      // It may take an earlier request for one in time.
      if (world_.clock_of_server(i).offset != first_offsets_[i]) continue;
      for (const auto& name : names_) {
        if (!has(i, name, l.token)) continue;
        return fmt::format("nobody has needed {} of {} for {} ms, and server {} has it", l.token, name,
                           std::chrono::duration_cast<milliseconds>(now - l.since).count(), i);
      }
    }
  }
  if (!looked) return {};
  std::erase_if(leftovers_,
                [](const auto& l) { return std::find(l.is_gone.begin(), l.is_gone.end(), false) == l.is_gone.end(); });
  return {};
}

}  // namespace leasehold::simulation
