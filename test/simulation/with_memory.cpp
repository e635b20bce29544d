// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"

#include "store/memory/memory_store.hpp"

#include <charconv>
#include <deque>
#include <span>
#include <stdexcept>
#include <string_view>

namespace leasehold::test {

namespace memory = detail::memory;

namespace {

// That of the test, as long as it has servers.
std::shared_ptr<simulation::world> shared_world() {
  static std::weak_ptr<simulation::world> known;
  auto w = known.lock();
  if (!w) known = w = std::make_shared<simulation::world>(/*seed=*/1, /*servers=*/0);
  return w;
}

// Longer than any lease and any limit that a test lets pass.
constexpr clock::duration too_long = std::chrono::hours(24 * 365);

bool run_in_world(asio::io_context& context, clock::duration limit, const std::function<bool()>& is_over) {
  const auto w = simulation::world::current() == nullptr ? shared_world() : nullptr;
  simulation::world& all = *simulation::world::current();
  context.restart();
  return all.run(all.now() + limit, is_over, [&context] { context.poll(); });
}

}  // namespace

// Instead of those of support/real_time.cpp.
void run_to_end(asio::io_context& context) {
  const bool ended = run_in_world(context, too_long, [&context] { return context.stopped(); });
  if (!ended) throw std::runtime_error("the context has work left, and nothing will happen any more");
}

void run_until(asio::io_context& context, const condition& holds) {
  if (holds()) return;
  const bool ended = run_in_world(context, too_long, [&] {
    // Something outside the context may give it work again.
    if (context.stopped()) context.restart();
    return holds();
  });
  if (!ended) throw std::runtime_error("the condition does not hold, and nothing will happen any more");
}

void run_for(asio::io_context& context, std::chrono::nanoseconds d) {
  run_in_world(context, d, [&context] { return context.stopped(); });
}

cancel_timer::cancel_timer(const asio::any_io_executor& executor, clock::duration d) : timer_(executor) {
  timer_.wait(detail::later(clock::now(), d), [this](error_code ec) {
    if (!ec) signal_.emit(asio::cancellation_type::terminal);
  });
}

memory_server::memory_server() : world_(shared_world()), number_(world_->add_server()) {
  server().on_run = [n = scripts_](const auto&...) { ++*n; };
}

std::optional<std::string> memory_server::get(const std::string& key) {
  const auto r = command("GET", key);
  if (r.is_error()) throw std::runtime_error(r.text);
  return r.is_nil() ? std::nullopt : std::optional(r.text);
}

std::size_t memory_server::size() {
  std::size_t n = 0;
  for (const auto& key : command("KEYS", "*").items) {
    if (!(key.text.starts_with("leasehold:") && key.text.ends_with("fence"))) ++n;
  }
  return n;
}

memory::reply memory_server::command_of(const std::vector<std::string>& words) {
  const std::string& name = words.at(0);
  const auto is = [&words](std::initializer_list<std::string_view> begin) {
    return words.size() >= begin.size() && std::equal(begin.begin(), begin.end(), words.begin());
  };
  if (is({"SCRIPT", "FLUSH"})) {
    server().forget_scripts();
  } else if (is({"CLIENT", "KILL"})) {
    server().close_connections();
  } else if (is({"CONFIG", "SET", "maxmemory"})) {
    server().data().set_out_of_memory(words.at(3) != "0");
  } else if (name == "REPLICAOF") {
    server().data().set_refusal_of_writes(words.at(1) == "NO" ? "" : memory::not_of_a_replica);
  } else if (is({"PUBSUB", "NUMSUB"})) {
    return memory::array({memory::bulk(words.at(2)), memory::integer(server().subscribers(words[2]))});
  } else if (name == "EVAL") {
    std::size_t keys = 0;
    const std::string& count = words.at(2);
    std::from_chars(count.data(), count.data() + count.size(), keys);
    const std::vector<std::string_view> views(words.begin() + 3, words.end());
    const auto all = std::span(views);
    return server().eval(words[1], all.first(keys), all.subspan(keys));
  } else {
    return server().execute(words);
  }
  return memory::status("OK");
}

// --- Gates ---

class gate::path final : public memory::network {
 public:
  explicit path(simulation::world& w) : world_(w) {}

