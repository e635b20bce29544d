// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Plots as SVG, light or dark as the reader has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::bench {

class plot {
 public:
  explicit plot(std::string title) : title_(std::move(title)) {}

  struct bar {
    std::string label;
    double value;
  };
  // Bars with a scale of their own, from 0 on; a line stands where the aim is.
  void bars(std::string heading, std::vector<bar>, std::optional<double> aim = {});

  struct curve {
    std::string label;
    std::vector<double> values;
  };
  // Which part of the values is at most x, for each curve; x is logarithmic.
  void distribution(std::string heading, std::vector<curve>);

  // What was measured and where.
  std::string svg(std::string_view machine) const;

 private:
  template <class... Args>
  void put(std::string_view format, const Args&... args);

  std::string title_;
  std::string body_;
  double y_ = 64;
};

}  // namespace leasehold::bench
