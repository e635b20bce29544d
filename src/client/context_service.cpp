// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/context_service.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace leasehold::detail {

context_service& context_service::of(const boost::asio::any_io_executor& executor) {
  return boost::asio::use_service<context_service>(boost::asio::query(executor, boost::asio::execution::context));
}

void context_service::add(context_member& m) {
  const std::lock_guard lock(mutex_);
  members_.insert(&m);
}

void context_service::remove(context_member& m) {
  const std::lock_guard lock(mutex_);
  members_.erase(&m);
}

void context_service::shutdown() {
  std::vector<std::shared_ptr<context_member>> all;
  {
    const std::lock_guard lock(mutex_);
    for (context_member* m : members_) {
      // One that is being destroyed at this moment has nothing left to end.
      if (auto strong = m->alive()) all.push_back(std::move(strong));
    }
    members_.clear();
  }
  for (auto& m : all) m->abandon();
}

}  // namespace leasehold::detail
