// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/sentinels.hpp"

#include "protocol/refusal.hpp"
#include "store/redis/connections.hpp"
#include "store/redis/login.hpp"
#include "store/redis/sentinel_answer.hpp"
#include "store/redis/tls.hpp"
#include "time/random.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/redis/connection.hpp>

#include <algorithm>
#include <utility>

namespace leasehold::detail {

namespace asio = boost::asio;
namespace redis = boost::redis;

namespace {

std::string with_port(const host_and_port& where) { return where.host + ':' + where.port; }

}  // namespace

// The connection to one Sentinel.
class sentinels::link final : public std::enable_shared_from_this<link> {
 public:
  link(sentinels& owner, host_and_port where)
      : where_(std::move(where)),
        owner_(&owner),
        tls_(owner.where_,
             std::make_shared<std::string>(owner.where_.server_name.empty() ? where_.host : owner.where_.server_name)),
        login_(std::make_shared<login>(owner.strand_, owner.options_, login::role::sentinel,
                                       credentials(owner.where_.sentinel_user, owner.where_.sentinel_password),
                                       /*may_ask=*/owner.where_.sentinel_password.empty())),
        connection_(owner.strand_, tls_.make_context(), make_logger()) {
    connection_.set_receive_response(sink_);
  }

  const host_and_port& where() const { return where_; }
  bool asks_for_credentials() const { return login_->asks(); }
  // Why there are no credentials for it: they may still come. "": there are, or none are asked for.
  const std::string& has_no_credentials() const { return login_->problem(); }

  // Reports nothing before it returns.
  void start() {
    if (!login_->asks()) return connect();
    login_->ask(with_port(where_), [self = shared_from_this()] {
      if (self->owner_ != nullptr) self->connect();
    });
  }

  // Reports nothing any more.
  void forget() { owner_ = nullptr; }
  void drop() {
    forget();
    login_->stop();
    connection_.cancel(redis::operation::all);
  }

 private:
  void connect() {
    std::string problem = login_->problem();
    if (problem.empty()) problem = tls_.load();
    if (!problem.empty()) {
      asio::post(owner_->strand_, [self = shared_from_this(), problem] {
        if (self->owner_ != nullptr) self->owner_->on_end(*self, problem);
      });
      return;
    }
    const address& group = owner_->where_;
    redis::config config = common_config(owner_->options_.connect_timeout, owner_->options_.command_timeout);
    config.addr.host = where_.host;
    config.addr.port = where_.port;
    config.use_ssl = group.tls;

    request_ = make_request();
    push_hello(request_, login_->present().user, login_->present().password);
    // SUBSCRIBE comes first, so that no change is missed. A refusal takes the place of the reply to PING. Then there is
    // one reply more than Boost.Redis expects, and that is the list of Sentinels.
    request_.push("SUBSCRIBE", "+switch-master");
    request_.push("PING");
    request_.push("SENTINEL", "GET-MASTER-ADDR-BY-NAME", group.master);
    request_.push("SENTINEL", "SENTINELS", group.master);
    redis::any_adapter adapter(
        [this, begins = false](redis::any_adapter::parse_event e, const redis::resp3::node_view& node,
                               error_code& ec) mutable { add_to_last(replies_, begins, e, node, ec); });
    connection_.async_exec(request_, std::move(adapter), [self = shared_from_this()](error_code ec, std::size_t) {
      if (ec || self->owner_ == nullptr) return;  // The end of the connection reports the rest.
      self->keep_authenticated();
      self->owner_->on_answer(*self, self->replies_);
    });
    receive();
    connection_.async_run(config, [self = shared_from_this()](error_code ec) {
      self->connection_.cancel(redis::operation::all);
      self->login_->stop();
      if (self->owner_ != nullptr) self->owner_->on_end(*self, self->why_ended(ec));
    });
  }

  // A Sentinel in protected mode says so, and closes the connection.
  std::string why_ended(error_code ec) const {
    const bool refuses = !replies_.empty() && replies_.front().is_error();
    return refuses ? why_no_hello(replies_.front().text(0)) : tls_.why_ended(ec.message());
  }

