// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace leasehold::simulation {
namespace {

using std::chrono::milliseconds;

// What an operation may take longer than its limit: the answer that it waits for when it has ended (100 ms), and clocks
// that run at other rates.
constexpr milliseconds patience{110};

std::string at(const held& h) { return fmt::format("{} {} fence {}", h.worker, h.name, h.fence); }

}  // namespace

std::string_view name_of(kind k) {
  switch (k) {
    case kind::mutex: return "mutex";
    case kind::recursive_mutex: return "recursive_mutex";
    case kind::shared_mutex: return "shared_mutex";
    case kind::counting_semaphore: return "counting_semaphore";
  }
  return "?";
}

bool judge::is_valid(const held& h) const {
  process* const before = world_.running();
  world_.enter(h.by);
  const bool valid = h.held_by_user.valid();
  world_.enter(before);
  return valid;
}

void judge::complain(const std::string& what) const { throw broken(what); }

std::shared_ptr<held> judge::granted(held h) {
  ++grants_;
  h.since = world_.now();
  auto one = std::make_shared<held>(std::move(h));
  const bool is_there = works(*one);
  if (is_there) look_at_fence(*one);
  holds_.push_back(one);
  if (is_there) exclude(*one);
  return one;
}

void judge::look_at_fence(const held& h) {
  auto& highest = highest_fence_[h.name];
  auto& writer = highest_writer_[h.name];
  switch (rules_.of) {
    case kind::mutex:
      if (h.fence <= highest) complain(fmt::format("{}: a fence that is not above {}", at(h), highest));
      break;
    case kind::recursive_mutex:
      // All entries of an owner have one fence; on a quorum those that begin at the same time may have several.
      // An older copy brings a tenure back, and its owner joins it.
      if (!rules_.lossy && h.fence <= highest &&
          (owner_of_highest_[h.name] != h.owner || (h.fence < highest && rules_.one_server))) {
        complain(fmt::format("{}: a fence that is not above {}", at(h), highest));
      }
      break;
    case kind::shared_mutex:
      if (!h.reader && h.fence <= highest) complain(fmt::format("{}: a fence that is not above {}", at(h), highest));
      if (h.reader && h.fence <= writer && !rules_.lossy)
        complain(fmt::format("{}: a fence below a writer's {}", at(h), writer));
      if (!h.reader) writer = std::max(writer, h.fence);
      break;
    case kind::counting_semaphore: break;
  }
  if (h.fence > highest) owner_of_highest_[h.name] = h.owner;
  highest = std::max(highest, h.fence);
}

// Whether both may work at once.
void judge::exclude(const held& h) {
  if (rules_.lossy) return;
  std::uint32_t together = 0;
  for (const auto& other : holds_) {
    if (other->name == h.name && works(*other)) ++together;
  }
  if (together <= 1) return;
  if (rules_.of == kind::counting_semaphore) {
    if (together > rules_.limit) complain(fmt::format("{}: {} hold {} permits", at(h), together, rules_.limit));
    return;
  }
  for (const auto& other : holds_) {
    if (other.get() == &h || other->name != h.name || !works(*other)) continue;
    if (rules_.of == kind::recursive_mutex && other->owner == h.owner) continue;
    const auto reads = [](const held& x) { return x.reader || x.becomes_reader; };
    if (rules_.of == kind::shared_mutex && reads(*other) && reads(h)) continue;
    complain(fmt::format("{} and {} work at the same time", at(*other), at(h)));
  }
}

// The record of a mutex names the token of its holder for as long as the holder believes in it.
void judge::look_at_server(const held& h) {
  const auto record = world_.server(0).data().execute({"GET", h.name});
  if (record.text.starts_with("leasehold:" + h.held_by_user.token() + ":")) return;
  complain(fmt::format("{} believes in a hold that the server does not have: '{}'", at(h), record.text));
}

void judge::told(held& h) {
  if (!h.told) h.told = world_.now();
}

void judge::look() {
  for (const auto& h : holds_) {
    if (h->given_up || h->told || h->by->is_dead()) continue;
    const bool valid = is_valid(*h);
    if (valid && rules_.one_server && !rules_.lossy) {
      if (rules_.of == kind::mutex) look_at_server(*h);
    }
    if (!valid && !h->by->is_frozen()) complain(fmt::format("{} was lost, and its user was not told", at(*h)));
  }
  std::erase_if(holds_, [](const auto& h) { return h->given_up || h->told; });
}

void judge::ended(const process& p, std::string_view what, clock::time_point began, clock::duration frozen_then,
                  clock::duration limit) {
  const auto took = world_.now() - began - (p.frozen() - frozen_then);
  if (took > limit + limit / 100 + patience) {
    complain(fmt::format("{}: {} took {} ms, its limit was {} ms", p.name(), what,
                         std::chrono::duration_cast<milliseconds>(took).count(),
                         std::chrono::duration_cast<milliseconds>(limit).count()));
  }
}

void judge::forget(const process& p) {
  std::erase_if(holds_, [&p](const auto& h) { return h->by == &p; });
}

void judge::nothing_is_left() {
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    const auto all = world_.server(i).data().dump();
    for (std::size_t from = 0; from < all.size();) {
      const auto end = std::min(all.find('\n', from), all.size());
      const auto line = all.substr(from, end - from);
      if (line.find(":fence") == std::string::npos) complain("left behind: " + line);
      from = end + 1;
    }
  }
}

}  // namespace leasehold::simulation
