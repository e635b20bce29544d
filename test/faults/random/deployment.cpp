// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "faults/random/deployment.hpp"

#include "faults/random/worker.hpp"
#include "support/cluster_servers.hpp"
#include "support/limit.hpp"
#include "support/sentinel_group.hpp"
#include "support/stepped_clock.hpp"

#include <filesystem>
#include <stdexcept>
#include <utility>

namespace leasehold::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

fault stopped(std::string what, redis_server& s, milliseconds lasts) {
  return {"stop " + what, [&s] { s.stop(); }, lasts, [&s] { s.go_on(); }};
}

// What loses nothing, whatever kind of server it is.
fault harmless(dice& d, redis_server& s) {
  switch (d.below(4)) {
    case 0:
      return {"cut the connections", [&s] {
                s.command("CLIENT", "KILL", "TYPE", "normal");
                s.command("CLIENT", "KILL", "TYPE", "pubsub");
              }};
    case 1:
      return {"no memory", [&s] { s.command("CONFIG", "SET", "maxmemory", "1"); }, d.between(10ms, 1500ms),
              [&s] { s.command("CONFIG", "SET", "maxmemory", "0"); }};
    case 2: return {"flush the scripts", [&s] { s.command("SCRIPT", "FLUSH"); }};
    default: return stopped("a server", s, d.between(50ms, 500ms));
  }
}

const std::vector<std::string> on_disk{"appendonly yes", "appendfsync always"};

// Its span must not end before what was passed on within a client after the step, and had been granted before it.
fault stepped_forward(std::string what, dice& d, milliseconds by, std::function<void()> step) {
  return {.name = std::move(what), .inject = std::move(step), .lasts = d.between(50ms, 500ms), .forward = by};
}

// Everything that it has answered is on its disk. Either its clock is stepped back at times, or it may lose the disk:
// both together could take the fences back.
class single : public deployment {
 public:
  explicit single(dice& d) : clock_goes_back_(d.one_in(2)) {}

  std::vector<std::string> urls() const override { return {server_.url()}; }
  std::vector<redis_server*> servers() override { return {&server_}; }
  milliseconds stepped_back() const override { return back_; }

  fault any_fault(dice& d) override {
    redis_server& s = server_;
    const auto lasts = d.between(0ms, 2000ms);
    switch (d.below(7)) {
      case 0: return {"kill the server; the same disk", [&s] { s.kill(); }, lasts, [&s] { s.start(); }};
      case 1:
        if (clock_goes_back_) {
          const auto by = d.between(10ms, 1000ms);
          back_ += by;
          return {"step the clock back", [this, by] { clock_.step(offset_ -= by); }};
        } else {
          const auto lose = [&s] {
            s.kill();
            std::filesystem::remove_all(s.folder() / "appendonlydir");
          };
          return {"kill the server; an empty disk", lose, lasts, [&s] { s.start(); }, true};
        }
      case 2: return stopped("the server", s, d.between(50ms, 4000ms));
      case 3: {
        const auto by = d.between(10ms, 2000ms);
        return stepped_forward("step the clock forward", d, by, [this, by] { clock_.step(offset_ += by); });
      }
      default: return harmless(d, s);
    }
  }

 private:
  const bool clock_goes_back_;
  stepped_clock clock_;
  redis_server server_{on_disk, clock_.environment()};
  milliseconds offset_{0};
  milliseconds back_{0};
};

// The clocks of all servers are stepped together: a new master's must not be behind the last fence.
class sentinel : public deployment {
 public:
  std::vector<std::string> urls() const override { return {group_.url()}; }
  std::vector<redis_server*> servers() override {
    std::vector<redis_server*> all;
    for (std::size_t i = 0; i < group_.size(); ++i) all.push_back(&group_.server(i));
    return all;
  }
  void wait_until_ok() override { group_.wait_until_ok(); }
  std::string roles() override {
    // The epoch of its configuration grows with each fail-over.
    const reply state = group_.sentinel(0).command("SENTINEL", "MASTER", sentinel_group::name);
    for (std::size_t i = 0; i + 1 < state.items.size(); i += 2) {
      if (state.items[i].text == "config-epoch") return state.items[i + 1].text;
    }
    throw std::runtime_error("SENTINEL MASTER has no config-epoch");
  }

