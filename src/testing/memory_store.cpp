// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/testing/memory_store.hpp>

#include "protocol/keys.hpp"
#include "protocol/request.hpp"
#include "protocol/scripts.hpp"
#include "protocol/slots.hpp"
#include "store/memory/reply.hpp"
#include "store/server.hpp"
#include "store/url.hpp"
#include "testing/clients_network.hpp"
#include "time/clock.hpp"
#include "time/random.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace leasehold::testing {
namespace {

namespace asio = boost::asio;
namespace memory = leasehold::detail::memory;

using guard = std::lock_guard<std::recursive_mutex>;
using servers_by_name = std::map<std::string, std::shared_ptr<detail::server_in_memory>, std::less<>>;

constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 30);

servers_by_name& servers() {
  static servers_by_name all;
  return all;
}

[[noreturn]] void fail(error e, std::string option, std::string detail) {
  throw exception(make_error_code(e), {.option = std::move(option), .detail = std::move(detail)});
}

void check(std::chrono::milliseconds d, std::chrono::milliseconds least, const char* option) {
  if (d < least || d > longest) fail(error::invalid_option, option, fmt::format("{} ms", d.count()));
}

// Makes the servers of a client. A client that was idle connects again to the server that it began with.
detail::server_maker make_servers(const asio::any_io_executor& executor, const client_options& options,
                                  std::string client) {
  const auto* const known = executor.target<asio::io_context::executor_type>();
  const asio::any_io_executor strand = known != nullptr ? asio::any_io_executor(asio::make_strand(*known))
                                                        : asio::any_io_executor(asio::make_strand(executor));
  const auto make = [strand, &options, its = std::make_shared<servers_by_name>()](
                        const detail::address& where, std::string channel, detail::store::events& events,
                        detail::redis_server::router* router) {
    const guard g(detail::common_ground::get()->mutex);
    const std::string& name = where.hosts.front().host;
    auto& server = (*its)[name];
    if (!server) {
      const auto found = servers().find(name);
      if (found == servers().end()) fail(error::invalid_url, {}, "there is no memory_store for '" + where.shown + "'");
      server = found->second;
    }
    const auto over = std::make_shared<detail::clients_network>(strand, server);
    return memory::make_memory_store(strand, {&over->server(), over, {}}, options, std::move(channel), events, router);
  };
  return {strand, options, std::move(client), make};
}

// Runs a script as a client would that does not use this library, with the layout of the store's clients. (A release
// with plain keys would be no error where they are tagged: it would not find the queue.)
memory::reply run(memory::server& server, std::string_view name, detail::request r) {
  const bool is_tagged = server.data().execute({"GET", detail::only_fence_key}).text == detail::mark_of_tags;
  const auto slot = detail::slot_of(name);
  const std::string_view tag = is_tagged ? detail::tag_of_slot(slot) : detail::only_tag;
  const std::string queue = detail::queue_key(tag, name);
  const std::string entries = detail::entries_key(tag, name);
  r.keys = {name, is_tagged ? detail::fence_key(slot) : detail::only_fence_key, queue, entries};
  const auto now = clock::now();
  detail::server_clock clock_there{0.0};
  clock_there.observe(server.time().count(), now, now);
  detail::arguments a;
  write(r, plan(r, now, clock_there, /*pushes_grants=*/false), a);
  return server.run(*r.of_kind, /*whole_text=*/true, a.keys(), a.args());
}

detail::request request_for(detail::verb v, const detail::script& kind, std::string_view token = {}) {
  detail::request r;
  r.verb = v;
  r.of_kind = &kind;
  r.token = token;
  return r;
}

}  // namespace

struct memory_store::node {
  std::string name;
  std::string url;
  std::shared_ptr<detail::server_in_memory> in_memory = std::make_shared<detail::server_in_memory>();
  std::map<std::string, std::string, std::less<>> held_elsewhere = {};  // Tokens by name.
  // Formed like those of another client.
  std::string client = fmt::format("elsewhere-{:016x}{:016x}", detail::random_bits(), detail::random_bits());
  std::uint64_t tokens = 0;

  std::recursive_mutex& mutex() { return in_memory->common->mutex; }
  memory::server& server() { return in_memory->server; }
};

memory_store::memory_store(std::string_view name) {
  std::string url = "memory:" + std::string(name);
  const auto where = detail::parse_url(url, {});
  if (where.hosts.front().host != name) fail(error::invalid_url, {}, "no name of a memory_store: '" + url + "'");
  const guard g(detail::common_ground::get()->mutex);
  if (servers().contains(name)) fail(error::invalid_url, {}, "there is another memory_store '" + url + "'");
  node_ = std::make_shared<node>(node{std::string(name), std::move(url)});
  servers().emplace(name, node_->in_memory);
  detail::set_memory_servers(&make_servers);
}

memory_store::~memory_store() {
  const guard g(node_->mutex());
  servers().erase(node_->name);
  node_->server().kill();
}

const std::string& memory_store::url() const noexcept { return node_->url; }

void memory_store::advance(std::chrono::milliseconds d) {
  check(d, std::chrono::milliseconds(0), "memory_store::advance");
  const auto& common = detail::common_ground::get();
  const guard g(common->mutex);
  detail::move_clock(d);
  for (detail::clients_network* n : common->networks) n->wake();
}

void memory_store::disconnect() {
  const guard g(node_->mutex());
  node_->server().close_connections();
}

void memory_store::stop() {
  const guard g(node_->mutex());
  if (node_->server().is_up()) node_->server().kill();
}

void memory_store::start() {
  const guard g(node_->mutex());
  if (!node_->server().is_up()) node_->server().start(node_->server().data());
}

bool memory_store::lose(std::string_view name) {
  const guard g(node_->mutex());
  return node_->server().data().execute({"DEL", name}).integer == 1;
}

bool memory_store::hold_elsewhere(std::string_view name, std::chrono::milliseconds lease) {
  check(lease, std::chrono::milliseconds(1), "memory_store::hold_elsewhere");
  const guard g(node_->mutex());
  const std::string token = fmt::format("{}.{}", node_->client, ++node_->tokens);
  auto attempt = request_for(detail::verb::acquire, detail::scripts::mutex, token);
  attempt.lease = lease;
  attempt.run_within = std::chrono::hours(1);
  const auto r = run(node_->server(), name, attempt);
  if (r.is_error()) {
    throw exception(make_error_code(error::wrong_type), {.lock = std::string(name), .server = url(), .detail = r.text});
  }
  const bool granted = r.text.starts_with("1 ");
  if (granted) node_->held_elsewhere.insert_or_assign(std::string(name), token);
  return granted;
}

bool memory_store::release_elsewhere(std::string_view name) {
  const guard g(node_->mutex());
  const auto found = node_->held_elsewhere.find(name);
  if (found == node_->held_elsewhere.end()) return false;
  const auto token = std::move(found->second);
  node_->held_elsewhere.erase(found);
  const auto r = run(node_->server(), name, request_for(detail::verb::release, detail::scripts::mutex, token));
  // Notifies the waiters of a quorum. The script notifies those of a single store.
  node_->server().data().execute({"PUBLISH", detail::hint_channel(name), "0"});
  return r.integer == 1 || r.text.starts_with("1");
}

bool memory_store::held(std::string_view name) const {
  const guard g(node_->mutex());
  const auto r = run(node_->server(), name, request_for(detail::verb::show, detail::scripts::admin));
  if (r.is_error()) return false;
  return !r.items.empty() && r.items.front().integer != 0;
}

}  // namespace leasehold::testing
