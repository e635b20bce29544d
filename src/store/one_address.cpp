// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/one_address.hpp"

#include "protocol/keys.hpp"
#include "protocol/refusal.hpp"
#include "protocol/slots.hpp"
#include "store/slot_channels.hpp"
#include "time/clock.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// The mark of tagged keys lives as long as a fence counter does, and is written again long before its end.
constexpr const char* life_of_mark = "172800000";
constexpr std::chrono::hours marks_again{12};
// For example for lack of memory.
constexpr std::chrono::seconds marks_after_refusal{1};

class one_address final : public store,
                          private store::events,
                          private redis_server::router,
                          public std::enable_shared_from_this<one_address> {
 public:
  one_address(const server_maker& servers, address where, store::events& client)
      : client_(servers.client()),
        events_(client),
        server_(servers.make(std::move(where), client_channel(only_tag, client_), *this, this)) {}

  void start(std::shared_ptr<void> keep_alive) override {
    // The server's coroutines keep this store alive, and with it the client.
    server_->start(std::make_shared<std::pair<std::shared_ptr<one_address>, std::shared_ptr<void>>>(
        shared_from_this(), std::move(keep_alive)));
  }
  void stop() override { server_->stop(); }
  memory known() const override { return server_->known(); }
  void assume(const memory& m) override { server_->assume(m); }
  bool quiet() const override { return server_->quiet(); }
  bool up() const override { return server_->up(); }
  std::uint64_t epoch() const override { return server_->epoch() + switches_; }

  bool run(std::shared_ptr<caller> the_caller, std::uint32_t tag) override {
    if (events_.has_tagged_keys() && up() && clock::now() >= marks_at_) mark();
    return server_->run(std::move(the_caller), tag);
  }
  bool run_acknowledged(std::shared_ptr<caller> the_caller, std::uint32_t tag, std::uint32_t replicas,
                        milliseconds limit) override {
    return server_->run_acknowledged(std::move(the_caller), tag, replicas, limit);
  }

  void subscribe_slot(std::uint16_t slot) override {
    wanted_.want(slot);
    listen_in(slot);
  }
  void unsubscribe_slot(std::uint16_t slot) override {
    const auto left = wanted_.release(slot);
    if (left && channels_.leave(*left))
      server_->change_shard_channel(client_channel(tag_of_slot(*left), client_), false);
  }
  void listen(const std::string& channel) override { server_->listen(channel); }
  void ignore(const std::string& channel) override { server_->ignore(channel); }

 private:
  // --- Events of the server ---

  void on_up(const store::server& s) override {
    channels_.forget();
    if (s.has_slots) tag_keys("the server is in cluster mode");
    if (events_.has_tagged_keys()) {
      mark();
      for (const auto slot : wanted_.all()) listen_in(slot);
    }
    events_.on_up(s);
  }
  void on_down(std::string_view why) override {
    channels_.forget();
    events_.on_down(why);
  }
  void on_no_answer(std::string_view why) override { events_.on_no_answer(why); }
  void on_message(std::string_view text) override { events_.on_message(text); }
  void on_channel(std::string_view channel) override { events_.on_channel(channel); }
  void on_grants_pushed(std::uint16_t slot) override { events_.on_grants_pushed(slot); }
  void on_rerouted() override { events_.on_rerouted(); }
  void on_moved(std::uint16_t slot) override { events_.on_moved(slot); }
  void on_clock_jump(clock::duration jump) override { events_.on_clock_jump(jump); }
  void on_refused(std::string_view words) override { events_.on_refused(words); }
  void on_credentials(std::string_view why) override { events_.on_credentials(why); }
  void on_stopped() override {
    const auto self = shared_from_this();
    events_.on_stopped();
  }

  // --- The layout of the keys ---

  void tag_keys(std::string_view why) {
    if (events_.has_tagged_keys()) return;
    // Calls that were sent with other keys are sent again, behind calls that were sent since then.
    ++switches_;
    events_.on_tagged_keys(why);
  }

  // Other clients with the plain layout find this in the place of their fence counter.
  void mark() {
    marks_at_ = later(clock::now(), marks_again);
    server_->exec({{"SET", std::string(only_fence_key), std::string(mark_of_tags), "PX", life_of_mark}},
                  milliseconds(0), [weak = weak_from_this()](const std::vector<reply>* replies) {
                    const auto self = weak.lock();
                    const bool is_marked = replies != nullptr && !replies->front().is_error();
                    if (self && !is_marked) self->marks_at_ = later(clock::now(), marks_after_refusal);
                  });
  }

  bool redirect(redis_server::call& c, std::string_view words) override {
    if (!wants_tagged_keys(words)) return false;
    if (!events_.has_tagged_keys()) {
      tag_keys(words);
      if (up()) mark();
    }
    // Of a call about several records, the caller makes others.
    if (c.verb == verb::acquire_all || c.verb == verb::list || c.redirections++ != 0) return false;
    if (!up()) {
      c.the_caller->answered(c.tag, answer{nullptr, c.sent, clock::now(), nullptr});
      return true;
    }
    c.slot = slot_of(c.the_caller->request_of(c.tag).keys.record);
    server_->take_over(std::move(c));
    return true;
  }
  bool has_slots() const override { return events_.has_tagged_keys(); }
  bool may_bundle() const override { return true; }

  // --- The channels of slots ---

  // Where there are none, scripts publish on the client's only channel (lua/shared/queue.lua).
  bool pushes_grants(std::uint16_t slot) const override {
    return !events_.has_tagged_keys() || has_no_channels_ || channels_.is_subscribed(slot);
  }
  void listen_in(std::uint16_t slot) {
    if (!up() || has_no_channels_ || !channels_.ask(slot)) return;
    server_->change_shard_channel(client_channel(tag_of_slot(slot), client_), true);
  }
  void on_shard_channel(std::string_view channel, bool subscribed) override {
    if (is_leader_channel(channel)) return;  // Observers listen on it as on a channel without a slot.
    const auto slot = slot_of(channel);
    switch (channels_.confirmed(slot, subscribed)) {
      case slot_channels::change::none: break;
      case slot_channels::change::begun: events_.on_grants_pushed(slot); break;
      case slot_channels::change::ended: listen_in(slot); break;
    }
  }
  void on_no_shard_channels() override { has_no_channels_ = true; }
  // Another node has the slot, and each further connection would be given up for the same reason.
  void on_refused_shard_channel(std::string_view, std::string_view) override { has_no_channels_ = true; }

  const std::string client_;  // As the channels name it.
  store::events& events_;
  const std::shared_ptr<redis_server> server_;
  slot_channels channels_;
  wanted_slots wanted_;
  bool has_no_channels_ = false;
  std::uint64_t switches_ = 0;
  clock::time_point marks_at_{};  // The next time.
};

}  // namespace

std::shared_ptr<store> make_one_address(const server_maker& servers, address where, store::events& events) {
  return std::make_shared<one_address>(servers, std::move(where), events);
}

}  // namespace leasehold::detail
