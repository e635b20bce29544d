// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "protocol/scripts.hpp"
#include "store/pipeline.hpp"
#include "store/redis/bulk.hpp"
#include "store/redis/connections.hpp"

#include <boost/iterator/transform_iterator.hpp>
#include <boost/redis/request.hpp>

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

// Commands in a request of Boost.Redis.
class request_writer final : public command_writer {
 public:
  static std::unique_ptr<command_writer> make() { return std::make_unique<request_writer>(); }
  // Of a batch whose pipeline has `make`.
  static const boost::redis::request& of(const pipeline::batch& b) {
    return static_cast<const request_writer&>(*b.request).request_;
  }

  void write(const script& what, bool whole_text, arguments& args) override {
    const auto as_bulk = [](std::string_view text) { return bulk{text}; };
    request_.push_range(whole_text ? "EVAL" : "EVALSHA",
                        boost::make_transform_iterator(args.begin(whole_text ? what.text : what.sha1), as_bulk),
                        boost::make_transform_iterator(args.end(), as_bulk));
  }
  void write(const std::vector<std::string>& words) override {
    request_.push_range(words.front(), std::next(words.begin()), words.end());
  }
  void write(std::string_view word) override { request_.push(word); }
  void clear() override { request_.clear(); }

 private:
  boost::redis::request request_ = make_request();
};

}  // namespace leasehold::detail
