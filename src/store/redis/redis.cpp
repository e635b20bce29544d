// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis.hpp"

#include "protocol/keys.hpp"
#include "protocol/refusal.hpp"
#include "store/call_runner.hpp"
#include "store/connection_state.hpp"
#include "store/redis/channels.hpp"
#include "store/redis/connections.hpp"
#include "store/redis/deprecated.hpp"
#include "store/redis/destination.hpp"
#include "store/redis/handshake.hpp"
#include "store/redis/login.hpp"
#include "store/redis/request_writer.hpp"
#include "store/redis/tls.hpp"
#include "store/redis/witness.hpp"
#include "time/alarms.hpp"
#include "time/random.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/redis/connection.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail {

namespace asio = boost::asio;

namespace {

namespace redis = boost::redis;

// The end of a connection on which nothing was answered. twemproxy does that with commands that it does not know.
constexpr const char* why_nothing_but_an_end =
    " in place of an answer to HELLO: is this a proxy that does not know it?";

// Takes the messages from the server's pushes: >3 message <channel> <payload>. Boost.Redis finds the adapter by
// argument-dependent lookup.
struct push_sink {
  std::function<void(reply&)> on_push;
  reply pushed;

  struct adapter {
    push_sink* sink;
    void on_init() { sink->pushed.clear(); }
    void on_node(const redis::resp3::node_view& node, error_code& ec) { add_node(sink->pushed, node, ec); }
    void on_done() { sink->on_push(sink->pushed); }
  };
  friend adapter boost_redis_adapt(push_sink& sink) { return adapter{&sink}; }
};

// One connection of Boost.Redis after another to the same server. Its coroutine run_connections keeps it and its owner
// alive until it has stopped. The adapters that Boost.Redis keeps have a bare `this`, since the store owns the
// connection. Connection: one with a concrete strand where the executor is known.
template <class Connection>
class redis_store final : public redis_server,
                          private call_runner::connection,
                          public std::enable_shared_from_this<redis_store<Connection>> {
  using Strand = typename Connection::executor_type;

 public:
  // `another` makes a second store of the same server, with a connection of its own.
  redis_store(Strand strand, address where, const client_options& options, std::string channel, store::events& owner,
              redis_server::router* r, witness::maker another)
      : strand_(strand),
        options_(options),
        destination_(strand, std::move(where), options),
        events_(&owner),
        router_(r),
        proof_{tls_identity(destination_.where(), destination_.host()),
               std::make_shared<login>(strand, options, login::role::server,
                                       credentials(destination_.where().user, destination_.where().password)),
               {}},
        connection_(strand, proof_.tls.make_context(), make_logger()),
        pause_(strand),
        watch_(strand),
        first_(strand),
        channel_(std::move(channel)),
        another_(std::move(another)),
        random_(static_cast<std::minstd_rand::result_type>(random_bits())),
        channels_(connection_,
                  [this](std::string_view words, const std::string& of_slot) { on_refused_channel(words, of_slot); }),
        runner_(*this, r, options.drift,
                pipeline(request_writer::make, options.command_timeout,
                         /*may_bundle=*/r == nullptr || r->may_bundle())),
        state_(options.reconnect, runner_, owner) {
    connection_.set_receive_response(push_sink_);
  }

  void start(std::shared_ptr<void> keep_alive) override {
    destination_.start([weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->follow_master();
    });
    // An exception (std::bad_alloc) leaves run(). `detached` would drop it.
    asio::co_spawn(strand_, run_connections(this->shared_from_this(), std::move(keep_alive)), [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    });
  }

  void stop() override {
    state_.stop();
    connection_.cancel(redis::operation::all);
    destination_.stop();
    proof_.password->stop();
    pause_.cancel();
    watch_.cancel();
    if (witness_) witness_->stop();
  }

  store::memory known() const override {
    store::memory m;
    m.servers = {state_.known()};
    m.hosts = destination_.sentinels_known();
    return m;
  }
  void assume(const store::memory& m) override {
    if (m.servers.empty()) return;
    state_.assume(m.servers.front());
    destination_.assume_sentinels(m.hosts);
  }

  bool up() const override { return can_send(); }
  std::uint64_t epoch() const override { return state_.epoch(); }

  bool run(std::shared_ptr<caller> the_caller, std::uint32_t tag) override {
    if (!can_send()) return false;
    watch(runner_.run(std::move(the_caller), tag));
    return true;
  }

  void take_over(call c) override { runner_.take_over(std::move(c)); }

  bool run_acknowledged(std::shared_ptr<caller> the_caller, std::uint32_t tag, std::uint32_t replicas,
                        std::chrono::milliseconds limit) override {
    if (!can_send()) return false;
    witness::run(witness_, another_, std::move(the_caller), tag, replicas, limit);
    return true;
  }

  void exec(const redis_server::commands& all, std::chrono::milliseconds longer,
            std::function<void(const std::vector<reply>*)> then) override {
    if (!can_send()) return asio::post(strand_, [then = std::move(then)] { then(nullptr); });
    const auto request = std::make_shared<redis::request>(make_request());
    for (const auto& words : all) request->push_range(words.front(), std::next(words.begin()), words.end());
    const auto replies = std::make_shared<std::vector<reply>>();
    redis::any_adapter adapter([this, replies, begins = false](redis::any_adapter::parse_event e,
                                                               const redis::resp3::node_view& node,
                                                               error_code& ec) mutable {
      if (!this_one_.is_out_of_step) add_to_last(*replies, begins, e, node, ec);
    });
    const auto b = runner_.calls().expect(clock::now(), options_.command_timeout + longer);
    watch(b->gives_up_at(b->sent));
    connection_.async_exec(
        *request, std::move(adapter),
        [weak = this->weak_from_this(), request, replies, b, number = all.size(),
         is_login = all.front().front() == "AUTH", then = std::move(then)](error_code ec, std::size_t) {
          const auto self = weak.lock();
          if (self && !ec) self->runner_.calls().heard(clock::now());
          if (self) self->runner_.calls().end(b);
          const bool has_left = !ec && !is_login && self && self->leaves(*replies);
          then(ec || has_left || replies->size() != number ? nullptr : replies.get());
        });
  }

  // Another password than the one that the connection has, and the function may know it.
  bool wants_password(std::string_view words) const { return proof_.password->asks() && is_about_password(words); }
  // The server wants another password, or has become a replica: the connection ends.
  bool leaves(const std::vector<reply>& replies) {
    const auto found = std::find_if(replies.begin(), replies.end(), [this](const reply& r) {
      return r.is_error() && (wants_password(r.text(0)) || is_read_only(r.text(0)));
    });
    if (found == replies.end()) return false;
    reset(found->text(0));
    return true;
  }

  void publish(const std::string& channel, std::string_view message) override {
    if (!can_send()) return;
    const auto request = std::make_shared<redis::request>(make_request());
    request->push("PUBLISH", channel, message);
    redis::any_adapter adapter([](redis::any_adapter::parse_event, const redis::resp3::node_view&, error_code&) {});
    connection_.async_exec(*request, std::move(adapter), [request](error_code, std::size_t) {});
  }

  void change_shard_channel(const std::string& channel, bool listen) override {
    if (can_send()) channels_.change_shard_channel(channel, listen);
  }
  void listen(const std::string& channel) override { channels_.listen(channel, can_send()); }
  void ignore(const std::string& channel) override { channels_.ignore(channel, can_send()); }

 private:
  using timer = asio::basic_waitable_timer<clock, wait_traits, Strand>;
  using awaitable = asio::awaitable<void, Strand>;

  // A static member: the coroutine's parameters keep the store and its owner alive while the loop runs.
  static awaitable run_connections(std::shared_ptr<redis_store> self, std::shared_ptr<void> keep_alive) {
    const asio::use_awaitable_t<Strand> use;
    redis::config config = self->destination_.config();
    connection_state& state = self->state_;
    while (!state.is_stopping()) {
      self->is_elsewhere_ = false;
      co_await self->destination_.look_up(state.next());
      if (state.is_stopping()) break;
      if (self->is_elsewhere_) {
        co_await rest_unless_urgent(self);
        continue;
      }
      const auto next = self->destination_.take(state.next(), config);
      const bool is_known = next.no_master == nullptr;
      if (is_known && self->proof_.password->asks()) {
        co_await get_credentials(self);
        if (state.is_stopping()) break;
        if (self->is_elsewhere_) {
          co_await rest_unless_urgent(self);
          continue;
        }
      }
      if (!(is_known ? self->can_identify_itself() : self->report(*next.no_master))) {
        if (state.is_stopping()) break;
        const auto pause = state.next().pause(self->random());
        co_await rest(self, pause);
        continue;
      }
      state.begins();
      self->this_one_ = {};
      self->shake_hands();
      self->watch(later(clock::now(), next.patience));
      self->keep_one_timer_first();
      error_code ec;
      auto token = asio::redirect_error(use, ec);
      co_await self->connection_.async_run(config, token);
      // Otherwise requests that were never written would wait for the next connection.
      self->connection_.cancel(redis::operation::exec);
      self->watch_.cancel();
      self->first_.cancel();
      self->proof_.password->release();
      const std::string why = self->why_ended(ec);
      const reconnection::plan plan = state.ended(why, clock::now(), self->random());
      if (!plan.is_reported) continue;
      if (plan.how != reconnection::end::lost) self->destination_.doubt();
      if (state.is_stopping()) break;
      if (plan.pause != clock::duration(0)) co_await rest(self, plan.pause);
    }
    // The answers of the last connection must arrive first.
    co_await asio::post(self->strand_, use);
    self->runner_.drain_all();
    std::exchange(self->events_, nullptr)->on_stopped();
    keep_alive.reset();
  }

  static awaitable rest(std::shared_ptr<redis_store> self, clock::duration pause) {
    self->pause_.expires_after(pause);
    error_code ignored;
    auto token = asio::redirect_error(asio::use_awaitable_t<Strand>(), ignored);
    co_await self->pause_.async_wait(token);
  }

  // Another master was announced before the connection began.
  static awaitable rest_unless_urgent(std::shared_ptr<redis_store> self) {
    const auto pause = self->state_.next().pause_unless_urgent(self->random());
    if (pause != clock::duration(0)) co_await rest(self, pause);
  }

  static awaitable get_credentials(std::shared_ptr<redis_store> self) {
    auto ask = [l = self->proof_.password.get(), server = self->destination_.server()](auto handler) {
      l->ask(server, std::move(handler));
    };
    const asio::use_awaitable_t<Strand> use;
    co_await asio::async_initiate<const asio::use_awaitable_t<Strand>&, void()>(ask, use);
  }

  // The next connection has a password and certificates. Otherwise the reason is reported.
  bool can_identify_itself() {
    std::string why = proof_.password->problem();
    if (why.empty()) why = proof_.tls.load();
    if (!why.empty()) {
      events_->on_no_answer(why);
    } else if (const auto& expired = proof_.tls.expired(); std::exchange(proof_.warned_of, expired) != expired) {
      if (!expired.empty()) events_->on_credentials(expired);
    }
    return why.empty();
  }

  double random() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

  // The Sentinels have announced another master.
  void follow_master() {
    is_elsewhere_ = true;
    if (state_.next().hurry(clock::now())) pause_.cancel();
    reset("the Sentinels have another master");
  }

  std::string why_ended(error_code ec) const {
    if (!state_.why_given_up().empty()) return state_.why_given_up();
    if (!this_one_.why_no_hello.empty()) return this_one_.why_no_hello;
    const bool is_silent_end = ec == asio::error::eof && !this_one_.has_answered;
    return proof_.tls.why_ended(ec.message() + (is_silent_end ? why_nothing_but_an_end : ""));
  }

  // Why the Sentinels know no master.
  bool report(const sentinels::result& found) {
    found.refused ? events_->on_refused(found.why) : events_->on_no_answer(found.why);
    return false;
  }

  // --- The first exchange on a connection (handshake.hpp) ---

  void shake_hands() {
    struct exchange {
      handshake script;
      std::vector<reply> replies;
      clock::time_point sent;
    };
    const auto e = std::make_shared<exchange>(
        exchange{handshake(destination_.where(), proof_.password->present(), channel_, destination_.is_master()),
                 {},
                 clock::now()});
    redis::any_adapter adapter([this, e, begins = false](redis::any_adapter::parse_event kind,
                                                         const redis::resp3::node_view& node, error_code& ec) mutable {
      this_one_.has_answered = true;
      add_to_last(e->replies, begins, kind, node, ec);
      // The server may close the connection behind these words.
      const bool is_first = kind == redis::any_adapter::parse_event::done && e->replies.size() == 1;
      if (is_first && e->replies.front().is_error()) this_one_.why_no_hello = why_no_hello(e->replies.front().text(0));
    });
    connection_.async_exec(e->script.request(), std::move(adapter),
                           [self = this->shared_from_this(), e, epoch = epoch()](error_code ec, std::size_t) {
                             if (ec || !self->state_.is_present(epoch) || self->state_.is_stopping()) return;
                             if (const auto o = e->script.read(e->replies)) self->on_handshake(*o, e->sent);
                           });
  }

  // If there is no outcome, the connection was lost, and run_connections handles that.
  void on_handshake(const handshake::outcome& o, clock::time_point sent) {
    if (!o.problem.empty()) {
      if (o.refused) state_.on_refused(o.problem, /*may_change=*/wants_password(o.problem));
      return reset(o.problem);
    }
    set_no_delay(connection_);
    const std::string objection = state_.on_greeting({o.run_id, o.server, o.time, sent}, clock::now(), [this] {
      watch_.cancel();
      channels_.listen_again();
      keep_authenticated();
    });
    if (!objection.empty()) reset(objection);
  }

  void keep_authenticated() {
    const auto weak = this->weak_from_this();
    proof_.password->keep({[weak](const credentials& c) {
                             if (const auto self = weak.lock()) self->authenticate(c);
                           },
                           [weak](std::string_view why) {
                             const auto self = weak.lock();
                             if (self && self->events_ != nullptr) self->events_->on_credentials(why);
                           }});
  }

  void authenticate(const credentials& c) {
    exec({{"AUTH", c.user.empty() ? "default" : c.user, c.password}}, std::chrono::milliseconds(0),
         [l = proof_.password](const std::vector<reply>* replies) {
           if (replies == nullptr) return;  // The connection has ended.
           l->authenticated(replies->front().is_error() ? replies->front().text(0) : std::string_view());
         });
  }

  // The replies of this connection no longer match its commands.
  void on_refused_channel(std::string_view words, const std::string& of_slot) {
    this_one_.is_out_of_step = true;
    asio::post(strand_, [self = this->shared_from_this(), of_slot, why = std::string(words), epoch = epoch()] {
      if (self->state_.is_stopping()) return;
      if (!of_slot.empty() && self->router_ != nullptr) {
        is_lasting(why) ? self->router_->on_no_shard_channels() : self->router_->on_refused_shard_channel(of_slot, why);
      }
      if (epoch == self->epoch()) self->reset(why);
    });
  }

  // Drops the connection; run_connections makes another.
  void reset(std::string_view why) {
    state_.give_up(why);
    connection_.cancel(redis::operation::run);
  }

  // --- Scripts: call_runner::connection ---

  bool can_send() const override { return state_.can_send(); }

  void flush_later() override {
    asio::post(strand_, [self = this->shared_from_this()] { self->flush(); });
  }

  void flush() override {
    const auto b = runner_.calls().flush(clock::now());
    if (!b) return;
    watch(b->gives_up_at(b->sent));
    // The connection keeps the adapter, so the adapter must not keep the store.
    redis::any_adapter adapter(
        [this, b](redis::any_adapter::parse_event e, const redis::resp3::node_view& node, error_code& ec) {
          if (this_one_.is_out_of_step) return;
          switch (e) {
            case redis::any_adapter::parse_event::init: reading_.clear(); break;
            case redis::any_adapter::parse_event::node: add_node(reading_, node, ec); break;
            case redis::any_adapter::parse_event::done:
              runner_.collect([&](pipeline& calls) { calls.on_reply(*b, std::move(reading_)); });
              reading_.clear();
              break;
          }
        });
    connection_.async_exec(request_writer::of(*b), std::move(adapter),
                           [self = this->shared_from_this(), b, epoch = epoch()](error_code ec, std::size_t) {
                             if (ec && self->state_.is_present(epoch)) self->reset("");
                             self->runner_.collect([&](pipeline& calls) { calls.end(b); });
                           });
  }

  // Callers must not run in the middle of a read of Boost.Redis.
  void drain_later() override {
    asio::post(strand_, [self = this->shared_from_this()] { self->runner_.drain(); });
  }

  // Pushes keep their order among the replies.
  void take(reply& pushed) {
    note_unread();
    const std::string_view kind = pushed.text(0);
    const bool expected = kind == "message" || kind == "smessage" || kind == "ssubscribe" || kind == "sunsubscribe" ||
                          (kind == "subscribe" && pushed.text(1) != channel_);
    if (pushed.size() == 3 && expected) runner_.collect([&](pipeline& calls) { calls.on_push(std::move(pushed)); });
    pushed.clear();
  }

  // push_sink has taken in all of a push, but for Boost.Redis it is unread, and 256 unread ones stall every command. An
  // operation that always waited for the next one would run before the callers that this one is for.
  void note_unread() {
    if (++unread_ < most_unread) return;
    unread_ = 0;
    asio::post(strand_, [self = this->shared_from_this()] {
      if (self->state_.is_stopping()) return;
      self->connection_.async_receive2([self](error_code) {});
    });
  }

  void on_push(const reply& push) override {
    if (events_ == nullptr) return;
    const auto kind = push.text(0);
    const auto channel = push.text(1);
    if (kind.ends_with("unsubscribe") || kind == "ssubscribe") {
      if (router_ != nullptr) router_->on_shard_channel(channel, kind == "ssubscribe");
    } else if ((kind == "smessage" && !is_leader_channel(channel)) || channel == channel_) {
      events_->on_message(push.text(2));
    } else {
      events_->on_channel(channel);
    }
  }

  // The server has become a replica: the name may stand for another one by now, and of a Sentinel group another server
  // must answer. Or the server wants another password.
  bool ends_with(std::string_view words) override {
    const bool is_replica = is_read_only(words);
    const bool ends = (destination_.is_master() && is_replica) || wants_password(words);
    if (ends || is_replica) reset(words);
    return ends;
  }

  // --- A server that does not answer ---

  // Gives the connection up at `due` unless its handshake was answered by then. Afterwards it is given up unless
  // something was heard within the patience of each batch that is not answered. (Otherwise a half-open connection would
  // stay unnoticed until the next health check.)
  void watch(clock::time_point due) {
    if (!state_.watch(due)) return;
    watch_.expires_at(due);
    watch_.async_wait([self = this->shared_from_this(), epoch = epoch()](error_code ec) {
      if (ec || !self->state_.is_present(epoch) || self->state_.is_stopping()) return;
      const auto next = self->state_.on_watch(clock::now());
      if (next) return self->watch(*next);
      // A server without TLS may take the TLS handshake for the beginning of a command, and wait for the rest.
      const bool is_tls_unanswered = !self->up() && self->destination_.where().tls;
      self->reset(is_tls_unanswered ? "no answer: does this port speak TLS?" : "no answer");
    });
  }

  // Asio sets the kernel's timer anew whenever a timer becomes the first one that is due. Those of Boost.Redis would do
  // that twice for each command. So one is always due before them.
  void keep_one_timer_first() {
    first_.expires_after(shortest_health_check / 2);
    first_.async_wait([weak = this->weak_from_this(), epoch = epoch()](error_code ec) {
      const auto self = weak.lock();
      if (!ec && self && self->state_.is_present(epoch) && !self->state_.is_stopping()) self->keep_one_timer_first();
    });
  }

  const Strand strand_;
  const client_options& options_;  // The options outlive the store.
  destination<Strand> destination_;
  store::events* events_;
  redis_server::router* const router_;  // Null: there is nothing to know.

  // As whom the client connects, and whom it believes.
  struct {
    tls_identity tls;
    std::shared_ptr<login> password;
    std::string warned_of;  // A certificate that has expired.
  } proof_;
  Connection connection_;
  timer pause_;
  timer watch_;
  // Of the clock of Boost.Redis's timers: see keep_one_timer_first.
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Strand> first_;

  const std::string channel_;
  const witness::maker another_;
  std::shared_ptr<witness> witness_;
  std::minstd_rand random_;
  bool is_elsewhere_ = false;  // The Sentinels have announced another master since they were asked.
  // Of the present connection.
  struct {
    std::string why_no_hello;  // What the server says instead of an answer to HELLO.
    bool has_answered = false;
    bool is_out_of_step = false;  // See on_refused_channel.
  } this_one_;

  channels<Connection> channels_;
  call_runner runner_;
  connection_state state_;
  reply reading_;
  static constexpr std::size_t most_unread = 64;
  std::size_t unread_ = 0;
  push_sink push_sink_{[this](reply& pushed) { take(pushed); }, {}};
};

}  // namespace

server_maker make_redis_servers(const asio::any_io_executor& executor, const client_options& options,
                                std::string client) {
  const auto make_on = [&]<class Connection>(typename Connection::executor_type strand) {
    using made = redis_store<Connection>;
    const auto make = [strand, &options](address where, std::string channel, store::events& events,
                                         redis_server::router* router) {
      const witness::maker another = [strand, &options, where](store::events& e) {
        return std::make_shared<made>(strand, where, options, std::string(), e, nullptr, witness::maker());
      };
      return std::make_shared<made>(strand, std::move(where), options, std::move(channel), events, router, another);
    };
    return server_maker(strand, options, std::move(client), make);
  };
  // A concrete executor: type erasure costs Boost.Redis a third of its speed.
  using known_strand = asio::strand<asio::io_context::executor_type>;
  const auto* const known = executor.target<asio::io_context::executor_type>();
  return known != nullptr ? make_on.operator()<redis::basic_connection<known_strand>>(asio::make_strand(*known))
                          : make_on.operator()<redis::connection>(asio::make_strand(executor));
}

}  // namespace leasehold::detail
