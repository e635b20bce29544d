// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/prometheus.hpp>

#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

// The name of a counter ends in _total.
template <class Figures, class Value>
struct metric {
  std::string_view name;
  std::string_view help;
  Value Figures::*value;
};

constexpr metric<statistics, std::size_t> gauges[] = {
    {"leasehold_held", "Holds alive.", &statistics::held},
    {"leasehold_waiting", "Acquire operations under way.", &statistics::waiting},
};

constexpr metric<statistics, std::uint64_t> counters[] = {
    {"leasehold_acquired_total", "Locks acquired.", &statistics::acquired},
    {"leasehold_handed_off_total", "Grants that a releaser made.", &statistics::handed_off},
    {"leasehold_passed_total", "Grants from one waiter of a client to the next.", &statistics::passed},
    {"leasehold_contended_total", "Operations that found the lock busy.", &statistics::contended},
    {"leasehold_timed_out_total", "Operations that ended with timed out.", &statistics::timed_out},
    {"leasehold_cancelled_total", "Operations that were cancelled.", &statistics::cancelled},
    {"leasehold_lost_total", "Holds lost.", &statistics::lost},
    {"leasehold_released_total", "Releases that the store confirmed.", &statistics::released},
    {"leasehold_renewed_total", "Leases lengthened.", &statistics::renewed},
    {"leasehold_renewal_failed_total", "Renewals without an answer, or refused.", &statistics::renewal_failed},
    {"leasehold_withdrawn_total", "Attempts that were withdrawn.", &statistics::withdrawn},
    {"leasehold_refused_total", "Refusals by the server.", &statistics::refused},
    {"leasehold_commands_total", "Requests sent.", &statistics::commands},
    {"leasehold_connects_total", "Connections that came up.", &statistics::connects},
    {"leasehold_reconnects_total", "Connections that came up after another was lost.", &statistics::reconnects},
    {"leasehold_clock_jumps_total", "Forward steps of the server's clock.", &statistics::clock_jumps},
    {"leasehold_slow_waits_total", "Operations that waited for longer than slow_wait.", &statistics::slow_waits},
    {"leasehold_wanted_total", "Locks for which another client waited.", &statistics::wanted},
    {"leasehold_lingered_total", "Locks acquired without a command, because they lingered.", &statistics::lingered},
};

constexpr metric<statistics, histogram> histograms[] = {
    {"leasehold_waiting_seconds", "From the start of an operation to its lock.", &statistics::waiting_time},
    {"leasehold_hold_seconds", "From the lock to its release or loss.", &statistics::hold_time},
    {"leasehold_round_trip_seconds", "From a script to its answer.", &statistics::round_trip},
};

constexpr metric<class_statistics, std::size_t> class_gauges[] = {
    {"leasehold_class_held", "Holds alive, by class of locks.", &class_statistics::held},
    {"leasehold_class_waiting", "Acquire operations under way, by class of locks.", &class_statistics::waiting},
};

constexpr metric<class_statistics, std::uint64_t> class_counters[] = {
    {"leasehold_class_acquired_total", "Locks acquired, by class of locks.", &class_statistics::acquired},
    {"leasehold_class_contended_total", "Operations that found the lock busy, by class of locks.",
     &class_statistics::contended},
    {"leasehold_class_timed_out_total", "Operations that ended with timed out, by class of locks.",
     &class_statistics::timed_out},
    {"leasehold_class_cancelled_total", "Operations that were cancelled, by class of locks.",
     &class_statistics::cancelled},
    {"leasehold_class_lost_total", "Holds lost, by class of locks.", &class_statistics::lost},
    {"leasehold_class_slow_waits_total", "Operations that waited for longer than slow_wait, by class of locks.",
     &class_statistics::slow_waits},
};

constexpr metric<class_statistics, histogram> class_histograms[] = {
    {"leasehold_class_waiting_seconds", "From the start of an operation to its lock, by class of locks.",
     &class_statistics::waiting_time},
    {"leasehold_class_hold_seconds", "From the lock to its release or loss, by class of locks.",
     &class_statistics::hold_time},
};

