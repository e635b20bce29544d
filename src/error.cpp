// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include <leasehold/error.hpp>

#include <string>

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
  }
  return "unknown error";
}

class category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "leasehold"; }
  std::string message(int value) const override { return text_of(value); }
  const char* message(int value, char*, std::size_t) const noexcept override { return text_of(value); }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
  static const category instance;
  return instance;
}

}  // namespace leasehold