  fault any_fault(dice& d) override {
    const auto whole = [this] { group_.wait_until_ok(); };
    switch (d.below(9)) {
      case 0: return {"fail over by command", [this] { group_.fail_over(); }, 0ms, whole, true};
      case 1: return killed("kill the master", group_.master(), d.between(0ms, 4000ms), true);
      case 2: return killed("kill a replica", group_.replica(d.below(2)), d.between(0ms, 2000ms), false);
      case 3:
        return killed("kill a Sentinel", group_.sentinel(d.below(group_.sentinels())), d.between(0ms, 2000ms), false);
      case 4: return settled(stopped("the master for long", group_.master(), d.between(800ms, 4000ms)), true);
      case 5: return settled(stopped("a replica", group_.replica(d.below(2)), d.between(50ms, 2000ms)), false);
      case 6:
        return settled(stopped("a Sentinel", group_.sentinel(d.below(group_.sentinels())), d.between(50ms, 2000ms)),
                       false);
      case 7: {
        const auto by = d.between(10ms, 2000ms);
        return stepped_forward("step all clocks forward", d, by, [this, by] { clock_.step(offset_ += by); });
      }
      default: return harmless(d, group_.master());
    }
  }

 private:
  fault settled(fault f, bool loses) {
    f.loses = loses;
    f.heal = [this, heal = f.heal] {
      heal();
      group_.wait_until_ok();
    };
    return f;
  }
  fault killed(std::string what, redis_server& s, milliseconds lasts, bool loses) {
    return settled({std::move(what), [&s] { s.kill(); }, lasts, [&s] { s.start(); }}, loses);
  }

  stepped_clock clock_;
  milliseconds offset_{0};
  sentinel_group group_{{.environment = clock_.environment()}};
};

// The clocks of all nodes are stepped together, as those of a Sentinel group.
class cluster : public deployment {
 public:
  cluster() { nodes_.notice_failures_soon(); }

  std::vector<std::string> urls() const override { return {nodes_.url()}; }
  std::vector<redis_server*> servers() override {
    std::vector<redis_server*> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) all.push_back(&nodes_.node(i));
    return all;
  }
  void wait_until_ok() override { nodes_.wait_until_ok(); }
  std::string roles() override {
    std::string all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) all += nodes_.is_master(i) ? "m" : "r";
    return all;
  }

  fault any_fault(dice& d) override {
    const std::string name = d.any(lock_names(true));
    const int slot = cluster_servers::slot_of(name);
    const std::size_t master = nodes_.master_of(slot);
    redis_server& s = nodes_.node(master);
    switch (d.below(8)) {
      case 0: return {"fail over by command", [this, replica = nodes_.replica_of(slot)] { nodes_.fail_over(replica); }};
      case 1: return settled({"kill a master", [&s] { s.kill(); }, d.between(0ms, 4000ms), [&s] { s.start(); }}, true);
      case 2: return settled(stopped("a master for long", s, d.between(800ms, 4000ms)), true);
      case 3: {
        redis_server& replica = nodes_.node(nodes_.replica_of(slot));
        return settled(
            {"kill a replica", [&replica] { replica.kill(); }, d.between(0ms, 2000ms), [&replica] { replica.start(); }},
            false);
      }
      case 4: {
        std::size_t to = master;
        while (to == master || !nodes_.is_master(to)) to = d.below(nodes_.size());
        return {"move a slot", [this, slot, master, to] { nodes_.begin_moving(slot, master, to); },
                d.between(0ms, 500ms),
                [this, slot, master, to] {
                  nodes_.move_keys(slot, master, to);
                  nodes_.end_moving(slot, master, to);
                  nodes_.wait_until_ok();
                }};
      }
      case 5: {
        const auto by = d.between(10ms, 1500ms);
        return stepped_forward("step all clocks forward", d, by, [this, by] { clock_.step(offset_ += by); });
      }
      default: return harmless(d, s);
    }
  }

 private:
  fault settled(fault f, bool loses) {
    f.loses = loses;
    f.heal = [this, heal = f.heal] {
      heal();
      nodes_.wait_until_ok();
      nodes_.notice_failures_soon();  // A node that was started again does not know it.
    };
    return f;
  }

  stepped_clock clock_;
  milliseconds offset_{0};
  cluster_servers nodes_{3, 1, {}, {}, clock_.environment()};
};

