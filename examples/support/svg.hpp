// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace support {

// An SVG in the making: a white sheet in the colours and fonts of all our pictures.
class svg {
 public:
  svg(double width, double height, std::string_view title) {
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" )"
        R"(font-family="Inter, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif" font-size="13" fill="#26323f">)",
        width, height);
    put("<title>{}</title>", escape(title));
    put(R"(<rect width="{}" height="{}" rx="10" fill="#ffffff"/>)", width, height);
    put(R"(<text x="28" y="42" font-size="22" font-weight="600">{}</text>)", escape(title));
  }

  // A line of the file.
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // The file.
  std::string end() {
    put("</svg>");
    return std::move(text_);
  }

  static std::string escape(std::string_view text) {
    std::string result;
    for (const char c : text) {
      switch (c) {
        case '&': result += "&amp;"; break;
        case '<': result += "&lt;"; break;
        case '>': result += "&gt;"; break;
        case '"': result += "&quot;"; break;
        default: result += c;
      }
    }
    return result;
  }

 private:
  std::string text_;
};

}  // namespace support
