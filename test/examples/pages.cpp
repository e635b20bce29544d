// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The programs whose code stands in the pages of docs/.
#include "example.hpp"

#include <boost/asio.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace leasehold::test {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

unsigned short port_of(child& server) {
  const std::string line = server.read_line().value_or("");
  BOOST_REQUIRE_MESSAGE(line.starts_with("http://127.0.0.1:"), line + server.errors());
  return static_cast<unsigned short>(std::stoi(line.substr(line.rfind(':') + 1)));
}

tcp::socket ask(asio::io_context& context, unsigned short port, const std::string& path) {
  tcp::socket socket(context);
  socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port));
  asio::write(socket, asio::buffer("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
  return socket;
}

std::string answer_to(tcp::socket socket) {
  std::string answer;
  boost::system::error_code end;
  asio::read(socket, asio::dynamic_buffer(answer), end);
  return answer;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(pages, with_examples)

BOOST_AUTO_TEST_CASE(the_guide_runs_from_top_to_bottom) {
  const ended e = run({"guide"});
  BOOST_TEST(e.status == 0, e.errors);
  for (const char* line : {"report ", "row ", "Smith is served", "leads in term ", "10.0.0.7:800",
                           "invoice: 1 acquired, 0 contended", "bytes of metrics"}) {
    BOOST_TEST(contains(e.output, line), e.output);
  }
}

BOOST_AUTO_TEST_CASE(the_unit_test_of_a_service_passes_at_once) {
  const auto begin = std::chrono::steady_clock::now();
  const ended e = run({"unit_test"});
  BOOST_TEST(e.status == 0, e.output + e.errors);
  // On its own clock, nearly two minutes.
  BOOST_TEST((std::chrono::steady_clock::now() - begin < limit));
}

BOOST_AUTO_TEST_CASE(two_first_servers_do_the_same_work_one_after_the_other) {
  child first = start({"first_server", "0"});
  child second = start({"first_server", "0"});
  asio::io_context context;
  const auto begin = std::chrono::steady_clock::now();
  tcp::socket one = ask(context, port_of(first), "/coffee");
  tcp::socket two = ask(context, port_of(second), "/coffee");
  const std::string answers[] = {answer_to(std::move(one)), answer_to(std::move(two))};
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= std::chrono::seconds(2)));
  for (const std::string& answer : answers) {
    BOOST_TEST(answer.starts_with("HTTP/1.0 200 OK\r\n\r\ncoffee is ready, fence "), answer);
  }
  BOOST_TEST(answers[0] != answers[1]);
}

BOOST_AUTO_TEST_CASE(the_first_server_says_what_it_cannot_do) {
  child server = start({"first_server", "0"});
  asio::io_context context;
  BOOST_TEST(answer_to(ask(context, port_of(server), "/")) == "HTTP/1.0 503 Service Unavailable\r\n\r\ninvalid name\n");
}

#ifndef __SANITIZE_ADDRESS__  // The sanitizers need descriptors of their own.
BOOST_AUTO_TEST_CASE(the_first_server_goes_on_after_it_had_no_descriptor_left) {
  child server = start({"first_server", "0"});
  const unsigned short port = port_of(server);
  asio::io_context context;
  tcp::socket tea = ask(context, port, "/tea");
  wait_until("the work under a lock", [this] { return redis.get("tea").has_value(); });
  std::optional<no_descriptors_for> exhausted(server);
  // The kernel accepts the connection, and the server cannot.
  tcp::socket coffee = ask(context, port, "/coffee");
  const std::string first = answer_to(std::move(tea));
  BOOST_TEST(first.starts_with("HTTP/1.0 200 OK"), first + server.errors());
  exhausted.reset();
  const std::string second = answer_to(std::move(coffee));
  BOOST_TEST(second.starts_with("HTTP/1.0 200 OK"), second + server.errors());
}
#endif

BOOST_AUTO_TEST_CASE(the_first_server_names_a_port_that_is_none) {
  for (const std::string port : {"x", "", "-1", "65536", "80x"}) {
    const ended e = run({"first_server", port});
    BOOST_TEST(e.status == 1);
    BOOST_TEST(e.errors == "first_server: the port '" + port + "' is no number from 0 to 65535\n");
  }
}

BOOST_AUTO_TEST_CASE(what_other_libraries_do_can_be_done) {
  const ended e = run({"coming_from"});
  BOOST_TEST(e.status == 0, e.errors);
  for (const char* line : {"report is written\n", "in 2 times, fence ", "moved\n", "\nfence ", "leader has served\n",
                           "schedules in term "}) {
    BOOST_TEST(contains(e.output, line), e.output);
  }
  BOOST_TEST(!contains(e.output, "it was already lost"));
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(threads_wait_for_locks_and_are_stopped) {
  const ended e = run({"blocking"});
  BOOST_TEST(e.status == 0, e.errors);
  for (const char* line : {"Smith is packed, fence ", "Miller is packed, fence ", "\n5 shelves are counted\n",
                           "\nmoved from north to south, fences ", "\nstopped\n"}) {
    BOOST_TEST(contains(e.output, line), e.output);
  }
  BOOST_TEST(redis.size() == 0U);
  const ended wrong = run({"blocking", "http://x"});
  BOOST_TEST(wrong.status == 1);
  BOOST_TEST(contains(wrong.errors, "blocking: invalid url: "), wrong.errors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
