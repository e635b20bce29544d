// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Instances of examples/booking that share a Redis and a table, asked over HTTP.
#include "example.hpp"
#include "support/limit.hpp"
#include "support/needs.hpp"
#include "support/prometheus_text.hpp"
#include "support/proxy.hpp"
#include "support/run.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <csignal>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using http_reply = http::response<http::string_body>;

struct question {
  unsigned port = 0;
  std::string method = "GET";
  std::string target = "/";
  std::string body = "";
  std::map<std::string, std::string> headers = {};
};

http::request<http::string_body> as_request(const question& q) {
  http::request<http::string_body> r;
  r.method_string(q.method);
  r.target(q.target);
  r.set(http::field::host, "127.0.0.1");
  for (const auto& [name, value] : q.headers) r.set(name, value);
  r.body() = q.body;
  r.prepare_payload();
  return r;
}

// One question on a connection of its own, or several on one.
class http_client {
 public:
  http_client(asio::io_context& context, unsigned port) : stream_(context), port_(static_cast<unsigned short>(port)) {}

  awaitable<void> connect() {
    const tcp::endpoint where(asio::ip::address_v4::loopback(), port_);
    stream_.expires_after(limit);
    co_await stream_.async_connect(where);
  }

  awaitable<http_reply> ask(const question& q) {
    const auto r = as_request(q);
    stream_.expires_after(limit);
    // A server that refuses a body may answer before it has read all of it.
    const auto written = co_await http::async_write(stream_, r, asio::as_tuple);
    if (std::get<0>(written) == asio::error::operation_aborted) throw system_error(std::get<0>(written));
    http_reply answer;
    co_await http::async_read(stream_, buffer_, answer);
    co_return answer;
  }

  awaitable<std::string> ask_raw(std::string text) {
    const auto output = asio::buffer(text);
    stream_.expires_after(limit);
    co_await asio::async_write(stream_, output);
    std::string answer;
    auto input = asio::dynamic_buffer(answer);
    const auto end = co_await asio::async_read(stream_, input, asio::as_tuple);
    if (std::get<0>(end) != asio::error::eof) throw system_error(std::get<0>(end));
    co_return answer;
  }

 private:
  beast::tcp_stream stream_;
  unsigned short port_;
  beast::flat_buffer buffer_;
};

awaitable<http_reply> ask_once(asio::io_context& context, const question& q) {
  http_client client(context, q.port);
  co_await client.connect();
  co_return co_await client.ask(q);
}

http_reply ask(const question& q) {
  asio::io_context context;
  http_reply answer;
  auto body = [&]() -> awaitable<void> { answer = co_await ask_once(context, q); };
  run(context, body);
  return answer;
}

std::future<http_reply> ask_meanwhile(question q) {
  return std::async(std::launch::async, [q = std::move(q)] { return ask(q); });
}

std::string header(const http_reply& r, const char* name) {
  const auto found = r.find(name);
  return found == r.end() ? std::string() : std::string(found->value());
}

std::uint64_t fence_of(const http_reply& r) {
  std::smatch found;
  const std::string& body = r.body();
  return std::regex_search(body, found, std::regex("\"fence\":\"([0-9]+)\"")) ? std::stoull(found[1]) : 0;
}

// A program that serves HTTP.
struct instance {
  std::unique_ptr<child> process;
  unsigned port = 0;

  question post(const std::string& target, const std::string& body = "") const { return {port, "POST", target, body}; }
  question get(const std::string& target) const { return {port, "GET", target}; }
  std::string read(const std::string& target) const { return ask(get(target)).body(); }

  // What the board says about a seat.
  std::string seat(const std::string& name) const {
    const std::string all = read("/board");
    const auto begin = all.find("{\"seat\":\"" + name + "\"");
    if (begin == all.npos) return {};
    return all.substr(begin, all.find(",{\"seat\":", begin) - begin);
  }
};

