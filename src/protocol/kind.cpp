// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/kind.hpp"

#include <algorithm>
#include <array>

namespace leasehold::detail {
namespace kinds {

// Constants have internal linkage unless they are declared `extern`.
extern constexpr kind mutex{.code = &scripts::mutex};
extern constexpr kind recursive_mutex{.code = &scripts::recursive_mutex,
                                      .ask = ask_is::owner,
                                      .mode = hold_mode::shared,
                                      .shares_fence = true,
                                      .is_redissons = true};
extern constexpr kind writer{.code = &scripts::shared_mutex, .ask = ask_is::role_and_owner, .role = role::writer};
extern constexpr kind reader{.code = &scripts::shared_mutex,
                             .ask = ask_is::role_and_owner,
                             .mode = hold_mode::shared,
                             .role = role::reader,
                             .shares_fence = true};
extern constexpr kind counting_semaphore{
    .code = &scripts::counting_semaphore, .ask = ask_is::limit, .mode = hold_mode::shared};
extern constexpr kind election{.code = &scripts::mutex, .is_election = true};
extern constexpr kind any{.code = &scripts::admin};

}  // namespace kinds

namespace {

constexpr char writers = 'w', readers = 'r';

// An election is a mutex to Redis.
constexpr std::array all{&kinds::mutex, &kinds::recursive_mutex, &kinds::writer, &kinds::reader,
                         &kinds::counting_semaphore};

}  // namespace

std::span<const kind* const> all_kinds() noexcept { return all; }

const kind* kind_of(std::string_view name, bool is_reader) noexcept {
  const auto found = std::find_if(all.begin(), all.end(), [&](const kind* k) {
    return k->code->name == name && (k->role == role::reader) == is_reader;
  });
  return found == all.end() ? nullptr : *found;
}

ask_is ask_of_kind(std::string_view name) noexcept {
  const auto found = std::find_if(all.begin(), all.end(), [name](const kind* k) { return k->code->name == name; });
  return found == all.end() ? ask_is::nothing : (*found)->ask;
}

std::string make_ask(const kind& k, const std::string& owner) {
  switch (k.ask) {
    case ask_is::owner: return owner;
    case ask_is::role_and_owner: return (k.role == role::writer ? writers : readers) + owner;
    case ask_is::nothing:
    case ask_is::limit: break;
  }
  return {};
}

void ask_to_read(std::string& ask) noexcept {
  if (!ask.empty()) ask.front() = readers;
}

asker read_ask(ask_is what, std::string_view ask) noexcept {
  if (what == ask_is::owner) return {role::none, ask};
  if (what != ask_is::role_and_owner || ask.empty()) return {};
  return {ask.front() == writers ? role::writer : role::reader, ask.substr(1)};
}

}  // namespace leasehold::detail
