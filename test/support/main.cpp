// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// main() of every test program, and Boost.Test itself, which is used header-only.
#define BOOST_TEST_MODULE leasehold
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include "support/child.hpp"

#include <boost/test/included/unit_test.hpp>

#include "support/unit_test.hpp"

#include <csignal>
#include <cstddef>

namespace leasehold::test {

void set_checkpoint(const char* file, std::size_t line) { boost::unit_test::unit_test_log.set_checkpoint(file, line); }

void report_assertion(const boost::test_tools::assertion_result& result, const char* assertion, const char* file,
                      std::size_t line, boost::test_tools::tt_detail::tool_level level) {
  namespace detail = boost::test_tools::tt_detail;
  detail::report_assertion(result, BOOST_TEST_LAZY_MSG(assertion), file, line, level, detail::CHECK_BUILT_ASSERTION, 0);
}

}  // namespace leasehold::test

int main(int argc, char** argv) {
  // A server that is killed must not take the test along.
  std::signal(SIGPIPE, SIG_IGN);
  if (const auto status = leasehold::test::run_as_child(argc, argv)) return *status;
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}
