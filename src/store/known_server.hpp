// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/store.hpp"

#include <string>
#include <utility>

namespace leasehold::detail {

// What a client knows of one server from its connections. No I/O.
class known_server {
 public:
  store::memory::server as_memory() const { return {run_id_, was_up_before_, {}, false, {}}; }
  // From an earlier store.
  void assume(const store::memory::server& m) {
    run_id_ = m.run_id;
    was_up_before_ = m.was_up;
  }
  // A connection is up. Says of `found` whether it is the first one, and whether the server may be another than before.
  void on_up(const std::string& run_id, store::server& found) {
    found.again = std::exchange(was_up_, true);
    found.another = std::exchange(was_up_before_, true) && (run_id.empty() || run_id != run_id_);
    run_id_ = run_id;
  }

 private:
  std::string run_id_;
  bool was_up_ = false;         // The store that asks, at any time,
  bool was_up_before_ = false;  // or an earlier one.
};

}  // namespace leasehold::detail