  // A Sentinel that is watched stays connected for long. What fails here is told when the connection ends.
  void keep_authenticated() {
    const auto weak = weak_from_this();
    login_->keep({[weak](const credentials& c) {
                    if (const auto self = weak.lock()) self->authenticate(c);
                  },
                  [](std::string_view) {}});
  }

  void authenticate(const credentials& c) {
    const auto auth = std::make_shared<redis::request>(make_request());
    auth->push("AUTH", c.user.empty() ? "default" : c.user, c.password);
    const auto replies = std::make_shared<std::vector<reply>>();
    redis::any_adapter adapter(
        [replies, begins = false](redis::any_adapter::parse_event e, const redis::resp3::node_view& node,
                                  error_code& ec) mutable { add_to_last(*replies, begins, e, node, ec); });
    connection_.async_exec(
        *auth, std::move(adapter), [self = shared_from_this(), auth, replies](error_code ec, std::size_t) {
          if (ec || replies->empty()) return;
          self->login_->authenticated(replies->front().is_error() ? replies->front().text(0) : std::string_view());
        });
  }

  struct sink {
    link* of;
    struct adapter {
      link* of;
      void on_init() { of->push_.clear(); }
      void on_node(const redis::resp3::node_view& node, error_code& ec) { add_node(of->push_, node, ec); }
      void on_done() {
        if (of->push_.text(0) != "message" || of->owner_ == nullptr) return;
        // Posted, because Boost.Redis is in the middle of what it has read.
        asio::post(of->owner_->strand_, [self = of->shared_from_this(), message = of->push_] {
          if (self->owner_ != nullptr) self->owner_->on_message(message);
        });
      }
    };
    friend adapter boost_redis_adapt(sink& s) { return adapter{s.of}; }
  };

  // Reads the pushes: unread ones would stall the connection in the end.
  void receive() {
    connection_.async_receive2([self = shared_from_this()](error_code ec) {
      if (!ec && self->owner_ != nullptr) self->receive();
    });
  }

  const host_and_port where_;
  sentinels* owner_;
  redis::request request_;
  std::vector<reply> replies_;
  reply push_;
  sink sink_{this};
  tls_identity tls_;
  const std::shared_ptr<login> login_;
  redis::connection connection_;
};

sentinels::sentinels(asio::any_io_executor strand, address where, const client_options& options,
                     std::function<void()> changed)
    : strand_(std::move(strand)),
      where_(std::move(where)),
      options_(options),
      changed_(std::move(changed)),
      known_(where_.hosts),
      concluded_(strand_),
      head_start_(strand_),
      limit_(strand_),
      retry_(strand_),
      pauses_(options.reconnect),
      random_(static_cast<std::minstd_rand::result_type>(random_bits())) {}

// If stop() was not called, the execution context is ending: it destroys its handlers, and the links with them.
sentinels::~sentinels() {
  if (watched_) watched_->forget();
  for (const auto& l : links_) l->forget();
}

void sentinels::add(const std::vector<host_and_port>& more) {
  for (const auto& m : more) {
    if (std::none_of(known_.begin(), known_.end(), [&m](const host_and_port& h) { return same(h, m); }))
      known_.push_back(m);
  }
}

void sentinels::ask(asio::any_completion_handler<void()> handler) {
  awaited_ = true;
  concluded_.expires_at(clock::time_point::max());
  concluded_.async_wait([handler = std::move(handler)](error_code) mutable { std::move(handler)(); });
  if (stopped_) return call_back();
  begin();
}

void sentinels::doubt() {
  if (!known_.empty()) std::rotate(known_.begin(), known_.begin() + 1, known_.end());
}

void sentinels::stop() {
  stopped_ = true;
  asking_ = false;
  head_start_.cancel();
  limit_.cancel();
  retry_.cancel();
  drop_all();
  call_back();
}

void sentinels::call_back() {
  awaited_ = false;
  concluded_.cancel();
}

void sentinels::drop(std::shared_ptr<link>& l) {
  if (const auto dropped = std::exchange(l, nullptr)) dropped->drop();
}

void sentinels::drop_all() {
  drop(watched_);
  auto links = std::exchange(links_, {});
  for (auto& l : links) drop(l);
}

// Begins a round: all Sentinels are asked until one of them answers.
void sentinels::begin() {
  retry_.cancel();
  drop_all();
  asking_ = true;
  // The one that has named another master is the last one, and does not confirm itself.
  const bool is_rumour = !awaited_ && !rumour_.host.empty();
  round_ = sentinel_round(known_.size() - (is_rumour ? 1 : 0), options_.connect_timeout, clock::now());
  limit_round();
  ask_next();
}

void sentinels::limit_round() {
  limit_.expires_at(round_.ends_at());
  limit_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec && self->asking_) self->on_limit();
  });
}

