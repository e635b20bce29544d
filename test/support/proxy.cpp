// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/proxy.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <list>
#include <utility>

namespace leasehold::test {

namespace asio = boost::asio;
using asio::generic::stream_protocol;  // Unix sockets and TCP alike.
using boost::system::error_code;

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

struct link {
  explicit link(const asio::any_io_executor& e) : client(e), server(e) {}

  stream_protocol::socket client;
  stream_protocol::socket server;
  std::string pending_requests;
  std::string pending_replies;
  bool swallowed = false;
  bool client_gone = false;
};

struct direction {
  std::size_t budget = unlimited;  // bytes that may pass
  bool then_cut = false;
  std::string seen;
};

}  // namespace

struct proxy::state : std::enable_shared_from_this<state> {
  state(const asio::any_io_executor& e, std::string target, unsigned short p)
      : executor(e), acceptor(e), server_path(std::move(target)), port(p) {}

  asio::any_io_executor executor;
  temporary_folder folder;
  asio::basic_socket_acceptor<stream_protocol> acceptor;
  std::string server_path;
  unsigned short port;  // 0: a unix socket.
  std::chrono::milliseconds delay{0};
  std::list<std::shared_ptr<link>> links;
  direction requests;
  direction replies;
  std::size_t accepted = 0;
  bool refuse = false;

  void listen() {
    const asio::local::stream_protocol::endpoint path(folder / "proxy.sock");
    const asio::ip::tcp::endpoint address(asio::ip::address_v4::loopback(), port);
    const bool local = port == 0;
    acceptor.open(local ? stream_protocol(path.protocol()) : stream_protocol(address.protocol()));
    // Connections of an earlier proxy may not be over for the kernel.
    if (!local) acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(local ? stream_protocol::endpoint(path) : stream_protocol::endpoint(address));
    acceptor.listen();
    accept();
  }

  void accept() {
    acceptor.async_accept([self = shared_from_this()](error_code ec, stream_protocol::socket client) {
      if (ec) return;
      ++self->accepted;
      if (!self->refuse) self->connect(std::move(client));
      self->accept();
    });
  }

  void connect(stream_protocol::socket client) {
    auto l = std::make_shared<link>(executor);
    l->client = std::move(client);
    error_code ec;
    if (port != 0) l->client.set_option(asio::ip::tcp::no_delay(true), ec);
    l->server.connect(asio::local::stream_protocol::endpoint(server_path), ec);
    if (ec) return;
    links.push_back(l);
    asio::co_spawn(executor, pump(shared_from_this(), l, true), asio::detached);
    asio::co_spawn(executor, pump(shared_from_this(), l, false), asio::detached);
  }

  static asio::awaitable<void> pump(std::shared_ptr<state> self, std::shared_ptr<link> l, bool is_request) {
    std::array<char, 16384> piece;
    for (;;) {
      auto& from = is_request ? l->client : l->server;
      auto [ec, n] = co_await from.async_read_some(asio::buffer(piece), asio::as_tuple(asio::deferred));
      if (ec) break;
      const std::string_view bytes(piece.data(), n);
      (is_request ? self->requests : self->replies).seen += bytes;
      if (self->delay.count() != 0) {
        asio::steady_timer timer(self->executor, self->delay);
        co_await timer.async_wait(asio::as_tuple(asio::deferred));
      }
      // Nobody reads any more, and what was sent before stays where it is until pass().
      if (l->swallowed || l->client_gone) continue;
      (is_request ? l->pending_requests : l->pending_replies) += bytes;
      self->flush(l);
    }
    if (is_request && !l->pending_requests.empty() && l->server.is_open()) {
      self->lose_client(*l);
    } else {
      self->close(l);
    }
  }

  void lose_client(link& l) {
    error_code ignored;
    l.client_gone = true;
    l.client.close(ignored);
  }

