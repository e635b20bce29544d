// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leader.hpp"

#include "exit_code.hpp"
#include "lock_text.hpp"
#include "store.hpp"
#include "text.hpp"
#include "view.hpp"

#include <leasehold/client.hpp>
#include <leasehold/election.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace leasehold::cli {
namespace {

using found_leader = std::optional<leader_info>;

// "2026-11-25T15:04:05.123Z"
std::string in_utc(std::chrono::system_clock::time_point t) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(t);
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(t - whole).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)), ms);
}

std::string leader_in_json(const std::string& name, const found_leader& found) {
  boost::json::object object;
  add_bytes(object, "name", name);
  if (found) {
    add_bytes(object, "value", found->value);
    object["fence"] = std::to_string(found->fence);
    object["since"] = in_utc(found->since);
  } else {
    for (const char* key : {"value", "fence", "since"}) object[key] = nullptr;
  }
  return printable_json(boost::json::serialize(object)) + "\n";
}

std::string text_of(const leader_options& wanted, const found_leader& found) {
  if (wanted.json) return leader_in_json(wanted.name, found);
  if (!found && !wanted.follow) return "";
  return (found ? printable(found->value) : "") + "\n";
}

// One `leasehold leader`.
class election_view : view {
 public:
  election_view(asio::io_context& context, const leader_options& wanted)
      : view(context), wanted_(wanted), store_(connect(context, wanted.store)) {}

  int run() {
    start(wanted_.follow ? follow() : ask());
    run_until_ended();
    return result();
  }

 private:
  failure failed(error_code ec) const { return describe(ec, store_, wanted_.store, wanted_.name); }

  asio::awaitable<void> ask() {
    const election place(store_, wanted_.name);
    const auto token = asio::as_tuple(asio::use_awaitable);
    auto [ec, found] = co_await place.leader(token);
    if (ec) throw failed(ec);
    co_await write(text_of(wanted_, found));
    exit_status_ = found ? 0 : static_cast<int>(exit_code::none);
  }

  asio::awaitable<void> follow() {
    const auto token = asio::as_tuple(asio::use_awaitable);
    // Later outages are waited for, but not a store that was never there.
    const auto [not_there] = co_await store_.ready(token);
    if (not_there) throw failed(not_there);
    leader_observer observer = election(store_, wanted_.name).observe();
    for (;;) {
      auto [ec, found] = co_await observer.next(token);
      if (ec) throw failed(ec);
      co_await write(text_of(wanted_, found));
    }
  }

  const leader_options& wanted_;
  client store_;
};

}  // namespace

int leader(const leader_options& wanted) {
  election_view view(lasting_context(), wanted);
  return view.run();
}

}  // namespace leasehold::cli
