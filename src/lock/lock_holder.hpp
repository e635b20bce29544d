// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which hold is in the way of a wait: for event::kind::slow_wait.
#pragma once

#include "client/client_core.hpp"
#include "lock/lock_identity.hpp"
#include "protocol/inspection.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::detail {

// What is reported of it: members of event.
struct lock_holder {
  std::string token;
  std::string label;
  std::uint64_t fence = 0;
  std::optional<std::chrono::system_clock::time_point> since;
  std::string text;
};

// What an inspection says of it. No I/O.
lock_holder holder_of(const inspection&, const kind&);

// Asks the store once for all waits of a client for one record that become slow before the answer.
class holder_query final : public caller {
 public:
  using listener = std::function<void(const lock_holder&)>;

  // Calls `l` once: now if the store is not up, or on the answer, or never if the client ends first.
  static void ask(const std::shared_ptr<client_core>&, const std::shared_ptr<const lock_identity>&, listener l);

  holder_query(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock)
      : core_(std::move(core)), lock_(std::move(lock)) {}

 private:
  request request_of(std::uint32_t) const override;
  void answered(std::uint32_t, const answer&) override;

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  std::vector<listener> listeners_;
};

}  // namespace leasehold::detail
