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

// Which of some keys are locks: one script, so they are in one slot if there are slots.
class look_op final : public query<std::vector<listed_lock>> {
 public:
  // The outcome if the keys are in several slots, and the client has learned only now that this matters.
  static error_code ask_anew();

  look_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
          const std::vector<std::string>& records, std::shared_ptr<scan> of);

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;
  bool takes_refusal(const outcome&) override;

  std::vector<std::unique_ptr<const lock_identity>> locks_;
  mutable std::vector<member_request> members_;  // Of the request that was made last.
  const bool has_slots_;
  const std::shared_ptr<scan> scan_;
};

// SCAN finds keys, and scripts that declare these keys find the locks among them.
class list_op final : public query<std::vector<listed_lock>> {
 public:
  list_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h);

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;

  void scan_next();
  void look();
  void looked(error_code, std::vector<listed_lock>);
  void go_on();

  const std::string pattern_;
  std::vector<std::string> routes_;  // To the servers that are still to be scanned,
  bool routed_ = false;              // once they are known.
  const std::shared_ptr<scan> scan_ = std::make_shared<scan>();
  std::vector<std::string> page_;  // The keys that are looked at,
  std::size_t looking_ = 0;        // how many scripts do that,
  bool anew_ = false;              // whether they have to be asked anew,
  error_code problem_;             // and why the list cannot be had.
  std::vector<listed_lock> found_;
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
