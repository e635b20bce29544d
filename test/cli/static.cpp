// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What is special about the command that is linked statically (the preset static).
#ifdef LEASEHOLD_STATIC
#include "leasehold_command.hpp"

namespace leasehold::test {

namespace {

// A user and mount namespace may be forbidden in a container.
boost::test_tools::assertion_result namespaces_are_allowed(boost::unit_test::test_unit_id) {
  child c({"unshare", "--mount", "--map-root-user", "true"});
  return c.wait() == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(static_command)

BOOST_AUTO_TEST_CASE(it_needs_no_shared_library) {
  // The dynamic linker would print the libraries instead of starting the program.
  BOOST_TEST(run_leasehold({"--version"}, {"LD_TRACE_LOADED_OBJECTS=1"}).output == "leasehold 0.2.0\n");
}

BOOST_FIXTURE_TEST_CASE(it_loads_no_module_that_nsswitch_conf_names, with_leasehold,
                        *boost::unit_test::precondition(namespaces_are_allowed)) {
  const std::string url = "redis://localhost:" + std::to_string(redis.port());
  const std::string file = folder.write("nsswitch.conf", "hosts: leasehold_has_no_such_module\n");
  const std::string script = "mount --bind \"$1\" /etc/nsswitch.conf && exec \"$0\" status --redis \"$2\" n";
  child c({"unshare", "--mount", "--map-root-user", "sh", "-c", script, LEASEHOLD_CLI_PATH, file, url});
  const ended e = end_of(c);
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.errors == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
#endif
