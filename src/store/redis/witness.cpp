// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/witness.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace leasehold::detail {

void witness::run(std::shared_ptr<witness>& self, const maker& make, std::shared_ptr<caller> the_caller,
                  std::uint32_t tag, std::uint32_t replicas, std::chrono::milliseconds limit) {
  if (!self) {
    self = std::make_shared<witness>();
    self->server_ = make(*self);
    self->server_->start(self);
  }
  self->queue_.push_back(call{std::move(the_caller), tag, replicas, limit});
  self->flush();
}

void witness::stop() {
  stopped_ = true;
  server_->stop();
  fail(std::exchange(queue_, {}));
}

void witness::on_refused(std::string_view) { fail(std::exchange(queue_, {})); }

void witness::fail(std::deque<call> batch) {
  for (auto& c : batch) c.the_caller->answered(c.tag, answer{nullptr, clock::now(), clock::now()});
}

void witness::flush() {
  if (busy_) return;
  // Calls that have waited for the connection may not be wanted any more.
  const auto unwanted =
      std::stable_partition(queue_.begin(), queue_.end(), [](const call& c) { return c.the_caller->wants(c.tag); });
  std::deque<call> rest(std::make_move_iterator(unwanted), std::make_move_iterator(queue_.end()));
  queue_.erase(unwanted, queue_.end());
  fail(std::move(rest));
  if (busy_ || queue_.empty() || !server_->up()) return;
  // One WAIT covers all scripts in front of it that want the same number of replicas.
  std::vector<call> batch;
  const auto replicas = queue_.front().replicas;
  auto limit = queue_.front().limit;
  for (auto c = queue_.begin(); c != queue_.end();) {
    if (c->replicas != replicas) {
      ++c;
      continue;
    }
    limit = std::max(limit, c->limit);  // A call with a shorter one is ended by its caller.
    batch.push_back(std::move(*c));
    c = queue_.erase(c);
  }
  std::vector<std::vector<std::string>> commands;
  for (call& c : batch) {
    const request r = c.the_caller->request_of(c.tag);
    c.verb = r.verb;
    arguments args;
    const sending s = plan(r, clock::now(), unknown_, /*pushes_grants=*/true);
    write(r, s, args);
    c.the_caller->sent(c.tag, s);
    auto& words = commands.emplace_back();
    words.emplace_back(c.whole_text ? "EVAL" : "EVALSHA");
    const auto* const first = args.begin(c.whole_text ? r.of_kind->text : r.of_kind->sha1);
    words.insert(words.end(), first, args.end());
  }
  commands.push_back({"WAIT", std::to_string(replicas), std::to_string(std::max<std::int64_t>(limit.count(), 1))});
  busy_ = true;
  const auto sent = clock::now();
  auto shared = std::make_shared<std::vector<call>>(std::move(batch));
  server_->exec(commands, limit, [self = shared_from_this(), shared, sent](const std::vector<reply>* replies) {
    self->busy_ = false;
    self->take(*shared, replies, sent);
    if (!self->stopped_) self->flush();
  });
}

void witness::take(std::vector<call>& batch, const std::vector<reply>* replies, clock::time_point sent) {
  const auto now = clock::now();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    call& c = batch[i];
    if (replies == nullptr || replies->size() != batch.size() + 1) {
      c.the_caller->answered(c.tag, answer{nullptr, sent, now});
      continue;
    }
    const reply& r = (*replies)[i];
    if (r.is_error() && is_unknown_script(r.text(0)) && !stopped_ && !std::exchange(c.whole_text, true)) {
      queue_.push_back(std::move(c));
      continue;
    }
    outcome o = read_outcome(c.verb, r);
    if (!replies->back().is_error()) o.acknowledged = replies->back().number<std::uint32_t>(0);
    c.the_caller->answered(c.tag, answer{&o, sent, now});
  }
}

}  // namespace leasehold::detail
