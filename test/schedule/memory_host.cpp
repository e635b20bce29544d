// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "schedule/memory_host.hpp"

#include <charconv>
#include <span>
#include <string_view>
#include <utility>

namespace leasehold::test {
namespace {

reply converted(detail::memory::reply r) {
  reply all;
  all.type = static_cast<char>(r.type);
  all.text = std::move(r.text);
  all.integer = r.integer;
  // A reply of a real server is read from text.
  if (all.type == ':') all.text = std::to_string(r.integer);
  all.items.reserve(r.items.size());
  for (auto& item : r.items) all.items.push_back(converted(std::move(item)));
  return all;
}

}  // namespace

memory_host::memory_host() {
  database_.set_publisher([this](std::string_view channel, std::string_view text, bool) {
    messages_.push_back({std::string(channel), std::string(text)});
    return 1;
  });
}

reply memory_host::receive() {
  reply r = std::move(replies_.front());
  replies_.pop_front();
  return r;
}

std::vector<script_host::message> memory_host::messages() { return std::exchange(messages_, {}); }

reply memory_host::run(const std::vector<std::string>& words) {
  const std::string& name = words.at(0);
  if (name == "SCRIPT" && words.size() == 3 && words[1] == "LOAD") return converted(scripting_.load(words[2]));
  if (name == "CONFIG" && words.size() == 4 && words[1] == "SET" && words[2] == "maxmemory") {
    database_.set_out_of_memory(words[3] != "0");
    return converted(detail::memory::status("OK"));
  }
  if (name == "REPLICAOF") {
    database_.set_refusal_of_writes(words.at(1) == "NO" ? "" : detail::memory::not_of_a_replica);
    return converted(detail::memory::status("OK"));
  }
  if (name != "EVAL" && name != "EVALSHA") return converted(database_.execute(words));
  std::size_t keys = 0;
  const std::string& count = words.at(2);
  std::from_chars(count.data(), count.data() + count.size(), keys);
  const std::vector<std::string_view> views(words.begin() + 3, words.end());
  const auto all = std::span(views);
  return converted(name == "EVAL" ? scripting_.run(words[1], all.first(keys), all.subspan(keys), database_)
                                  : scripting_.run_digest(words[1], all.first(keys), all.subspan(keys), database_));
}

}  // namespace leasehold::test
