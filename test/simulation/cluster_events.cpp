// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/cluster_events.hpp"

#include "protocol/slots.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace leasehold::simulation {

cluster_events::cluster_events(world& w, std::function<void(const std::string&)> note)
    : world_(w), cluster_(*w.cluster()), note_(std::move(note)), spare_(w.number_of_servers() - 1) {}

void cluster_events::move(const std::string& record, std::size_t to, clock::duration pause) {
  const auto slot = detail::slot_of(record);
  if (is_over_ || replaced_ || to == spare_ || to == cluster_.owner(slot) || cluster_.target(slot)) return;
  note_(fmt::format("the slot of {} is moved from server {} to {}", record, cluster_.owner(slot), to));
  cluster_.begin_to_move(slot, to);
  step(std::make_shared<moving>(moving{record, pause}));
}

void cluster_events::step(const std::shared_ptr<moving>& m) {
  world_.after(m->pause, [this, m] {
    const auto slot = detail::slot_of(m->record);
    const auto to = cluster_.target(slot);
    if (!to) return;  // A fail-over, or the end of the faults, has ended it.
    const auto from = cluster_.owner(slot);
    if (!is_at_work(from) || !is_at_work(*to)) return step(m);
    const auto keys = keys_at(from, slot);
    if (!keys.empty()) {
      note_(fmt::format("{} is moved", keys.front()));
      cluster_.move_key(slot, keys.front());
      return step(m);
    }
    note_(fmt::format("the slot of {} has been moved", m->record));
    cluster_.end_move(slot);
    world_.after(m->pause, [this] { tell_all(); });
  });
}

std::vector<std::string> cluster_events::keys_at(std::size_t server, std::uint16_t slot) {
  auto keys = world_.server(server).data().keys();
  std::erase_if(keys, [slot](const std::string& key) { return detail::slot_of(key) != slot; });
  return keys;
}

void cluster_events::fail_over(const failover& f, std::function<void()> when_lost) {
  if (is_over_ || replaced_ || f.from == spare_ || !is_at_work(f.from) || !is_at_work(spare_)) return;
  // What of a slot has been moved already would be lost: replicas do not know of the move.
  if (!cluster_.is_settled()) return;
  replaced_ = f.from;
  const auto older = std::make_shared<detail::memory::database>(world_.server(f.from).data());
  world_.after(f.lag, [=, this, when_lost = std::move(when_lost)] {
    note_(fmt::format("server {} ends", f.from));
    world_.server(f.from).kill();
    when_lost();
    world_.after(f.detection, [=, this] {
      const auto to = std::exchange(spare_, f.from);
      note_(fmt::format("server {} takes over", to));
      world_.server(to).start(std::move(*older));
      world_.server(to).be_older(std::chrono::hours(1));
      cluster_.take_over(f.from, to);
      world_.after(f.gossip, [=, this] {
        // The master that was is the new one's replica, and has no data of its own.
        world_.server(f.from).start({});
        tell_all();
        replaced_.reset();
      });
    });
  });
}

void cluster_events::refuse(clock::duration d) {
  cluster_.is_down = true;
  world_.after(d, [this] { cluster_.is_down = false; });
}

void cluster_events::tell_all() {
  bool all = true;
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    is_at_work(i) ? cluster_.announce_slots(i) : void(all = false);
  }
  if (!all) world_.after(std::chrono::milliseconds(100), [this] { tell_all(); });
}

void cluster_events::stop() {
  is_over_ = true;
  cluster_.is_down = false;
}

}  // namespace leasehold::simulation
