// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/cluster/cluster.hpp"

#include "protocol/keys.hpp"
#include "protocol/slots.hpp"
#include "store/cluster/node.hpp"
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

std::string name_of(const host_and_port& where) { return where.host + ' ' + where.port; }

class cluster_store final : public store, public node::owner, public std::enable_shared_from_this<cluster_store> {
 public:
  cluster_store(server_maker servers, address where, store::events& client)
      : servers_(std::move(servers)),
        where_(std::move(where)),
        events_(&client),
        timer_(servers_.strand()),
        by_slot_(number_of_slots),
        epochs_(number_of_slots),
        redirected_(number_of_slots) {}

  void start(std::shared_ptr<void> keep_alive) override {
    keep_alive_ = std::move(keep_alive);
    for (const auto& seed : where_.hosts) add(seed);
    refresh_at(later(clock::now(), refresh_often));
  }

  void stop() override {
    if (std::exchange(stopping_, true)) return;
    timer_.cancel();
    // A node that has ended is freed while others are still ending.
    std::fill(by_slot_.begin(), by_slot_.end(), nullptr);
    for (const auto& [name, n] : nodes_) n->end();
    // Posted: on_stopped must never be called from inside this call.
    asio::post(servers_.strand(), [self = shared_from_this()] { self->conclude(); });
  }

  memory known() const override {
    memory m;
    m.hosts = others_;
    return m;
  }
  void assume(const memory& m) override { others_ = m.hosts; }

