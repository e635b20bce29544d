// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Test cases that run a second time on Valkey, where it and Redis before 7.2 behave differently.
#pragma once

#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace leasehold::test {

// ./dev test unpacks it on Debian. Empty: there is none, or all tests run on another server anyway (LEASEHOLD_SERVER).
inline std::string valkey_server() {
  const char* const chosen = std::getenv("LEASEHOLD_SERVER");
  if (chosen != nullptr && *chosen != '\0') return {};
  if (std::system("command -v valkey-server >/dev/null") == 0) return "valkey-server";
  const std::string unpacked = LEASEHOLD_SOURCE_DIR "/.deps/valkey/usr/bin/valkey-server";
  return ::access(unpacked.c_str(), X_OK) == 0 ? unpacked : std::string();
}

// Adds a suite NAME_on_valkey with the cases that are registered under NAME (a suite or a case) so far.
class on_valkey : boost::unit_test::test_tree_visitor {
 public:
  explicit on_valkey(const std::string& name) {
    namespace ut = boost::unit_test;
    auto& all = ut::framework::master_test_suite();
    again_ = new ut::test_suite(name + "_on_valkey", __FILE__, __LINE__);
    again_->add_precondition([](ut::test_unit_id) {
      boost::test_tools::assertion_result result(!valkey_server().empty());
      result.message() << "this machine has no Valkey, or LEASEHOLD_SERVER chooses the server of all tests";
      return result;
    });
    ut::traverse_test_tree(all.get(name), *this, true);
    all.add(again_);
  }

 private:
  void visit(const boost::unit_test::test_case& c) override {
    const auto run = [body = c.p_test_func.get()] {
      ::setenv("LEASEHOLD_SERVER", valkey_server().c_str(), 1);
      try {
        body();
      } catch (...) {
        ::unsetenv("LEASEHOLD_SERVER");
        throw;
      }
      ::unsetenv("LEASEHOLD_SERVER");
    };
    again_->add(boost::unit_test::make_test_case(run, c.p_name.get(), c.p_file_name, c.p_line_num));
  }

  boost::unit_test::test_suite* again_;
};

}  // namespace leasehold::test
