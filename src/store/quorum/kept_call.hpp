// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Keys and arguments of a call, kept for servers that are still to be asked, because its caller writes them only once.
#pragma once

#include "store/store.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::detail {

struct kept_call {
  std::vector<std::string> keys, args;

  explicit kept_call(const arguments& a) {
    for (std::size_t i = 0; i < a.number_of_keys(); ++i) keys.emplace_back(a.key_at(i));
    for (std::size_t i = 0; i < a.number_of_args(); ++i) args.emplace_back(a.arg_at(i));
  }
  kept_call(std::vector<std::string> k, std::vector<std::string> a) : keys(std::move(k)), args(std::move(a)) {}

  const std::string& record() const { return keys.front(); }
  const std::string& operation() const { return args.front(); }
  const std::string& token() const { return args.at(1); }
  std::chrono::milliseconds lease() const {
    std::int64_t n = 0;
    if (args.size() > 2) std::from_chars(args[2].data(), args[2].data() + args[2].size(), n);
    return std::chrono::milliseconds(n);
  }
  void write(arguments& a) const {
    for (const auto& k : keys) a.key(k);
    for (const auto& s : args) a.arg(s);
  }
};

}  // namespace leasehold::detail
