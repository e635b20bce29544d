// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "schedule/queue_rules.hpp"

#include "support/unit_test.hpp"

#include <algorithm>
#include <sstream>

namespace leasehold::test {

// May holds of these asks be had at the same time?
bool queue_rules::together(const std::string& a, const std::string& b) const {
  switch (kind_) {
    case lock_kind::mutex: return false;
    case lock_kind::recursive_mutex: return a == b;
    case lock_kind::shared_mutex: return a[0] == 'r' && b[0] == 'r';
    case lock_kind::counting_semaphore: return true;
  }
  return false;
}

std::string queue_rules::who(std::int64_t now) const {
  std::string all;
  for (const auto& [token, h] : holds_) {
    if (h.until > now) all += " " + token + " [" + h.ask + "] " + std::to_string(h.fence);
  }
  return all;
}

void queue_rules::granted(std::int64_t now, const std::string& token, const std::string& ask, std::uint64_t fence,
                          std::int64_t until) {
  std::size_t beside = 0;
  bool same_tenure = false;
  bool may_be_same = false;
  for (const auto& [other, h] : holds_) {
    if (other == token) continue;
    if (h.until > now) {
      ++beside;
      same_tenure = true;
      BOOST_REQUIRE_MESSAGE(together(h.ask, ask), token << " [" << ask << "] is in beside" << who(now));
    }
    may_be_same = may_be_same || (h.at_most > now && together(h.ask, ask));
  }
  if (foreign_ && (foreign_->until < 0 || foreign_->until > now)) {
    BOOST_REQUIRE_MESSAGE(together(foreign_->ask, ask), token << " is in beside another program");
  }
  if (kind_ == lock_kind::counting_semaphore) {
    // Whoever finds it free brings the limit.
    if (beside == 0) limit_ = may_be_same ? std::max(limit_, std::stoul(ask)) : std::stoul(ask);
    BOOST_REQUIRE_MESSAGE(beside < limit_, token << " is one more than " << limit_ << ":" << who(now));
    BOOST_REQUIRE_MESSAGE(fence > last_fence_, token << ": " << fence << " after " << last_fence_);
  } else if (same_tenure) {
    BOOST_REQUIRE_MESSAGE(fence == last_fence_, token << ": " << fence << " and not " << last_fence_);
  } else {
    BOOST_REQUIRE_MESSAGE(fence > last_fence_ || (may_be_same && fence == last_fence_),
                          token << ": " << fence << " after " << last_fence_);
  }
  last_fence_ = fence;
  holds_[token] = {ask, fence, until, until + 1000};
  std::erase_if(holds_, [&](const auto& h) { return h.second.at_most < now; });
}

void queue_rules::saw(const call& c) {
  if (c.what == "resize") {
    if (c.reply[0] == '1') limit_ = std::stoul(c.token);
    return;
  }
  const auto mine = holds_.find(c.token);
  std::istringstream in(c.reply);
  int status = 0;
  std::uint64_t fence = 0;
  std::int64_t left = 0;
  in >> status >> fence >> left;
  const bool was_released = c.what == "release" && c.reply.find(' ') == std::string::npos;
  if (was_released || status != 1) {
    // Nobody who has it is told that he has not.
    const bool denied = was_released || c.what == "acquire" ? status != 1 : status == 0;
    if (mine != holds_.end() && (was_released || denied)) {
      BOOST_REQUIRE_MESSAGE(!denied || mine->second.until <= c.now, c.token << " has it and is told " << c.reply);
      holds_.erase(mine);
    }
    return;
  }
  const std::int64_t until = c.now + left * 1000;
  const bool is_new_phase = c.what == "release" || c.what == "refresh" || c.what == "downgrade";
  const bool over =
      mine != holds_.end() && (mine->second.at_most <= c.now ||
                               (mine->second.until <= c.now && c.what == "acquire" && fence != mine->second.fence));
  if (mine == holds_.end() || over) {
    BOOST_REQUIRE_MESSAGE(c.what == "acquire", c.token << " had nothing, and " << c.what << " gave " << c.reply);
    return granted(c.now, c.token, c.ask, fence, until);
  }
  if (is_new_phase && fence != mine->second.fence) {
    BOOST_REQUIRE(fence > last_fence_);
    last_fence_ = fence;
    mine->second.fence = fence;
    if (c.what == "downgrade") mine->second.ask[0] = 'r';
  }
  BOOST_REQUIRE_MESSAGE(fence == mine->second.fence, c.token << " had " << mine->second.fence << ", now " << fence);
  // Nothing on the server ever shortens a lease.
  BOOST_REQUIRE_MESSAGE(until + 1000 > mine->second.until, c.token << " has been shortened: " << c.reply);
  mine->second.until = std::max(mine->second.until, until);
  mine->second.at_most = std::max(mine->second.at_most, until + 1000);
}

void queue_rules::saw(std::int64_t now, const std::string& message, const std::string& ask) {
  std::istringstream in(message);
  std::string what, token, stamp;
  std::uint64_t fence = 0;
  std::int64_t lease = 0;
  in >> what >> token >> fence >> stamp >> lease;
  if (what == "granted") granted(now, token, ask, fence, now + lease * 1000);
}

void queue_rules::foreign(std::int64_t now, const std::string& ask, std::int64_t until) {
  for (auto& [token, h] : holds_) {
    if (h.until <= now) continue;
    BOOST_REQUIRE_MESSAGE(together(h.ask, ask), "another program is in beside" << who(now));
    if (until >= 0) h.until = std::min(h.until, until);
  }
  foreign_ = program{ask, until};
}

bool queue_rules::forget_ended(std::int64_t now) {
  for (const auto& [token, h] : holds_) {
    if (h.until <= now && h.at_most > now) return false;
  }
  std::erase_if(holds_, [&](const auto& h) { return h.second.until <= now; });
  if (foreign_ && foreign_->until >= 0 && foreign_->until <= now) foreign_.reset();
  return true;
}

void queue_rules::all_is_lost() {
  holds_.clear();
  foreign_.reset();
}

}  // namespace leasehold::test
