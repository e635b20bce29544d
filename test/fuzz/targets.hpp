// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Everything that reads bytes from outside. A target is a function that states the properties of every input: it
// returns what is wrong, or "". libFuzzer calls it (run), and so does a unit test (test/unit/fuzzed.cpp).
#pragma once

#include "fuzz/broken_urls.hpp"
#include "fuzz/cluster.hpp"
#include "fuzz/command_lines.hpp"
#include "fuzz/credentials.hpp"
#include "fuzz/durations.hpp"
#include "fuzz/error_words.hpp"
#include "fuzz/grants.hpp"
#include "fuzz/handshakes.hpp"
#include "fuzz/lock_replies.hpp"
#include "fuzz/resp3.hpp"
#include "fuzz/sentinel_answers.hpp"
#include "fuzz/tickets.hpp"

#include <string>
#include <string_view>

namespace leasehold::test {

struct fuzz_target {
  std::string_view name;  // As its folder in test/fuzz/corpus is called.
  std::string (*check)(std::string_view input);
};

inline constexpr fuzz_target fuzz_targets[] = {
    {"broken_urls", check_broken_urls},
    {"cluster", check_cluster},
    {"command_lines", check_command_lines},
    {"credentials", check_credentials},
    {"durations", check_durations},
    {"error_words", check_error_words},
    {"grants", check_grants},
    {"handshakes", check_handshakes},
    {"lock_replies", check_lock_replies},
    {"resp3", check_resp3},
    {"sentinel_answers", check_sentinel_answers},
    {"tickets", check_tickets},
};

}  // namespace leasehold::test
