// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/reconnection.hpp"
#include "store/redis/connections.hpp"
#include "store/redis/sentinels.hpp"
#include "store/url.hpp"
#include "time/clock.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/redis/config.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace leasehold::detail {

// Where the connections of a store go: to the addresses of the host that its URL names, or to the master of a Sentinel
// group. Everything happens on the strand.
template <class Strand>
class destination {
 public:
  using awaitable = boost::asio::awaitable<void, Strand>;

  // The options outlive the destination.
  destination(const Strand& strand, address where, const client_options& options)
      : strand_(strand), where_(std::move(where)), options_(options), resolver_(strand) {}

  const address& where() const { return where_; }
  // The host that the server's certificate must name.
  const std::shared_ptr<std::string>& host() const { return host_; }
  // The server that take() has found, as client_options::credentials knows it.
  std::string server() const {
    if (where_.kind == address::scheme::unix_socket) return where_.path;
    const host_and_port& s = sentinels_ ? sentinels_->found().master : where_.hosts.front();
    return s.host + ':' + s.port;
  }
  // The server must be the master of a Sentinel group.
  bool is_master() const { return sentinels_ != nullptr; }

  // The Sentinels that answered, and those that an earlier store knew.
  std::vector<host_and_port> sentinels_known() const {
    return sentinels_ ? sentinels_->known() : std::vector<host_and_port>();
  }
  void assume_sentinels(std::vector<host_and_port> more) { more_sentinels_ = std::move(more); }

  // changed: the Sentinels have announced another master.
  void start(std::function<void()> changed) {
    if (where_.kind != address::scheme::sentinel) return;
    sentinels_ = std::make_shared<sentinels>(strand_, where_, options_, std::move(changed));
    sentinels_->add(more_sentinels_);
  }
  void stop() {
    resolver_.cancel();
    if (sentinels_) sentinels_->stop();
  }

  // The server that take() has found last could not be used.
  void doubt() {
    if (sentinels_) sentinels_->doubt();
  }

  // Without the address, for a host.
  boost::redis::config config() const {
    auto c = common_config(options_.connect_timeout, options_.command_timeout);
    if (where_.kind == address::scheme::unix_socket) {
      c.unix_socket = where_.path;
    } else {
      c.addr.port = where_.hosts.front().port;
      c.use_ssl = where_.tls;
    }
    return c;
  }

  // Before each connection: asks the Sentinels, or resolves the host's name. The destination must stay until the end.
  awaitable look_up(reconnection& r) {
    if (sentinels_) {
      auto ask = [group = sentinels_.get()](auto handler) { group->ask(std::move(handler)); };
      const boost::asio::use_awaitable_t<Strand> use;
      co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<Strand>&, void()>(ask, use);
    } else if (has_name() && r.needs_addresses()) {
      co_await resolve(r);
    }
  }

  // What look_up has found.
  struct found {
    clock::duration patience;              // How long the connection may take.
    const sentinels::result* no_master{};  // Not null: there is no server to connect to, and this says why.
  };
  found take(reconnection& r, boost::redis::config& c) {
    found f{options_.connect_timeout};
    if (!sentinels_) {
      if (!where_.hosts.empty()) {
        std::tie(c.addr.host, f.patience) = r.next_address(where_.hosts.front().host, options_.connect_timeout);
      }
    } else if (const auto& master = sentinels_->found().master; master.host.empty()) {
      f.no_master = &sentinels_->found();
    } else {
      c.addr.host = master.host;
      c.addr.port = master.port;
      if (where_.server_name.empty()) *host_ = master.host;
    }
    return f;
  }

 private:
  // False: a unix socket, or an address.
  bool has_name() const {
    if (where_.kind != address::scheme::redis && where_.kind != address::scheme::rediss) return false;
    error_code is_no_address;
    boost::asio::ip::make_address(where_.hosts.front().host, is_no_address);
    return is_no_address.failed();
  }

  // The name may stand for several addresses, and the first of them may not answer. The client tries them one by one:
  // Boost.Redis has one time-out for all of them, and would never come to the second. If the name cannot be resolved,
  // Boost.Redis reports that.
  awaitable resolve(reconnection& r) {
    const host_and_port& name = where_.hosts.front();
    error_code ec;
    const boost::asio::use_awaitable_t<Strand> use;
    auto token = boost::asio::redirect_error(use, ec);
    const auto results = co_await resolver_.async_resolve(name.host, name.port, token);
    if (ec) co_return;
    std::vector<std::string> addresses;
    for (const auto& entry : results) {
      const std::string text = entry.endpoint().address().to_string();
      if (std::find(addresses.begin(), addresses.end(), text) == addresses.end()) addresses.push_back(text);
    }
    r.found(std::move(addresses));
  }

  const Strand strand_;
  const address where_;
  const client_options& options_;
  const std::shared_ptr<std::string> host_ =
      std::make_shared<std::string>(!where_.server_name.empty() ? where_.server_name
                                    : where_.hosts.empty()      ? std::string()
                                                                : where_.hosts.front().host);
  boost::asio::ip::basic_resolver<boost::asio::ip::tcp, Strand> resolver_;
  std::shared_ptr<sentinels> sentinels_;       // Null if the URL names the server.
  std::vector<host_and_port> more_sentinels_;  // In addition to those of the URL.
};

}  // namespace leasehold::detail
