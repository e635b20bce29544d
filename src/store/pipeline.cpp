// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// How long a connection that seems silent has to prove that it is not.
constexpr milliseconds second_look{50};

// Batches that are used again. One of a thousand calls that came at once would keep what it took for good.
constexpr std::size_t most_spare = 16;
constexpr std::size_t most_calls_of_spare = 128;

// A smaller bundle saves little, and each turn of the event loop costs a system call or two.
constexpr std::size_t least_portion = 8;

}  // namespace

clock::time_point pipeline::batch::gives_up_at(clock::time_point heard_at) const {
  return later(std::max(sent, heard_at), patience);
}

bool pipeline::has_room_for(const call& c) const {
  const auto turn = static_cast<std::size_t>(c.the_caller->turn_of(c.tag));
  return under_way_ < most_ &&
         std::all_of(waiting_.begin(), waiting_.begin() + turn + 1, [](const auto& queue) { return queue.empty(); });
}

clock::time_point pipeline::wait(call c) {
  auto due = clock::time_point::max();
  if (!in_flight_.empty()) {
    // The new call waits behind the last batch in flight, so its patience now limits that batch's silence.
    batch& last = *in_flight_.back();
    const auto heard = std::max(last.sent, heard_at_);
    const auto answered_by = later(c.sent, c.the_caller->patience_of(c.tag));
    last.patience = std::min(last.patience, std::chrono::duration_cast<milliseconds>(answered_by - heard));
    due = last.gives_up_at(heard_at_);
  }
  // The same for the batch that is sent next: the new call waits behind it, too.
  if (next_) next_->patience = std::min(next_->patience, c.the_caller->patience_of(c.tag));
  waiting_[static_cast<std::size_t>(c.the_caller->turn_of(c.tag))].push_back(std::move(c));
  return due;
}

pipeline::then pipeline::add(call c, const server_clock& clock_there, bool pushes_grants) {
  auto next = then::nothing;
  if (!next_) {
    // A call that was alone the last time is sent at once: it does not wait for others.
    next = alone_ && in_flight_.empty() ? then::flush_now : then::flush_at_the_end;
    next_ = take_batch();
  }
  const request r = c.the_caller->request_of(c.tag);
  c.verb = r.verb;
  next_->patience = std::min({next_->patience, patience_, c.the_caller->patience_of(c.tag)});
  ++under_way_;
  if (!bundled_.has_room_for(c, r, pushes_grants) || bundled_.size() >= portion()) close_bundle();
  // Nothing is added to a batch that is sent at once.
  if (may_bundle_ && next != then::flush_now && bundled_calls::takes(c, r)) {
    bundled_.add(std::move(c), r, clock::now(), clock_there, pushes_grants);
    return next;
  }
  const sending s = plan(r, clock::now(), clock_there, pushes_grants);
  arguments args;
  if (r.of_kind != nullptr) write(r, s, args);
  c.the_caller->sent(c.tag, s);
  // Redis writes first to the client that last got something to write. A client that gets another reply first is no
  // longer behind those that its script notifies.
  if (r.publishes_first && next_->commands.empty()) write_without_caller("PING");
  if (c.asking) write_without_caller("ASKING");
  calls one;
  one.push_back(std::move(c));
  if (r.of_kind == nullptr) {
    next_->request->write(command_of(r));
  } else {
    auto& whole_text = one.front().whole_text;
    whole_text = write_script(*r.of_kind, whole_text, args);
  }
  next_->commands.push_back(std::move(one));
  return next;
}

bool pipeline::write_script(const script& s, bool whole_text, arguments& args) {
  // A server that is new gets the text once, and not with each of a thousand calls: those behind it find it there. If
  // the server did not run the first of them, they learn once more that the script is not known.
  if (whole_text) {
    const auto brings_it = [&s](const std::shared_ptr<batch>& b) {
      return std::any_of(b->texts.begin(), b->texts.end(),
                         [&](const text& t) { return t.of == &s && t.command >= b->answered; });
    };
    whole_text = !brings_it(next_) && std::none_of(in_flight_.begin(), in_flight_.end(), brings_it);
    if (whole_text) next_->texts.push_back({&s, next_->commands.size()});
  }
  next_->request->write(s, whole_text, args);
  return whole_text;
}

