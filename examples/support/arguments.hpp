// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The little that the examples need of a command line: `--option value`, with a message for whoever mistypes one.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The value of LEASEHOLD_REDIS, else where a Redis usually is.
inline std::string default_redis() {
  const char* url = std::getenv("LEASEHOLD_REDIS");
  return url && *url ? url : "redis://127.0.0.1:6379";
}

inline long parse_number(std::string_view text) {
  long value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0) {
    throw usage_error("\"" + std::string(text) + "\" is no number");
  }
  return value;
}

// 250ms, 5s, 2m.
inline std::chrono::milliseconds parse_duration(std::string_view text) {
  const auto unit = text.find_first_not_of("0123456789");
  if (unit != 0 && unit != text.npos) {
    const long number = parse_number(text.substr(0, unit));
    if (number <= 1'000'000'000) {
      if (text.substr(unit) == "ms") return std::chrono::milliseconds(number);
      if (text.substr(unit) == "s") return std::chrono::seconds(number);
      if (text.substr(unit) == "m") return std::chrono::minutes(number);
    }
  }
  throw usage_error("\"" + std::string(text) + "\" is no duration; write for example 250ms, 5s or 2m");
}

inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

// Each option has a default value and may be given once: `--option value` or `--option=value`.
class arguments {
 public:
  arguments(int argc, char** argv, std::map<std::string, std::string, std::less<>> options)
      : options_(std::move(options)) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      const auto equals = argument.find('=');
      const auto option = options_.find(argument.substr(0, equals));
      if (option == options_.end()) throw usage_error("unknown option \"" + std::string(argument) + "\"");
      if (equals != argument.npos) {
        option->second = argument.substr(equals + 1);
      } else if (++i < argc) {
        option->second = argv[i];
      } else {
        throw usage_error("\"" + std::string(argument) + "\" needs a value");
      }
    }
  }

  const std::string& text(std::string_view option) const { return options_.find(option)->second; }
  long number(std::string_view option) const { return parse_number(text(option)); }
  std::chrono::milliseconds duration(std::string_view option) const { return parse_duration(text(option)); }

 private:
  std::map<std::string, std::string, std::less<>> options_;
};

// Runs `run(argc, argv) -> int`. Every error becomes one line, every usage error the usage, too, and status 64.
template <class Run>
int main_program(const char* usage, int argc, char** argv, Run run) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string_view("--help")) {
      std::fputs(usage, stdout);
      return 0;
    }
  }
  try {
    return run(argc, argv);
  } catch (const usage_error& e) {
    std::fprintf(stderr, "%s: %s\n\n%s", argv[0], e.what(), usage);
    return 64;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
}

}  // namespace support
