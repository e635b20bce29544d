// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/cluster/cluster.hpp"

#include "protocol/keys.hpp"
#include "protocol/slots.hpp"
#include "store/cluster/node.hpp"
#include "store/cluster/slot_map.hpp"
#include "store/cluster/topology.hpp"
#include "store/slot_channels.hpp"
#include "time/clock.hpp"
#include "time/timer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// How often the client asks the nodes for the topology: often while something is missing, and rarely in case a change
// is not announced.
constexpr milliseconds refresh_often{100};
constexpr milliseconds refresh_rarely{10000};
constexpr milliseconds refresh_refused{1000};  // If no node says which slots there are, at most.

// If an answer takes longer, the client asks another node.
constexpr milliseconds refresh_limit{1000};

// For how long a node that a slot is being moved to counts as such after a call was redirected to it by ASK. Of all
// nodes only the two concerned show a move.
constexpr milliseconds moves_on{10000};

// A call with more redirections is given up: the nodes do not agree on the slot.
constexpr int most_redirections = 5;

// The nodes of a cluster as one store. It asks them which node has which slot, keeps a connection to each that has one,
// follows their redirections, and listens at the node of each slot in which the client waits. It lives until its last
// node has stopped: each node's server keeps it alive (add).
class cluster_store final : public store, public node::owner, public std::enable_shared_from_this<cluster_store> {
 public:
  cluster_store(server_maker servers, address where, store::events& client)
      : servers_(std::move(servers)), where_(std::move(where)), events_(&client), timer_(servers_.strand()) {}

  void start(std::shared_ptr<void> keep_alive) override {
    keep_alive_ = std::move(keep_alive);
    for (const auto& seed : where_.hosts) add(seed);
    refresh_at(later(clock::now(), refresh_often));
  }

  void stop() override {
    if (std::exchange(stopping_, true)) return;
    timer_.cancel();
    // A node that has ended is freed while others are still ending.
    slots_.forget_all();
    for (const auto& [name, n] : nodes_) n->end();
    // Posted: on_stopped must never be called from inside this call.
    asio::post(servers_.strand(), [self = shared_from_this()] { self->conclude(); });
  }

  memory known() const override {
    memory m;
    m.hosts = slots_.nodes();
    return m;
  }
  void assume(const memory& m) override { slots_.assume(m.hosts); }

  bool up() const override {
    return slots_.is_known() && std::any_of(nodes_.begin(), nodes_.end(),
                                            [](const auto& n) { return n.second->wanted && n.second->serves(); });
  }

  std::uint64_t epoch() const override { return epoch_; }

  bool run(std::shared_ptr<caller> the_caller, std::uint32_t tag) override {
    node* const n = node_for(*the_caller, tag);
    return n != nullptr && n->server->run(std::move(the_caller), tag);
  }

  bool run_acknowledged(std::shared_ptr<caller> the_caller, std::uint32_t tag, std::uint32_t replicas,
                        milliseconds limit) override {
    node* const n = node_for(*the_caller, tag);
    return n != nullptr && n->server->run_acknowledged(std::move(the_caller), tag, replicas, limit);
  }

  // An election's channel is in the slot of its record. Redisson's unlock channels are not: a message on one node
  // reaches all nodes.
  void listen(const std::string& channel) override {
    channels_.insert(channel);
    if (is_leader_channel(channel)) {
      if (node* const n = slots_.owner(slot_of(channel))) n->listen_to(channel);
      return;
    }
    for (const auto& [name, n] : nodes_) n->server->listen(channel);
  }
  void ignore(const std::string& channel) override {
    channels_.erase(channel);
    for (const auto& [name, n] : nodes_) is_leader_channel(channel) ? n->ignore(channel) : n->server->ignore(channel);
  }

  std::vector<std::string> routes() const override {
    std::vector<std::string> found;
    for (const auto slot : slots_.one_of_each()) found.emplace_back(tag_of_slot(slot));
    return found;
  }

  void subscribe_slot(std::uint16_t slot) override {
    wanted_slots_.want(slot);
    if (node* const n = slots_.owner(slot)) n->listen_in(slot);
  }

