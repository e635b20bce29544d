// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <set>

namespace leasehold::cli {

// The descriptors this program was started with. They are the command's as well (flock(1) and systemd hand over
// descriptors like that), and all others are our own: Asio opens its sockets without close-on-exec.
class inherited_descriptors {
 public:
  // Has to be constructed before anything is opened.
  inherited_descriptors();

  void close_all_others_on_exec() const;

 private:
  std::set<int> open_;
};

}  // namespace leasehold::cli