struct with_booking : with_examples {
  instance launch_booking(const std::string& name, const words& options = {}) {
    words command = {"booking", "--name", name, "--table", folder / "seats.db", "--deadline", "30s"};
    command.insert(command.end(), options.begin(), options.end());
    instance i;
    command.front() = LEASEHOLD_EXAMPLES_DIR "/booking";
    i.process = std::make_unique<child>(command, words{"LEASEHOLD_REDIS=" + redis.url()});
    return i;
  }

  void is_listening(instance& i) {
    const std::string line = i.process->read_line().value_or("");
    BOOST_REQUIRE_MESSAGE(line.starts_with("listening "), line + i.process->errors());
    i.port = static_cast<unsigned>(std::stoul(line.substr(10)));
  }

  instance start_booking(const std::string& name, const words& options = {}) {
    instance i = launch_booking(name, options);
    is_listening(i);
    return i;
  }

  void ends_well(instance& i) {
    i.process->signal(SIGTERM);
    BOOST_TEST(end_of(*i.process).status == 0, i.process->errors());
  }

  // Of a seat that is being bought: the second handler has entered the lock, too.
  void in_payment(const instance& seen_by, const std::string& seat) {
    wait_until("the payment of seat " + seat, [&] {
      const std::string seen = seen_by.seat(seat);
      return contains(seen, R"("state":"reserved")") && contains(seen, R"("depth":2)");
    });
  }

  void is_held(const instance& seen_by, const std::string& seat, const std::string& holder) {
    const std::string wanted = "\"lock\":{\"instance\":\"" + holder + "\"";
    wait_until("the board shows the lock of " + seat, [&] { return contains(seen_by.seat(seat), wanted); });
  }
};

const std::string ann = R"({"customer":"Ann"})";
const std::string bob = R"({"customer":"Bob"})";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(booking, with_booking)