void sentinels::on_limit() {
  for (const auto& l : links_) {
    if (!l->has_no_credentials().empty()) round_.on_no_answer(with_port(l->where()), l->has_no_credentials());
  }
  conclude({{}, round_.why(), round_.is_refused()});
}

void sentinels::ask_next() {
  if (!round_.has_next()) return;
  const host_and_port next = known_[round_.next(clock::now())];
  if (round_.has_next()) {
    head_start_.expires_after(round_.head_start());
    head_start_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->asking_) self->ask_next();
    });
  }
  if (round_.ends_at() < limit_.expiry()) limit_round();
  const auto l = std::make_shared<link>(*this, next);
  links_.push_back(l);
  l->start();
}

void sentinels::on_answer(link& l, const std::vector<reply>& replies) {
  if (replies.size() != 4) return;  // The connection was lost; its end follows.
  auto answer = read_sentinel_answer(replies, l.where(), where_);
  if (!answer.usable) {
    // Another password may come.
    const bool may_change = l.asks_for_credentials() && is_about_password(answer.problem);
    return no_answer(l, answer.problem, !may_change);
  }
  known_ = std::move(answer.sentinels);
  const auto mine = std::find_if(links_.begin(), links_.end(), [&l](const auto& o) { return o.get() == &l; });
  watched_ = std::move(*mine);
  links_.erase(mine);
  watched_since_ = clock::now();
  conclude({std::move(answer.master), {}, false});
}

// This Sentinel has no answer. After the last one, the round ends without a master.
void sentinels::no_answer(link& l, std::string_view words, bool refuses) {
  round_.on_failure(with_port(l.where()), words, refuses, clock::now());
  const auto mine = std::find_if(links_.begin(), links_.end(), [&l](const auto& o) { return o.get() == &l; });
  if (mine != links_.end()) {
    auto dropped = std::move(*mine);
    links_.erase(mine);
    drop(dropped);
  }
  if (round_.has_next()) return ask_next();
  if (round_.is_over()) return conclude({{}, round_.why(), round_.is_refused()});
  if (round_.ends_at() < limit_.expiry()) limit_round();
}

void sentinels::on_end(link& l, const std::string& why) {
  if (watched_.get() == &l) {
    drop(watched_);
    // A Sentinel that answers and then closes the connection is asked no faster than one that does not answer.
    if (clock::now() - watched_since_ >= options_.reconnect.max) pauses_.reset();
    return retry_later();
  }
  no_answer(l, why, /*refuses=*/false);
}

void sentinels::conclude(result r) {
  asking_ = false;
  head_start_.cancel();
  limit_.cancel();
  auto links = std::exchange(links_, {});
  for (auto& l : links) drop(l);
  if (awaited_) {
    found_ = std::move(r);
    rumour_ = {};
    return call_back();
  }
  // No caller waits for this round: the client has lost the Sentinel that it listened to, and needs another one.
  if (r.master.host.empty()) return rumour_.host.empty() ? retry_later() : changed_();
  if (same(r.master, found_.master)) {
    rumour_ = {};
    return;
  }
  // This Sentinel alone may be cut off from its group: the connection is given up when another one says the same, or
  // when no other one answers.
  if (known_.size() > 1 && !same(r.master, rumour_)) {
    rumour_ = std::move(r.master);
    doubt();
    return retry_later();
  }
  changed_();
}

void sentinels::retry_later() {
  if (stopped_ || asking_) return;
  retry_.expires_after(pauses_.next(std::uniform_real_distribution<double>(0.0, 1.0)(random_)));
  retry_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec && !self->asking_ && !self->stopped_) self->begin();
  });
}

void sentinels::on_message(const reply& message) {
  if (tells_of_another_master(message, where_.master, found_.master)) changed_();
}

}  // namespace leasehold::detail