  void unsubscribe_slot(std::uint16_t slot) override {
    const auto left = wanted_slots_.release(slot);
    if (node* const n = left ? slots_.owner(*left) : nullptr) n->ignore_in(*left);
  }

 private:
  node& add(const host_and_port& where, bool wanted = true) {
    auto& n = nodes_[name_of(where)];
    if (n) return *n;
    n = std::make_shared<node>(*this, where, servers_.client());
    n->wanted = wanted;
    address one = where_;
    one.kind = where_.tls ? address::scheme::rediss : address::scheme::redis;
    one.hosts = {where};
    n->server = servers_.make(std::move(one), {}, *n, n.get());
    for (const auto& c : channels_) {
      if (!is_leader_channel(c)) n->server->listen(c);
    }
    // The server's coroutines keep the node alive, and with it the cluster and the client.
    n->server->start(
        std::make_shared<std::pair<std::shared_ptr<node>, std::shared_ptr<cluster_store>>>(n, shared_from_this()));
    return *n;
  }

  void remove(node& n) {
    const auto found = nodes_.find(name_of(n.where));
    if (found == nodes_.end() || found->second.get() != &n) return;
    const auto keep = found->second;
    slots_.forget(n);
    nodes_.erase(found);
    n.end();
  }

  // Null: there is none for the request.
  node* node_for(const caller& the_caller, std::uint32_t tag) const {
    if (!slots_.is_known() || stopping_) return nullptr;
    const auto record = the_caller.request_of(tag).keys.record;
    return record.empty() ? first_serving() : slots_.owner(slot_of(record));
  }

  node* first_serving() const {
    node* first = nullptr;
    slots_.for_each_range([&first](node* n) {
      if (n != nullptr && n->serves()) first = n;
      return first == nullptr;
    });
    return first;
  }

  // --- Events of the nodes ---

  events* listener() const override { return events_; }

  void on_node_up(node& n) override {
    ++epoch_;
    if (!slots_.is_known() || !n.is_used()) return refresh_now();
    announce(n);
    refresh_soon();
  }

  void announce(node& n) {
    if (std::exchange(n.announced, true)) return;
    for (const auto slot : wanted_slots_.all()) {
      if (slots_.owner(slot) == &n) n.listen_in(slot);
    }
    listen_to_leaders();
    // The client forgets its last failure now. A node that still fails is reported again at its next attempt.
    for (const auto& [name, other] : nodes_) other->failure.clear();
    if (events_ != nullptr) events_->on_up(n.found);
  }

  void on_node_down(node& n, std::string_view why) override {
    ++epoch_;
    withdraw(n, why);
    slots_.doubt();
    refresh_soon();
  }

  // At the masters of their slots, unless the client listens there already.
  void listen_to_leaders() {
    for (const auto& channel : channels_) {
      if (!is_leader_channel(channel)) continue;
      node* const its = slots_.owner(slot_of(channel));
      if (its != nullptr) its->listen_to(channel);
      // (A node that has lost the slot ends the subscription by itself.)
    }
  }

  void withdraw(node& n, std::string_view why) {
    if (std::exchange(n.announced, false) && events_ != nullptr) events_->on_down(of(n, why));
  }

  static std::string of(const node& n, std::string_view why) {
    return fmt::format("{}:{}: {}", n.where.host, n.where.port, why);
  }

  void on_no_answer(node& n, std::string_view why) override {
    n.failed = true;
    n.refusal.clear();
    if (events_ == nullptr) return;
    if (!up()) {
      const node* const refusing = refusing_while_others_fail();
      return refusing != nullptr ? events_->on_refused(refusing->refusal) : events_->on_no_answer(why);
    }
    report_failure(n, why);
  }

  void on_refused(node& n, std::string_view words) override {
    n.failed = true;
    n.refusal = words;
    if (events_ == nullptr) return;
    if (up()) return report_failure(n, words);
    if (refusing_while_others_fail() != nullptr) events_->on_refused(words);
  }

  void on_credentials(node& n, std::string_view why) override {
    if (events_ != nullptr) events_->on_credentials(of(n, why));
  }

  // Before any slot is served: one node's refusal counts as the cluster's if all other nodes have failed, too.
  const node* refusing_while_others_fail() const {
    const node* refusing = nullptr;
    for (const auto& [name, n] : nodes_) {
      if (!n->failed) return nullptr;
      if (!n->refusal.empty()) refusing = n.get();
    }
    return refusing;
  }

