// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/sentinels.hpp"

#include "store/redis/connections.hpp"
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

// For how long the client asks a Sentinel alone before it asks the next one, too.
constexpr std::chrono::milliseconds head_start{200};

}  // namespace

// The connection to one Sentinel.
class sentinels::link final : public std::enable_shared_from_this<link> {
 public:
  link(sentinels& owner, host_and_port where)
      : where_(std::move(where)),
        owner_(&owner),
        connection_(owner.strand_, make_tls_context(owner.where_, std::make_shared<std::string>(where_.host), refused_),
                    make_logger()) {
    connection_.set_receive_response(sink_);
  }

  const host_and_port& where() const { return where_; }

  void start() {
    const address& group = owner_->where_;
    redis::config config = common_config(owner_->timeout_);
    config.addr.host = where_.host;
    config.addr.port = where_.port;
    config.use_ssl = group.tls;

    request_ = make_request();
    push_hello(request_, group.sentinel_user, group.sentinel_password);
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
      self->owner_->on_answer(*self, self->replies_);
    });
    receive();
    connection_.async_run(config, [self = shared_from_this()](error_code ec) {
      self->connection_.cancel(redis::operation::all);
      if (self->owner_ != nullptr)
        self->owner_->on_end(*self, self->refused_->empty() ? ec.message() : *self->refused_);
    });
  }

  // Reports nothing any more.
  void forget() { owner_ = nullptr; }
  void drop() {
    forget();
    connection_.cancel(redis::operation::all);
  }

 private:
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
  const std::shared_ptr<std::string> refused_ = std::make_shared<std::string>();  // The certificate, and why.
  redis::connection connection_;
};

sentinels::sentinels(asio::any_io_executor strand, address where, std::chrono::milliseconds timeout,
                     const backoff& retry, std::function<void()> changed)
    : strand_(std::move(strand)),
      where_(std::move(where)),
      timeout_(timeout),
      changed_(std::move(changed)),
      known_(where_.hosts),
      concluded_(strand_),
      head_start_(strand_),
      limit_(strand_),
      retry_(strand_),
      longest_pause_(retry.max),
      pauses_(retry),
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
  asked_ = 0;
  refusals_ = 0;
  words_.clear();
  limit_.expires_after(timeout_);
  limit_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec || !self->asking_) return;
    self->conclude({{}, self->words_.empty() ? "no Sentinel answers" : self->words_, false});
  });
  ask_next();
}

void sentinels::ask_next() {
  if (asked_ == known_.size()) return;
  const host_and_port next = known_[asked_++];
  if (asked_ != known_.size()) {
    const auto alone = std::min<std::chrono::milliseconds>(head_start, timeout_ / (2 * known_.size()));
    head_start_.expires_after(alone);
    head_start_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->asking_) self->ask_next();
    });
  }
  const auto l = std::make_shared<link>(*this, next);
  links_.push_back(l);
  l->start();
}

// Only a part of long words is shown (failures.cpp). They are not cut here, because that might cut a credential in two.
void sentinels::note(const link& l, std::string_view words) {
  constexpr std::size_t enough = 500;
  if (words_.size() > enough) return;
  if (!words_.empty()) words_ += "; ";
  words_ += "Sentinel " + l.where().host + ":" + l.where().port + ": ";
  words_ += words;
}

void sentinels::on_answer(link& l, const std::vector<reply>& replies) {
  if (replies.size() != 4) return;  // The connection was lost; its end follows.
  auto answer = read_sentinel_answer(replies, l.where(), where_);
  if (!answer.usable) {
    ++refusals_;
    note(l, answer.problem);
    return no_answer(l);
  }
  known_ = std::move(answer.sentinels);
  const auto mine = std::find_if(links_.begin(), links_.end(), [&l](const auto& o) { return o.get() == &l; });
  watched_ = std::move(*mine);
  links_.erase(mine);
  watched_since_ = clock::now();
  conclude({std::move(answer.master), {}, false});
}

// This Sentinel has no answer. After the last one, the round ends without a master.
void sentinels::no_answer(link& l) {
  const auto mine = std::find_if(links_.begin(), links_.end(), [&l](const auto& o) { return o.get() == &l; });
  if (mine != links_.end()) {
    auto dropped = std::move(*mine);
    links_.erase(mine);
    drop(dropped);
  }
  if (asked_ != known_.size()) return ask_next();
  if (links_.empty()) conclude({{}, words_, refusals_ * 2 > known_.size()});
}

void sentinels::on_end(link& l, const std::string& why) {
  if (watched_.get() == &l) {
    drop(watched_);
    // A Sentinel that answers and then closes the connection is asked no faster than one that does not answer.
    if (clock::now() - watched_since_ >= longest_pause_) pauses_.reset();
    return retry_later();
  }
  note(l, why);
  no_answer(l);
}

void sentinels::conclude(result r) {
  asking_ = false;
  head_start_.cancel();
  limit_.cancel();
  auto links = std::exchange(links_, {});
  for (auto& l : links) drop(l);
  if (awaited_) {
    found_ = std::move(r);
    return call_back();
  }
  // No caller waits for this round: the client has lost the Sentinel that it listened to, and needs another one.
  if (r.master.host.empty()) return retry_later();
  if (!same(r.master, found_.master)) changed_();
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
