// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "event_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace support {

// Who held what and when, put together from the event lines of several servers; and whether it was as it has to be.
class timeline {
 public:
  using instant = std::chrono::steady_clock::time_point;

  struct span {
    std::size_t server = 0;
    std::string name;
    instant from{};
    instant to = instant::max();  // max: not yet
  };

  struct hold : span {
    std::uint64_t fence = 0;
    // Of a server that was killed: between which two instants its lease ended in Redis.
    std::optional<std::pair<instant, instant>> lease_end;
  };

  struct take_over {
    const hold* dead;
    const hold* heir;  // Null: there is none.
  };

  // What became of another lock while a dead server's lease ran on.
  struct other_lock {
    std::string name;
    std::size_t grants = 0;
    // From one grant to the next, from the last one before the server died to the first one after the lease had ended.
    // duration::max(): there was no such grant.
    std::chrono::steady_clock::duration longest_pause{};
  };

  void add(std::size_t server, const event_line& e) {
    const auto key = std::pair(server, e.name);
    switch (e.what) {
      case event_line::kind::listening: break;
      case event_line::kind::waiting:
        if (waiting_[key]++ == 0) waits_.push_back({server, e.name, e.at});
        break;
      case event_line::kind::failed: end_wait(key, e.at); break;
      case event_line::kind::acquired: {
        end_wait(key, e.at);
        hold h;
        h.server = server;
        h.name = e.name;
        h.from = e.at;
        h.fence = e.fence;
        holds_.push_back(h);
        break;
      }
      case event_line::kind::released:
        for (hold& h : holds_) {
          if (h.server == server && h.fence == e.fence && h.name == e.name && h.to == instant::max()) h.to = e.at;
        }
        break;
    }
  }

  // The server was killed; what it held then stays held until the end of its lease.
  void kill(std::size_t server, instant at) {
    killed_.emplace(server, at);
    for (hold& h : holds_) {
      if (h.server == server && h.to == instant::max()) h.to = at;
    }
    for (span& w : waits_) {
      if (w.server == server && w.to == instant::max()) w.to = at;
    }
    std::erase_if(waiting_, [&](const auto& entry) { return entry.first.first == server; });
  }

  void set_lease_end(std::uint64_t fence, instant earliest, instant latest) {
    for (hold& h : holds_) {
      if (h.fence == fence && killed_.contains(h.server)) h.lease_end = std::pair(earliest, latest);
    }
  }

  // What the server holds now.
  std::vector<hold> held_by(std::size_t server) const {
    std::vector<hold> held;
    for (const hold& h : holds_) {
      if (h.server == server && h.to == instant::max()) held.push_back(h);
    }
    return held;
  }

  // Whether a request for the lock waits at another server.
  bool awaited_elsewhere(const std::string& name, std::size_t server) const {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& entry) {
      return entry.first.first != server && entry.first.second == name && entry.second > 0;
    });
  }

  // Whether this server was granted the lock with this fence.
  bool was_held_by(std::size_t server, const std::string& name, std::uint64_t fence) const {
    return std::any_of(holds_.begin(), holds_.end(),
                       [&](const hold& h) { return h.server == server && h.name == name && h.fence == fence; });
  }

  // Whether a request for any lock waits at the server.
  bool waits_at(std::size_t server) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const auto& entry) { return entry.first.first == server && entry.second > 0; });
  }

  const std::vector<hold>& holds() const { return holds_; }
  const std::vector<span>& waits() const { return waits_; }
  const std::map<std::size_t, instant>& killed() const { return killed_; }

  // The holds of each name in the order of time.
  std::map<std::string, std::vector<const hold*>> by_name() const {
    std::map<std::string, std::vector<const hold*>> result;
    for (const hold& h : holds_) result[h.name].push_back(&h);
    for (auto& [name, holds] : result) {
      std::sort(holds.begin(), holds.end(), [](const hold* a, const hold* b) { return a->from < b->from; });
    }
    return result;
  }

  // One for each lease that outlived its server.
  std::vector<take_over> take_overs() const {
    std::vector<take_over> result;
    for (const auto& [name, holds] : by_name()) {
      for (auto h = holds.begin(); h != holds.end(); ++h) {
        if ((*h)->lease_end) result.push_back({*h, std::next(h) == holds.end() ? nullptr : *std::next(h)});
      }
    }
    return result;
  }

  std::vector<other_lock> others_during(const hold& dead) const {
    std::vector<other_lock> result;
    for (const auto& [name, holds] : by_name()) {
      if (name == dead.name) continue;
      other_lock other{name};
      instant before = instant::min();
      for (const hold* h : holds) {
        const bool is_later = h->from > dead.lease_end->first;
        if (before != instant::min() && h->from > dead.to) {
          other.longest_pause = std::max(other.longest_pause, h->from - before);
          if (!is_later) ++other.grants;
        }
        before = h->from;
        if (is_later) break;
      }
      if (before <= dead.lease_end->first) other.longest_pause = std::chrono::steady_clock::duration::max();
      result.push_back(std::move(other));
    }
    return result;
  }

  // Each pair of holds of one name that overlapped. A dead server's hold lasts until its lease cannot have ended yet.
  std::vector<std::string> overlaps() const {
    std::vector<std::string> result;
    for (const auto& [name, holds] : by_name()) {
      for (std::size_t i = 1; i < holds.size(); ++i) {
        const hold& before = *holds[i - 1];
        const instant end = before.lease_end ? before.lease_end->first : before.to;
        if (end > holds[i]->from)
          result.push_back(fmt::format("{}: fences {} and {}", name, before.fence, holds[i]->fence));
      }
    }
    return result;
  }

  // Each grant whose fence is not larger than that of the one before.
  std::vector<std::string> fences_out_of_order() const {
    std::vector<std::string> result;
    for (const auto& [name, holds] : by_name()) {
      for (std::size_t i = 1; i < holds.size(); ++i) {
        if (holds[i]->fence > holds[i - 1]->fence) continue;
        result.push_back(fmt::format("{}: {} after {}", name, holds[i]->fence, holds[i - 1]->fence));
      }
    }
    return result;
  }

 private:
  void end_wait(const std::pair<std::size_t, std::string>& key, instant at) {
    std::size_t& waiting = waiting_[key];
    if (waiting == 0 || --waiting > 0) return;
    for (span& w : waits_) {
      if (w.server == key.first && w.name == key.second && w.to == instant::max()) w.to = at;
    }
  }

  std::vector<hold> holds_;
  std::vector<span> waits_;  // where and while somebody waits
  std::map<std::pair<std::size_t, std::string>, std::size_t> waiting_;
  std::map<std::size_t, instant> killed_;
};

}  // namespace support
