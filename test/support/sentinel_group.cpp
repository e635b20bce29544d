// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/sentinel_group.hpp"

#include <algorithm>
#include <stdexcept>

namespace leasehold::test {
namespace {

// A value of a reply that lists names and values.
std::string value_of(const reply& r, std::string_view name) {
  for (std::size_t i = 0; i + 1 < r.items.size(); i += 2) {
    if (r.items[i].text == name) return r.items[i + 1].text;
  }
  return {};
}

bool is_master(redis_server& s) { return s.command("ROLE").items.at(0).text == "master"; }

void check(const reply& r, const std::string& what) {
  if (r.is_error()) throw std::runtime_error(what + ": " + r.text);
}

}  // namespace

sentinel_group::sentinel_group(settings s) {
  std::vector<std::string> lines{"repl-diskless-sync-delay 0", "repl-ping-replica-period 1",
                                 "user replication on >replication +psync +replconf +ping", "masteruser replication",
                                 "masterauth replication"};
  redis_server::special special;
  if (!s.server_password.empty()) {
    lines.push_back("requirepass " + s.server_password);
    special.password = s.server_password;
  }
  lines.insert(lines.end(), s.configuration.begin(), s.configuration.end());
  tls_ = !s.tls.empty();
  if (tls_) {
    special.second_port = "tls-port";
    s.tls.push_back("tls-replication yes");
    lines.insert(lines.end(), s.tls.begin(), s.tls.end());
    s.of_sentinels.insert(s.of_sentinels.end(), s.tls.begin(), s.tls.end());
  }
  for (std::size_t i = 0; i <= s.replicas; ++i) {
    servers_.push_back(std::make_unique<redis_server>(lines, s.environment, special));
  }
  const std::string first_port = port(server(0));
  for (std::size_t i = 1; i <= s.replicas; ++i) {
    check(server(i).command("REPLICAOF", "127.0.0.1", first_port), "REPLICAOF");
  }

  const std::string master = name;
  const std::size_t quorum = s.sentinels / 2 + 1;
  std::vector<std::string> watch{
      "sentinel monitor " + master + " 127.0.0.1 " + first_port + " " + std::to_string(quorum),
      "sentinel down-after-milliseconds " + master + " 1000", "sentinel failover-timeout " + master + " 3000"};
  special.arguments = {"--sentinel"};
  special.password = s.sentinel_password;
  if (!s.server_password.empty()) watch.push_back("sentinel auth-pass " + master + " " + s.server_password);
  if (!s.sentinel_password.empty()) watch.push_back("requirepass " + s.sentinel_password);
  watch.insert(watch.end(), s.of_sentinels.begin(), s.of_sentinels.end());
  for (std::size_t i = 0; i < s.sentinels; ++i) {
    sentinels_.push_back(std::make_unique<redis_server>(watch, std::vector<std::string>(), special));
    // A Sentinel that stood still for two seconds does nothing for thirty ("TILT mode" in Redis' documentation of
    // Sentinel); by then the replicas have been cut off for too long to be chosen. Redis 6 cannot be told otherwise.
    sentinels_.back()->command("SENTINEL", "DEBUG", "TILT-TRIGGER", "60000");
  }
  wait_until_ok();
}

std::string sentinel_group::hosts() const {
  std::string hosts;
  for (const auto& s : sentinels_) hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + port(*s);
  return hosts;
}

std::string sentinel_group::url(const std::string& user_info) const {
  return std::string(tls_ ? "rediss" : "redis") + "+sentinel://" + (user_info.empty() ? "" : user_info + "@") +
         hosts() + "/" + name;
}

std::size_t sentinel_group::master_index() {
  std::string at;
  for (const auto& s : sentinels_) {
    if (!s->running()) continue;
    const reply r = s->command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
    if (r.items.size() != 2 || (!at.empty() && at != r.items[1].text)) return size();
    at = r.items[1].text;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (port(server(i)) == at) return i;
  }
  return size();
}

redis_server& sentinel_group::replica(std::size_t n) {
  const std::size_t master = master_index();
  for (std::size_t i = 0; i < size(); ++i) {
    if (i != master && server(i).running() && n-- == 0) return server(i);
  }
  throw std::runtime_error("no such replica runs");
}

void sentinel_group::replicate() {
  redis_server& from = master();
  const std::size_t at = master_index();
  int replicas = 0;
  for (std::size_t i = 0; i < size(); ++i) replicas += i != at && server(i).running() ? 1 : 0;
  check(from.command("SET", "leasehold:test", "1"), "SET");
  check(from.command("DEL", "leasehold:test"), "DEL");
  wait_until("the replicas have what the master has",
             [&] { return from.command("WAIT", std::to_string(replicas), "1000").integer >= replicas; });
}

void sentinel_group::cut_replication() {
  redis_server& from = master();
  check(from.command("ACL", "SETUSER", "replication", "off"), "ACL SETUSER");
  from.command("CLIENT", "KILL", "TYPE", "replica");
  wait_until("no replica is connected", [&] { return from.info("connected_slaves") == 0; });
}

void sentinel_group::fail_over() {
  const std::size_t old = master_index();
  reply r;
  for (const auto& s : sentinels_) {
    if (!s->running()) continue;
    // One may have just been at it, or may not have found out which replicas are fit.
    wait_until("a Sentinel begins the fail-over", [&] {
      r = s->command("SENTINEL", "FAILOVER", name);
      return !r.is_error() || !(r.text.starts_with("INPROG") || r.text.starts_with("NOGOODSLAVE"));
    });
    break;
  }
  check(r, "SENTINEL FAILOVER");
  wait_for_another_master(old);
}

void sentinel_group::wait_for_another_master(std::size_t than) {
  wait_until("another server is the master", [&] {
    const std::size_t now = master_index();
    return now != size() && now != than && is_master(server(now));
  });
}

void sentinel_group::wait_until_ok() {
  wait_until("the Sentinel group is whole", [&] {
    const std::size_t master = master_index();
    if (master == size() || !server(master).running() || !is_master(server(master))) return false;
    std::size_t replicas = 0;
    const std::string master_port = "master_port:" + port(server(master)) + "\r";
    for (std::size_t i = 0; i < size(); ++i) {
      if (i == master || !server(i).running()) continue;
      ++replicas;
      const std::string replication = server(i).command("INFO", "replication").text;
      if (!contains(replication, "master_link_status:up") || !contains(replication, master_port)) return false;
    }
    const auto others = static_cast<std::size_t>(std::count_if(sentinels_.begin(), sentinels_.end(),
                                                               [](const auto& s) { return s->running(); })) -
                        1;
    for (const auto& s : sentinels_) {
      if (!s->running()) continue;
      const reply state = s->command("SENTINEL", "MASTER", name);
      if (value_of(state, "flags") != "master") return false;
      if (std::stoul(value_of(state, "num-other-sentinels")) < others) return false;
      // Fit to be chosen: connected to their master, and not thought to be down.
      std::size_t fit = 0;
      for (const auto& r : s->command("SENTINEL", "REPLICAS", name).items) {
        if (value_of(r, "flags") == "slave" && value_of(r, "master-link-status") == "ok") ++fit;
      }
      if (fit < replicas) return false;
    }
    return true;
  });
}

}  // namespace leasehold::test
