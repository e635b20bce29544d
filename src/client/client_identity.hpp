// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "time/clock.hpp"

#include <leasehold/client.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace leasehold::detail {

// What distinguishes a client from others: its id, the tokens that begin with it, and its random numbers.
class client_identity {
 public:
  explicit client_identity(const client_options&);

  // "<label>-<128 random bits>"
  const std::string& id() const { return id_; }
  // Never the same again. lingers: its hold may linger (protocol/token.hpp).
  std::string next_token(bool lingers = false);
  // From 0 to 1.
  double random() { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }
  // The phase of the client's renewals (renewal_due).
  clock::duration phase() const { return phase_; }

 private:
  std::minstd_rand engine_;
  const clock::duration phase_;
  const std::string id_;
  std::uint64_t tokens_ = 0;
};

// The label of the client whose token this is; "" if no client_identity makes such tokens. A part of `token`.
std::string_view label_of_token(std::string_view token) noexcept;

}  // namespace leasehold::detail
