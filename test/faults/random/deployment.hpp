// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The deployments, and what may happen to their servers.
#pragma once

#include "faults/random/dice.hpp"
#include "support/redis_server.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

struct fault {
  std::string name;
  std::function<void()> inject;
  std::chrono::milliseconds lasts{0};  // Until it is healed, or a little longer.
  std::function<void()> heal = [] {};
  bool loses = false;  // Redis may forget what it has granted.
  // Servers of a quorum do: who has no others than a bare majority may lose what he has, and no more.
  bool forgets = false;
  std::chrono::milliseconds forward{0};  // A clock is stepped by so much.
};

class deployment {
 public:
  virtual ~deployment() = default;

  virtual std::vector<std::string> urls() const = 0;
  virtual bool semaphores() const { return true; }
  // Those that have the locks.
  virtual std::vector<redis_server*> servers() = 0;
  virtual fault any_fault(dice&) = 0;
  virtual void wait_until_ok() {}
  // Who is whose master. If that changes by itself, grants may be lost.
  virtual std::string roles() { return {}; }
  // How much longer than a lease a key may live, because clocks were stepped back.
  virtual std::chrono::milliseconds stepped_back() const { return std::chrono::milliseconds(0); }
};

// kind: single, sentinel, cluster, quorum
std::unique_ptr<deployment> make_deployment(const std::string& kind, dice&);

}  // namespace leasehold::test
