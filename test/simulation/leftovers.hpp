// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What clients leave on the servers of a quorum: grants that no user of theirs needs any more must be gone from each
// server that their client reaches. Otherwise the lock stays busy until a lease ends, which breaks no other rule.
#pragma once

#include "simulation/world.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::simulation {

// A client connects again within this: four times the longest of client_options::reconnect (store/reconnection.hpp).
inline constexpr std::chrono::milliseconds longest_pause_between_connections{2000};

class leftovers {
 public:
  // The names of all locks.
  leftovers(world&, std::vector<std::string> names);

  // A server has granted something to this token.
  void granted(std::string_view token);
  // A user of this client begins to want a lock, and needs nothing of it any more: it was released or dropped, or was
  // not granted. What the client has been granted is needed by nobody when all its users have said so.
  void begins(process& p) { ++users_[&p]; }
  void ends(process&);
  // The user of this hold was told that it is released.
  void released(process&, const std::string& token);
  // It goes on in another client, or ends with its lease.
  void is_excused(const std::string& token);
  void forget(const process&);
  // To be called after each instant, with a function that says whether a server has a lock of this name for this
  // token. Returns the complaint, "": none.
  using has_function = std::function<bool(std::size_t server, const std::string& name, const std::string& token)>;
  std::string look(const has_function& has);

 private:
  struct reached {
    std::uint64_t connections = 0;
    clock::time_point since{};  // When something could last keep the client from servers.
  };
  struct leftover {
    process* by;
    std::string token;
    clock::time_point since{};
    clock::time_point looked_at{};  // Not before.
    std::vector<bool> is_gone{};    // By the number of the server.
  };
  void is_not_needed(process&, const std::string& token);
  void look_for_hindrances();

  world& world_;
  const std::vector<std::string> names_;
  std::map<const process*, std::size_t> users_;
  std::map<std::string, std::set<std::string>> tokens_;  // That may be needed, by the id of the client.
  std::set<std::string> excused_;
  std::vector<leftover> leftovers_;
  std::map<const process*, reached> clients_;
  // By the number of the server: when something could last keep clients from it, and its clock at first.
  std::vector<clock::time_point> servers_;
  std::vector<clock::duration> first_offsets_;
  clock::duration how_slow_{0};
};

}  // namespace leasehold::simulation
