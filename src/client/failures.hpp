// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/secrets.hpp"

#include <leasehold/error.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail {

// Why the store does not do what it was asked for, in words that may be shown. Written on the strand, read by any
// thread.
class failures {
 public:
  // server: the URLs as they may be shown; hidden: the parts of them that must not be.
  failures(std::string server, std::vector<std::string> hidden)
      : server_(std::move(server)), secrets_(std::move(hidden)) {}

  // The server's words, in a form that people may read.
  std::string presentable(std::string_view words) const;
  const std::string& server() const { return server_; }
  std::string last_refusal() const;
  std::string last_failure() const;
  // What an exception with this code can say of the store.
  exception::context about(const error_code&) const;

  // From now on these are hidden, too.
  void hide(const std::vector<std::string>& credentials);
  // The server has refused something.
  void note_refusal(std::string_view words);
  // Why there is no connection; "": there is one. Returns whether that is news.
  bool note_failure(std::string_view why);

 private:
  const std::string server_;
  secrets secrets_;  // Used on the strand only.
  mutable std::mutex mutex_;
  std::string last_refusal_;
  std::string last_failure_;
};

}  // namespace leasehold::detail
