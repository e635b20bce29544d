// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <unordered_set>

namespace leasehold::detail {

// What must not outlive its execution context.
class context_member {
 public:
  // The same object; null if it is being destroyed.
  virtual std::shared_ptr<context_member> alive() = 0;
  // The context ends. Called on the thread that destroys it.
  virtual void abandon() noexcept = 0;

 protected:
  ~context_member() = default;
};

// Ends the cores of an execution context when the context ends. A client, lock or hold that outlives the context may
// keep a core alive, but the core's timer, strand and sockets must not outlive the context.
class context_service final : public boost::asio::execution_context::service {
 public:
  using key_type = context_service;
  static inline boost::asio::execution_context::id id;

  explicit context_service(boost::asio::execution_context& context)
      : boost::asio::execution_context::service(context) {}
  // Of the executor's context.
  static context_service& of(const boost::asio::any_io_executor&);

  void add(context_member&);
  void remove(context_member&);

 private:
  void shutdown() override;

  std::mutex mutex_;
  std::unordered_set<context_member*> members_;
};

}  // namespace leasehold::detail
