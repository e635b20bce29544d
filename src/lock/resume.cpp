// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/resume.hpp"

#include "client/options.hpp"
#include "lock/lock_state.hpp"
#include "protocol/lease_reply.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// The pause between two requests to a server that cannot answer yet.
constexpr milliseconds pause_of_resume{50};

}  // namespace

resume_op::resume_op(std::shared_ptr<client_handle> handle, handler::handler_type h,
                     std::shared_ptr<const ticket_fields> detached, const resume_options& options)
    : operation(handle->core, std::move(h)),
      handle_(std::move(handle)),
      detached_(std::move(detached)),
      options_(options) {}

void resume_op::start(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                      std::shared_ptr<const ticket_fields> detached, const resume_options& options) {
  make_recycled<resume_op>(handle, std::move(h), std::move(detached), options)->launch(any_type);
}

error_code resume_op::check() {
  if (!detached_) return error::invalid_ticket;
  lease_ = options_.lease == milliseconds(0) ? detached_->lease : options_.lease;
  if (const error_code ec = check_lease(lease_)) return ec;
  if (options_.margin < milliseconds(0) || options_.margin >= lease_) return error::invalid_option;
  if (!core_->open()) return error::closed;
  const lock_state lock(handle_, detached_->name, *detached_->kind, detached_->owner, detached_->limit);
  lock_ = lock.identity;
  return lock.bad;
}

void resume_op::begin() {
  if (const error_code ec = check()) return end(ec);
  recorded_ = std::to_string(detached_->recorded);
  core_->add(*this);
  give_up_at_ = later(clock::now(), core_->options().command_timeout);
  send();
}

void resume_op::send() {
  if (is_over()) return;
  core_->set(*this, give_up_at_);
  asking_ = core_->send(self_, 0);
  if (asking_) return;
  if (core_->refused()) return end(error::refused);
  core_->when_up(*this);
}

void resume_op::try_again() { core_->set(*this, std::min(later(clock::now(), pause_of_resume), give_up_at_)); }

request resume_op::request_of(std::uint32_t) const {
  request r = lock_->request_for(verb::renew, detached_->token);
  r.lease = lease_;
  r.fence_text = recorded_;
  return r;
}

void resume_op::answered(std::uint32_t, const answer& a) {
  core_->note_round_trip(a);
  asking_ = false;
  if (is_over()) return;
  if (a.from_store == nullptr) return send();
  const outcome& o = *a.from_store;
  if (o.refused) {
    switch (*o.refused) {
      case refusal::try_again:
      case refusal::moving_slot:
      case refusal::no_majority: return try_again();
      // The key holds something else now.
      case refusal::wrong_type: return end(error::lost);
      case refusal::no: core_->note_refusal(o.words); return end(error::refused);
    }
  }
  const lease_reply& lease = o.lease;
  if (!lease.understood) return try_again();
  core_->observe_time(lease.server_time, a);
  if (lease.status != status::held || lease.fence != detached_->recorded) return end(error::lost);
  end(error_code(), resumed(a));
}

hold resume_op::resumed(const answer& a) const {
  const lease_reply& lease = a.from_store->lease;
  hold_state::grant g{};
  g.token = detached_->token;
  g.fence = detached_->fence;
  if (detached_->recorded != detached_->fence) {
    g.tenure = make_recycled<cohort_tenure>();
    g.tenure->recorded_fence = detached_->recorded;
  }
  g.depth = detached_->depth;
  g.lease = lease_;
  g.renew = options_.renew;
  g.margin = options_.margin;
  g.asked_at = a.sent;
  g.confirmed_at = a.sent;
  g.may_last_until = core_->may_last(lease_);
  g.longest_asked = lease_;
  // By the server's clock, and counted from the arrival of an answer that said what time it was before.
  const std::chrono::microseconds since(std::max<std::int64_t>(0, lease.server_time - detached_->rest_from));
  g.at_least = std::max(milliseconds(0), detached_->rest - std::chrono::floor<milliseconds>(since));
  // `next` stays null. Another program may have resumed the ticket, too, and a hold that is passed on keeps the token.
  g.deadline = core_->still_sure(g.token, local_deadline(a.sent, lease_, lease.left, core_->drift()));
  auto state = make_recycled<hold_state>(handle_, lock_, std::move(g));
  state->start(/*confirmed=*/true);
  return access::make_hold(std::move(state));
}

void resume_op::ring(clock::time_point now) {
  if (now >= give_up_at_) return end(error::unreachable);
  core_->set(*this, give_up_at_);
  if (!asking_) send();
}

}  // namespace leasehold::detail