BOOST_AUTO_TEST_CASE(seats_are_reserved_paid_and_cancelled_by_any_instance) {
  instance alpha = start_booking("alpha");
  instance beta = start_booking("beta", {"--work", "1ms"});

  const http_reply reserved = ask(alpha.post("/seats/A1/reserve", ann));
  BOOST_TEST(reserved.result_int() == 200U, reserved.body());
  BOOST_TEST(contains(reserved.body(), R"("seat":"A1","state":"reserved","customer":"Ann")"), reserved.body());
  BOOST_TEST(!header(reserved, "X-Request-Id").empty());
  const http_reply again = ask(beta.post("/seats/A1/reserve", bob));
  BOOST_TEST(again.result_int() == 409U);
  BOOST_TEST(again.body() == R"({"error":"seat A1 is reserved"})");

  const http_reply paid = ask(beta.post("/seats/A1/pay"));
  BOOST_TEST(paid.result_int() == 200U);
  BOOST_TEST(contains(paid.body(), R"("state":"paid","customer":"Ann")"), paid.body());
  BOOST_TEST(fence_of(paid) > fence_of(reserved));
  BOOST_TEST(ask(alpha.post("/seats/A1/pay")).body() == R"({"error":"seat A1 is paid"})");

  const http_reply cancelled = ask(alpha.post("/seats/A1/cancel"));
  BOOST_TEST(cancelled.result_int() == 200U);
  BOOST_TEST(contains(cancelled.body(), R"("state":"free","customer":"")"), cancelled.body());
  BOOST_TEST(ask(alpha.post("/seats/A1/cancel")).body() == R"({"error":"seat A1 is free"})");
  BOOST_TEST(ask(beta.post("/seats/A1/pay")).result_int() == 409U);

  // Two handlers under one lock: the second enters it again.
  question buying = beta.post("/seats/B2/buy", bob);
  buying.headers["X-Request-Id"] = "the-one";
  const http_reply bought = ask(buying);
  BOOST_TEST(bought.result_int() == 200U, bought.body());
  BOOST_TEST(contains(bought.body(), R"("seat":"B2","state":"paid","customer":"Bob")"), bought.body());
  BOOST_TEST(header(bought, "X-Request-Id") == "the-one");

  const std::string seats = alpha.read("/seats");
  BOOST_TEST(seats == beta.read("/seats"));
  BOOST_TEST(contains(seats, R"({"seat":"B2","state":"paid","customer":"Bob","fence":)"), seats);
  BOOST_TEST(contains(alpha.read("/healthz"), R"({"status":"ok","instance":"alpha"})"));
  BOOST_TEST(contains(alpha.read("/"), "<title>Booking</title>"));
  ends_well(alpha);
  ends_well(beta);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(instances_may_make_the_table_at_the_same_time) {
  std::vector<instance> instances;
  for (int n = 0; n < 8; ++n) instances.push_back(launch_booking("number" + std::to_string(n)));
  for (instance& i : instances) is_listening(i);
  for (instance& i : instances) BOOST_TEST(contains(i.seat("A1"), R"("state":"free")"));
}

BOOST_AUTO_TEST_CASE(one_of_many_gets_the_seat) {
  const instance alpha = start_booking("alpha");
  const instance beta = start_booking("beta");
  asio::io_context context;
  std::map<unsigned, int> statuses;
  auto one = [&](const instance& i) -> awaitable<void> {
    const question q = i.post("/seats/C3/reserve", ann);
    const http_reply r = co_await ask_once(context, q);
    ++statuses[r.result_int()];
  };
  for (int i = 0; i < 20; ++i) {
    asio::co_spawn(context, one(alpha), asio::detached);
    asio::co_spawn(context, one(beta), asio::detached);
  }
  run_to_end(context);
  BOOST_TEST(statuses[200] == 1);
  BOOST_TEST(statuses[409] == 39);
}

BOOST_AUTO_TEST_CASE(a_request_waits_for_the_lock_until_its_deadline) {
  const instance alpha = start_booking("alpha");
  asio::io_context context;
  auto body = [&]() -> awaitable<void> {
    client_options options;
    options.prefix = "booking:";
    options.label = "box-office";
    client other(context, redis.url(), options);
    recursive_mutex lock(other, "seat:A1", "request of-the-test");
    hold held = co_await lock.acquire();

    question q = alpha.post("/seats/A1/reserve", ann);
    q.headers["X-Deadline-Ms"] = "150";
    const auto begin = std::chrono::steady_clock::now();
    const http_reply late = co_await ask_once(context, q);
    BOOST_TEST(late.result_int() == 503U);
    BOOST_TEST(header(late, "Retry-After") == "1");
    BOOST_TEST(contains(late.body(), "its lock was not free in time"), late.body());
    BOOST_TEST((std::chrono::steady_clock::now() - begin >= 150ms));

    // The board knows whose it is, and the same request may enter.
    const question board = alpha.get("/board");
    const http_reply shown = co_await ask_once(context, board);
    BOOST_TEST(contains(shown.body(), R"("lock":{"instance":"box-office","owner":"request of-the-test","depth":1)"),
               shown.body());
    q.headers["X-Request-Id"] = "of-the-test";
    const http_reply inside = co_await ask_once(context, q);
    BOOST_TEST(inside.result_int() == 200U, inside.body());
    BOOST_TEST(fence_of(inside) == held.fence());

    co_await held.release();
    q.headers.erase("X-Request-Id");
    q.target = "/seats/A1/cancel";
    const http_reply after = co_await ask_once(context, q);
    BOOST_TEST(after.result_int() == 200U, after.body());
  };
  test::run(context, body);
}

// The lock, the seat's reservation and its payment take a round trip of 40 ms each.
BOOST_AUTO_TEST_CASE(a_deadline_does_not_stop_a_purchase_half_way) {
  asio::io_context context;
  auto body = [&]() -> awaitable<void> {
    proxy far(context.get_executor(), redis);
    const instance alpha = start_booking("alpha", {"--redis", far.url(), "--work", "1ms"});
    question buying = alpha.post("/seats/A1/buy", ann);
    const question list = alpha.get("/seats");
    // Connects, and loads the scripts.
    const http_reply first = co_await ask_once(context, buying);
    BOOST_TEST(first.result_int() == 200U, first.body());
    far.slow(20ms);
    for (int n = 2; n <= 7; ++n) {
      std::string seat = "A";
      seat += std::to_string(n);
      buying.target = "/seats/" + seat + "/buy";
      buying.headers["X-Deadline-Ms"] = std::to_string(20 * n + 10);
      const http_reply bought = co_await ask_once(context, buying);
      const http_reply seats = co_await ask_once(context, list);
      const std::string state = bought.result_int() == 200U ? "paid" : "free";
      BOOST_TEST(contains(seats.body(), "{\"seat\":\"" + seat + "\",\"state\":\"" + state + "\""),
                 seat << ": " << bought.body());
    }
  };
  test::run(context, body);
}

BOOST_AUTO_TEST_CASE(without_redis_requests_end_in_time) {
  const instance alpha = start_booking("alpha");
  question reserve = alpha.post("/seats/A1/reserve", ann);
  BOOST_TEST(ask(alpha.get("/healthz")).result_int() == 200U);
  reserve.headers["X-Deadline-Ms"] = "300";
  for (const bool killed : {false, true}) {
    if (killed) {
      redis.kill();
    } else {
      redis.stop();
    }
    const auto begin = std::chrono::steady_clock::now();
    const http_reply refused = ask(reserve);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 20s));
    BOOST_TEST(refused.result_int() == 503U);
    BOOST_TEST(header(refused, "Retry-After") == "1");
    BOOST_TEST(contains(refused.body(), "Redis does not answer"), refused.body());
    const http_reply health = ask(alpha.get("/healthz"));
    BOOST_TEST(health.result_int() == 503U);
    BOOST_TEST(contains(health.body(), "Redis does not answer"), health.body());
    // What needs no lock goes on.
    BOOST_TEST(ask(alpha.get("/seats")).result_int() == 200U);
    wait_until("the board tells it", [&] { return contains(alpha.read("/board"), "The locks are not known"); });
    if (killed) {
      redis.start();
    } else {
      redis.go_on();
    }
    wait_until("Redis is found again", [&] { return ask(alpha.get("/healthz")).result_int() == 200U; });
  }
  reserve.headers.clear();
  const http_reply found = ask(reserve);
  BOOST_TEST(found.result_int() == 200U, found.body());
}

