// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Boost.Test, and how it prints what the tests compare.
#pragma once

#include <leasehold/error.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
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

// g++ 15 and 16 report a conversion of Boost.Test's own wherever BOOST_TEST has a message. Others look for ours.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 15
#pragma GCC diagnostic ignored "-Wconversion"
#endif

// BOOST_TEST without a message, as Boost.Test defines it (boost/test/tools/interface.hpp), but for what functions can
// do, which are in main.cpp. There are 7,000 of them, and the test programs are compiled in a tenth less time.
namespace leasehold::test {

void set_checkpoint(const char* file, std::size_t line);
void report_assertion(const boost::test_tools::assertion_result& result, const char* assertion, const char* file,
                      std::size_t line, boost::test_tools::tt_detail::tool_level level);

}  // namespace leasehold::test

#undef BOOST_TEST_TOOL_ET_IMPL
#define BOOST_TEST_TOOL_ET_IMPL(P, level)                                                                       \
  do {                                                                                                          \
    ::leasehold::test::set_checkpoint(__FILE__, __LINE__);                                                      \
    ::leasehold::test::report_assertion(BOOST_TEST_BUILD_ASSERTION(P).evaluate(), BOOST_STRINGIZE(P), __FILE__, \
                                        __LINE__, ::boost::test_tools::tt_detail::level);                       \
  } while (false)
