// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A name server that does not answer keeps a thread of the command busy. No subcommand waits for it at its end.
#ifndef LEASEHOLD_STATIC
#include "leasehold_command.hpp"

#include <csignal>

namespace leasehold::test {

namespace {

struct with_silent_name_server {
  with_silent_name_server() {
    const std::string source =
        folder.write("silent.c", "#include <unistd.h>\nint getaddrinfo(void) { return pause(); }");
    child compiler({"cc", "-shared", "-fPIC", "-fno-builtin", "-o", folder / "silent.so", source});
    const ended e = end_of(compiler);
    BOOST_REQUIRE_MESSAGE(e.status == 0, e.errors);
  }
  child start(words arguments) const {
    return child(leasehold_command(std::move(arguments)),
                 {"LEASEHOLD_REDIS=redis://redis.example", "LD_PRELOAD=" + folder / "silent.so",
                  "ASAN_OPTIONS=verify_asan_link_order=0"});
  }
  const temporary_folder folder;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(name_servers, with_silent_name_server)

BOOST_AUTO_TEST_CASE(one_that_does_not_answer_is_not_waited_for) {
  for (const words& arguments :
       {words{"status", "n"}, words{"list"}, words{"break", "n"}, words{"leader", "n"}, words{"watch", "--count", "1"},
        words{"run", "--no-wait", "n", "--", "true"}, words{"acquire", "--no-wait", "n"}}) {
    BOOST_TEST_CONTEXT(arguments[0]) {
      child c = start(arguments);
      const ended e = end_of(c);
      BOOST_TEST(e.status == 69);
      BOOST_TEST(is_error_line(e.errors, "redis://redis.example: unreachable"), e.errors);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
#endif
