// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace leasehold::cli {

// The terminal at standard output while a program draws on all of it. The alternate screen keeps what was there before,
// and the destructor brings it back, with the terminal's settings.
class screen {
 public:
  screen();
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  // Whether standard output is a terminal.
  static bool is_there();

  // Whether keys can be read, one by one, from standard input.
  bool has_keys() const { return has_keys_; }

  // Replaces everything. Lines are cut to the terminal's size, those that do not fit are counted in the last one. The
  // line at `title` stands out. If the terminal takes nothing now (Ctrl-S), nothing is drawn, without waiting.
  void draw(const std::vector<std::string>& lines, std::size_t title);

  // For a while, as when the program is stopped; and again.
  void leave() noexcept;
  void enter();

 private:
  termios before_{};
  const bool has_keys_;
  bool entered_ = false;
};

}  // namespace leasehold::cli
