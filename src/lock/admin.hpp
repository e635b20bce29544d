// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// list, show and break_lock (lua/admin.lua).
#pragma once

#include "client/query.hpp"
#include "lock/lock_state.hpp"
#include "protocol/lock_replies.hpp"

#include <leasehold/admin.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

// A pattern of SCAN for the keys that begin with `prefix`, whatever characters it contains.
std::string pattern_of(std::string_view prefix);

class list_op final : public query<std::vector<listed_lock>> {
 public:
  list_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h);

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;

  void scan_next();
  void count_next();

  const std::string pattern_;
  const std::string queue_key_prefix_;  // To be followed by a record; "": each queue's key has a tag of its own.
  std::vector<std::string> routes_;     // To the servers that are still to be scanned,
  bool routed_ = false;                 // once they are known.
  scan scan_;
  std::vector<listed_lock> found_;
  std::size_t counted_ = 0;                        // How many of the locks found have their waiters counted, and
  std::shared_ptr<const lock_identity> counting_;  // the lock that is counted next.
};

class show_op final : public query<lock_status> {
 public:
  show_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
          std::shared_ptr<const lock_identity> lock);
  error_code bad_name() const;

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;

  const std::shared_ptr<const lock_identity> lock_;
};

class break_op final : public query<broken_lock> {
 public:
  break_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
           std::shared_ptr<const lock_identity> lock, bool force);
  error_code bad_name() const;

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;
  void unanswered() override { unknown_ = !fence_.empty(); }
  error_code too_late() const override { return changed_hands_ ? error::timed_out : error::unreachable; }

  const std::shared_ptr<const lock_identity> lock_;
  const bool force_;
  broken_lock seen_;            // What is to be broken,
  std::string fence_;           // and the fence of its oldest hold as Redis has it; "": not known yet.
  bool unknown_ = false;        // A request to break it was not answered: it may have been broken.
  bool changed_hands_ = false;  // Between reading it and a request to break it.
};

}  // namespace leasehold::detail