// Members are restarted empty. They count again a little more than a lease later, so that it does not matter how many
// are restarted one after the other. The clock of one of them is ahead of the others' at times.
class quorum : public deployment {
 public:
  explicit quorum(dice& d) {
    const std::size_t n = d.one_in(2) ? 3 : 5;
    for (std::size_t i = 0; i < n; ++i) {
      members_.push_back(std::make_unique<redis_server>(std::vector<std::string>(),
                                                        i == 0 ? clock_.environment() : std::vector<std::string>()));
    }
    wait_until("the members count",
               [&] { return std::chrono::seconds(members_.back()->info("uptime_in_seconds")) > restart_delay; });
  }

  std::vector<std::string> urls() const override {
    std::vector<std::string> all;
    for (const auto& m : members_) all.push_back(m->url());
    return all;
  }
  bool semaphores() const override { return false; }
  milliseconds stepped_back() const override { return back_; }
  std::vector<redis_server*> servers() override {
    std::vector<redis_server*> all;
    for (const auto& m : members_) all.push_back(m.get());
    return all;
  }

  fault any_fault(dice& d) override {
    const std::size_t minority = 1 + d.below(members_.size() / 2);
    const std::size_t first = d.below(members_.size());
    auto which = d.below(9);
    // While those that were restarted do not count yet, others that forget would make a majority that has forgotten.
    if (which <= 1 && std::chrono::steady_clock::now() < all_count_at_) which = 2;
    switch (which) {
      case 0:
        return {"kill a minority; empty disks",
                [=, this] { each(first, minority, &redis_server::kill); },
                d.between(0ms, 3000ms),
                [=, this] {
                  each(first, minority, &redis_server::start);
                  all_count_at_ = std::chrono::steady_clock::now() + 2 * restart_delay;
                },
                false,
                true};
      case 1: {
        if (ahead_ > 0ms) {
          back_ += std::exchange(ahead_, 0ms);
          return {"step a clock back", [this] { clock_.step(0ms); }};
        }
        ahead_ = d.between(10ms, 1000ms);
        fault f = stepped_forward("step a clock forward", d, ahead_, [this] { clock_.step(ahead_); });
        f.heal = [this] { all_count_at_ = std::chrono::steady_clock::now() + 2 * restart_delay; };
        f.forgets = true;
        return f;
      }
      case 2:
        return {"stop a minority", [=, this] { each(first, minority, &redis_server::stop); }, d.between(50ms, 4000ms),
                [=, this] { each(first, minority, &redis_server::go_on); }};
      case 3: {
        const std::size_t majority = members_.size() / 2 + 1;
        return {"stop a majority", [=, this] { each(first, majority, &redis_server::stop); }, d.between(50ms, 2000ms),
                [=, this] { each(first, majority, &redis_server::go_on); }};
      }
      default: return harmless(d, *members_[first]);
    }
  }

 private:
  void each(std::size_t first, std::size_t n, void (redis_server::*what)()) {
    for (std::size_t i = 0; i < n; ++i) (members_[(first + i) % members_.size()].get()->*what)();
  }

  stepped_clock clock_;
  milliseconds ahead_{0};
  milliseconds back_{0};
  std::vector<std::unique_ptr<redis_server>> members_;
  std::chrono::steady_clock::time_point all_count_at_{};  // restart_delay is longer than any lease.
};

}  // namespace

std::unique_ptr<deployment> make_deployment(const std::string& kind, dice& d) {
  if (kind == "single") return std::make_unique<single>(d);
  if (kind == "sentinel") return std::make_unique<sentinel>();
  if (kind == "cluster") return std::make_unique<cluster>();
  if (kind == "quorum") return std::make_unique<quorum>(d);
  throw std::invalid_argument("no such deployment: " + kind);
}

}  // namespace leasehold::test
