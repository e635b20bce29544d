// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One of the servers of a quorum (quorum_store.hpp): its connection, and what this client knows about it.
//
// A voter owns its connection. The quorum owns the voter. The connection's coroutines keep the voter and the quorum
// alive.
//
// A voter has what one server reports about itself: how long it has been up, whether it refuses the client, whether it
// is overdue. What a majority makes of that belongs to the quorum. A voter knows neither claims nor ballots. They ask
// it, and report to it when their answer has arrived, since only a call that was answered ends the wait that overdue()
// reports.
#pragma once

#include "store/server.hpp"
#include "store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::detail {

class quorum_store;

class voter final : public store::events, public redis_server::router {
 public:
  // The least patience with a server, see quorum_store::patience.
  static constexpr std::chrono::milliseconds least_patience{50};
  // A server that is overdue with this many calls gets no further attempts if the others are a majority: they would
  // pile up in this client. It still gets renewals and releases; there are no more of them than there were attempts.
  static constexpr std::size_t most_unanswered = 256;

  voter(quorum_store&, std::size_t number, const address& where, const server_maker&);

  // As store::run. The caller must call on_answer when it is answered.
  bool run(std::shared_ptr<caller>, std::uint32_t tag);
  void on_answer(clock::time_point now);
  // A call has waited for the server for too long.
  bool overdue(clock::time_point now) const { return unanswered_ != 0 && now - waiting_since_ > least_patience; }
  bool is_full(clock::time_point now) const { return unanswered_ >= most_unanswered && overdue(now); }
  bool up() const { return server->up(); }

  // The server may have forgotten grants from before this instant; none: it was never reached.
  const std::optional<clock::time_point>& started() const { return started_; }
  // The server was restarted since this client has known it.
  bool replaced() const { return replaced_; }
  bool refuses() const { return refuses_; }
  // The first attempt to reach the server is under way.
  bool is_new() const { return !started_ && !failed_; }

  store::memory::server known() const;
  void assume(const store::memory::server&);

  const std::size_t number;  // Its index among the voters.
  const std::string name;
  const std::shared_ptr<redis_server> server;

 private:
  std::string objection(const std::string& run_id) override;
  void on_up(const store::server&) override;
  void on_down(std::string_view why) override;
  void on_no_answer(std::string_view why) override;
  void on_refused(std::string_view words) override;
  void on_credentials(std::string_view why) override;
  void on_channel(std::string_view channel) override;
  void on_clock_jump(clock::duration) override;
  void on_stopped() override;
  void on_message(std::string_view) override {}
  void on_grants_pushed(std::uint16_t) override {}
  void on_rerouted() override {}
  void on_moved(std::uint16_t) override {}

  bool redirect(redis_server::call&, std::string_view) override { return false; }
  bool has_slots() const override { return false; }
  bool pushes_grants(std::uint16_t) const override { return false; }
  void on_shard_channel(std::string_view, bool) override {}

  quorum_store& quorum_;
  std::optional<clock::time_point> started_;
  bool replaced_ = false;
  bool refuses_ = false;
  bool failed_ = false;  // An attempt to reach it has failed.
  std::size_t unanswered_ = 0;
  clock::time_point waiting_since_{};
};

}  // namespace leasehold::detail
