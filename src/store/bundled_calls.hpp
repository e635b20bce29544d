// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Calls of a connection that go out in one command (protocol/bundle.hpp).
#pragma once

#include "protocol/bundle.hpp"
#include "protocol/refusal.hpp"
#include "protocol/slots.hpp"
#include "store/server.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace leasehold::detail {

// The calls of one command.
using calls = boost::container::small_vector<redis_server::call, 1>;

class bundled_calls {
 public:
  using call = redis_server::call;

  bool empty() const { return of_.empty(); }
  std::size_t size() const { return of_.size(); }
  // False: the call is sent by itself.
  static bool takes(const call& c, const request& r) {
    // In the tagged layout each slot has a fence counter of its own, and a longer name for it.
    return !c.alone && r.keys.fences.size() == only_fence_key.size() && bundle::takes(r);
  }
  // False: those that are in have to be sent before this call.
  bool has_room_for(const call& c, const request& r, bool pushes_grants) const {
    return of_.empty() ||
           (takes(c, r) && of_.front().whole_text == c.whole_text && bundle_.has_room_for(r, pushes_grants));
  }
  // A call that it takes and has room for.
  void add(call c, const request& r, clock::time_point now, const server_clock& server, bool pushes_grants) {
    c.the_caller->sent(c.tag, bundle_.add(r, now, server, pushes_grants));
    of_.push_back(std::move(c));
  }
  const script& of_kind() const { return bundle_.of_kind(); }
  bool whole_text() const { return of_.front().whole_text; }
  // The arguments are valid until take().
  void write(arguments& a) const { bundle_.write(a); }
  // Then it is empty.
  calls take() {
    bundle_.clear();
    return std::exchange(of_, {});
  }

 private:
  bundle bundle_;
  calls of_;
};

// The server has refused to run the script of a bundle: for lack of a right to one of its keys, for example. That says
// nothing of the other requests. Each call of it then has to be sent by itself.
inline bool is_refused_as_a_whole(const calls& of, const reply& from_server) {
  if (of.size() < 2 || !from_server.is_error()) return false;
  const auto words = from_server.text(0);
  return classify(words) == refusal::no && !is_unknown_script(words) && !is_read_only(words);
}

// Calls f(call, reply) for each call of a command with this reply.
template <class F>
void for_each_reply(calls& of, const reply& from_server, F f) {
  if (of.size() == 1 || from_server.is_error()) {
    for (auto& c : of) f(std::move(c), from_server);
    return;
  }
  const auto releases = std::count_if(of.begin(), of.end(), [](const auto& c) { return c.verb == verb::release; });
  bundle_replies all(from_server, static_cast<std::size_t>(releases), of.size());
  for (auto& c : of) {
    reply one;
    all.next(c.verb, one);
    f(std::move(c), std::as_const(one));
  }
}

}  // namespace leasehold::detail
