// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/quorum/voter.hpp"

#include "store/quorum/quorum_store.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

std::string name_of(const address& where) {
  if (where.hosts.empty()) return where.path;
  if (where.in_memory) return where.hosts.front().host;
  return where.hosts.front().host + ':' + where.hosts.front().port;
}

}  // namespace

voter::voter(quorum_store& q, std::size_t n, const address& where, const server_maker& servers)
    : number(n), name(name_of(where)), server(servers.make(where, {}, *this, this)), quorum_(q) {}

bool voter::run(std::shared_ptr<caller> the_caller, std::uint32_t tag) {
  if (!server->run(std::move(the_caller), tag)) return false;
  if (unanswered_++ == 0) waiting_since_ = clock::now();
  return true;
}

void voter::on_answer(clock::time_point now) {
  --unanswered_;
  waiting_since_ = now;
}

store::memory::server voter::known() const {
  const auto own = server->known();
  store::memory::server known = own.servers.front();
  known.started = started_;
  known.replaced = replaced_;
  known.hosts = own.hosts;
  return known;
}

void voter::assume(const store::memory::server& known) {
  store::memory own;
  own.servers = {known};
  own.hosts = known.hosts;
  server->assume(own);
  started_ = known.started;
  replaced_ = known.replaced;
}

std::string voter::objection(const std::string& run_id) {
  const voter* const same = quorum_.find_same(*this, run_id);
  return same == nullptr ? std::string() : same->name + " is the same server";
}

void voter::on_up(const store::server& s) {
  // Another server may be the replica that has taken over: what it knows may begin only now.
  const auto at = s.another ? clock::now() : clock::now() - s.uptime;
  if (s.another || !started_) {
    started_ = at;
  } else if (!replaced_) {  // The uptime of a replica that has taken over says nothing, however often it is looked at.
    started_ = std::min(*started_, at);
  }
  replaced_ = replaced_ || s.another;
  refuses_ = false;
  quorum_.on_voter_up(*this, s);
}

void voter::on_down(std::string_view why) { quorum_.on_voter_down(*this, why); }

void voter::on_no_answer(std::string_view why) {
  refuses_ = false;
  failed_ = true;
  quorum_.on_voter_no_answer(*this, why);
}

void voter::on_refused(std::string_view words) {
  refuses_ = true;
  failed_ = true;
  quorum_.on_voter_refused(*this, words);
}

void voter::on_credentials(std::string_view why) { quorum_.on_voter_credentials(*this, why); }
void voter::on_channel(std::string_view channel) { quorum_.on_channel(channel); }
void voter::on_clock_jump(clock::duration jump) { quorum_.on_clock_jump(*this, jump); }
void voter::on_stopped() { quorum_.on_voter_stopped(*this); }

}  // namespace leasehold::detail
