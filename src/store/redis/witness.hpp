// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Scripts that replicas have to acknowledge (WAIT). WAIT blocks its connection, so these scripts have a connection of
// their own, made when it is first needed. WAIT covers only the writes of its own connection, so the scripts run on it,
// too.
#pragma once

#include "store/server.hpp"
#include "store/store.hpp"

#include "time/server_clock.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace leasehold::detail {

class witness final : public store::events, public std::enable_shared_from_this<witness> {
 public:
  using maker = std::function<std::shared_ptr<redis_server>(store::events&)>;

  // As store::run_acknowledged. Calls that are made together are acknowledged together. Calls that come meanwhile wait.
  static void run(std::shared_ptr<witness>& self, const maker& make, std::shared_ptr<caller> the_caller,
                  std::uint32_t tag, std::uint32_t replicas, std::chrono::milliseconds limit);
  void stop();

 private:
  struct call {
    std::shared_ptr<caller> the_caller;
    std::uint32_t tag;
    std::uint32_t replicas;
    std::chrono::milliseconds limit;
    bool whole_text = false;
    detail::verb verb{};  // Of the request, once it was sent.
  };

  void on_up(const store::server&) override { flush(); }
  void on_down(std::string_view) override {}
  void on_no_answer(std::string_view) override {}
  void on_message(std::string_view) override {}
  void on_channel(std::string_view) override {}
  void on_grants_pushed(std::uint16_t) override {}
  void on_rerouted() override {}
  void on_moved(std::uint16_t) override {}
  void on_clock_jump(clock::duration) override {}
  void on_refused(std::string_view) override;
  void on_credentials(std::string_view) override {}
  void on_stopped() override {}

  void flush();
  void take(std::vector<call>&, const std::vector<reply>*, clock::time_point sent);
  static void fail(std::deque<call>);

  std::shared_ptr<redis_server> server_;
  server_clock unknown_{0.0};  // No call here depends on the server's clock.
  std::deque<call> queue_;
  bool busy_ = false;
  bool stopped_ = false;
};

}  // namespace leasehold::detail
