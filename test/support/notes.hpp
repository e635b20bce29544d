// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/client.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

// The observer's notes. Shared with the observer, which hears of what the client still releases when a test has ended.
struct notes {
  using list = std::vector<std::pair<event::kind, std::string>>;
  std::shared_ptr<list> shared = std::make_shared<list>();
  const list& all = *shared;
  std::function<void(const event&)> observer() {
    return [to = shared, names = names](const event& e) {
      to->emplace_back(e.what, std::string(e.text));
      if (!e.name.empty()) names->emplace_back(e.name);
    };
  }
  std::size_t count(event::kind what) const {
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const auto& n) { return n.first == what; }));
  }
  // The names of locks that were told with any event.
  std::shared_ptr<std::vector<std::string>> names = std::make_shared<std::vector<std::string>>();
  std::string text(event::kind what) const {
    for (const auto& n : all) {
      if (n.first == what) return n.second;
    }
    return "";
  }
};

}  // namespace leasehold::test
