// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/client.hpp>

#include <atomic>
#include <utility>

namespace leasehold {

credentials::credentials() = default;
credentials::credentials(std::string u, std::string p, std::chrono::steady_clock::time_point e)
    : user(std::move(u)), password(std::move(p)), expires(e) {}
credentials::credentials(const credentials&) = default;
credentials::credentials(credentials&&) noexcept = default;
credentials& credentials::operator=(const credentials&) = default;
credentials& credentials::operator=(credentials&&) noexcept = default;
credentials::~credentials() = default;

credentials_request::credentials_request(std::string s, role r, asio::any_io_executor e)
    : server(std::move(s)), of(r), executor(std::move(e)) {}
credentials_request::credentials_request(const credentials_request&) = default;
credentials_request& credentials_request::operator=(const credentials_request&) = default;
credentials_request::~credentials_request() = default;

struct credentials_handler::state {
  explicit state(function f) : answer(std::move(f)) {}
  const function answer;
  std::atomic<bool> was_called{false};
};

credentials_handler::credentials_handler(function f) : state_(std::make_shared<state>(std::move(f))) {}
credentials_handler::credentials_handler(const credentials_handler&) = default;
credentials_handler& credentials_handler::operator=(const credentials_handler&) = default;
credentials_handler::~credentials_handler() = default;

void credentials_handler::operator()(credentials given) const { (*this)(std::string(), std::move(given)); }

void credentials_handler::operator()(const error_code& ec, credentials given) const {
  (*this)(ec ? ec.message() : std::string(), std::move(given));
}

void credentials_handler::operator()(const std::exception_ptr& thrown, credentials given) const {
  std::string why;
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    why = e.what();
    if (why.empty()) why = "it gives no reason";
  } catch (...) {
    why = "an exception of an unknown type";
  }
  (*this)(std::move(why), std::move(given));
}

void credentials_handler::operator()(std::string why, credentials given) const {
  if (!state_->was_called.exchange(true)) state_->answer(std::move(why), std::move(given));
}

}  // namespace leasehold
