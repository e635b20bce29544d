// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "store/words.hpp"

#include <cstddef>

namespace leasehold::detail {

std::string_view shortened(std::string_view words) noexcept {
  constexpr std::size_t most = 500;
  if (words.size() <= most) return words;
  const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(words[i]) & 0xc0U) == 0x80U; };
  std::size_t end = most;
  while (end > most - 4 && continues(end)) --end;
  // There are more continuation bytes than a sequence has: the text is not UTF-8, and any place is fine.
  return words.substr(0, continues(end) ? most : end);
}

}  // namespace leasehold::detail
