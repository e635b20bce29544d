// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/connection_state.hpp"

#include <utility>

namespace leasehold::detail {

void connection_state::begins() {
  ++epoch_;
  reconnection_.begins();
  ends_as_ = end::not_reached;
  has_ended_ = false;
  why_.clear();
  unwatch();
}

void connection_state::on_refused(std::string_view why, bool may_change) {
  ends_as_ = end::refused;
  may_change ? events_.on_no_answer(why) : events_.on_refused(why);
}

std::string connection_state::on_greeting(greeting g, clock::time_point now, const std::function<void()>& listen) {
  if (auto objection = events_.objection(g.run_id); !objection.empty()) {
    on_refused(objection);
    return objection;
  }
  server_.on_up(g.run_id, g.from);
  if (g.from.another) runner_.clock_there().reset();
  const auto jump = runner_.clock_there().observe(g.time, g.sent, now);
  ends_as_ = end::lost;
  reconnection_.is_up(now);
  unwatch();
  listen();
  if (jump != clock::duration(0)) events_.on_clock_jump(jump);
  events_.on_up(g.from);
  return {};
}

void connection_state::give_up(std::string_view why) {
  has_ended_ = true;
  if (!why.empty()) why_ = why;
}

reconnection::plan connection_state::ended(std::string_view why, clock::time_point now, double random) {
  has_ended_ = true;
  unwatch();
  runner_.collect([](pipeline& p) { p.drop(); });
  const auto plan = reconnection_.ended(ends_as_, now, random);
  if (plan.is_reported && !is_stopping_) {
    if (plan.how == end::lost) events_.on_down(why);
    if (plan.how == end::not_reached) events_.on_no_answer(why);
  }
  // Its last answers must not be taken for answers of the next connection.
  runner_.drain_all();
  return plan;
}

bool connection_state::watch(clock::time_point due) {
  if (due >= watched_until_) return false;
  watched_until_ = due;
  return true;
}

std::optional<clock::time_point> connection_state::on_watch(clock::time_point now) {
  watched_until_ = clock::time_point::max();
  if (ends_as_ != end::lost) return std::nullopt;
  return runner_.calls().look_for_silence(now);
}

void connection_state::unwatch() {
  watched_until_ = clock::time_point::max();
  runner_.calls().forget_silence();
}

}  // namespace leasehold::detail
