// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/cluster_servers.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace leasehold::test {
namespace {

// A line of CLUSTER NODES.
struct member {
  std::string id, address, flags, master, epoch, link;
  std::vector<std::string> slots;

  bool is(std::string_view flag) const { return ("," + flags + ",").find("," + std::string(flag) + ",") != flags.npos; }
  bool has(int slot) const {
    return std::any_of(slots.begin(), slots.end(), [slot](const std::string& range) {
      if (range.starts_with('[')) return false;  // A slot on its way.
      const auto dash = range.find('-');
      const int first = std::stoi(range.substr(0, dash));
      const int last = dash == range.npos ? first : std::stoi(range.substr(dash + 1));
      return first <= slot && slot <= last;
    });
  }
};

std::vector<member> members(redis_server& node) {
  std::vector<member> all;
  std::istringstream lines(node.command("CLUSTER", "NODES").text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    member m;
    std::string ping, pong;
    words >> m.id >> m.address >> m.flags >> m.master >> ping >> pong >> m.epoch >> m.link;
    for (std::string range; words >> range;) m.slots.push_back(range);
    all.push_back(std::move(m));
  }
  return all;
}

member myself(redis_server& node) {
  for (auto& m : members(node)) {
    if (m.is("myself")) return m;
  }
  throw std::runtime_error("a node does not know itself");
}

}  // namespace

