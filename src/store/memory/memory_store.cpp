// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/memory_store.hpp"

#include "protocol/keys.hpp"
#include "protocol/slots.hpp"
#include "store/bundled_calls.hpp"
#include "store/known_server.hpp"
#include "time/pauses.hpp"
#include "time/random.hpp"
#include "time/timer.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <deque>
#include <iterator>
#include <random>
#include <set>
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

// As in redis/redis.cpp: the time between the two checks of a connection that seems silent.
constexpr std::chrono::milliseconds second_look{100};

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

// A script call, as it is sent.
struct script_call {
  const script* the_script;  // Null: the arguments are a command.
  bool whole_text = false, asking = false;
  std::vector<std::string> keys, arguments;
  detail::verb verb{};

  reply run(server& s, bool* wrote = nullptr) const {
    if (the_script == nullptr) return s.answer(arguments);
    const std::vector<std::string_view> k(keys.begin(), keys.end());
    const std::vector<std::string_view> a(arguments.begin(), arguments.end());
    return s.run(*the_script, whole_text, k, a, asking, wrote);
  }
};

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

class memory_store final : public redis_server, public std::enable_shared_from_this<memory_store> {
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
        clock_(options.drift),
        running_(strand_),
        pauses_(options.reconnect),
        random_(random_bits()) {}
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
    if (std::exchange(stopping_, true)) return;
    up_ = false;
    if (link_) link_->drop();
    where_.over->stop();
    asio::post(strand_, [self = shared_from_this()] {
      self->fail_calls();
      self->link_.reset();
      self->running_.cancel();
      if (self->events_ != nullptr) std::exchange(self->events_, nullptr)->on_stopped();
    });
  }

  store::memory known() const override {
    store::memory m;
    m.servers = {server_.as_memory()};
    return m;
  }
  void assume(const store::memory& m) override {
    if (m.servers.empty()) return;
    server_.assume(m.servers.front());
  }

  bool up() const override { return up_; }
  std::uint64_t epoch() const override { return epoch_; }

  bool run(std::shared_ptr<caller> the_caller, std::uint32_t tag) override {
    if (!up_) return false;
    const bool has_slots = router_ != nullptr && router_->has_slots();
    const std::uint16_t slot = has_slots ? slot_of(the_caller->request_of(tag).keys.record) : 0;
    send_call({std::move(the_caller), tag, clock::now(), slot});
    return true;
  }

  void take_over(call c) override {
    c.whole_text = false;
    send_call(std::move(c));
  }

  // WAIT counts the replicas that have the last write of its own connection, or all replicas if the connection has
  // written nothing.
  bool run_acknowledged(std::shared_ptr<caller> the_caller, std::uint32_t tag, std::uint32_t replicas,
                        std::chrono::milliseconds limit) override {
    if (!up_) return false;
    const auto sent = clock::now();
    auto r = written(*the_caller, tag);
    r.whole_text = true;
    const auto v = r.verb;
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

  void exec(const commands& all, std::chrono::milliseconds,
            std::function<void(const std::vector<client_reply>*)> then) override {
    if (!up_) return asio::post(strand_, [then = std::move(then)] { then(nullptr); });
    execs_.push_back(std::move(then));
    link_->send([l = link_, all](memory_server& at) {
      std::vector<client_reply> replies;
      for (const auto& command : all) flatten(at.answer(command), replies.emplace_back());
      l->reply_to_client([replies = std::move(replies)](memory_store& self) { self.on_executed(replies); });
    });
  }

  void publish(const std::string& channel, std::string_view message) override {
    if (!up_) return;
    link_->send([command = std::vector<std::string>{"PUBLISH", channel, std::string(message)}](memory_server& at) {
      at.answer(command);
    });
  }

  void change_shard_channel(const std::string& channel, bool listen) override {
    if (!up_) return;
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
        self.router_->on_shard_channel(channel, listen);
      });
    });
  }

  void listen(const std::string& channel) override {
    if (channels_.insert(channel).second && up_) subscribe(channel);
  }
  void ignore(const std::string& channel) override {
    if (channels_.erase(channel) == 0 || !up_) return;
    link_->send([l = link_, channel](memory_server& at) {
      if (!is_refused(at, *l)) l->channels.erase(channel);
    });
  }

  // --- What arrives through a link ---

  void arrived(const std::shared_ptr<link>& from, std::function<void(memory_store&)> f) {
    asio::post(strand_, [self = shared_from_this(), from, f = std::move(f)] {
      if (self->link_ != from || self->stopping_) return;
      self->heard_at_ = clock::now();
      self->doubted_ = false;
      f(*self);
    });
  }
  void lost(const std::shared_ptr<link>& which) {
    asio::post(strand_, [self = shared_from_this(), which] {
      if (self->link_ == which && !self->stopping_) self->drop_connection("the connection was closed");
    });
  }
  void on_published(const std::string& channel, const std::string& message) {
    const bool is_own = !channels_.contains(channel) && !is_leader_channel(channel);
    is_own ? events_->on_message(message) : events_->on_channel(channel);
  }
  void on_left(const std::string& channel) {
    if (router_ != nullptr) router_->on_shard_channel(channel, false);
  }

 private:
  struct pending_command {
    calls of;
    clock::time_point sent;
    std::chrono::milliseconds patience;
  };
  struct acknowledged_call {
    std::shared_ptr<caller> the_caller;
    std::uint32_t tag;
    clock::time_point sent;
  };

  // As in redis.cpp.
  bool pushes_grants(std::uint16_t slot, bool asking) const {
    return router_ == nullptr || asking || router_->pushes_grants(slot);
  }

  script_call written(caller& the_caller, std::uint32_t tag, bool pushes_grants = true) {
    const auto what = the_caller.request_of(tag);
    const auto planned = plan(what, clock::now(), clock_, pushes_grants);
    if (what.of_kind == nullptr) {
      the_caller.sent(tag, planned);
      return {nullptr, false, false, {}, command_of(what), what.verb};
    }
    arguments args;
    write(what, planned, args);
    the_caller.sent(tag, planned);
    const auto keys = args.keys();
    const auto rest = args.args();
    return {what.of_kind, false, false, {keys.begin(), keys.end()}, {rest.begin(), rest.end()}, what.verb};
  }

  // What is called in one turn goes out together, as in redis/pipeline.cpp.
  void send_call(call c) {
    const auto what = c.the_caller->request_of(c.tag);
    c.verb = what.verb;
    const bool pushes = pushes_grants(c.slot, c.asking);
    if (!bundled_.has_room_for(c, what, pushes)) send_bundle();
    const bool may_bundle = router_ == nullptr || router_->may_bundle();
    if (may_bundle && bundled_calls::takes(c, what)) {
      if (bundled_.empty()) gather();
      return bundled_.add(std::move(c), what, clock::now(), clock_, pushes);
    }
    auto r = written(*c.the_caller, c.tag, pushes);
    r.whole_text = c.whole_text;
    r.asking = c.asking;
    calls one;
    one.push_back(std::move(c));
    send_command(std::move(one), std::move(r));
  }

  void gather() {
    const auto send = [l = link_](memory_store& self) {
      if (self.link_ == l && self.up_) self.send_bundle();
    };
    const auto longer = where_.over->gathers();
    if (longer == clock::duration(0)) return asio::post(strand_, [self = shared_from_this(), send] { send(*self); });
    where_.over->at(where_.over->now() + longer, [weak = weak_from_this(), send] {
      const auto self = weak.lock();
      if (self) asio::post(self->strand_, [self, send] { send(*self); });
    });
  }

  void send_bundle() {
    if (bundled_.empty()) return;
    arguments args;
    bundled_.write(args);
    const auto keys = args.keys();
    const auto rest = args.args();
    script_call r{
        &bundled_.of_kind(), bundled_.whole_text(), false, {keys.begin(), keys.end()}, {rest.begin(), rest.end()}};
    send_command(bundled_.take(), std::move(r));
  }

  void send_command(calls of, script_call r) {
    auto patience = command_timeout_;
    for (const auto& c : of) patience = std::min(patience, c.the_caller->patience_of(c.tag));
    const auto sent = of.front().sent;
    commands_.push_back({std::move(of), sent, patience});
    watch(patience);
    link_->send([l = link_, r = std::move(r)](memory_server& at) {
      l->reply_to_client([answered = r.run(at)](memory_store& self) { self.on_reply(answered); });
    });
  }

  void on_reply(const memory_reply& from) {
    if (commands_.empty()) return;
    auto of = std::move(commands_.front().of);
    commands_.pop_front();
    client_reply r;
    flatten(from, r);
    const bool refused = is_refused_as_a_whole(of, r);
    for_each_reply(of, r, [this, refused](call c, const client_reply& one) {
      c.alone = refused;
      if (!refused || !c.the_caller->wants(c.tag)) return settle(std::move(c), one);
      send_call(std::move(c));
    });
  }

  void settle(call c, const client_reply& r) {
    const bool unknown = r.is_error() && is_unknown_script(r.text(0)) && !c.whole_text;
    if (unknown && c.the_caller->wants(c.tag)) {
      c.whole_text = true;
      return send_call(std::move(c));
    }
    const bool elsewhere =
        router_ != nullptr && r.is_error() && (is_redirection(r.text(0)) || wants_tagged_keys(r.text(0)));
    if (elsewhere && c.the_caller->wants(c.tag) && router_->redirect(c, r.text(0))) return;
    const auto the_caller = std::move(c.the_caller);
    const outcome o = read_outcome(c.verb, r);
    the_caller->answered(c.tag, answer{unknown ? nullptr : &o, c.sent, clock::now(), &clock_});
  }

  // In the order in which they were sent.
  void on_executed(const std::vector<client_reply>& replies) {
    const auto then = std::move(execs_.front());
    execs_.pop_front();
    then(&replies);
  }

  void on_acknowledged(const std::shared_ptr<caller>& the_caller, std::uint32_t tag, clock::time_point sent,
                       const outcome& o) {
    if (forget_wait(the_caller, tag)) the_caller->answered(tag, answer{&o, sent, clock::now(), &clock_});
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
    if (stopping_) return;
    const auto guard = where_.over->lock();
    ++epoch_;
    link_ = std::make_shared<link>(*where_.to, where_.over, weak_from_this());
    if (where_.on_connect) where_.on_connect(link_);
    if (!where_.to->is_up()) return lost(link_);
    where_.over->at(where_.over->now() + connect_timeout_, [weak = weak_from_this(), l = link_] {
      if (const auto self = weak.lock()) self->give_up_connecting(l);
    });
    link_->send([l = link_, sent = clock::now(), channel = channel_](memory_server& at) {
      at.attach(l);
      if (is_refused(at, *l)) return;
      if (!channel.empty()) l->channels.insert(channel);
      store::server found;
      found.version = "7.0.0";
      found.maxmemory_policy = at.maxmemory_policy;
      found.uptime = at.uptime();
      l->reply_to_client([sent, found, run_id = at.run_id(), time = at.time()](memory_store& self) {
        self.on_connected(run_id, found, time, sent);
      });
    });
  }

  // A busy server refuses the first commands of a connection, which does not come up then; and subscriptions, after
  // which redis.cpp gives the connection up.
  static bool is_refused(const memory_server& at, link& l) {
    if (at.is_busy) l.reply_to_client([](memory_store& self) { self.drop_connection(busy); });
    return at.is_busy;
  }

  void give_up_connecting(const std::shared_ptr<link>& l) {
    asio::post(strand_, [self = shared_from_this(), l] {
      if (self->link_ == l && !self->up_ && !self->stopping_) self->drop_connection("no answer");
    });
  }

  void on_connected(const std::string& run_id, store::server found, std::chrono::microseconds time,
                    clock::time_point sent) {
    if (up_) return;
    if (const auto objection = events_->objection(run_id); !objection.empty()) {
      events_->on_refused(objection);
      return drop_connection(objection, /*is_reported=*/true);
    }
    server_.on_up(run_id, found);
    if (found.another) clock_.reset();
    const auto jump = clock_.observe(time.count(), sent, clock::now());
    up_ = true;
    pauses_.reset();
    if (jump != clock::duration(0)) events_->on_clock_jump(jump);
    for (const auto& channel : channels_) subscribe(channel);
    events_->on_up(found);
  }

  void subscribe(const std::string& channel) {
    link_->send([l = link_, channel](memory_server& at) {
      if (is_refused(at, *l)) return;
      l->channels.insert(channel);
      l->reply_to_client([channel](memory_store& self) { self.events_->on_channel(channel); });
    });
  }

  void drop_connection(std::string_view why, bool is_reported = false) {
    std::exchange(link_, nullptr)->drop();
    const bool was_up = std::exchange(up_, false);
    doubted_ = false;
    for (const auto& c : take_calls()) {
      asio::post(strand_, [c] { c.the_caller->answered(c.tag, answer{nullptr, c.sent, clock::now(), nullptr}); });
    }
    for (auto& then : std::exchange(execs_, {})) asio::post(strand_, [then = std::move(then)] { then(nullptr); });
    if (!is_reported) was_up ? events_->on_down(why) : events_->on_no_answer(why);
    if (stopping_) return;
    const auto pause = pauses_.next(std::uniform_real_distribution<double>(0.0, 1.0)(random_));
    where_.over->at(where_.over->now() + pause, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self) asio::post(self->strand_, [self] { self->connect(); });
    });
  }

  // All that are not answered.
  std::vector<call> take_calls() {
    std::vector<call> all;
    for (auto& command : std::exchange(commands_, {})) {
      std::move(command.of.begin(), command.of.end(), std::back_inserter(all));
    }
    auto rest = bundled_.take();
    std::move(rest.begin(), rest.end(), std::back_inserter(all));
    return all;
  }

  void fail_calls() {
    for (const auto& c : take_calls()) c.the_caller->answered(c.tag, answer{nullptr, c.sent, clock::now(), nullptr});
    for (const auto& w : std::exchange(waits_, {})) {
      w.the_caller->answered(w.tag, answer{nullptr, w.sent, clock::now(), nullptr});
    }
    for (const auto& then : std::exchange(execs_, {})) then(nullptr);
  }

  // --- A server that does not answer ---

  void watch(clock::duration in) {
    where_.over->at(where_.over->now() + in, [weak = weak_from_this(), l = link_] {
      const auto self = weak.lock();
      if (!self || self->link_ != l || self->commands_.empty()) return;
      asio::post(self->strand_, [self, l] {
        if (self->link_ == l && self->up_ && !self->stopping_) self->look_for_silence();
      });
    });
  }

  void look_for_silence() {
    const auto now = clock::now();
    const bool is_silent = std::any_of(commands_.begin(), commands_.end(), [&](const auto& c) {
      return now >= later(std::max(c.sent, heard_at_), c.patience);
    });
    if (!is_silent) {
      if (!commands_.empty()) watch(second_look);
      return;
    }
    // Perhaps the client stood still, and data that has arrived is not read yet.
    if (std::exchange(doubted_, true)) return drop_connection("no answer");
    watch(second_look);
  }

  const asio::any_io_executor strand_;
  const endpoint where_;
  const std::chrono::milliseconds connect_timeout_;
  const std::chrono::milliseconds command_timeout_;
  events* events_;
  router* const router_;  // Null: there is nothing to know.
  const std::string channel_;
  server_clock clock_;
  timer running_;
  pauses pauses_;
  std::mt19937_64 random_;
  std::shared_ptr<link> link_;
  std::uint64_t epoch_ = 0;
  known_server server_;
  bool up_ = false;
  bool stopping_ = false;
  bool doubted_ = false;
  clock::time_point heard_at_{};
  std::deque<pending_command> commands_;
  bundled_calls bundled_;
  std::vector<acknowledged_call> waits_;
  std::deque<std::function<void(const std::vector<client_reply>*)>> execs_;
  std::set<std::string> channels_;
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
    self.on_published(channel, message);
  });
}

void link::on_left(std::string_view channel) {
  reply_to_client([channel = std::string(channel)](memory_store& self) { self.on_left(channel); });
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
