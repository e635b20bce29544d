// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/memory_store.hpp"

#include "protocol/keys.hpp"
#include "protocol/refusal.hpp"
#include "store/call_runner.hpp"
#include "store/connection_state.hpp"
#include "store/memory/command_list.hpp"
#include "store/server_info.hpp"
#include "time/random.hpp"
#include "time/timer.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail::memory {
namespace {

namespace asio = boost::asio;

using events = leasehold::detail::store::events;
using client_reply = leasehold::detail::reply;
// The class store has members of the same names.
using memory_server = server;
using memory_reply = reply;

// As add_node of redis/connections.cpp: the scalars in order.
void flatten(const reply& from, client_reply& to) {
  switch (from.type) {
    case reply::kind::array:
      for (const auto& item : from.items) flatten(item, to);
      return;
    case reply::kind::error: to.set_error(); break;
    case reply::kind::integer: return to.add(std::to_string(from.integer));
    default: break;
  }
  to.add(from.text);
}

class memory_store;

// One connection, between the network's two ends. It outlives the client: what was sent may arrive after the client's
// end.
class link final : public session, public connection, public std::enable_shared_from_this<link> {
 public:
  link(server& to, std::shared_ptr<network> over, std::weak_ptr<memory_store> client)
      : server_(to), network_(std::move(over)), client_(std::move(client)) {}

  // Runs f at the server once it has arrived there.
  void send(std::function<void(server&)> f) {
    const auto guard = network_->lock();
    to_server_ = std::max(to_server_, network_->now() + network_->takes());
    network_->to_server(to_server_,
                        [self = shared_from_this(), f = std::move(f)]() mutable { self->arrive(std::move(f)); });
  }
  // Runs f in the client once it has arrived there.
  void reply_to_client(std::function<void(memory_store&)> f);

  void deliver(std::string_view channel, std::string_view message) override;
  void close() override { cut(); }
  void on_left(std::string_view channel) override;
  void cut() override;
  // The client has ended, or has given the connection up.
  void drop() {
    const auto guard = network_->lock();
    is_cut_ = true;
    server_.detach(*this);
  }
  bool is_cut() const { return is_cut_; }

 private:
  void arrive(std::function<void(server&)> f) {
    if (!is_cut_) return run(std::move(f));
    // Messages arrive in order, and no message arrives after one that was lost.
    const auto more = is_closed_ ? std::nullopt : network_->late();
    if (!more) {
      is_closed_ = true;
      return;
    }
    late_at_ = std::max(late_at_, network_->now() + *more);
    network_->at(late_at_, [self = shared_from_this(), f = std::move(f)]() mutable { self->run(std::move(f)); });
  }
  void run(std::function<void(server&)> f) {
    // The usual case, without another function.
    if (!is_cut_ && !server_.is_frozen()) return server_.arrive(std::move(f));
    server_.arrive([self = shared_from_this(), f = std::move(f)](server& s) {
      s.runs_late_bytes = self->is_cut_;
      f(s);
      s.runs_late_bytes = false;
    });
  }

