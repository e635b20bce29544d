// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "testing/clients_network.hpp"

#include <leasehold/error.hpp>

#include <chrono>
#include <utility>

namespace leasehold::detail {
namespace {

namespace asio = boost::asio;

// The servers' clocks start at the system's time and then run with the clients' clock: a step of the system's clock
// does not affect them.
std::chrono::microseconds time_of_servers() {
  static const auto ahead = std::chrono::system_clock::now().time_since_epoch() - clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch() + ahead);
}

}  // namespace

const std::shared_ptr<common_ground>& common_ground::get() {
  static const auto one = std::make_shared<common_ground>();
  return one;
}

server_in_memory::server_in_memory() : common(common_ground::get()), server(common->scripting, &time_of_servers) {}

clients_network::clients_network(asio::any_io_executor strand, std::shared_ptr<server_in_memory> to)
    : strand_(std::move(strand)), to_(std::move(to)), timer_(strand_) {
  const auto guard = lock();
  to_->common->networks.insert(this);
}

clients_network::~clients_network() {
  const auto guard = lock();
  to_->common->networks.erase(this);
}

void clients_network::at(clock::time_point when, std::function<void()> what) {
  const auto guard = lock();
  if (when <= now()) return what();
  if (stopped_) return;
  waiting_.emplace(when, std::move(what));
  if (when < armed_for_) arm();
}

void clients_network::arm() {
  if (waiting_.empty()) return;
  armed_for_ = waiting_.begin()->first;
  timer_.wait(armed_for_, [weak = weak_from_this()](error_code ec) {
    const auto self = weak.lock();
    if (!ec && self) self->ring();
  });
}

void clients_network::ring() {
  const auto guard = lock();
  armed_for_ = clock::time_point::min();  // The functions called here may call at().
  const auto due = waiting_.upper_bound(now());
  std::multimap<clock::time_point, std::function<void()>> ready;
  while (waiting_.begin() != due) ready.insert(ready.end(), waiting_.extract(waiting_.begin()));
  for (const auto& [when, what] : ready) what();
  armed_for_ = clock::time_point::max();
  arm();
}

void clients_network::stop() {
  const auto guard = lock();
  stopped_ = true;
  armed_for_ = clock::time_point::max();
  timer_.cancel();
  const auto forgotten = std::exchange(waiting_, {});
}

// Asio checks the timers of a clock again when a timer is set that is due before all others.
void clients_network::wake() {
  if (stopped_) return;
  const auto first = std::make_shared<timer>(strand_);
  first->wait(clock::time_point(), [first](error_code) {});
}

}  // namespace leasehold::detail