  // One direction of all connections.
  struct way {
    bool holds() const { return keep_from && arrived > *keep_from; }

    std::size_t arrived = 0;
    std::size_t forgotten = 0;
    std::optional<std::size_t> keep_from = {};
    std::optional<std::size_t> cut_from = {};
    std::deque<std::function<void()>> kept = {};
  };
  way requests, replies;
  clock::duration each{0};
  bool refuses = false;
  bool swallows = false;
  std::size_t accepted = 0;

  void connect(const std::shared_ptr<memory::connection>& c) {
    ++accepted;
    if (refuses) return c->cut();
    swallows = false;
    connections_.push_back(c);
  }
  void pass(way& w) {
    w.keep_from.reset();
    w.cut_from.reset();
    for (auto& f : std::exchange(w.kept, {})) f();
  }
  void cut() {
    ++cuts_;
    for (way* w : {&requests, &replies}) {
      w->keep_from.reset();
      w->cut_from.reset();
      w->kept.clear();
    }
    cut_clients();
  }
  // Nor does what is on its way.
  void swallow() {
    ++cuts_;
    swallows = true;
  }
  void cut_clients() {
    for (const auto& weak : std::exchange(connections_, {})) {
      if (const auto c = weak.lock()) c->cut();
    }
  }

  clock::duration takes() override { return world_.takes() + each; }
  // Whatever is not lost at once arrives.
  std::optional<clock::duration> late() override { return clock::duration(0); }
  clock::time_point now() override { return world_.now(); }
  void at(clock::time_point when, std::function<void()> f) override { world_.at(when, std::move(f)); }
  void to_server(clock::time_point when, std::function<void()> f) override { carry(requests, when, std::move(f)); }
  void to_client(clock::time_point when, std::function<void()> f) override { carry(replies, when, std::move(f)); }

 private:
  void carry(way& w, clock::time_point when, std::function<void()> f) {
    if (swallows) return;
    world_.at(when, [this, &w, before = cuts_, f = std::move(f)]() mutable {
      if (before != cuts_) return;
      if (w.cut_from && w.arrived >= *w.cut_from) return cut();
      ++w.arrived;
      w.holds() ? w.kept.push_back(std::move(f)) : f();
    });
  }

  simulation::world& world_;
  std::uint64_t cuts_ = 0;
  std::vector<std::weak_ptr<memory::connection>> connections_;
};

namespace {

std::string next_name() {
  static std::size_t gates = 0;
  return "gate" + std::to_string(++gates);
}

}  // namespace

gate::gate(memory_server& s) : path_(std::make_shared<path>(s.world())), name_(next_name()) {
  const auto note = [p = path_.get()](const std::shared_ptr<memory::connection>& c) { p->connect(c); };
  s.world().add(name_, {&s.server(), path_, note});
}

gate::~gate() { pass(); }

void gate::hold_requests(std::size_t after) { path_->requests.keep_from = path_->requests.arrived + after; }
void gate::hold_replies(std::size_t after) { path_->replies.keep_from = path_->replies.arrived + after; }
void gate::cut_after_requests(std::size_t n) { path_->requests.cut_from = path_->requests.arrived + n; }
void gate::cut_after_replies(std::size_t n) { path_->replies.cut_from = path_->replies.arrived + n; }
void gate::pass() {
  path_->pass(path_->requests);
  path_->pass(path_->replies);
}
void gate::pass_connected() {
  path_->requests.keep_from.reset();
  path_->pass(path_->replies);
}
void gate::swallow() { path_->swallow(); }
void gate::cut() { path_->cut(); }
void gate::cut_clients() { path_->cut_clients(); }
void gate::slow(std::chrono::milliseconds each) { path_->each = each; }
void gate::refuse(bool on) { path_->refuses = on; }
std::size_t gate::accepted() const { return path_->accepted; }
std::size_t gate::requests() const { return path_->requests.arrived - path_->requests.forgotten; }
std::size_t gate::replies() const { return path_->replies.arrived - path_->replies.forgotten; }
void gate::forget() {
  path_->requests.forgotten = path_->requests.arrived;
  path_->replies.forgotten = path_->replies.arrived;
}
std::size_t gate::kept() const { return path_->requests.kept.size(); }

}  // namespace leasehold::test