BOOST_AUTO_TEST_CASE(a_killed_instance_costs_a_lease) {
  instance alpha = start_booking("alpha", {"--lease", short_lease, "--work", "5m"});
  const instance beta = start_booking("beta");
  auto buying = ask_meanwhile(alpha.post("/seats/A1/buy", ann));
  is_held(beta, "A1", "alpha");
  in_payment(beta, "A1");
  alpha.process->signal(SIGKILL);
  BOOST_CHECK_THROW(buying.get(), boost::system::system_error);
  const http_reply cancelled = ask(beta.post("/seats/A1/cancel"));
  BOOST_TEST(cancelled.result_int() == 200U, cancelled.body());
}

BOOST_AUTO_TEST_CASE(a_row_refuses_who_was_stopped_for_longer_than_the_lease) {
  instance alpha = start_booking("alpha", {"--lease", short_lease, "--work", "4s"});
  const instance beta = start_booking("beta");
  BOOST_TEST(ask(beta.post("/seats/A1/reserve", ann)).result_int() == 200U);
  auto paying = ask_meanwhile(alpha.post("/seats/A1/pay"));
  is_held(beta, "A1", "alpha");
  alpha.process->stop();  // In the payment, and not while it has the file: nobody else could write then.
  const http_reply cancelled = ask(beta.post("/seats/A1/cancel"));
  BOOST_TEST(cancelled.result_int() == 200U, cancelled.body());
  const http_reply reserved = ask(beta.post("/seats/A1/reserve", bob));
  BOOST_TEST(reserved.result_int() == 200U, reserved.body());
  alpha.process->signal(SIGCONT);
  // Either it notices the loss before it writes, or the row does.
  const http_reply late = paying.get();
  BOOST_TEST((late.result_int() == 503U || late.result_int() == 409U), late.body());
  BOOST_TEST(contains(beta.seat("A1"), R"("state":"reserved","customer":"Bob")"), beta.seat("A1"));
}

