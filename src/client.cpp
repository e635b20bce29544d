// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/client.hpp>

#include "client/client_core.hpp"
#include "client/operation.hpp"
#include "client/options.hpp"
#include "lock/registry.hpp"
#include "store/cluster/cluster.hpp"
#include "store/one_address.hpp"
#include "store/quorum/quorum.hpp"
#include "store/redis/redis.hpp"
#include "store/redis/tls.hpp"
#include "store/url.hpp"

#include <boost/asio/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace leasehold {
namespace detail {
namespace {

// client::ready.
class ready_op final : public caller, public operation<ready_op> {
 public:
  ready_op(std::shared_ptr<client_handle> handle, handler::handler_type h)
      : operation(handle->core, std::move(h)), handle_(std::move(handle)) {}

  static void start(const std::shared_ptr<client_handle>& handle, handler::handler_type h) {
    std::make_shared<ready_op>(handle, std::move(h))->launch(any_type);
  }

 private:
  void begin() override {
    if (!core_->open()) return end(error::closed);
    if (core_->up()) return end(error_code());
    if (core_->refused()) return end(error::refused);
    core_->add(*this);
    core_->when_up(*this);
    core_->set(*this, later(clock::now(), core_->options().connect_timeout));
  }

  request request_of(std::uint32_t) const override { return {}; }
  void answered(std::uint32_t, const answer&) override {}
  void store_is_up() override { end(error_code()); }
  void store_refuses(error_code ec) override { end(ec); }
  void ring(clock::time_point) override {
    core_->note_silence();
    end(error::unreachable);
  }

  const std::shared_ptr<client_handle> handle_;
};

// Makes the stores that URLs name.
class deployment final : public store_factory {
 public:
  deployment(server_maker servers, std::vector<address> where)
      : servers_(std::move(servers)), where_(std::move(where)) {}

  asio::any_io_executor strand() const override { return servers_.strand(); }
  std::shared_ptr<store> make(store::events& events) const override {
    if (where_.size() > 1) return make_quorum(servers_, where_, events);
    if (where_.front().kind == address::scheme::cluster) return make_cluster(servers_, where_.front(), events);
    return make_one_address(servers_, where_.front(), events);
  }

 private:
  const server_maker servers_;
  const std::vector<address> where_;
};

client_parts parts_for(std::vector<address> where) {
  client_parts parts;
  for (const address& a : where) {
    parts.server += (parts.server.empty() ? "" : ", ") + a.shown;
    parts.secrets.insert(parts.secrets.end(), a.secrets.begin(), a.secrets.end());
  }
  parts.has_tagged_keys = where.front().kind == address::scheme::cluster || where.front().has_tagged_keys;
  parts.is_quorum = where.size() > 1;
  parts.stores = [where = std::move(where)](const asio::any_io_executor& executor, const client_options& options,
                                            const std::string& client_id) {
    const auto make = where.front().in_memory ? memory_servers() : make_redis_servers;
    return std::make_unique<deployment>(make(executor, options, client_id), where);
  };
  parts.queued = [](client_core& core) { return std::make_unique<registry>(core); };
  return parts;
}

}  // namespace

std::shared_ptr<client_handle> make_client(asio::any_io_executor executor, std::vector<std::string> urls,
                                           client_options options) {
  check(options);
  const auto fail = [](error e, std::string why) { throw exception(make_error_code(e), {.detail = std::move(why)}); };
  if (urls.empty()) fail(error::invalid_url, "no URL");
  std::vector<address> addresses;
  for (const auto& url : urls) {
    const auto which = urls.size() == 1 ? "" : fmt::format("URL {} of {}: ", addresses.size() + 1, urls.size());
    addresses.push_back(parse_url(url, which));
    const address& a = addresses.back();
    check_tls_files(a);
    if (options.credentials && !(a.user.empty() && a.password.empty())) {
      throw exception(make_error_code(error::invalid_option),
                      {.option = "client_options::credentials", .detail = "'" + a.shown + "' has a password, too"});
    }
    if (a.kind == address::scheme::cluster && urls.size() > 1) {
      fail(error::not_supported, "'" + a.shown + "' in a quorum");
    }
    if (a.has_tagged_keys && urls.size() > 1) fail(error::not_supported, "'keys=tagged' in a quorum");
  }
  const auto in_memory =
      std::count_if(addresses.begin(), addresses.end(), [](const address& a) { return a.in_memory; });
  if (in_memory != 0 && memory_servers() == nullptr) {
    fail(error::not_supported, "'memory:' without a leasehold::testing::memory_store");
  }
  if (in_memory != 0 && static_cast<std::size_t>(in_memory) != addresses.size()) {
    fail(error::not_supported, "a quorum of servers in memory and others");
  }
  // A server that counted twice would let fewer servers be a majority.
  for (auto a = addresses.begin(); a != addresses.end(); ++a) {
    const auto same = [&a](const address& other) { return is_same_server(other, *a); };
    if (std::any_of(addresses.begin(), a, same)) fail(error::invalid_url, "'" + a->shown + "' is given twice");
  }
  auto core = std::make_shared<client_core>(std::move(executor), parts_for(std::move(addresses)), std::move(options));
  core->start();
  return std::make_shared<client_handle>(std::move(core));
}

asio::any_io_executor executor_of(const std::shared_ptr<client_handle>& handle) noexcept {
  return handle->core->executor();
}

void start_ready(const std::shared_ptr<client_handle>& handle, asio::any_completion_handler<void(error_code)> h) {
  ready_op::start(handle, std::move(h));
}

void start_close(const std::shared_ptr<client_handle>& handle, asio::any_completion_handler<void(error_code)> h) {
  const auto& core = handle->core;
  auto waiting = std::make_shared<pending<void(error_code)>>(std::move(h), core->fallback());
  waiting->connect_cancellation(waiting, stops_waiting, [core](const std::shared_ptr<pending<void(error_code)>>& w) {
    core->post([core, w] { core->complete(*w, asio::error::operation_aborted); });
  });
  core->post([core, waiting] { core->close(waiting); });
}

}  // namespace detail

