// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "store.hpp"

namespace leasehold::detail {

refusal classify(std::string_view words) noexcept {
  // Redis before 7 wraps the error of a command inside a script in words of its own.
  const auto says = [words](std::string_view code) {
    if (words.starts_with(code)) return true;
    if (!words.starts_with("ERR Error running script")) return false;
    const auto at = words.find(code);
    return at != words.npos && words[at - 1] == ' ';
  };
  if (says("WRONGTYPE ")) return refusal::wrong_type;
  for (const auto* code : {"LOADING ", "BUSY ", "TRYAGAIN ", "CLUSTERDOWN ", "MASTERDOWN ", "MOVED ", "ASK ",
                           "NOQUORUM "}) {
    if (says(code)) return refusal::try_again;
  }
  return refusal::no;
}

}  // namespace leasehold::detail