BOOST_AUTO_TEST_CASE(a_row_refuses_a_smaller_fence) {
  const instance alpha = start_booking("alpha");
  BOOST_TEST(ask(alpha.post("/seats/A2/reserve", ann)).result_int() == 200U);
  // Somebody with a fence from far ahead was here.
  child later({"/usr/bin/python3", "-c",
               "import sqlite3, sys\n"
               "with sqlite3.connect(sys.argv[1], timeout=30) as c:\n"
               "  c.execute(\"UPDATE seats SET fence = 9000000000000000000 WHERE seat IN ('A1', 'A2')\")\n",
               folder / "seats.db"});
  BOOST_REQUIRE_MESSAGE(end_of(later).status == 0, later.errors());
  for (const char* target : {"/seats/A1/reserve", "/seats/A2/pay", "/seats/A2/cancel"}) {
    const http_reply r = ask(alpha.post(target, ann));
    BOOST_TEST(r.result_int() == 409U);
    BOOST_TEST(contains(r.body(), "was changed under fence 9000000000000000000, and this request has the older fence "),
               r.body());
  }
  const std::string seats = alpha.read("/seats");
  BOOST_TEST(contains(seats, R"({"seat":"A1","state":"free")"));
  BOOST_TEST(contains(seats, R"({"seat":"A2","state":"reserved")"));
}

