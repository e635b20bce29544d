// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/resume.hpp"

#include "client/options.hpp"
#include "lock/joint_cohort.hpp"
#include "lock/lock_state.hpp"
#include "lock/registry.hpp"
#include "protocol/lease_reply.hpp"
#include "protocol/scripts.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

std::chrono::milliseconds lease_of(const ticket_fields* detached, const resume_options& options) {
  return options.lease == milliseconds(0) && detached != nullptr ? detached->lease : options.lease;
}

}  // namespace

resume_op::resume_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                     std::shared_ptr<const ticket_fields> detached, std::shared_ptr<const lock_identity> lock,
                     const resume_options& options)
    : query(handle, lock ? lock->record : std::string_view(), std::move(h)),
      detached_(std::move(detached)),
      lock_(std::move(lock)),
      options_(options),
      lease_(lease_of(detached_.get(), options)),
      recorded_(detached_ ? std::to_string(detached_->recorded) : std::string()) {}

void resume_op::start(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                      std::shared_ptr<const ticket_fields> detached, const resume_options& options) {
  error_code bad = error::invalid_ticket;
  std::shared_ptr<const lock_identity> identity;
  if (detached) {
    const auto lease = lease_of(detached.get(), options);
    bad = check_lease(lease);
    if (!bad && (options.margin < milliseconds(0) || options.margin >= lease)) bad = error::invalid_option;
    try {
      const lock_state lock(handle, detached->name, *detached->kind, detached->owner, detached->limit);
      identity = lock.identity;
      if (!bad) bad = lock.bad;
    } catch (...) {
      // Of client_options::classify. No caller can catch what leaves an initiating function.
      handle->core->post([thrown = std::current_exception()] { std::rethrow_exception(thrown); });
      bad = error::invalid_option;
    }
    const bool is_semaphore = detached->kind->ask == ask_is::limit;
    if (!bad && is_semaphore && handle->core->is_quorum()) bad = error::not_supported;
  }
  std::make_shared<resume_op>(handle, std::move(h), std::move(detached), std::move(identity), options)
      ->query::start(bad);
}

request resume_op::request_of(std::uint32_t) const {
  request r = lock_->request_for(verb::renew, detached_->token);
  r.lease = lease_;
  r.fence_text = recorded_;
  return r;
}

void resume_op::take(const outcome& o, const answer& a) {
  const lease_reply& lease = o.lease;
  if (!lease.understood) return ask_later(a);
  core().observe_time(lease.server_time, a);
  if (lease.status != status::held || lease.fence != detached_->recorded) return end(error::lost);
  end(error_code(), resumed(a));
}

// The key holds something else now.
bool resume_op::takes_refusal(const outcome& o) {
  if (o.refused != refusal::wrong_type) return false;
  end(error::lost);
  return true;
}

hold resume_op::resumed(const answer& a) const {
  const lease_reply& lease = a.from_store->lease;
  hold_state::grant g{};
  g.token = detached_->token;
  g.fence = detached_->fence;
  if (detached_->recorded != detached_->fence) {
    g.tenure = std::make_shared<cohort_tenure>();
    g.tenure->recorded_fence = detached_->recorded;
  }
  g.depth = detached_->depth;
  join(registry::of(core()).joint_of(*lock_), g);
  g.lease = lease_;
  g.renew = options_.renew;
  g.margin = options_.margin;
  g.asked_at = a.sent;
  g.confirmed_at = a.sent;
  // Its earlier holder may have extended it for longer than this lease.
  const auto ends = later(later(a.received, lease.left), core_->drift().of(lease.left));
  g.may_last_until = std::max(core_->may_last(lease_), ends);
  g.longest_asked = lease_;
  // By the server's clock, and counted from the arrival of an answer that said what time it was before.
  // 0: not known, so the whole rest is left.
  const auto from = detached_->rest_from != 0 ? detached_->rest_from : lease.server_time;
  const std::chrono::microseconds since(std::max<std::int64_t>(0, lease.server_time - from));
  g.at_least = std::max(milliseconds(0), detached_->rest - std::chrono::floor<milliseconds>(since));
  // `next` stays null. Another program may have resumed the ticket, too, and a hold that is passed on keeps the token.
  g.deadline = core_->still_sure(g.token, local_deadline(a.sent, lease_, lease.left, core_->drift()));
  auto state = std::make_shared<hold_state>(handle(), lock_, std::move(g));
  state->start(/*confirmed=*/true);
  return access::make_hold(std::move(state));
}

}  // namespace leasehold::detail