cluster_servers::cluster_servers(std::size_t masters, std::size_t replicas_per_master,
                                 std::vector<std::string> configuration, std::vector<std::string> tls,
                                 const std::vector<std::string>& environment,
                                 const std::vector<std::string>& of_the_first)
    : tls_(!tls.empty()) {
  // A machine that stands still for some seconds makes no node fail, nor a node forget that it meets another one.
  std::vector<std::string> lines{"cluster-enabled yes", "cluster-node-timeout 10000",
                                 "cluster-replica-validity-factor 0", "repl-diskless-sync-delay 0",
                                 "repl-ping-replica-period 1"};
  lines.insert(lines.end(), configuration.begin(), configuration.end());
  const std::size_t all = masters * (1 + replicas_per_master);
  redis_server::special special;
  special.second_port = tls_ ? "tls-port" : "cluster-port";
  if (tls_) {
    lines.insert(lines.end(), {"tls-cluster yes", "tls-replication yes"});
    lines.insert(lines.end(), tls.begin(), tls.end());
  }
  for (std::size_t i = 0; i < all; ++i) {
    auto variables = environment;
    if (i == 0) variables.insert(variables.end(), of_the_first.begin(), of_the_first.end());
    nodes_.push_back(std::make_unique<redis_server>(lines, std::move(variables), special));
    ids_.push_back(node(i).command("CLUSTER", "MYID").text);
    check(node(i).command("CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)), "CLUSTER SET-CONFIG-EPOCH");
  }
  for (std::size_t i = 0; i < masters; ++i) {
    check(node(i).command("CLUSTER", "ADDSLOTSRANGE", std::to_string(i * slots / masters),
                          std::to_string((i + 1) * slots / masters - 1)),
          "CLUSTER ADDSLOTSRANGE");
  }
  for (std::size_t i = 0; i < all; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      check(node(i).command("CLUSTER", "MEET", "127.0.0.1", port(j), bus_port(j)), "CLUSTER MEET");
    }
  }
  for (std::size_t i = masters; i < all; ++i) {
    reply answer;
    wait_until("a replica knows its master", [&] {
      answer = node(i).command("CLUSTER", "REPLICATE", id(i % masters));
      return !contains(answer.text, "Unknown node");
    });
    check(answer, "CLUSTER REPLICATE");
  }
  wait_until_ok();
}

std::string cluster_servers::url(const std::string& host) const {
  std::string url = tls_ ? "rediss+cluster://" : "redis+cluster://";
  for (std::size_t i = 0; i < size(); ++i) url += host + ":" + port(i) + ",";
  url.pop_back();
  return url;
}

std::string cluster_servers::port(std::size_t i) const {
  return std::to_string(tls_ ? nodes_.at(i)->second_port() : nodes_.at(i)->port());
}

// Redis's own choice, where a second port was needed for TLS.
std::string cluster_servers::bus_port(std::size_t i) const {
  return std::to_string(nodes_.at(i)->second_port() + (tls_ ? 10000 : 0));
}

void cluster_servers::check(const reply& r, const std::string& what) const {
  if (r.is_error()) throw std::runtime_error(what + ": " + r.text);
}

// CRC16 (XMODEM) of what stands between the first braces, or of the whole.
int cluster_servers::slot_of(std::string_view key) {
  const auto open = key.find('{');
  if (open != key.npos) {
    const auto close = key.find('}', open + 1);
    if (close != key.npos && close != open + 1) key = key.substr(open + 1, close - open - 1);
  }
  std::uint16_t crc = 0;
  for (const char c : key) {
    crc = static_cast<std::uint16_t>(crc ^ (static_cast<unsigned char>(c) << 8));
    for (int bit = 0; bit < 8; ++bit) {
      crc = static_cast<std::uint16_t>((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
    }
  }
  return crc % slots;
}

std::size_t cluster_servers::master_of(int slot) {
  // Two may think so for a while; the greater epoch is right.
  std::size_t found = size();
  long best = -1;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!node(i).running()) continue;
    const member m = myself(node(i));
    if (m.is("master") && m.has(slot) && std::stol(m.epoch) > best) {
      found = i;
      best = std::stol(m.epoch);
    }
  }
  if (found == size()) throw std::runtime_error("no node that runs is the master of slot " + std::to_string(slot));
  return found;
}

std::size_t cluster_servers::replica_of(int slot) {
  const std::string& master = id(master_of(slot));
  for (std::size_t i = 0; i < size(); ++i) {
    if (node(i).running() && myself(node(i)).master == master) return i;
  }
  throw std::runtime_error("no node that runs is a replica of the master of slot " + std::to_string(slot));
}

bool cluster_servers::is_master(std::size_t i) { return myself(node(i)).is("master"); }

void cluster_servers::begin_moving(int slot, std::size_t from, std::size_t to) {
  const std::string s = std::to_string(slot);
  check(node(to).command("CLUSTER", "SETSLOT", s, "IMPORTING", id(from)), "CLUSTER SETSLOT IMPORTING");
  check(node(from).command("CLUSTER", "SETSLOT", s, "MIGRATING", id(to)), "CLUSTER SETSLOT MIGRATING");
}

void cluster_servers::move_keys(int slot, std::size_t from, std::size_t to) {
  for (;;) {
    const reply keys = node(from).command("CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100");
    check(keys, "CLUSTER GETKEYSINSLOT");
    if (keys.items.empty()) return;
    for (const auto& key : keys.items) move_key(key.text, from, to);
  }
}

void cluster_servers::move_key(const std::string& key, std::size_t from, std::size_t to) {
  check(node(from).command("MIGRATE", "127.0.0.1", port(to), key, "0", "10000"), "MIGRATE");
}

void cluster_servers::end_moving(int slot, std::size_t from, std::size_t to) {
  const auto tell = [&](std::size_t i) {
    check(node(i).command("CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id(to)), "CLUSTER SETSLOT NODE");
  };
  // In this order nobody sees a slot without a master.
  tell(to);
  tell(from);
  for (std::size_t i = 0; i < size(); ++i) {
    if (i != from && i != to && node(i).running() && is_master(i)) tell(i);
  }
}

void cluster_servers::move_slot(int slot, std::size_t from, std::size_t to) {
  begin_moving(slot, from, to);
  move_keys(slot, from, to);
  end_moving(slot, from, to);
}

void cluster_servers::notice_failures_soon() {
  for (std::size_t i = 0; i < size(); ++i) {
    check(node(i).command("CONFIG", "SET", "cluster-node-timeout", "1000"), "CONFIG SET cluster-node-timeout");
  }
}

void cluster_servers::fail_over(std::size_t replica, const std::string& how) {
  check(how.empty() ? node(replica).command("CLUSTER", "FAILOVER") : node(replica).command("CLUSTER", "FAILOVER", how),
        "CLUSTER FAILOVER");
  wait_until("the replica becomes a master", [&] { return is_master(replica); });
  wait_until_ok();
}

// Who has which slots, and whose replica is who, as this node sees it; "" while something is unsettled.
std::string cluster_servers::view(std::size_t i) {
  std::vector<std::string> lines;
  for (const auto& m : members(node(i))) {
    if (m.is("handshake") || m.is("noaddr")) return {};
    const auto at = std::find(ids_.begin(), ids_.end(), m.id);
    if (at == ids_.end()) return {};
    const bool running = node(static_cast<std::size_t>(at - ids_.begin())).running();
    if (running && (m.is("fail") || m.is("fail?") || (m.link != "connected" && !m.is("myself")))) return {};
    if (!running) continue;  // They may have to find out about it still.
    std::string line = m.id + " " + m.master;
    for (const auto& range : m.slots) {
      if (!range.starts_with('[')) line += " " + range;
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const auto& line : lines) all += line + "\n";
  return all;
}

void cluster_servers::wait_until_ok() {
  const auto running =
      static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->running(); }));
  wait_until("the cluster is whole", [&] {
    std::string agreed;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!node(i).running()) continue;
      if (!contains(node(i).command("CLUSTER", "INFO").text, "cluster_state:ok")) return false;
      const std::string seen = view(i);
      if (static_cast<std::size_t>(std::count(seen.begin(), seen.end(), '\n')) != running) return false;
      if (agreed.empty()) agreed = seen;
      if (seen != agreed) return false;
      const std::string replication = node(i).command("INFO", "replication").text;
      if (contains(replication, "role:slave") && !contains(replication, "master_link_status:up")) return false;
    }
    return true;
  });
}

}  // namespace leasehold::test
