// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// hold::extend and hold::downgrade: the operations that change a hold while it lives.
#pragma once

#include "client/client_core.hpp"
#include "client/pending.hpp"
#include "lock/hold_state.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace leasehold::detail {

class extend_op final : public caller, public activity, public alarm, public std::enable_shared_from_this<extend_op> {
 public:
  extend_op(std::shared_ptr<hold_state> hold, hold_handler handler, std::optional<std::chrono::milliseconds> lease);
  static void start(const std::shared_ptr<hold_state>& hold, hold_handler handler,
                    std::optional<std::chrono::milliseconds> lease);

 private:
  request request_of(std::uint32_t) const override;
  void sent(std::uint32_t, const sending&) override;
  bool wants(std::uint32_t) const override;
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void answered(std::uint32_t, const answer&) override;
  void store_is_up() override { send(); }
  void store_refuses(error_code ec) override { end(ec); }
  void on_close() override { end(error::closed); }
  void abandon() override;
  void ring(clock::time_point) override;

  void begin();
  error_code bad() const;
  void send();
  void end(error_code);

  const std::shared_ptr<client_core> core_;
  std::shared_ptr<hold_state> hold_;
  pending<void(error_code)> handler_;
  const std::optional<std::chrono::milliseconds> lease_;  // None: downgrade.
  clock::time_point give_up_at_{};
  bool asking_ = false;
  std::shared_ptr<extend_op> self_;  // While a caller waits for it.
};

}  // namespace leasehold::detail
