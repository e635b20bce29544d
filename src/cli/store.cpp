// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store.hpp"

#include "password.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace leasehold::cli {

boost::asio::io_context& lasting_context() {
  static auto& all = *new std::vector<std::unique_ptr<boost::asio::io_context>>();
  return *all.emplace_back(std::make_unique<boost::asio::io_context>(1));
}

std::string own_label() {
  // As many characters as a label may have.
  constexpr std::size_t longest = 32;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string end = fmt::format("-{}", ::getpid());
  std::string label = std::string(host.data()).substr(0, longest - end.size()) + end;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  std::replace_if(
      label.begin(), label.end(), [&](char c) { return !is_allowed(c); }, '-');
  return label;
}

client connect(boost::asio::io_context& context, const store_options& where) {
  client_options settings;
  settings.prefix = where.prefix;
  settings.label = own_label();
  settings.idle_timeout = forever;  // watch would connect anew each time.
  settings.credentials = password_of(context, where);
  // The command for the password may take that long before the first answer.
  if (!where.password_command.empty()) settings.command_timeout = settings.connect_timeout;
  try {
    return client(context, where.urls, settings);
  } catch (const exception& e) {
    if (e.option() == "client_options::credentials") {
      throw failure(
          exit_code::usage,
          fmt::format("{}: {}", where.password_file.empty() ? "--password-command" : "--password-file", e.detail()));
    }
    throw failure(code_of(e.code()), e.what());
  }
}

failure describe(const error_code& ec, const client& store, const store_options& where, const std::string& name) {
  const exit_code code = code_of(ec);
  const std::string urls = store.server();
  switch (code) {
    case exit_code::unreachable: {
      const std::string why = store.last_failure();
      return {code, fmt::format("{}: {}{}{}", urls, ec.message(), why.empty() ? "" : ": ", why)};
    }
    case exit_code::refused: return {code, fmt::format("{}: refused: {}", urls, store.last_refusal())};
    case exit_code::wrong_type:
      return {code, fmt::format("{}: wrong type: the key {} holds something that is no lock", in_quotes(name),
                                in_quotes(where.prefix + name))};
    default: break;
  }
  // What a quorum has not: semaphores, replicas, and what operators ask of one server.
  if (ec == error::not_supported && where.urls.size() > 1) {
    return {code, fmt::format("{}: not supported on a quorum of servers", urls)};
  }
  return {code, fmt::format("{}: {}", in_quotes(name), ec.message())};
}

}  // namespace leasehold::cli
