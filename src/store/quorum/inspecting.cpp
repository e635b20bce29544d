// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How a quorum makes one inspection of those of its servers.
#include "store/quorum/ballot.hpp"
#include "store/quorum/inspections.hpp"
#include "store/quorum/quorum_store.hpp"
#include "store/quorum/voter.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace leasehold::detail {

void ballot::decide_inspection(bool late) {
  const auto answers = count(answer_is::yes);
  const auto pending = late ? 0 : count(answer_is::pending);
  const bool is_certain = answers >= quorum_.majority() || answers + pending < quorum_.majority();
  if (!is_certain) return;
  if (pending != 0) {
    if (!std::exchange(waits_for_rest_, true)) quorum_.set(*this, later(clock::now(), voter::least_patience));
    return;
  }
  if (answers < quorum_.majority()) {
    if (!end_with_error()) end_undecided();
    return;
  }
  std::vector<const inspection*> all;
  for (const auto& v : voices_) {
    if (v.said == answer_is::yes) all.push_back(v.inspected.get());
  }
  outcome o;
  o.inspected = std::make_shared<const inspection>(merge_inspections(all, quorum_.majority()));
  end(o);
}

}  // namespace leasehold::detail
