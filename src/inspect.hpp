// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// mutex::inspect.
#pragma once

#include "client_core.hpp"
#include "lock_state.hpp"
#include "pending.hpp"

#include <leasehold/mutex.hpp>

#include <memory>

namespace leasehold::detail {

class inspect_op final : public caller, public member, public alarm, public std::enable_shared_from_this<inspect_op> {
 public:
  using handler = pending<void(error_code, lock_info)>;

  inspect_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h);
  static void start(const std::shared_ptr<lock_state>& lock, handler::handler_type h);

 private:
  void write(std::uint32_t, arguments&) override;
  void answered(std::uint32_t, const answer&) override;
  void store_is_up() override { send(); }
  void store_refuses(error_code ec) override { end(ec, {}); }
  void on_close() override { end(error::closed, {}); }
  void abandon() override;
  void ring(clock::time_point) override;

  void begin();
  void send();
  void end(error_code, lock_info);

  const std::shared_ptr<lock_state> lock_;
  const std::shared_ptr<client_core> core_;
  handler handler_;
  clock::time_point give_up_at_{};
  std::shared_ptr<inspect_op> self_;  // Until it is over.
};

}  // namespace leasehold::detail
