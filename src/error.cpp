// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/detail/printable.hpp>
#include <leasehold/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold {
namespace {

const char* text_of(int value) noexcept {
  switch (static_cast<error>(value)) {
    case error::timed_out: return "timed out";
    case error::lost: return "lost";
    case error::not_held: return "not held";
    case error::no_quorum: return "no quorum";
    case error::unreachable: return "unreachable";
    case error::refused: return "refused";
    case error::wrong_type: return "wrong type";
    case error::wrong_limit: return "wrong limit";
    case error::invalid_name: return "invalid name";
    case error::invalid_option: return "invalid option";
    case error::invalid_url: return "invalid url";
    case error::not_supported: return "not supported";
    case error::closed: return "closed";
    case error::invalid_ticket: return "invalid ticket";
  }
  return "unknown error";
}

class category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "leasehold"; }
  std::string message(int value) const override { return text_of(value); }
  const char* message(int value, char*, std::size_t) const noexcept override { return text_of(value); }
};

std::string on_one_line(std::string_view text, std::size_t most) {
  const auto shown = detail::shortened(text, most);
  return detail::printable(shown) + (shown.size() < text.size() ? "..." : "");
}

std::string text_of(const error_code& ec, const exception::context& about) {
  std::string text = ec.message();
  if (!about.lock.empty()) text += ": lock '" + on_one_line(about.lock, 100) + "'";
  if (!about.server.empty()) text += (about.lock.empty() ? ": " : " at ") + on_one_line(about.server, 500);
  for (const std::string* more : {&about.option, &about.detail}) {
    if (!more->empty()) text += ": " + on_one_line(*more, 500);
  }
  return text;
}

}  // namespace

struct exception::parts {
  context about;
  std::string text;
};

exception::exception(error_code ec, context about) : system_error(ec) {
  std::string text = text_of(ec, about);
  parts_ = std::make_shared<const parts>(parts{std::move(about), std::move(text)});
}

const char* exception::what() const noexcept { return parts_->text.c_str(); }
const std::string& exception::lock() const noexcept { return parts_->about.lock; }
const std::string& exception::option() const noexcept { return parts_->about.option; }
const std::string& exception::server() const noexcept { return parts_->about.server; }
const std::string& exception::detail() const noexcept { return parts_->about.detail; }

const boost::system::error_category& error_category() noexcept {
  static const category instance;
  return instance;
}

}  // namespace leasehold