  void report_failure(node& n, std::string_view why) {
    // The slots of the other nodes are served. There is an attempt every second: the same failure is reported once.
    if (!n.is_used() || n.failure == why) return;
    n.failure = why;
    events_->on_no_answer(of(n, why));
  }

  void on_node_stopped(node& n) override {
    const auto found = nodes_.find(name_of(n.where));
    if (found != nodes_.end() && found->second.get() == &n) nodes_.erase(found);
    conclude();
  }

  void conclude() {
    if (!stopping_ || !nodes_.empty() || events_ == nullptr) return;
    const auto keep = std::move(keep_alive_);
    std::exchange(events_, nullptr)->on_stopped();
  }

  // --- Redirections ---

  bool redirect(node& from, redis_server::call& c, std::string_view words) override {
    const auto to_other = read(words, from);
    if (stopping_ || !to_other) return false;
    const auto& [slot, where] = *to_other;
    const bool moved = is_moved(words);
    if (moved) refresh_soon();
    if (c.redirections++ == most_redirections) return false;
    // The call overtakes calls that were sent on another connection since then.
    ++epoch_;
    if (!has_room_for(where)) return false;
    node& to = add(where, /*wanted=*/false);
    if (!moved) to.imports_until = later(clock::now(), moves_on);
    // Two nodes may name each other for a while.
    if (moved && follow(slot, to) && events_ != nullptr && c.redirections == 1) events_->on_moved(slot);
    if (!to.serves()) return false;
    c.asking = !moved;
    to.server->take_over(std::move(c));
    return true;
  }

  struct redirection {
    std::uint16_t slot = 0;
    host_and_port where;  // By the name by which the client knows the node.
  };
  std::optional<redirection> read(std::string_view words, const node& from) const {
    redirection r;
    if (!read_redirection(words, from.where.host, r.slot, r.where)) return std::nullopt;
    r.where = slots_.known_as(std::move(r.where));
    return r;
  }
  bool has_room_for(const host_and_port& where) const {
    return nodes_.size() < most_nodes || nodes_.contains(name_of(where));
  }

  // MOVED names the slot's node. Returns whether it is another one than was known.
  bool follow(std::uint16_t slot, node& to) {
    if (!slots_.follow(slot, to)) return false;
    to.wanted = true;
    if (wanted_slots_.contains(slot)) to.listen_in(slot);
    listen_to_leaders();
    return true;
  }

  // The slot is left out for a while: otherwise each further connection to the node would be given up for the same
  // reason.
  void on_refused_slot(node& n, std::uint16_t slot, std::string_view words) override {
    n.leave_out(slot);
    refresh_soon();
    const auto to_other = is_moved(words) ? read(words, n) : std::nullopt;
    if (!to_other || to_other->slot != slot || slots_.owner(slot) != &n || !has_room_for(to_other->where)) return;
    ++epoch_;
    if (follow(slot, add(to_other->where, /*wanted=*/false)) && events_ != nullptr) events_->on_moved(slot);
  }

  // --- The topology ---

  void on_slot_left() override { refresh_soon(); }
  void refresh_soon() { refresh_at(later(clock::now(), refresh_often)); }

  void refresh_at(clock::time_point due) {
    if (stopping_ || (due_ != clock::time_point::min() && due_ <= due)) return;
    due_ = due;
    timer_.wait(due, [self = shared_from_this()](error_code ec) {
      if (!ec && !self->stopping_) self->refresh_now();
    });
  }

