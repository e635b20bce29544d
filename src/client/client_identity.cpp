// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/client_identity.hpp"

#include "client/options.hpp"
#include "protocol/token.hpp"
#include "time/random.hpp"
#include "time/system.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace leasehold::detail {
namespace {

std::string label_of(const client_options& options) {
  if (!options.label.empty()) return options.label;
  return default_label(system::host_name(), system::process_id());
}

std::string new_client_id(const client_options& options) {
  const std::uint64_t high = random_bits();
  return fmt::format("{}-{:016x}{:016x}", label_of(options), high, random_bits());
}

}  // namespace

client_identity::client_identity(const client_options& options)
    : engine_(static_cast<std::minstd_rand::result_type>(random_bits())),
      phase_(static_cast<clock::rep>(random_bits() >> 2)),
      id_(new_client_id(options)) {}

std::string client_identity::next_token(bool lingers) {
  const fmt::format_int number(++tokens_);
  std::string token;
  token.reserve(id_.size() + 1 + number.size() + std::string_view(mark_of_lingering).size());
  token.append(id_).append(1, '.').append(number.data(), number.size());
  if (lingers) token += mark_of_lingering;
  return token;
}

std::string_view label_of_token(std::string_view token) noexcept {
  constexpr std::size_t digits = 32;
  const auto consists_of = [](std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == text.npos;
  };
  const auto dot = token.find('.');
  if (dot == token.npos || dot <= digits || token[dot - digits - 1] != '-') return {};
  const auto label = token.substr(0, dot - digits - 1);
  const bool ours = is_label(label) && consists_of(token.substr(dot - digits, digits), "0123456789abcdef") &&
                    (consists_of(token.substr(dot + 1), "0123456789") || may_linger(token));
  return ours ? label : std::string_view();
}

}  // namespace leasehold::detail
