// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/api.hpp"

#include "booking/page.hpp"
#include "support/arguments.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <optional>

namespace booking {
namespace {

constexpr std::string_view letters_of_an_id = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr std::size_t longest_id = 64;
constexpr std::size_t longest_customer = 100;
constexpr long longest_deadline_ms = 60'000;

// A request that makes no sense.
struct bad_request : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What others have written, fit for an error message.
std::string printable(std::string_view text) {
  std::string safe(text.substr(0, 60));
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return safe;
}

response text(http::status status, std::string_view type, std::string body) {
  response r(status, 11);
  r.set(http::field::content_type, type);
  r.set(http::field::cache_control, "no-store");
  r.body() = std::move(body);
  return r;
}

response as_response(const answer& a) {
  response r = text(a.status, "application/json", json::serialize(a.body));
  // A busy lock, an absent Redis, a table in use: all of it may be over in a moment.
  if (a.status == http::status::service_unavailable) r.set(http::field::retry_after, "1");
  return r;
}

std::string customer_of(const std::string& body) {
  boost::system::error_code failure;
  const json::value parsed = json::parse(body, failure);
  if (failure) throw bad_request(fmt::format("the body is no JSON: {}", failure.message()));
  const json::object* object = parsed.if_object();
  const json::value* customer = object ? object->if_contains("customer") : nullptr;
  if (!customer || !customer->is_string()) {
    throw bad_request("the body must be an object with a text \"customer\": {\"customer\": \"Ann\"}");
  }
  const json::string& name = customer->get_string();
  if (name.empty() || name.size() > longest_customer) {
    throw bad_request(fmt::format("\"customer\" must have 1 to {} bytes, and has {}", longest_customer, name.size()));
  }
  return std::string(name);
}

}  // namespace

// Where a request goes: "POST /seats/A1/pay" is {"pay", POST, "A1"}.
struct api::route {
  std::string endpoint = "other";
  http::verb method = http::verb::get;
  std::string seat;

  explicit route(std::string_view target) {
    const auto path = target.substr(0, target.find('?'));
    const auto words = support::split(path, '/');
    if (path == "/") endpoint = "page";
    if (words.size() == 1 && one_of(words[0], {"seats", "board", "metrics", "healthz"})) endpoint = words[0];
    if (words.size() == 3 && words[0] == "seats" && one_of(words[2], {"reserve", "pay", "cancel", "buy"})) {
      endpoint = words[2];
      method = http::verb::post;
      seat = printable(words[1]);
    }
  }

 private:
  static bool one_of(const std::string& word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
};

asio::awaitable<response> api::respond(const request& r) {
  const route to(std::string_view(r.target()));
  std::string id = new_id();
  answer failure;
  try {
    if (const auto given = r.find("X-Request-Id"); given != r.end()) {
      const std::string_view text = given->value();
      if (text.empty() || text.size() > longest_id || text.find_first_not_of(letters_of_an_id) != text.npos) {
        throw bad_request(fmt::format("X-Request-Id \"{}\" must be 1 to {} of A-Z, a-z, 0-9, '.', '_' and '-'",
                                      printable(text), longest_id));
      }
      id = text;
    }
    response done = co_await dispatch(r, to, id);
    done.set("X-Request-Id", id);
    co_return counted(to.endpoint, std::move(done));
  } catch (const bad_request& e) {
    failure = refusal(http::status::bad_request, e.what());
  } catch (const table_error& e) {
    failure = refusal(e.busy ? http::status::service_unavailable : http::status::internal_server_error, e.what());
  } catch (const std::exception& e) {
    failure = refusal(http::status::internal_server_error, e.what());
  }
  response failed = as_response(failure);
  failed.set("X-Request-Id", id);
  co_return counted(to.endpoint, std::move(failed));
}

asio::awaitable<response> api::dispatch(const request& r, const route& to, const std::string& id) {
  if (to.endpoint == "other") {
    co_return as_response(refusal(http::status::not_found, fmt::format("there is no \"{}\"", printable(r.target()))));
  }
  if (r.method() != to.method) {
    const std::string_view allowed = http::to_string(to.method);
    response wrong = as_response(
        refusal(http::status::method_not_allowed,
                fmt::format("{} is for {}, not for {}", printable(r.target()), allowed, printable(r.method_string()))));
    wrong.set(http::field::allow, allowed);
    co_return wrong;
  }
  if (to.endpoint == "page") co_return text(http::status::ok, "text/html; charset=utf-8", std::string(page));
  if (to.endpoint == "metrics") {
    co_return text(http::status::ok, leasehold::prometheus_content_type, metrics(redis_, counts_, waits_));
  }
  if (to.endpoint == "seats" || to.endpoint == "board") {
    auto asking = to.endpoint == "seats" ? board_.seats() : board_.seats_and_locks();
    std::string found = co_await std::move(asking);
    co_return text(http::status::ok, "application/json", std::move(found));
  }
  const answer a = co_await act(r, to, id);
  co_return as_response(a);
}

asio::awaitable<answer> api::act(const request& r, const route& to, const std::string& id) {
  if (to.endpoint == "healthz") co_return co_await service_.health();
  auto deadline = deadline_;
  if (const auto given = r.find("X-Deadline-Ms"); given != r.end()) {
    const std::string_view text = given->value();
    long number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || number < 1 || number > longest_deadline_ms) {
      throw bad_request(
          fmt::format("X-Deadline-Ms \"{}\" must be a number from 1 to {}", printable(text), longest_deadline_ms));
    }
    deadline = std::chrono::milliseconds(number);
  }
  const call c{id, std::chrono::steady_clock::now() + deadline};
  if (to.endpoint == "pay") co_return co_await service_.pay(c, to.seat);
  if (to.endpoint == "cancel") co_return co_await service_.cancel(c, to.seat);
  const std::string customer = customer_of(r.body());
  if (to.endpoint == "buy") co_return co_await service_.buy(c, to.seat, customer);
  co_return co_await service_.reserve(c, to.seat, customer);
}

response api::malformed(http::status status, std::string_view why) {
  return counted("other", as_response(refusal(status, why)));
}

response api::counted(std::string_view endpoint, response r) {
  ++counts_[{std::string(endpoint), r.result_int()}];
  return r;
}

std::string api::new_id() { return fmt::format("{:016x}", random_()); }

}  // namespace booking
