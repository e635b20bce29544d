// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "protocol/kind.hpp"

#include <algorithm>
#include <array>

namespace leasehold::detail {
namespace {

constexpr char writers = 'w', readers = 'r';

constexpr std::array all{&kinds::mutex, &kinds::recursive_mutex, &kinds::writer, &kinds::reader,
                         &kinds::counting_semaphore};

}  // namespace

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
