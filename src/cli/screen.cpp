// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "screen.hpp"

#include "exit_code.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace leasehold::cli {
namespace {

// The alternate screen, without cursor. Lines that are too wide after all (characters of two columns) are cut.
constexpr std::string_view own_screen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view screen_of_before = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// False and an error number if the terminal has gone. What the terminal does not take now is dropped: it may have been
// stopped, or not block.
bool write_if_taken(std::string_view text) noexcept {
  pollfd p{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&p, 1, 0) == 0) return true;
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    // A signal matters more than the rest of a picture.
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// The first columns of a line that is UTF-8.
std::string_view cut(std::string_view line, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80 && seen++ == columns) return line.substr(0, i);
  }
  return line;
}

}  // namespace

screen::screen() : has_keys_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0) { enter(); }

screen::~screen() { leave(); }

bool screen::is_there() { return ::isatty(STDOUT_FILENO) == 1; }

void screen::enter() {
  entered_ = true;
  if (has_keys_) {
    termios raw = before_;
    // Ctrl-C stays a signal.
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  write_if_taken(own_screen);
}

void screen::leave() noexcept {
  if (!entered_) return;
  entered_ = false;
  // A terminal that Ctrl-S has stopped goes on only if it was stopped in this way, too.
  ::tcflow(STDOUT_FILENO, TCOOFF);
  ::tcflow(STDOUT_FILENO, TCOON);
  write_if_taken(screen_of_before);
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void screen::draw(const std::vector<std::string>& lines, std::size_t title) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    size.ws_row = 24;
    size.ws_col = 80;
  }
  const std::size_t rows = size.ws_row;
  std::string picture = "\x1b[H";
  for (std::size_t i = 0; i < lines.size() && i < rows; ++i) {
    if (i != 0) picture += "\r\n";
    const bool is_last = i + 1 == rows && lines.size() > rows;
    const std::string more = is_last ? fmt::format("... and {} more", lines.size() - i) : "";
    if (i == title) picture += "\x1b[7m";
    picture += cut(is_last ? more : lines[i], size.ws_col);
    if (i == title) picture += "\x1b[0m";
    picture += "\x1b[K";
  }
  picture += "\x1b[J";
  if (!write_if_taken(picture)) {
    throw failure(exit_code::lost, fmt::format("standard output: {}", std::strerror(errno)));
  }
}

}  // namespace leasehold::cli
