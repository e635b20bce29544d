// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A strict reader of Prometheus's text format 0.0.4. It throws std::runtime_error with the line that a server of
// Prometheus would refuse, or that `promtool check metrics` would complain of.
#pragma once

#include <leasehold/detail/printable.hpp>

#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::test {

class prometheus_text {
 public:
  using labels = std::map<std::string, std::string>;

  explicit prometheus_text(std::string_view text) {
    if (!text.empty() && text.back() != '\n') fail("the last line has no end", text);
    while (!text.empty()) {
      const auto end = text.find('\n');
      line_ = text.substr(0, end);
      text.remove_prefix(end + 1);
      if (!detail::is_utf8(line_)) fail("not UTF-8", line_);
      line_.starts_with("# ") ? read_comment(line_.substr(2)) : read_sample(line_);
    }
    for (const auto& [name, type] : types_) check(name, type);
  }

  // Throws std::out_of_range if there is none.
  double value(const std::string& name, const labels& l = {}) const { return samples_.at(name).at(l); }
  const std::map<labels, double>& all(const std::string& name) const { return samples_.at(name); }
  bool has(const std::string& name) const { return samples_.contains(name); }
  const std::map<std::string, std::string>& types() const { return types_; }

 private:
  [[noreturn]] static void fail(const std::string& why, std::string_view line) {
    throw std::runtime_error(why + ": " + std::string(line.substr(0, 200)));
  }

  static std::string take_word(std::string_view& text, std::string_view others) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    std::size_t n = 0;
    while (n < text.size() &&
           (is_letter(text[n]) || (n > 0 && text[n] >= '0' && text[n] <= '9') || others.find(text[n]) != others.npos)) {
      ++n;
    }
    std::string word(text.substr(0, n));
    text.remove_prefix(n);
    return word;
  }

  void read_comment(std::string_view text) {
    const bool is_help = text.starts_with("HELP ");
    if (!is_help && !text.starts_with("TYPE ")) fail("a comment of no use", line_);
    text.remove_prefix(5);
    const auto name = take_word(text, ":");
    if (name.empty() || !text.starts_with(' ') || text.size() < 2) fail("no name, or nothing behind it", line_);
    text.remove_prefix(1);
    if (is_help) {
      if (!helped_.insert(name).second) fail("a second HELP", line_);
      return;
    }
    if (!helped_.contains(name)) fail("a TYPE without a HELP before it", line_);
    if (text != "counter" && text != "gauge" && text != "histogram") fail("an unknown type", line_);
    if (!types_.emplace(name, std::string(text)).second) fail("the samples of one metric are in two places", line_);
    present_ = name;
  }

  labels take_labels(std::string_view& text) const {
    labels all;
    if (!text.starts_with('{')) return all;
    do {
      text.remove_prefix(1);
      const auto name = take_word(text, "");
      if (name.empty() || !text.starts_with("=\"")) fail("no label", line_);
      text.remove_prefix(2);
      std::string value;
      while (!text.starts_with('"')) {
        if (text.starts_with('\\')) {
          text.remove_prefix(1);
          if (text.empty() || std::string_view("\\\"n").find(text.front()) == text.npos) fail("an escape", line_);
          value += text.front() == 'n' ? '\n' : text.front();
        } else if (!text.empty()) {
          value += text.front();
        }
        if (text.empty()) fail("a label without an end", line_);
        text.remove_prefix(1);
      }
      text.remove_prefix(1);
      if (!all.emplace(name, value).second) fail("a label twice", line_);
    } while (text.starts_with(','));
    if (!text.starts_with('}')) fail("labels without an end", line_);
    text.remove_prefix(1);
    return all;
  }

  static double number(std::string_view text, std::string_view line) {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(std::string(text), &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != text.size()) fail("no number", line);
    return value;
  }

  void read_sample(std::string_view text) {
    const auto name = take_word(text, ":");
    auto its = take_labels(text);
    if (name.empty() || !text.starts_with(' ')) fail("no sample", line_);
    text.remove_prefix(1);
    std::string family = name;
    if (!present_.empty() && types_.at(present_) == "histogram") {
      for (const std::string_view suffix : {"_bucket", "_sum", "_count"}) {
        if (name == present_ + std::string(suffix)) family = present_;
      }
    }
    if (family != present_) fail("a sample that is not below its TYPE", line_);
    if (!samples_[name].emplace(std::move(its), number(text, line_)).second) fail("a sample twice", line_);
  }

  void check(const std::string& name, const std::string& type) const {
    if (type != "histogram") {
      if (!samples_.contains(name)) fail("no sample", name);
      if ((type == "counter") != name.ends_with("_total")) fail("counters, and they alone, end in _total", name);
      return;
    }
    if (!name.ends_with("_seconds")) fail("a histogram that does not name its unit", name);
    // By the other labels: the count under each bound.
    std::map<labels, std::map<double, double>> distributions;
    for (const auto& [its, count] : samples_.at(name + "_bucket")) {
      labels others = its;
      others.erase("le");
      distributions[others][number(its.at("le"), name)] = count;
    }
    for (const auto& [its, buckets] : distributions) {
      double last = 0;
      for (const auto& [bound, count] : buckets) {
        if (count < last) fail("a bucket with less than the one before", name);
        last = count;
      }
      if (buckets.rbegin()->first != std::numeric_limits<double>::infinity()) fail("no bucket for the rest", name);
      if (samples_.at(name + "_count").at(its) != last) fail("the count is not that of all buckets", name);
      if (samples_.at(name + "_sum").at(its) < 0) fail("a negative sum", name);
    }
    if (distributions.size() != samples_.at(name + "_sum").size()) fail("a sum without buckets", name);
  }

  std::string_view line_;
  std::string present_;  // The metric whose samples follow.
  std::set<std::string> helped_;
  std::map<std::string, std::string> types_;
  std::map<std::string, std::map<labels, double>> samples_;
};

}  // namespace leasehold::test
