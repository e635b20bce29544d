// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Boost.Test, and how it prints what the tests compare.
#pragma once

#include <leasehold/error.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <ostream>
#include <string_view>

// Printing functions of Boost.Test's own are the only way for types of other namespaces.
namespace boost::test_tools::tt_detail {

template <class Rep, class Period>
struct print_log_value<std::chrono::duration<Rep, Period>> {
  void operator()(std::ostream& out, const std::chrono::duration<Rep, Period>& d) const {
    out << std::chrono::duration_cast<std::chrono::nanoseconds>(d).count() << " ns";
  }
};

template <class Clock, class Duration>
struct print_log_value<std::chrono::time_point<Clock, Duration>> {
  void operator()(std::ostream& out, const std::chrono::time_point<Clock, Duration>& t) const {
    out << t.time_since_epoch().count() << " ticks";
  }
};

template <>
struct print_log_value<leasehold::error> {
  void operator()(std::ostream& out, leasehold::error e) const { out << make_error_code(e).message(); }
};

}  // namespace boost::test_tools::tt_detail
