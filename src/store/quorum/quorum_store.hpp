// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The store of quorum.hpp and its parts:
//
//   quorum_store  the client's view: takes its calls, knows how many servers are a majority, and has the one timer
//   voter         one of the servers, see voter.hpp
//   ballot        one call to all servers, until one answer is made of theirs, see ballot.hpp
//   claim         the state of one token on the servers, until nothing of it can be left, see claim.hpp
//
// Ownership. The quorum owns its voters for good, a ballot until it has answered its caller, and a claim from the
// attempt until the claim ends itself. A call on its way owns the ballot or the claim that receives its answer. A
// ballot owns the claim that it works for. The voters' connections keep the quorum and its client alive (start). The
// parts refer back to the quorum, which exists for as long as anything happens.
//
// A call of the client takes one of two ways. A release goes to its claim, which sends it to every server that may have
// something, until each has answered or everything has expired. For any other call, a ballot asks the servers to vote;
// if it is an attempt and fails, the claim releases what single servers have granted.
//
// Everything happens on the client's strand.
#pragma once

#include "store/server.hpp"
#include "store/store.hpp"

#include "store/url.hpp"
#include "time/alarm_clock.hpp"
#include "time/alarms.hpp"
#include "time/lease.hpp"
#include "time/server_clock.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace leasehold::detail {

class ballot;
class claim;
class voter;

class quorum_store final : public store, public std::enable_shared_from_this<quorum_store> {
 public:
  quorum_store(server_maker, const std::vector<address>& where, store::events& owner);

  void start(std::shared_ptr<void> keep_alive) override;
  void stop() override;
  memory known() const override;
  void assume(const memory&) override;
  // Not quiet while claims may have something to release on unreachable servers.
  bool quiet() const override;
  bool up() const override;
  // Called by a caller that got no answer in time. If any server answers at all, those that answer are too few.
  bool too_few_answer() const override;
  bool has_queue() const override { return false; }
  bool releases_leftovers() const override { return true; }
  // The quorum needs no epoch: each call is settled with each server separately.
  std::uint64_t epoch() const override { return 0; }
  bool run(std::shared_ptr<caller>, std::uint32_t tag) override;
  // acquire.cpp refuses such calls before they get here.
  bool run_acknowledged(std::shared_ptr<caller>, std::uint32_t, std::uint32_t, std::chrono::milliseconds) override {
    return false;
  }
  // The servers without a step may be enough: the result is until when a majority has certainly kept the token.
  clock::time_point after_jump(const std::string& token, clock::time_point deadline, clock::duration) const override;
  void let_go(const std::string& token) override;
  void listen(const std::string& channel) override;
  void ignore(const std::string& channel) override;

  // --- For its claims and ballots ---

  const std::vector<std::shared_ptr<voter>>& voters() const { return voters_; }
  std::size_t majority() const { return majority_; }
  // If this many servers say no, the others are no majority.
  bool can_prevent(std::size_t voters) const { return voters + majority_ > voters_.size(); }
  const drift_allowance& drift() const { return drift_; }
  std::chrono::milliseconds command_timeout() const { return servers_.options().command_timeout; }
  // For how long an attempt waits for a server: a hundredth of the lease, but at least voter::least_patience. The wait
  // is taken from the lease, and a server with a longer round trip is of no use in a quorum. The other servers never
  // keep a majority that answers waiting.
  std::chrono::milliseconds patience(std::chrono::milliseconds lease) const;
  void set(alarm&, clock::time_point due);

  // The claim of the request's token; makes one if there is none.
  std::shared_ptr<claim> claim_of(const kept_request&);
  // The same for a hold that was detached.
  std::shared_ptr<claim> resumed_claim(const kept_request&);
  // Null: there is none.
  std::shared_ptr<claim> find_claim(const std::string& token) const;
  void forget(const claim&);
  // The store waits for releases on their way when it stops.
  void begin_release() { ++releases_; }
  void end_release() { --releases_; }
  void stop_if_idle();
  clock::time_point late_until() const;
  // Notifies the waiters of all clients that the lock may be granted now, or earlier than they know.
  void announce(std::string_view record);

  // A server that was restarted has forgotten what it had granted, until every lease of that time has ended.
  bool may_have_forgotten(const voter&, clock::time_point now) const;
  // Some server has neither been reached nor failed so far.
  bool is_connecting() const;
  void note_lease(std::chrono::milliseconds lease);
  void forget(const std::shared_ptr<ballot>&);

  // --- For its voters, and for callers that read a server's clock in an answer ---

  // Another voter that has this server, which must not count twice: two URLs may name it differently. Null: none is
  // known.
  const voter* find_same(const voter&, const std::string& run_id) const;
  void on_voter_up(voter&, const store::server&);
  void on_voter_down(const voter&, std::string_view why);
  void on_voter_no_answer(const voter&, std::string_view why);
  void on_voter_refused(const voter&, std::string_view words);
  void on_voter_credentials(const voter&, std::string_view why);
  void on_voter_stopped(const voter&);
  void on_channel(std::string_view channel);
  void on_clock_jump(const voter&, clock::duration);

 private:
  class asker;
  class stop_limit final : public alarm {
   public:
    explicit stop_limit(quorum_store& quorum) : quorum_(quorum) {}

   private:
    void ring(clock::time_point) override { quorum_.stop_voters(); }
    quorum_store& quorum_;
  };

  void open(const std::shared_ptr<ballot>&);
  void ask_for(const claim&, clock::time_point until);
  void stop_voters();

  const server_maker servers_;
  const std::size_t majority_;
  const drift_allowance drift_;
  const server_clock nowhere_{0.0};
  store::events* events_;
  std::shared_ptr<void> keep_alive_;
  std::vector<std::shared_ptr<voter>> voters_;
  std::vector<bool> stopped_;

  alarm_clock alarms_;
  stop_limit stop_{*this};
  bool stopping_ = false;

  std::unordered_map<std::string, std::shared_ptr<claim>> claims_;  // By token.
  std::unordered_set<std::shared_ptr<ballot>> open_;                // Not answered yet,
  std::size_t attempts_ = 0;                                        // how many of them are attempts,
  std::deque<std::shared_ptr<ballot>> waiting_;                     // and the attempts that wait for those.
  std::size_t releases_ = 0;                                        // On their way.
  std::chrono::milliseconds longest_lease_{0};
};

}  // namespace leasehold::detail
