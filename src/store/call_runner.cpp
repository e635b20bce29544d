// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/call_runner.hpp"

#include "protocol/refusal.hpp"
#include "protocol/slots.hpp"
#include "store/bundled_calls.hpp"

#include <cstddef>
#include <utility>

namespace leasehold::detail {

clock::time_point call_runner::run(std::shared_ptr<caller> the_caller, std::uint32_t tag) {
  const bool has_slots = router_ != nullptr && router_->has_slots();
  const std::uint16_t slot = has_slots ? slot_of(the_caller->request_of(tag).keys.record) : 0;
  call c{std::move(the_caller), tag, clock::now(), slot};
  if (!pipeline_.has_room_for(c)) return pipeline_.wait(std::move(c));
  append(std::move(c));
  return clock::time_point::max();
}

void call_runner::take_over(call c) {
  c.whole_text = false;
  append(std::move(c));
}

void call_runner::append(call c) {
  // What follows an ASK arrives where the client need not be subscribed yet.
  const bool pushes_grants = router_ == nullptr || c.asking || router_->pushes_grants(c.slot);
  switch (pipeline_.add(std::move(c), clock_, pushes_grants)) {
    case pipeline::then::nothing: break;
    case pipeline::then::flush_now: connection_.flush(); break;
    case pipeline::then::flush_at_the_end: connection_.flush_later(); break;
  }
}

void call_runner::drain_later() {
  if (!std::exchange(drains_later_, true)) connection_.drain_later();
}

void call_runner::drain() {
  drains_later_ = false;
  const auto now = clock::now();
  const std::size_t portion = pipeline_.portion();
  for (std::size_t passed = 0; passed < portion && pipeline_.has_results();) {
    auto r = pipeline_.next_result();
    // Pushes wait for no portion, nor do failures: these must not come after the next connection.
    if (r.arrived) passed += r.of.size();
    pass_on(std::move(r), now);
  }
  send_waiting();
}

void call_runner::drain_all() {
  const auto now = clock::now();
  while (pipeline_.has_results()) pass_on(pipeline_.next_result(), now);
  send_waiting();
}

void call_runner::pass_on(pipeline::result r, clock::time_point now) {
  if (r.arrived) pipeline_.heard(now);
  if (r.of.empty()) return connection_.on_push(r.from_server);
  if (!r.arrived) return settle(std::move(r.of.front()), nullptr, now);
  if (is_refused_as_a_whole(r.of, r.from_server)) {
    for (auto& c : r.of) send_alone(std::move(c), r.from_server, now);
  } else {
    for_each_reply(r.of, r.from_server, [&](call c, const reply& one) { settle(std::move(c), &one, now); });
  }
}

void call_runner::send_waiting() {
  collect([this](pipeline&) {
    // What is sent now would count as sent, and was not.
    while (connection_.can_send()) {
      auto next = pipeline_.next_waiting(clock::now());
      if (!next) break;
      append(*std::move(next));
    }
  });
}

void call_runner::send_alone(call c, const reply& to_its_bundle, clock::time_point now) {
  if (!connection_.can_send() || !c.the_caller->wants(c.tag)) return settle(std::move(c), &to_its_bundle, now);
  c.alone = true;
  c.whole_text = false;  // It is that of another script.
  append(std::move(c));
}

// from_server: null if there is no reply.
void call_runner::settle(call c, const reply* from_server, clock::time_point now) {
  const bool is_error = from_server != nullptr && from_server->is_error();
  const std::string_view words = is_error ? from_server->text(0) : std::string_view();
  // After EVAL, NOSCRIPT is an answer like any other.
  const bool unknown = is_unknown_script(words) && !c.whole_text;
  // The time still counts from the first sending: earlier is safe.
  if (unknown && connection_.can_send() && c.the_caller->wants(c.tag)) {
    c.whole_text = true;
    return append(std::move(c));
  }
  const bool elsewhere = router_ != nullptr && (is_redirection(words) || wants_tagged_keys(words));
  if (elsewhere && c.the_caller->wants(c.tag) && router_->redirect(c, words)) return;
  const bool ends = is_error && connection_.ends_with(words);
  if (from_server != nullptr && !unknown && !ends) {
    const outcome o = read_outcome(c.verb, *from_server);
    c.the_caller->answered(c.tag, answer{&o, c.sent, now, &clock_});
  } else {
    c.the_caller->answered(c.tag, answer{nullptr, c.sent, now, &clock_});
  }
}

}  // namespace leasehold::detail