  void flush(const std::shared_ptr<link>& l) {
    pass_on(requests, l->pending_requests, l->server);
    if (l->client_gone) {
      l->pending_replies.clear();
      // The server sees the end behind the last request; its own end then closes the connection.
      error_code ignored;
      if (l->pending_requests.empty()) l->server.shutdown(stream_protocol::socket::shutdown_send, ignored);
    } else {
      pass_on(replies, l->pending_replies, l->client);
    }
    if ((requests.then_cut && requests.budget == 0) || (replies.then_cut && replies.budget == 0)) cut();
  }

  static void pass_on(direction& d, std::string& pending, stream_protocol::socket& to) {
    const std::size_t n = std::min(d.budget, pending.size());
    if (n == 0 || !to.is_open()) return;
    error_code ignored;  // The reader of the other side sees it as well.
    asio::write(to, asio::buffer(pending.data(), n), ignored);
    pending.erase(0, n);
    if (d.budget != unlimited) d.budget -= n;
  }

  void close(const std::shared_ptr<link>& l) {
    error_code ignored;
    l->client.close(ignored);
    l->server.close(ignored);
    links.remove(l);
  }

  void cut() {
    requests.budget = replies.budget = unlimited;
    requests.then_cut = replies.then_cut = false;
    while (!links.empty()) {
      const auto l = links.front();
      close(l);
    }
  }
};

proxy::proxy(const asio::any_io_executor& executor, const redis_server& server) : proxy(executor, server, 0) {}

proxy::proxy(const asio::any_io_executor& executor, const redis_server& server, unsigned short port)
    : state_(std::make_shared<state>(executor, server.socket_path(), port)) {
  state_->listen();
}

proxy::~proxy() {
  error_code ignored;
  state_->acceptor.close(ignored);
  pass();
}

std::string proxy::url() const {
  if (state_->port != 0) return "redis://127.0.0.1:" + std::to_string(state_->port);
  return "unix://" + (state_->folder / "proxy.sock");
}

void proxy::hold_requests(std::size_t after) { state_->requests.budget = after; }

void proxy::hold_replies(std::size_t after) { state_->replies.budget = after; }

void proxy::cut_after_requests(std::size_t bytes) {
  state_->requests.budget = bytes;
  state_->requests.then_cut = true;
  if (bytes == 0) cut();
}

void proxy::cut_after_replies(std::size_t bytes) {
  state_->replies.budget = bytes;
  state_->replies.then_cut = true;
  if (bytes == 0) cut();
}

void proxy::pass() {
  pass_connected();
  const auto links = state_->links;
  for (const auto& l : links) state_->flush(l);
}

void proxy::pass_connected() {
  state_->requests.budget = state_->replies.budget = unlimited;
  state_->requests.then_cut = state_->replies.then_cut = false;
  const auto links = state_->links;
  for (const auto& l : links) {
    if (!l->client_gone) state_->flush(l);
  }
}

void proxy::cut() { state_->cut(); }

void proxy::cut_clients() {
  for (const auto& l : state_->links) state_->lose_client(*l);
}

void proxy::swallow() {
  for (const auto& l : state_->links) l->swallowed = true;
}

void proxy::slow(std::chrono::milliseconds each) { state_->delay = each; }

void proxy::lead_to(const redis_server& server) { state_->server_path = server.socket_path(); }

void proxy::refuse(bool on) { state_->refuse = on; }

std::size_t proxy::accepted() const { return state_->accepted; }

std::size_t proxy::open() const {
  return static_cast<std::size_t>(
      std::count_if(state_->links.begin(), state_->links.end(), [](const auto& l) { return !l->client_gone; }));
}

std::size_t proxy::late() const { return state_->links.size() - open(); }

std::string_view proxy::requests() const { return state_->requests.seen; }

std::string_view proxy::replies() const { return state_->replies.seen; }

void proxy::forget() {
  state_->requests.seen.clear();
  state_->replies.seen.clear();
}

}  // namespace leasehold::test
