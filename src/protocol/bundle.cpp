// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/bundle.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace leasehold::detail {

bool bundle::takes(const request& r) {
  if (r.of_kind != &scripts::mutex) return false;
  switch (r.verb) {
    case verb::acquire: return !r.repairs && r.ask.empty() && r.limit == 0 && r.follows.empty();
    case verb::release: return !r.record_only && !r.publishes_first && r.channel.empty();
    default: return false;
  }
}

bool bundle::has_room_for(const request& r, bool pushes_grants) const {
  const bool first = members_.size() == releases_;
  if (r.verb == verb::acquire && !first &&
      (r.lease != lease_ || r.run_within != run_within_ || (r.joins_queue && pushes_grants) != acquires_.joins_queue)) {
    return false;
  }
  return !hashes_[std::hash<std::string_view>()(r.keys.record) % hashes_.size()] ||
         std::none_of(members_.begin(), members_.end(),
                      [&](const member& m) { return m.keys.record == r.keys.record; });
}

sending bundle::add(const request& r, clock::time_point now, const server_clock& server, bool pushes_grants) {
  const bool first = members_.size() == releases_;
  tokens_ += r.token;
  members_.push_back({r.keys, tokens_.size(), r.verb});
  hashes_.set(std::hash<std::string_view>()(r.keys.record) % hashes_.size());
  if (r.verb == verb::release) {
    ++releases_;
    return plan(r, now, server, pushes_grants);
  }
  if (first) {
    lease_ = r.lease;
    run_within_ = r.run_within;
    acquires_ = plan(r, now, server, pushes_grants);
  }
  return acquires_;
}

const script& bundle::of_kind() const { return members_.size() == 1 ? scripts::mutex : scripts::bundle; }

void bundle::write(arguments& a) const {
  if (members_.size() == 1) {
    request r;
    r.verb = members_.front().verb;
    r.keys = members_.front().keys;
    r.token = tokens_;
    r.lease = lease_;
    return detail::write(r, acquires_, a);
  }
  const auto each = [this](auto f) {
    for (const verb v : {verb::release, verb::acquire}) {
      for (const member& m : members_) {
        if (m.verb == v) f(m);
      }
    }
  };
  a.key(members_.front().keys.fences);
  each([&](const member& m) { a.key(m.keys.record); });
  each([&](const member& m) { a.key(m.keys.queue); });
  each([&](const member& m) { a.key(m.keys.entries); });
  a.arg(static_cast<std::int64_t>(releases_));
  a.arg(lease_.count());
  a.arg(acquires_.not_after);
  acquires_.joins_queue ? a.arg(acquires_.at.time_since_epoch().count()) : a.arg("");
  each([&](const member& m) { a.arg(token_of(m)); });
}

void bundle::clear() {
  members_.clear();
  tokens_.clear();
  releases_ = 0;
  lease_ = run_within_ = {};
  acquires_ = {};
  hashes_.reset();
}

std::string_view bundle::token_of(const member& m) const {
  const std::size_t begins = &m == members_.data() ? 0 : (&m - 1)->token_ends;
  return std::string_view(tokens_).substr(begins, m.token_ends - begins);
}

void bundle_replies::next(verb v, reply& one) {
  const std::size_t i = v == verb::release ? (is_shared_ ? 0 : release_++)
                                           : (is_shared_ ? (releases_ != 0 ? 1 : 0) : releases_ + acquire_++);
  std::string_view text = all_.text(i);
  one.clear();
  if (text.starts_with('!')) {
    text.remove_prefix(1);
    one.set_error();
  }
  one.add(text);
}

}  // namespace leasehold::detail
