// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the benchmark prints: tables, figures beside their aims, and plots.
#pragma once

#include "plot.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::bench {

double median(std::vector<double>);
double quantile(std::vector<double>, double q);

// Large numbers without a fraction, small ones with two digits of it.
std::string number(double);

struct aim {
  enum class kind { at_least, at_most };
  kind what;
  double value;

  bool reached(double figure) const { return what == kind::at_least ? figure >= value : figure <= value; }
  std::string text() const;
};
inline aim at_least(double value) { return {aim::kind::at_least, value}; }
inline aim at_most(double value) { return {aim::kind::at_most, value}; }

class report {
 public:
  // Plots go into the folder, if there is one.
  explicit report(std::string svg_folder);

  void section(std::string name, std::string_view about);
  // A line of a table, or a remark.
  void line(std::string_view);
  // An aim that is not reached is said to be so, and nothing else follows from it.
  void figure(std::string_view what, double value, std::string_view unit = {}, std::optional<aim> = {});
  // What must be true on the slowest machine.
  void expect(bool, std::string_view what);
  // The plot of this section.
  void draw(const plot&);

  bool as_expected() const { return as_expected_; }

 private:
  std::string machine_;
  std::string folder_;
  std::string section_;
  bool as_expected_ = true;
};

}  // namespace leasehold::bench