void pipeline::write_without_caller(std::string_view command) {
  next_->request->write(command);
  next_->commands.emplace_back();
}

void pipeline::close_bundle() {
  if (bundled_.empty()) return;
  arguments args;
  bundled_.write(args);
  const bool whole_text = write_script(bundled_.of_kind(), bundled_.whole_text(), args);
  next_->commands.push_back(bundled_.take());
  for (auto& c : next_->commands.back()) c.whole_text = whole_text;
}

std::optional<pipeline::call> pipeline::next_waiting(clock::time_point now) {
  for (auto& queue : waiting_) {
    while (!queue.empty() && under_way_ < most_) {
      call c = std::move(queue.front());
      queue.pop_front();
      if (!c.the_caller->wants(c.tag)) {
        fail(std::move(c));
        continue;
      }
      c.sent = now;
      return c;
    }
  }
  return std::nullopt;
}

std::size_t pipeline::portion() const {
  return std::clamp(under_way_ / 4, std::min(least_portion, most_), bundle::most);
}

std::shared_ptr<pipeline::batch> pipeline::take_batch() {
  if (spare_.empty()) return std::make_shared<batch>(batch{make_writer_(), {}});
  auto b = std::move(spare_.back());
  spare_.pop_back();
  return b;
}

std::shared_ptr<pipeline::batch> pipeline::flush(clock::time_point now) {
  if (!next_) return nullptr;
  close_bundle();
  auto b = std::exchange(next_, nullptr);
  b->sent = now;
  b->size = 0;
  for (const auto& of : b->commands) b->size += of.size();
  alone_ = b->size == 1 && in_flight_.empty();
  in_flight_.push_back(b);
  return b;
}

std::shared_ptr<pipeline::batch> pipeline::expect(clock::time_point now, milliseconds patience) {
  const auto b = std::make_shared<batch>(batch{.request = nullptr, .commands = std::vector<calls>(1)});
  b->sent = now;
  b->patience = patience;
  in_flight_.push_back(b);
  return b;
}

void pipeline::end(const std::shared_ptr<batch>& b) {
  fail_rest(*b);
  std::erase(in_flight_, b);
  if (spare_.size() == most_spare || b->request == nullptr || b->size > most_calls_of_spare) return;
  b->request->clear();
  b->commands.clear();
  b->texts.clear();
  b->answered = 0;
  b->patience = milliseconds::max();
  spare_.push_back(b);
}

void pipeline::drop() {
  if (next_) {
    next_->commands.push_back(bundled_.take());
    fail_rest(*std::exchange(next_, nullptr));
  }
  for (auto& queue : waiting_) {
    for (auto& c : std::exchange(queue, {})) fail(std::move(c));
  }
}

void pipeline::fail_rest(batch& b) {
  while (b.answered != b.commands.size()) {
    for (call& c : b.commands[b.answered]) {
      --under_way_;
      fail(std::move(c));
    }
    ++b.answered;
  }
}

void pipeline::fail(call c) {
  calls one;
  one.push_back(std::move(c));
  results_.push_back({std::move(one), {}, false});
}

void pipeline::on_reply(batch& b, reply&& r) {
  if (b.answered == b.commands.size()) return;
  calls& of = b.commands[b.answered++];
  if (!of.empty()) results_.push_back({std::move(of), std::move(r), true});
}

void pipeline::on_push(reply&& r) { results_.push_back({{}, std::move(r), true}); }

pipeline::result pipeline::next_result() {
  result r = std::move(results_.front());
  results_.pop_front();
  if (r.arrived) under_way_ -= r.of.size();
  return r;
}

void pipeline::heard(clock::time_point now) {
  heard_at_ = now;
  doubted_ = false;
}

clock::time_point pipeline::silent_at() const {
  auto first = clock::time_point::max();
  for (const auto& b : in_flight_) {
    if (b->answered != b->commands.size()) first = std::min(first, b->gives_up_at(heard_at_));
  }
  return first;
}

std::optional<clock::time_point> pipeline::look_for_silence(clock::time_point now) {
  if (const auto next = silent_at(); next > now) return next;
  // Perhaps the execution context stood still, and data that has arrived is not read yet.
  if (std::exchange(doubted_, true)) return std::nullopt;
  return later(now, second_look);
}

}  // namespace leasehold::detail
