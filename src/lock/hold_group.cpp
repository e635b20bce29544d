// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What is done with several holds at once: release, and the wait for the loss of one of them.
#include "client/client_core.hpp"
#include "client/pending.hpp"
#include "lock/hold_state.hpp"

#include <leasehold/acquire_all.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace leasehold::detail {
namespace {

// Counts the ends of several operations on the strand of one client. Completes one handler when all have ended.
class group_op final : public std::enable_shared_from_this<group_op> {
 public:
  group_op(std::shared_ptr<client_core> core, hold_handler handler, std::size_t number)
      : core_(std::move(core)), handler_(std::move(handler), core_->fallback()), stops_(number), left_(number) {}

  const std::shared_ptr<client_core>& core() const { return core_; }
  pending<void(error_code)>& handler() { return handler_; }
  // The handler of operation i. The operation is started on the strand: its handler runs there, and it can be stopped
  // there.
  template <class F>
  auto on_strand(std::size_t i, F f) {
    return asio::bind_executor(core_->strand(), asio::bind_cancellation_slot(stops_[i].slot(), std::move(f)));
  }

  void stop_all() {
    for (auto& s : stops_) s.emit(asio::cancellation_type::terminal);
  }
  void complete(error_code ec) { core_->complete(handler_, ec); }
  // True for the last one.
  bool one_has_ended(error_code ec) {
    if (ec && (!outcome_ || ec == error::lost || outcome_ == error::not_held)) outcome_ = ec;
    if (!ec) ++successes_;
    return --left_ == 0;
  }
  // A hold that was released before (not_held) does not count if another one was released now.
  error_code outcome() const { return outcome_ == error::not_held && successes_ != 0 ? error_code() : outcome_; }

 private:
  const std::shared_ptr<client_core> core_;
  pending<void(error_code)> handler_;
  std::vector<asio::cancellation_signal> stops_;
  std::size_t left_;
  std::size_t successes_ = 0;
  error_code outcome_;
};

std::vector<std::shared_ptr<hold_state>> not_empty(const hold_group& group) {
  std::vector<std::shared_ptr<hold_state>> found;
  for (const auto& m : group.members) {
    if (m) found.push_back(m);
  }
  return found;
}

}  // namespace

bool is_empty(const std::shared_ptr<hold_group>& group) noexcept {
  return std::all_of(group->members.begin(), group->members.end(), [](const auto& m) { return !m; });
}

asio::any_io_executor executor_of(const std::shared_ptr<hold_group>& group) noexcept {
  const auto member = std::find_if(group->members.begin(), group->members.end(), [](const auto& m) { return m; });
  return executor_of(member == group->members.end() ? std::shared_ptr<hold_state>() : *member);
}

void start_release_all(const std::shared_ptr<hold_group>& group, hold_handler handler) {
  const auto members = not_empty(*group);
  const auto core = members.front()->core();
  auto op = std::make_shared<group_op>(core, std::move(handler), members.size());
  op->handler().connect_cancellation(op, stops_waiting, [](const std::shared_ptr<group_op>& o) {
    o->core()->post([o] { o->complete(asio::error::operation_aborted); });
  });
  for (const auto& m : members) {
    start_release(m, [op](error_code ec) {
      op->core()->post([op, ec] {
        if (op->one_has_ended(ec)) op->complete(op->outcome());
      });
    });
  }
}

void start_lost_any(const std::shared_ptr<hold_group>& group, hold_handler handler) {
  const auto members = not_empty(*group);
  const auto core = members.front()->core();
  auto op = std::make_shared<group_op>(core, std::move(handler), members.size());
  op->handler().connect_cancellation(op, any_type, [](const std::shared_ptr<group_op>& o) {
    o->core()->post([o] {
      o->complete(asio::error::operation_aborted);
      o->stop_all();
    });
  });
  core->post([op, members] {
    for (std::size_t i = 0; i < members.size(); ++i) {
      start_lost(members[i], op->on_strand(i, [op](error_code ec) {
        const bool last = op->one_has_ended(ec);
        if (!ec) {
          op->complete(error_code());
          op->stop_all();
        } else if (last) {
          op->complete(ec);
        }
      }));
    }
  });
}

}  // namespace leasehold::detail