  bool up() const override {
    return known_ && std::any_of(nodes_.begin(), nodes_.end(),
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
      if (node* const n = by_slot_[slot_of(channel)]) n->listen_to(channel);
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
    std::set<const node*> seen;
    for (std::uint32_t slot = 0; slot < number_of_slots; ++slot) {
      if (by_slot_[slot] != nullptr && seen.insert(by_slot_[slot]).second) {
        found.emplace_back(tag_of_slot(static_cast<std::uint16_t>(slot)));
      }
    }
    // There may be locks in them, of which nothing can be said. (There are none where no node ever had the slot.)
    for (const auto slot : without_master_) {
      if (by_slot_[slot] == nullptr) found.emplace_back(tag_of_slot(slot));
    }
    return found;
  }

  void subscribe_slot(std::uint16_t slot) override {
    wanted_slots_.want(slot);
    if (node* const n = by_slot_[slot]) n->listen_in(slot);
  }

  void unsubscribe_slot(std::uint16_t slot) override {
    const auto left = wanted_slots_.release(slot);
    if (node* const n = left ? by_slot_[*left] : nullptr) n->ignore_in(*left);
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
    for (auto& slot : by_slot_) {
      if (slot == &n) slot = nullptr;
    }
    last_look_.clear();
    nodes_.erase(found);
    n.end();
  }

  // Null: there is none for the request.
  node* node_for(const caller& the_caller, std::uint32_t tag) const {
    if (!known_ || stopping_) return nullptr;
    const auto record = the_caller.request_of(tag).keys.record;
    return record.empty() ? first_serving() : by_slot_[slot_of(record)];
  }

  node* first_serving() const {
    for (node* n : by_slot_) {
      if (n != nullptr && n->serves()) return n;
    }
    return nullptr;
  }

  // --- Events of the nodes ---

  events* listener() const override { return events_; }

  void on_node_up(node& n) override {
    ++epoch_;
    if (!known_ || !n.is_used()) return refresh_now();
    announce(n);
    refresh_soon();
  }

  void announce(node& n) {
    if (std::exchange(n.announced, true)) return;
    for (const auto slot : wanted_slots_.all()) {
      if (by_slot_[slot] == &n) n.listen_in(slot);
    }
    listen_to_leaders();
    // The client forgets its last failure now. A node that still fails is reported again at its next attempt.
    for (const auto& [name, other] : nodes_) other->failure.clear();
    if (events_ != nullptr) events_->on_up(n.found);
  }

  void on_node_down(node& n, std::string_view why) override {
    ++epoch_;
    withdraw(n, why);
    last_look_.clear();  // What it says of this node's slots counts now (nodes_without).
    refresh_soon();
  }

  // At the masters of their slots, unless the client listens there already.
  void listen_to_leaders() {
    for (const auto& channel : channels_) {
      if (!is_leader_channel(channel)) continue;
      node* const its = by_slot_[slot_of(channel)];
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
    std::uint16_t slot = 0;
    host_and_port where;
    if (stopping_ || !read_redirection(words, from.where.host, slot, where)) return false;
    // The certificate is for the name by which the client knows the node.
    if (const auto known = by_address_.find(name_of(where)); known != by_address_.end()) where = known->second;
    const bool moved = is_moved(words);
    if (moved) refresh_soon();
    if (c.redirections++ == most_redirections) return false;
    // The call overtakes calls that were sent on another connection since then.
    ++epoch_;
    if (nodes_.size() >= most_nodes && !nodes_.contains(name_of(where))) return false;
    node& to = add(where, /*wanted=*/false);
    if (!moved) to.imports_until = later(clock::now(), moves_on);
    // Two nodes may name each other for a while.
    if (moved && follow(slot, to) && events_ != nullptr && c.redirections == 1) events_->on_moved(slot);
    if (!to.serves()) return false;
    c.asking = !moved;
    to.server->take_over(std::move(c));
    return true;
  }

  // MOVED names the slot's node. Returns whether it is another one than was known.
  bool follow(std::uint16_t slot, node& to) {
    if (by_slot_[slot] == &to) return false;
    by_slot_[slot] = &to;
    redirected_[slot] = true;
    last_look_.clear();
    to.wanted = true;
    if (wanted_slots_.contains(slot)) to.listen_in(slot);
    listen_to_leaders();
    return true;
  }

  // Otherwise each further connection to the node would be given up for the same reason.
  void on_refused_slot(node& n, std::uint16_t slot, std::string_view words) override {
    n.leave_out(slot, later(clock::now(), refresh_rarely));
    refresh_soon();
    std::uint16_t named = 0;
    host_and_port where;
    if (!is_moved(words) || !read_redirection(words, n.where.host, named, where)) return;
    if (const auto known = by_address_.find(name_of(where)); known != by_address_.end()) where = known->second;
    if (by_slot_[slot] != &n || (nodes_.size() >= most_nodes && !nodes_.contains(name_of(where)))) return;
    ++epoch_;
    if (follow(slot, add(where, /*wanted=*/false)) && events_ != nullptr) events_->on_moved(slot);
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
    refresh_at(later(now, complete() ? refresh_rarely : refused_.value_or(refresh_often)));
    if (reachable.empty()) {
      // Every node that was ever named may know more.
      for (const auto& where : where_.hosts) add(where, /*wanted=*/!known_);
      for (const auto& where : others_) add(where, /*wanted=*/!known_);
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

  // Every slot has a master that answers.
  bool complete() const {
    return known_ && for_each_with_slots([](const node* n) { return n != nullptr && n->serves(); });
  }

  // Once for each range of slots, with null for one whose master is unknown, as long as f returns true. Returns whether
  // it was so to the end.
  template <class F>
  bool for_each_with_slots(F f) const {
    auto range = by_slot_.begin();
    while (range != by_slot_.end()) {
      if (!f(*range)) return false;
      range = std::find_if(range, by_slot_.end(), [n = *range](const node* other) { return other != n; });
    }
    return true;
  }

  void take_reply(const reply& r, node& from) {
    // The server is not a node of a cluster, or the user may not ask it.
    std::string problem(r.is_error() ? r.text(0) : std::string_view());
    if (problem.empty()) {
      const auto found = read_cluster_nodes(r.text(0), from.where.host, where_.tls);
      if (found.size() <= most_nodes) return take(found, from);
      problem = fmt::format("the cluster has more than {} nodes", most_nodes);
    }
    if (known_) return;
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
      if (!known_) on_no_answer(from, "the node names no master with slots");
      return;
    }
    const bool have_moved = found != last_look_ && take_slots(found);
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
      if (by_slot_[slot] != nullptr) by_slot_[slot]->listen_in(slot);
    }
    listen_to_leaders();
    if (!have_moved) return;
    ++epoch_;
    if (events_ != nullptr) events_->on_rerouted();
    if (!complete()) refresh_soon();
  }

  // Those that do not answer, and that the answer of another one does not name: the cluster may have been made anew. A
  // node that is cut off from the others still names them. Null is among them.
  std::set<const node*> nodes_without(const std::vector<cluster_node>& found) const {
    std::set<const node*> gone{nullptr};
    for (const auto& [name, n] : nodes_) {
      const auto is_named = [&node = *n](const cluster_node& f) { return name_of(f.where) == name_of(node.where); };
      if (!n->serves() && std::none_of(found.begin(), found.end(), is_named)) gone.insert(n.get());
    }
    return gone;
  }

  // Returns whether a slot has moved.
  bool take_slots(const std::vector<cluster_node>& found) {
    bool have_moved = false;
    const auto gone = nodes_without(found);
    others_.clear();
    by_address_.clear();
    without_master_.clear();
    for (const auto& f : found) {
      others_.push_back(f.where);
      for (const auto& other : {f.address, f.by_name}) by_address_.emplace(name_of(other), f.where);
      if (f.slots.empty()) continue;
      if (!f.master) {
        without_master_.push_back(f.slots.front().first);
        continue;
      }
      node& n = add(f.where);
      for (const auto& [first, last] : f.slots) {
        for (std::size_t slot = first; slot <= last; ++slot) {
          // A node that was cut off from the others may not know yet which slots it has lost. A slot that a redirection
          // has taken elsewhere has a later epoch there.
          const bool is_older =
              f.epoch < epochs_[slot] || (f.epoch == epochs_[slot] && redirected_[slot] && by_slot_[slot] != &n);
          if (is_older && !gone.contains(by_slot_[slot])) continue;
          have_moved = have_moved || by_slot_[slot] != &n;
          by_slot_[slot] = &n;
          epochs_[slot] = f.epoch;
          redirected_[slot] = false;
        }
      }
    }
    known_ = true;
    refused_.reset();
    last_look_ = found;
    for (const auto& [name, n] : nodes_) n->wanted = false;
    for_each_with_slots([](node* n) {
      if (n != nullptr) n->wanted = true;
      return true;
    });
    return have_moved;
  }

  const server_maker servers_;
  const address where_;
  store::events* events_;
  timer timer_;
  std::shared_ptr<void> keep_alive_;

  std::map<std::string, std::shared_ptr<node>> nodes_;  // By host and port.
  std::vector<node*> by_slot_;                          // Null: the slot's master is unknown.
  std::vector<std::uint64_t> epochs_;                   // By slot: that of its node, as CLUSTER NODES said.
  std::vector<bool> redirected_;                        // By slot: a redirection has named its node since then.
  std::vector<std::uint16_t> without_master_;           // The first slot of each master that has failed.
  std::vector<cluster_node> last_look_;                 // Of which by_slot_ was made; empty: it was changed since.
  std::vector<host_and_port> others_;                   // All nodes that are known, with or without slots,
  std::map<std::string, host_and_port> by_address_;     // and the same by the address that a redirection names.
  bool known_ = false;                                  // by_slot_ came from a node.
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