  server& server_;
  const std::shared_ptr<network> network_;
  const std::weak_ptr<memory_store> client_;
  clock::time_point to_server_{};
  clock::time_point to_client_{};
  clock::time_point late_at_{};
  bool is_cut_ = false;
  bool is_closed_ = false;
};

class memory_store final : public redis_server,
                           private call_runner::connection,
                           public std::enable_shared_from_this<memory_store> {
 public:
  memory_store(asio::any_io_executor strand, endpoint where, const client_options& options, std::string channel,
               events& owner, router* r)
      : strand_(std::move(strand)),
        where_(std::move(where)),
        connect_timeout_(options.connect_timeout),
        command_timeout_(options.command_timeout),
        events_(&owner),
        router_(r),
        channel_(std::move(channel)),
        running_(strand_),
        random_(static_cast<std::minstd_rand::result_type>(random_bits())),
        runner_(*this, r, options.drift,
                pipeline(command_list::make, options.command_timeout,
                         /*may_bundle=*/r == nullptr || r->may_bundle(), where_.over->most_under_way())),
        state_(options.reconnect, runner_, owner) {}
  ~memory_store() {
    if (link_) link_->drop();
    where_.over->stop();
  }

  void start(std::shared_ptr<void> keep_alive) override {
    // As the coroutines of a real connection do, this is work of the execution context, and ends with it.
    running_.wait(clock::time_point::max(), [kept = std::move(keep_alive)](error_code) {});
    connect();
  }

  void stop() override {
    if (state_.is_stopping()) return;
    state_.stop();
    if (link_) link_->drop();
    where_.over->stop();
    asio::post(strand_, [self = shared_from_this()] {
      self->fail_what_is_under_way();
      self->state_.ended({}, clock::now(), 0.0);
      for (const auto& w : std::exchange(self->waits_, {})) {
        w.the_caller->answered(w.tag, answer{nullptr, w.sent, clock::now(), nullptr});
      }
      for (const auto& e : std::exchange(self->execs_, {})) e.then(nullptr);
      self->link_.reset();
      self->running_.cancel();
      if (self->events_ != nullptr) std::exchange(self->events_, nullptr)->on_stopped();
    });
  }

  store::memory known() const override {
    store::memory m;
    m.servers = {state_.known()};
    return m;
  }
  void assume(const store::memory& m) override {
    if (m.servers.empty()) return;
    state_.assume(m.servers.front());
  }

  bool up() const override { return can_send(); }
  std::uint64_t epoch() const override { return state_.epoch(); }

  bool run(std::shared_ptr<caller> the_caller, std::uint32_t tag) override {
    if (!can_send()) return false;
    watch(runner_.run(std::move(the_caller), tag));
    return true;
  }

  void take_over(call c) override { runner_.take_over(std::move(c)); }

  // WAIT counts the replicas that have the last write of its own connection, or all replicas if the connection has
  // written nothing.
  bool run_acknowledged(std::shared_ptr<caller> the_caller, std::uint32_t tag, std::uint32_t replicas,
                        std::chrono::milliseconds limit) override {
    if (!can_send()) return false;
    const auto sent = clock::now();
    const auto v = the_caller->request_of(tag).verb;
    auto r = written(*the_caller, tag);
    waits_.push_back({the_caller, tag, sent});
    // After the limit and the time of a command, no answer follows.
    where_.over->at(where_.over->now() + limit + command_timeout_, [weak = weak_from_this(), the_caller, tag, sent] {
      if (const auto self = weak.lock()) self->give_up_waiting(the_caller, tag, sent);
    });
    link_->send([l = link_, r = std::move(r), the_caller = std::weak_ptr(the_caller), tag, sent, replicas, limit, v,
                 over = where_.over](memory_server& at) {
      bool wrote = false;
      const auto answered = r.run(at, &wrote);
      const auto number = [wrote, &at] { return wrote ? at.replicas_that_answer : at.replicas; };
      over->at(over->now() + (number() >= replicas ? over->takes() : clock::duration(limit)),
               [l, answered, the_caller, tag, sent, v, number] {
                 l->reply_to_client([the_caller, tag, sent, answered, v, n = number()](memory_store& self) {
                   client_reply said;
                   flatten(answered, said);
                   outcome o = read_outcome(v, said);
                   o.acknowledged = static_cast<std::uint32_t>(n);
                   self.on_acknowledged(the_caller.lock(), tag, sent, o);
                 });
               });
    });
    return true;
  }

  void exec(const commands& all, std::chrono::milliseconds longer,
            std::function<void(const std::vector<client_reply>*)> then) override {
    if (!can_send()) return asio::post(strand_, [then = std::move(then)] { then(nullptr); });
    const auto b = runner_.calls().expect(clock::now(), command_timeout_ + longer);
    watch(b->gives_up_at(b->sent));
    execs_.push_back({b, std::move(then)});
    link_->send([l = link_, all](memory_server& at) {
      std::vector<client_reply> replies;
      for (const auto& command : all) flatten(at.answer(command), replies.emplace_back());
      l->reply_to_client([replies = std::move(replies)](memory_store& self) { self.on_executed(replies); });
    });
  }

  void publish(const std::string& channel, std::string_view message) override {
    if (!can_send()) return;
    link_->send([command = std::vector<std::string>{"PUBLISH", channel, std::string(message)}](memory_server& at) {
      at.answer(command);
    });
  }

  void change_shard_channel(const std::string& channel, bool listen) override {
    if (!can_send()) return;
    link_->send([l = link_, channel, listen](memory_server& at) {
      if (is_refused(at, *l)) return;
      const auto refusal = listen ? at.subscribe_in_slot(*l, channel) : std::nullopt;
      if (!listen) l->shard_channels.erase(channel);
      l->reply_to_client([channel, listen, refusal](memory_store& self) {
        // redis.cpp gives up a connection whose replies do not match its commands any more.
        if (refusal) {
          is_lasting(refusal->text) ? self.router_->on_no_shard_channels()
                                    : self.router_->on_refused_shard_channel(channel, refusal->text);
          return self.drop_connection(refusal->text);
        }
        self.on_pushed(listen ? "ssubscribe" : "sunsubscribe", channel, "");
      });
    });
  }

  void listen(const std::string& channel) override {
    if (channels_.insert(channel).second && can_send()) subscribe(channel);
  }
  void ignore(const std::string& channel) override {
    if (channels_.erase(channel) == 0 || !can_send()) return;
    link_->send([l = link_, channel](memory_server& at) {
      if (!is_refused(at, *l)) l->channels.erase(channel);
    });
  }

  // --- What arrives through a link ---

  void arrived(const std::shared_ptr<link>& from, std::function<void(memory_store&)> f) {
    asio::post(strand_, [self = shared_from_this(), from, f = std::move(f)] {
      if (self->link_ != from || self->state_.is_stopping()) return;
      self->runner_.calls().heard(clock::now());
      f(*self);
    });
  }
  void lost(const std::shared_ptr<link>& which) {
    asio::post(strand_, [self = shared_from_this(), which] {
      if (self->link_ == which && !self->state_.is_stopping()) self->drop_connection("the connection was closed");
    });
  }
  // Pushes keep their order among the replies. The kinds are Redis's, but every message is a `message`.
  void on_pushed(std::string_view kind, std::string_view channel, std::string_view message) {
    client_reply r;
    for (const auto word : {kind, channel, message}) r.add(word);
    runner_.collect([&r](pipeline& calls) { calls.on_push(std::move(r)); });
  }

 private:
  struct acknowledged_call {
    std::shared_ptr<caller> the_caller;
    std::uint32_t tag;
    clock::time_point sent;
  };

  struct execution {
    std::shared_ptr<pipeline::batch> expected;
    std::function<void(const std::vector<client_reply>*)> then;
  };

  script_call written(caller& the_caller, std::uint32_t tag) {
    const auto what = the_caller.request_of(tag);
    const auto planned = plan(what, clock::now(), runner_.clock_there(), /*pushes_grants=*/true);
    arguments args;
    if (what.of_kind != nullptr) write(what, planned, args);
    the_caller.sent(tag, planned);
    if (what.of_kind == nullptr) return script_call(command_of(what));
    return {*what.of_kind, /*whole_text=*/true, /*asking=*/false, args};
  }

  // --- Scripts: call_runner::connection ---

  bool can_send() const override { return state_.can_send(); }

  void flush_later() override {
    const auto longer = where_.over->gathers();
    if (longer == clock::duration(0)) return asio::post(strand_, [self = shared_from_this()] { self->flush(); });
    where_.over->at(where_.over->now() + longer, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self) asio::post(self->strand_, [self] { self->flush(); });
    });
  }

  void flush() override {
    if (!can_send()) return;
    const auto b = runner_.calls().flush(clock::now());
    if (!b) return;
    in_flight_.push_back(b);
    watch(b->gives_up_at(b->sent));
    for (auto& c : command_list::take(*b)) {
      link_->send([l = link_, b, c = std::move(c)](memory_server& at) {
        l->reply_to_client([b, replies = c.replies, answered = c.what.run(at)](memory_store& self) {
          self.on_reply(b, replies, answered);
        });
      });
    }
  }

  void on_reply(const std::shared_ptr<pipeline::batch>& b, std::size_t replies, const memory_reply& last) {
    client_reply r;
    flatten(last, r);
    runner_.collect([&](pipeline& calls) {
      while (--replies != 0) calls.on_reply(*b, client_reply());
      calls.on_reply(*b, std::move(r));
      if (b->answered != b->commands.size()) return;
      std::erase(in_flight_, b);
      calls.end(b);
    });
  }

  void drain_later() override {
    asio::post(strand_, [self = shared_from_this()] { self->runner_.drain(); });
  }

  void on_push(const client_reply& push) override {
    const auto kind = push.text(0);
    const auto channel = push.text(1);
    if (kind == "sunsubscribe" || kind == "ssubscribe") {
      if (router_ != nullptr) router_->on_shard_channel(channel, kind == "ssubscribe");
    } else if (kind == "message" && !channels_.contains(channel) && !is_leader_channel(channel)) {
      events_->on_message(push.text(2));
    } else {
      events_->on_channel(channel);
    }
  }
  // There are no replicas, and no passwords.
  bool ends_with(std::string_view) override { return false; }

  // In the order in which they were sent.
  void on_executed(const std::vector<client_reply>& replies) {
    const auto done = std::move(execs_.front());
    execs_.pop_front();
    runner_.calls().end(done.expected);
    done.then(&replies);
  }

  void on_acknowledged(const std::shared_ptr<caller>& the_caller, std::uint32_t tag, clock::time_point sent,
                       const outcome& o) {
    if (forget_wait(the_caller, tag)) the_caller->answered(tag, answer{&o, sent, clock::now(), &runner_.clock_there()});
  }
  void give_up_waiting(const std::shared_ptr<caller>& the_caller, std::uint32_t tag, clock::time_point sent) {
    asio::post(strand_, [self = shared_from_this(), the_caller, tag, sent] {
      if (self->forget_wait(the_caller, tag)) the_caller->answered(tag, answer{nullptr, sent, clock::now(), nullptr});
    });
  }
  // A caller may wait again, with another tag, before the time of an earlier wait is over.
  bool forget_wait(const std::shared_ptr<caller>& the_caller, std::uint32_t tag) {
    const auto found = std::find_if(waits_.begin(), waits_.end(), [&the_caller, tag](const auto& w) {
      return w.the_caller == the_caller && w.tag == tag;
    });
    if (found == waits_.end()) return false;
    waits_.erase(found);
    return true;
  }

  // --- The connection ---

  void connect() {
    if (state_.is_stopping()) return;
    const auto guard = where_.over->lock();
    state_.begins();
    link_ = std::make_shared<link>(*where_.to, where_.over, weak_from_this());
    if (where_.on_connect) where_.on_connect(link_);
    if (!where_.to->is_up()) return lost(link_);
    watch(later(clock::now(), connect_timeout_));
    link_->send([l = link_, sent = clock::now(), channel = channel_](memory_server& at) {
      at.attach(l);
      if (is_refused(at, *l)) return;
      if (!channel.empty()) l->channels.insert(channel);
      l->reply_to_client([sent, info = at.info(), time = at.time()](memory_store& self) {
        self.on_connected(read_server_info(info), time, sent);
      });
    });
  }

  // A busy server refuses the first commands of a connection, which does not come up then; and subscriptions, after
  // which redis.cpp gives the connection up.
  static bool is_refused(const memory_server& at, link& l) {
    if (at.is_busy) l.reply_to_client([](memory_store& self) { self.drop_connection(busy); });
    return at.is_busy;
  }

  void on_connected(const server_info& about, std::chrono::microseconds time, clock::time_point sent) {
    if (can_send()) return;
    if (!about.why_unfit.empty()) {
      state_.on_refused(about.why_unfit);
      return drop_connection(about.why_unfit);
    }
    const connection_state::greeting greeting{about.run_id, about.server, time.count(), sent};
    const std::string objection = state_.on_greeting(greeting, clock::now(), [this] {
      for (const auto& channel : channels_) subscribe(channel);
    });
    if (!objection.empty()) drop_connection(objection);
  }

  void subscribe(const std::string& channel) {
    link_->send([l = link_, channel](memory_server& at) {
      if (is_refused(at, *l)) return;
      l->channels.insert(channel);
      l->reply_to_client([channel](memory_store& self) { self.on_pushed("subscribe", channel, ""); });
    });
  }

  void drop_connection(std::string_view why) {
    std::exchange(link_, nullptr)->drop();
    const double random = std::uniform_real_distribution<double>(0.0, 1.0)(random_);
    const auto plan = state_.ended(why, clock::now(), random);
    // In a later turn, as requests fail that Boost.Redis cancels.
    fail_what_is_under_way();
    for (auto& e : std::exchange(execs_, {})) asio::post(strand_, [then = std::move(e.then)] { then(nullptr); });
    if (state_.is_stopping()) return;
    where_.over->at(where_.over->now() + plan.pause, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self) asio::post(self->strand_, [self] { self->connect(); });
    });
  }

  void fail_what_is_under_way() {
    runner_.collect([this](pipeline& calls) {
      for (const auto& b : std::exchange(in_flight_, {})) calls.end(b);
      for (const auto& e : execs_) calls.end(e.expected);
    });
  }

  // --- A server that does not answer ---

  void watch(clock::time_point due) {
    if (!state_.watch(due)) return;
    where_.over->at(where_.over->now() + (due - clock::now()), [weak = weak_from_this(), l = link_, due] {
      const auto self = weak.lock();
      if (!self) return;
      asio::post(self->strand_, [self, l, due] {
        if (self->link_ != l || !self->state_.is_watched_until(due) || self->state_.is_stopping()) return;
        const auto next = self->state_.on_watch(clock::now());
        next ? self->watch(*next) : self->drop_connection("no answer");
      });
    });
  }

  const asio::any_io_executor strand_;
  const endpoint where_;
  const std::chrono::milliseconds connect_timeout_;
  const std::chrono::milliseconds command_timeout_;
  events* events_;
  router* const router_;  // Null: there is nothing to know.
  const std::string channel_;
  timer running_;
  std::minstd_rand random_;
  std::shared_ptr<link> link_;
  call_runner runner_;
  connection_state state_;
  std::vector<std::shared_ptr<pipeline::batch>> in_flight_;
  std::vector<acknowledged_call> waits_;
  std::deque<execution> execs_;
  std::set<std::string, std::less<>> channels_;
};