std::string_view to_string(event::kind what) noexcept {
  switch (what) {
    case event::kind::connected: return "connected";
    case event::kind::disconnected: return "disconnected";
    case event::kind::unreachable: return "unreachable";
    case event::kind::refused: return "refused";
    case event::kind::evicting: return "evicting";
    case event::kind::clock_jump: return "clock_jump";
    case event::kind::acquired: return "acquired";
    case event::kind::released: return "released";
    case event::kind::lost: return "lost";
    case event::kind::timed_out: return "timed_out";
    case event::kind::cancelled: return "cancelled";
    case event::kind::slow_wait: return "slow_wait";
    case event::kind::credentials: return "credentials";
    case event::kind::tagged_keys: return "tagged_keys";
    case event::kind::wanted: return "wanted";
  }
  return "unknown";
}

statistics client::stats() const {
  const auto& c = handle_->core->count();
  const auto get = [](const std::atomic<std::uint64_t>& n) { return n.load(std::memory_order_relaxed); };
  statistics s;
  s.held = static_cast<std::size_t>(get(c.held));
  s.waiting = static_cast<std::size_t>(get(c.waiting));
  s.acquired = get(c.acquired);
  s.handed_off = get(c.handed_off);
  s.passed = get(c.passed);
  s.contended = get(c.contended);
  s.timed_out = get(c.timed_out);
  s.cancelled = get(c.cancelled);
  s.lost = get(c.lost);
  s.released = get(c.released);
  s.renewed = get(c.renewed);
  s.renewal_failed = get(c.renewal_failed);
  s.withdrawn = get(c.withdrawn);
  s.refused = get(c.refused);
  s.commands = get(c.commands);
  s.connects = get(c.connects);
  s.reconnects = get(c.reconnects);
  s.clock_jumps = get(c.clock_jumps);
  s.slow_waits = get(c.slow_waits);
  s.wanted = get(c.wanted);
  s.lingered = get(c.lingered);
  s.waiting_time = c.waiting_time.snapshot();
  s.hold_time = c.hold_time.snapshot();
  s.round_trip = c.round_trip.snapshot();
  return s;
}

std::map<std::string, class_statistics> client::stats_by_class() const {
  std::map<std::string, class_statistics> all;
  for (const auto& [label, c] : handle_->core->count().classes.all()) {
    const auto get = [](const std::atomic<std::uint64_t>& n) { return n.load(std::memory_order_relaxed); };
    class_statistics& s = all[label];
    s.held = static_cast<std::size_t>(get(c->held));
    s.waiting = static_cast<std::size_t>(get(c->waiting));
    s.acquired = get(c->acquired);
    s.contended = get(c->contended);
    s.timed_out = get(c->timed_out);
    s.cancelled = get(c->cancelled);
    s.lost = get(c->lost);
    s.slow_waits = get(c->slow_waits);
    s.waiting_time = c->waiting_time.snapshot();
    s.hold_time = c->hold_time.snapshot();
  }
  return all;
}

std::string client::server() const { return handle_->core->failed().server(); }

std::string client::explain(const error_code& ec) const {
  return ec ? exception(ec, handle_->core->failed().about(ec)).what() : std::string();
}

std::string client::last_refusal() const { return handle_->core->failed().last_refusal(); }

std::string client::last_failure() const { return handle_->core->failed().last_failure(); }

}  // namespace leasehold