// `name="value"`.
std::string label_pair(std::string_view name, std::string_view value) {
  if (!detail::is_utf8(value)) {
    throw exception(make_error_code(error::invalid_option),
                    {.detail = fmt::format("the label {} '{}' is not UTF-8", name, detail::printable(value))});
  }
  std::string text = fmt::format("{}=\"", name);
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\\' || c == '"') {
      (text += '\\') += c;
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string joined(std::string_view one, std::string_view other) {
  return fmt::format("{}{}{}", one, one.empty() || other.empty() ? "" : ",", other);
}

double seconds(microseconds d) { return std::chrono::duration<double>(d).count(); }

// Figures, and the labels of their samples.
template <class Figures>
struct labelled {
  std::string labels;
  const Figures* its;
};

class page {
 public:
  template <class Figures, class Metrics>
  void add(const std::vector<labelled<Figures>>& all, const Metrics& metrics) {
    for (const auto& m : metrics) add_one(all, m);
  }
  std::string text() && { return std::move(text_); }

 private:
  template <class Figures, class Number>
  void add_one(const std::vector<labelled<Figures>>& all, const metric<Figures, Number>& m) {
    head(m.name, m.name.ends_with("_total") ? "counter" : "gauge", m.help);
    for (const auto& one : all) sample(m.name, "", one.labels, one.its->*m.value);
  }

  // The buckets of a histogram are finer than those on the page. Each is counted under the first bound that it is
  // wholly below.
  template <class Figures>
  void add_one(const std::vector<labelled<Figures>>& all, const metric<Figures, histogram>& m) {
    static constexpr std::array<microseconds, 15> bounds = {100us, 250us, 500us, 1000us, 2500us, 5000us, 10ms, 25ms,
                                                            50ms,  100ms, 250ms, 500ms,  1000ms, 5000ms, 30s};
    head(m.name, "histogram", m.help);
    for (const auto& one : all) {
      const histogram& h = one.its->*m.value;
      std::uint64_t count = 0;
      std::size_t next = 0;
      for (const microseconds bound : bounds) {
        for (; next + 1 < h.buckets && h.lower_end(next + 1) <= bound; ++next) count += h.count_in(next);
        sample(m.name, "_bucket", joined(one.labels, fmt::format("le=\"{}\"", seconds(bound))), count);
      }
      for (; next < h.buckets; ++next) count += h.count_in(next);
      sample(m.name, "_bucket", joined(one.labels, "le=\"+Inf\""), count);
      sample(m.name, "_sum", one.labels, seconds(h.sum()));
      sample(m.name, "_count", one.labels, count);
    }
  }

  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  template <class Number>
  void sample(std::string_view name, std::string_view suffix, std::string_view labels, Number value) {
    const bool bare = labels.empty();
    fmt::format_to(std::back_inserter(text_), "{}{}{}{}{} {}\n", name, suffix, bare ? "" : "{", labels, bare ? "" : "}",
                   value);
  }

  std::string text_;
};

using classes = std::map<std::string, class_statistics>;

void add_classes(std::vector<labelled<class_statistics>>& all, const std::string& labels, const classes& by_class) {
  for (const auto& [name, its] : by_class) all.push_back({joined(labels, label_pair("class", name)), &its});
}

std::string text_of(const std::vector<labelled<statistics>>& all,
                    const std::vector<labelled<class_statistics>>& by_class) {
  page p;
  p.add(all, gauges);
  p.add(all, counters);
  p.add(all, histograms);
  if (by_class.empty()) return std::move(p).text();
  p.add(by_class, class_gauges);
  p.add(by_class, class_counters);
  p.add(by_class, class_histograms);
  return std::move(p).text();
}

}  // namespace

std::string to_prometheus(const client& c) { return to_prometheus(c.stats(), c.stats_by_class()); }

std::string to_prometheus(const statistics& all, const classes& by_class) {
  std::vector<labelled<class_statistics>> of_classes;
  add_classes(of_classes, "", by_class);
  return text_of({{"", &all}}, of_classes);
}

std::string to_prometheus(const std::vector<client_figures>& clients) {
  std::vector<labelled<statistics>> all;
  std::vector<labelled<class_statistics>> of_classes;
  std::set<std::string_view> names;
  for (const client_figures& c : clients) {
    if (!names.insert(c.client).second) {
      throw exception(make_error_code(error::invalid_option),
                      {.detail = fmt::format("two clients have the label '{}'", detail::printable(c.client))});
    }
    const std::string labels = label_pair("client", c.client);
    all.push_back({labels, &c.all});
    add_classes(of_classes, labels, c.by_class);
  }
  return text_of(all, of_classes);
}

}  // namespace leasehold