void link::reply_to_client(std::function<void(memory_store&)> f) {
  if (is_cut_) return;
  to_client_ = std::max(to_client_, network_->now() + network_->takes());
  network_->to_client(to_client_, [self = shared_from_this(), f = std::move(f)]() mutable {
    const auto client = self->client_.lock();
    if (client && !self->is_cut_) client->arrived(self, std::move(f));
  });
}

void link::deliver(std::string_view channel, std::string_view message) {
  reply_to_client([channel = std::string(channel), message = std::string(message)](memory_store& self) {
    self.on_pushed("message", channel, message);
  });
}

void link::on_left(std::string_view channel) {
  reply_to_client(
      [channel = std::string(channel)](memory_store& self) { self.on_pushed("sunsubscribe", channel, ""); });
}

void link::cut() {
  const auto guard = network_->lock();
  if (std::exchange(is_cut_, true)) return;
  server_.detach(*this);
  if (const auto client = client_.lock()) client->lost(shared_from_this());
}

}  // namespace

std::shared_ptr<redis_server> make_memory_store(asio::any_io_executor strand, endpoint where,
                                                const client_options& options, std::string channel, events& owner,
                                                redis_server::router* router) {
  return std::make_shared<memory_store>(std::move(strand), std::move(where), options, std::move(channel), owner,
                                        router);
}

}  // namespace leasehold::detail::memory