  void refresh_now() {
    const auto now = clock::now();
    due_ = clock::time_point::min();
    if (asking_ && now < asked_at_ + refresh_limit) return refresh_soon();
    std::vector<node*> reachable;
    for (const auto& [name, n] : nodes_) {
      if (n->serves()) reachable.push_back(n.get());
    }
    refresh_at(later(now, slots_.is_complete() ? refresh_rarely : refused_.value_or(refresh_often)));
    for (const auto& [name, n] : nodes_) refresh_at(n->listens_again(now));
    if (reachable.empty()) {
      // Every node that was ever named may know more.
      for (const auto& where : where_.hosts) add(where, /*wanted=*/!slots_.is_known());
      for (const auto& where : slots_.nodes()) add(where, /*wanted=*/!slots_.is_known());
      return;
    }
    node& n = *reachable[turn_++ % reachable.size()];
    asking_ = true;
    asked_at_ = now;
    n.server->exec({{"CLUSTER", "NODES"}}, milliseconds(0),
                   [weak = weak_from_this(), number = ++asked_,
                    weak_node = n.weak_from_this()](const std::vector<reply>* replies) {
                     const auto self = weak.lock();
                     if (!self || self->stopping_) return;
                     // Another node may have been asked meanwhile. The answer counts all the same: where each takes
                     // longer than that, there would be none.
                     self->asking_ = self->asking_ && number != self->asked_;
                     const auto asked = weak_node.lock();
                     if (replies != nullptr && asked) self->take_reply(replies->front(), *asked);
                   });
  }

  void take_reply(const reply& r, node& from) {
    // The server is not a node of a cluster, or the user may not ask it.
    std::string problem(r.is_error() ? r.text(0) : std::string_view());
    if (problem.empty()) {
      const auto found = read_cluster_nodes(r.text(0), from.where.host, where_.tls);
      if (found.size() <= most_nodes) return take(found, from);
      problem = fmt::format("the cluster has more than {} nodes", most_nodes);
    }
    if (slots_.is_known()) return;
    // It is busy, or loads its data.
    if (is_temporary(classify(problem))) return on_no_answer(from, problem);
    refused_ = std::min(2 * refused_.value_or(refresh_often), refresh_refused);
    on_refused(from, problem);
  }

  void take(const std::vector<cluster_node>& found, node& from) {
    const bool has_slots =
        std::any_of(found.begin(), found.end(), [](const auto& n) { return n.master && !n.slots.empty(); });
    if (!has_slots) {
      // A node that was forgotten by the cluster, or does not know other nodes yet.
      if (!slots_.is_known()) on_no_answer(from, "the node names no master with slots");
      return;
    }
    const bool have_moved = slots_.take(found, [this](const cluster_node& n) -> node& { return add(n.where); });
    refused_.reset();
    for (const auto& [name, n] : nodes_) n->wanted = false;
    slots_.for_each_range([](node* n) {
      if (n != nullptr) n->wanted = true;
      return true;
    });
    std::vector<std::shared_ptr<node>> all;
    for (const auto& [name, n] : nodes_) all.push_back(n);
    const bool served = up();
    for (const auto& n : all) {
      if (!n->is_used()) {
        withdraw(*n, "no master any more");
        // Unless there is no other node to ask: perhaps no master can be reached, or none has the right certificate.
        if (served || !n->serves()) remove(*n);
      } else if (n->serves()) {
        announce(*n);
      }
    }
    // A slot may have been away from its node and back since the last look, and the node has ended the subscription.
    for (const auto slot : wanted_slots_.all()) {
      if (node* const its = slots_.owner(slot)) its->listen_in(slot);
    }
    listen_to_leaders();
    if (!have_moved) return;
    ++epoch_;
    if (events_ != nullptr) events_->on_rerouted();
    if (!slots_.is_complete()) refresh_soon();
  }

  const server_maker servers_;
  const address where_;
  store::events* events_;
  timer timer_;
  std::shared_ptr<void> keep_alive_;

  std::map<std::string, std::shared_ptr<node>> nodes_;  // By host and port.
  slot_map<node> slots_;
  bool stopping_ = false;
  std::uint64_t epoch_ = 0;

  clock::time_point due_ = clock::time_point::min();  // When the timer fires; min(): it does not.
  std::optional<milliseconds> refused_;  // No node says which slots there are: the pause before the next one.
  bool asking_ = false;
  clock::time_point asked_at_{};
  std::uint64_t asked_ = 0;
  std::size_t turn_ = 0;

  std::set<std::string> channels_;
  wanted_slots wanted_slots_;
};

}  // namespace

std::shared_ptr<store> make_cluster(server_maker servers, address where, store::events& events) {
  return std::make_shared<cluster_store>(std::move(servers), std::move(where), events);
}

}  // namespace leasehold::detail
