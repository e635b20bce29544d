// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "store.hpp"

#include "text.hpp"

#include <fmt/format.h>

namespace leasehold::cli {

client connect(boost::asio::io_context& context, const store_options& where) {
  client_options settings;
  settings.prefix = where.prefix;
  try {
    return client(context, where.urls, settings);
  } catch (const exception& e) {
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