BOOST_AUTO_TEST_CASE(a_request_at_work_is_answered_before_the_end) {
  instance alpha = start_booking("alpha", {"--work", "2s"});
  auto buying = ask_meanwhile(alpha.post("/seats/A1/buy", ann));
  is_held(alpha, "A1", "alpha");
  alpha.process->signal(SIGTERM);
  const http_reply bought = buying.get();
  BOOST_TEST(bought.result_int() == 200U, bought.body());
  BOOST_TEST(!bought.keep_alive());
  BOOST_TEST(end_of(*alpha.process).status == 0, alpha.process->errors());
  BOOST_TEST(redis.size() == 0U);
  BOOST_CHECK_THROW(ask(alpha.get("/seats")), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(a_request_that_outlives_the_grace_is_stopped) {
  instance alpha = start_booking("alpha", {"--work", "5m", "--grace", "50ms"});
  auto buying = ask_meanwhile(alpha.post("/seats/A1/buy", ann));
  is_held(alpha, "A1", "alpha");
  in_payment(alpha, "A1");
  auto waiting = ask_meanwhile(alpha.post("/seats/A1/cancel"));
  wait_until("a waiter", [&] { return contains(alpha.read("/metrics"), "\nleasehold_waiting 1\n"); });
  alpha.process->signal(SIGTERM);
  const http_reply stopped = buying.get();
  BOOST_TEST(stopped.result_int() == 503U);
  BOOST_TEST(contains(stopped.body(), "the lock of seat A1 was lost"), stopped.body());
  const http_reply refused = waiting.get();
  BOOST_TEST(refused.result_int() == 503U);
  BOOST_TEST(contains(refused.body(), "shutting down"), refused.body());
  BOOST_TEST(end_of(*alpha.process).status == 0, alpha.process->errors());
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_request_that_makes_no_sense_is_told_why) {
  const instance alpha = start_booking("alpha");
  struct {
    question asked;
    unsigned status;
    std::string named;
  } const cases[] = {
      {alpha.post("/seats/A1/reserve", "{\"customer\""), 400, "the body is no JSON"},
      {alpha.post("/seats/A1/reserve"), 400, "the body is no JSON"},
      {alpha.post("/seats/A1/buy", "[]"), 400, "a text \\\"customer\\\""},
      {alpha.post("/seats/A1/buy", R"({"customer":7})"), 400, "a text \\\"customer\\\""},
      {alpha.post("/seats/A1/reserve", R"({"customer":""})"), 400, "1 to 100 bytes, and has 0"},
      {alpha.post("/seats/A1/reserve", R"({"customer":")" + std::string(101, 'x') + "\"}"), 400, "and has 101"},
      {alpha.post("/seats/Z99/reserve", ann), 404, "there is no seat \\\"Z99\\\""},
      {alpha.post("/seats/A1/steal", ann), 404, "there is no \\\"/seats/A1/steal\\\""},
      {alpha.get("/favicon.ico"), 404, "/favicon.ico"},
      {alpha.get("/seats/A1/reserve"), 405, "/seats/A1/reserve is for POST, not for GET"},
      {alpha.post("/seats", ann), 405, "/seats is for GET, not for POST"},
      {{alpha.port, "BREW", "/seats/A1/pay"}, 405, "not for BREW"},
      {{alpha.port, "POST", "/seats/A1/pay", "", {{"X-Deadline-Ms", "soon"}}}, 400, "X-Deadline-Ms \\\"soon\\\""},
      {{alpha.port, "POST", "/seats/A1/pay", "", {{"X-Deadline-Ms", "0"}}}, 400, "a number from 1 to 60000"},
      {{alpha.port, "POST", "/seats/A1/pay", "", {{"X-Deadline-Ms", "99999999999999999999"}}}, 400, "99999999999999"},
      {{alpha.port, "POST", "/seats/A1/pay", "", {{"X-Request-Id", "a b"}}}, 400, "X-Request-Id \\\"a b\\\""},
      {alpha.post("/seats/A1/reserve", std::string(2'000'000, 'x')), 413, "larger than 4096 bytes"},
  };
  for (const auto& c : cases) {
    const http_reply r = ask(c.asked);
    BOOST_TEST_CONTEXT(c.asked.method << " " << c.asked.target << " " << c.asked.body.substr(0, 40)) {
      BOOST_TEST(r.result_int() == c.status);
      BOOST_TEST(contains(r.body(), c.named), r.body());
      BOOST_TEST(r[http::field::content_type] == "application/json");
    }
    if (c.status == 405) BOOST_TEST(!header(r, "Allow").empty());
  }

  const std::string raw_cases[][2] = {{"no HTTP at all\r\n\r\n", "400"},
                                      {"GET / HTTP/1.1\r\nX: " + std::string(10'000, 'x') + "\r\n\r\n", "431"}};
  for (const auto& [text, status] : raw_cases) {
    asio::io_context context;
    std::string answer;
    auto body = [&]() -> awaitable<void> {
      http_client client(context, alpha.port);
      co_await client.connect();
      answer = co_await client.ask_raw(text);
    };
    test::run(context, body);
    BOOST_TEST(answer.starts_with("HTTP/1.1 " + status), answer);
  }
  // Nothing of this took a lock, or changed a seat.
  BOOST_TEST(contains(alpha.read("/metrics"), "\nleasehold_acquired_total 0\n"));
}

BOOST_AUTO_TEST_CASE(mistyped_options_are_named) {
  const std::vector<std::pair<words, std::string>> cases = {
      {{"--rows", "27"}, "--rows 27"},
      {{"--seats", "0"}, "--seats 0"},
      {{"--port", "70000"}, "--port 70000"},
      {{"--name", "a b"}, "--name \"a b\""},
      {{"--lease", "0s"}, "--lease"},
      {{"--work", "long"}, "\"long\" is no duration"},
      {{"--table", "/nowhere/at/all"}, "/nowhere/at/all"},
      {{"--redis", "nonsense"}, "invalid url"},
  };
  for (const auto& [options, named] : cases) {
    words command = {"booking", "--table", folder / "seats.db"};
    command.insert(command.end(), options.begin(), options.end());
    const ended e = run(command);
    BOOST_TEST(e.status != 0);
    BOOST_TEST(contains(e.errors, named), e.errors);
  }
}

BOOST_AUTO_TEST_CASE(metrics_are_what_prometheus_reads) {
  const instance alpha = start_booking("alpha", {"--work", "30ms"});
  const http_reply page = ask(alpha.get("/metrics"));
  BOOST_TEST(page[http::field::content_type] == "text/plain; version=0.0.4; charset=utf-8");
  const prometheus_text before(page.body());
  BOOST_TEST(before.value("leasehold_acquired_total") == 0);
  BOOST_TEST(before.value("leasehold_hold_seconds_count") == 0);

  BOOST_TEST(ask(alpha.post("/seats/A1/buy", ann)).result_int() == 200U);
  BOOST_TEST(ask(alpha.post("/seats/A1/buy", ann)).result_int() == 409U);
  // The locks go back in the background.
  std::optional<prometheus_text> after;
  wait_until("five releases", [&] {
    after.emplace(alpha.read("/metrics"));
    return after->value("leasehold_released_total") == 5;
  });
  BOOST_TEST(after->value("leasehold_acquired_total") == 5);
  BOOST_TEST(after->value("leasehold_held") == 0);
  BOOST_TEST(after->value("booking_responses_total", {{"endpoint", "buy"}, {"status", "200"}}) == 1);
  BOOST_TEST(after->value("booking_responses_total", {{"endpoint", "buy"}, {"status", "409"}}) == 1);
  BOOST_TEST(!after->has("booking_slow_waits_total"));
  // All locks are those of seats.
  const prometheus_text::labels seat{{"class", "seat"}};
  BOOST_TEST(after->value("leasehold_class_acquired_total", seat) == 5);
  BOOST_TEST(after->all("leasehold_class_held").size() == 1U);
  for (const std::string name :
       {"leasehold_waiting_seconds", "leasehold_hold_seconds", "leasehold_round_trip_seconds"}) {
    BOOST_TEST(after->all(name + "_bucket").size() == 16U);
    BOOST_TEST(after->value(name + "_count") >= 5);
    BOOST_TEST(after->value(name + "_sum") > 0);
  }
  // Two holds were under way for the whole of the payment.
  BOOST_TEST(after->value("leasehold_hold_seconds_sum") > 0.055);
  BOOST_TEST(after->value("leasehold_class_hold_seconds_sum", seat) > 0.055);
  BOOST_TEST(after->value("leasehold_hold_seconds_bucket", {{"le", "0.025"}}) <= 3);
}

BOOST_AUTO_TEST_CASE(metrics_say_how_long_seats_were_waited_for_and_for_which_instance) {
  instance alpha = start_booking("alpha", {"--work", "5m", "--grace", "0ms"});
  instance beta = start_booking("beta", {"--slow", "100ms"});
  auto buying = ask_meanwhile(alpha.post("/seats/A1/buy", ann));
  is_held(beta, "A1", "alpha");
  const http_reply refused = ask({beta.port, "POST", "/seats/A1/cancel", "", {{"X-Deadline-Ms", "400"}}});
  BOOST_TEST(refused.result_int() == 503U);
  const prometheus_text page(beta.read("/metrics"));
  BOOST_TEST(page.value("booking_slow_waits_total", {{"class", "seat"}, {"holder", "alpha"}}) == 1);
  BOOST_TEST(page.all("booking_slow_waits_total").size() == 1U);
  BOOST_TEST(page.value("leasehold_class_slow_waits_total", {{"class", "seat"}}) == 1);
  BOOST_TEST(page.value("leasehold_class_timed_out_total", {{"class", "seat"}}) == 1);
  BOOST_TEST(page.value("leasehold_class_contended_total", {{"class", "seat"}}) == 1);
  alpha.process->signal(SIGTERM);
  BOOST_TEST(buying.get().result_int() == 503U);
  beta.process->signal(SIGTERM);
  const ended e = end_of(*beta.process);
  BOOST_TEST(e.status == 0);
  BOOST_TEST(contains(e.errors, "booking: seat:A1 held by alpha and another hold since "), e.errors);
}

BOOST_AUTO_TEST_CASE(many_connections_are_served) {
  const instance instances[] = {start_booking("alpha"), start_booking("beta")};
  asio::io_context context;
  std::map<unsigned, int> statuses;
  auto visitor = [&](int number) -> awaitable<void> {
    const instance& i = instances[number % 2];
    http_client client(context, i.port);
    co_await client.connect();
    for (int k = 0; k < 3; ++k) {
      const int seat = (number * 3 + k) % 72;
      std::string target = "/seats/";
      target += static_cast<char>('A' + seat / 12);
      target += std::to_string(seat % 12 + 1);
      target += "/reserve";
      const question q = i.post(target, ann);
      const http_reply r = co_await client.ask(q);
      ++statuses[r.result_int()];
    }
  };
  for (int n = 0; n < 200; ++n) {
    asio::co_spawn(context, visitor(n), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }
  run_to_end(context);
  BOOST_TEST(statuses[200] == 72);
  BOOST_TEST(statuses[409] == 600 - 72);
  wait_until("every lock is back", [&] { return redis.size() == 0; });
}

BOOST_AUTO_TEST_CASE(the_page_shows_the_seats_and_a_lock, *needs(has_chromium, "there is no chromium here")) {
  instance alpha = start_booking("alpha");
  instance beta = start_booking("beta", {"--work", "5m", "--grace", "0ms"});
  BOOST_TEST(ask(alpha.post("/seats/A1/reserve", R"({"customer":"Ann <b>"})")).result_int() == 200U);
  BOOST_TEST(ask(alpha.post("/seats/A2/buy", ann)).result_int() == 200U);
  auto buying = ask_meanwhile(beta.post("/seats/B3/buy", bob));
  is_held(alpha, "B3", "beta");
  in_payment(alpha, "B3");
  child browser({"chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--user-data-dir=" + (folder / "profile"), "--virtual-time-budget=3000", "--dump-dom",
                 "http://127.0.0.1:" + std::to_string(alpha.port) + "/"});
  const ended e = end_of(browser);
  BOOST_TEST(e.status == 0, e.errors);
  std::string missing;
  for (const std::string part :
       {R"(<button class="seat reserved" id="A1")", R"(aria-label="Seat A2: paid for Ann")",
        R"(<button class="seat free" id="A3")", R"(<button class="seat reserved locked" id="B3")",
        R"(for Bob; its lock is held by beta")", "<td>B3</td><td>beta</td>", R"(<b id="instance">alpha</b>)",
        "69 free, 2 reserved, 1 paid"}) {
    if (!contains(e.output, part)) missing.append(part).append("\n");
  }
  BOOST_TEST(missing == "", missing << "not in\n" << e.output);
  // It has asked again after the first time.
  const prometheus_text seen(alpha.read("/metrics"));
  BOOST_TEST(seen.value("booking_responses_total", {{"endpoint", "page"}, {"status", "200"}}) == 1);
  BOOST_TEST(seen.value("booking_responses_total", {{"endpoint", "board"}, {"status", "200"}}) > 2);
  beta.process->signal(SIGTERM);
  BOOST_TEST(buying.get().result_int() == 503U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
