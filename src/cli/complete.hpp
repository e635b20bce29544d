// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the last word of an unfinished command line can become. The files in completion/ ask it by
//   leasehold __complete [WORD]...
// with the words behind "leasehold", unquoted, the last one up to the cursor. The answer is a list of strings, each
// with a NUL at its end. The first is
//   command N    the last word belongs to the command that `run` is to run, and that begins with word N, counted from 0
//   words        whole words that the last one can become follow, each with a text for people behind it, which is
//                empty if the word is a lock's name
//   beginnings   likewise, but there is more to type: no blank after such a word
// The exit status is always 0, and nothing is ever written to standard error: a key press must not print a complaint.
#pragma once

#include "options.hpp"

namespace leasehold::cli {

// Ends the process. Otherwise it might wait for a thread that waits for a name server that does not answer.
[[noreturn]] void complete(const complete_options&);

}  // namespace leasehold::cli
