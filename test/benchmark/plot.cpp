// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "plot.hpp"

#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace leasehold::bench {
namespace {

constexpr double width = 860;
constexpr double margin = 24;
constexpr double left = 250;   // where bars and curves begin
constexpr double right = 740;  // and end; the figures stand behind
constexpr int colours = 4;

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace

template <class... Args>
void plot::put(std::string_view format, const Args&... args) {
  fmt::format_to(std::back_inserter(body_), fmt::runtime(format), args...);
  body_ += '\n';
}

void plot::bars(std::string heading, std::vector<bar> all, std::optional<double> aim) {
  // Many bars are thin ones.
  const double step = all.size() > 12 ? 15 : 26;
  double most = aim.value_or(0);
  for (const bar& b : all) most = std::max(most, b.value);
  const double scale = most > 0 ? (right - left) / most : 0;
  put(R"(<text x="{}" y="{:.1f}" class="strong">{}</text>)", margin, y_ + 16, escape(heading));
  const double top = y_ + 28;
  y_ = top;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bar& b = all[i];
    const double length = std::max(1.0, b.value * scale);
    put(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", left - 10, y_ + step / 2 + 4, escape(b.label));
    put(R"(<rect x="{}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2" class="c{}"/>)", left, y_ + 2, length,
        step - 4, step < 20 ? 0 : i % colours);
    put(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", right + 10, y_ + step / 2 + 4, number(b.value));
    y_ += step;
  }
  if (aim) {
    const double x = left + *aim * scale;
    put(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" class="aim"/>)", x, top - 3, y_ + 3);
    put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" class="muted">aim {}</text>)", x, top - 8, number(*aim));
  }
  y_ += 18;
}

void plot::distribution(std::string heading, std::vector<curve> curves) {
  constexpr double height = 260;
  double least = 1e300, most = 0;
  for (curve& c : curves) {
    std::sort(c.values.begin(), c.values.end());
    if (c.values.empty()) continue;
    least = std::min(least, c.values.front());
    // The last thousandth would take most of the picture.
    most = std::max(most, quantile(c.values, 0.999));
  }
  const double begin = std::log10(std::max(least, 1e-9)), end = std::max(std::log10(most), begin + 0.01);
  const auto x = [&](double value) {
    return left + std::clamp((std::log10(std::max(value, 1e-9)) - begin) / (end - begin), 0.0, 1.0) * (right - left);
  };
  put(R"(<text x="{}" y="{:.1f}" class="strong">{}</text>)", margin, y_ + 16, escape(heading));
  const double top = y_ + 34, bottom = top + height;
  const auto y = [&](double part) { return bottom - part * height; };
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    put(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" class="grid"/>)", left, y(part), right, y(part));
    put(R"(<text x="{}" y="{:.1f}" text-anchor="end">{:.0f} %</text>)", left - 10, y(part) + 4, part * 100);
  }
  for (double power = std::pow(10, std::floor(begin)); power <= most; power *= 10) {
    for (const double mark : {power, 1.5 * power, 2 * power, 3 * power, 5 * power, 7 * power}) {
      if (mark < least || mark > most) continue;
      put(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" class="grid"/>)", x(mark), top, bottom);
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x(mark), bottom + 18, number(mark));
    }
  }
  double legend = top + 12;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto& values = curves[i].values;
    if (values.empty()) continue;
    constexpr int points = 250;
    std::string path;
    for (int p = 0; p <= points; ++p) {
      const double part = 0.999 * p / points;
      const auto nth = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1));
      fmt::format_to(std::back_inserter(path), "{:.1f},{:.1f} ", x(values[nth]), y(part));
    }
    put(R"(<polyline points="{}" class="l{}"/>)", path, i % colours);
    put(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" class="l{}"/>)", margin, legend, margin + 20, legend,
        i % colours);
    put(R"(<text x="{}" y="{:.1f}">{}</text>)", margin + 26, legend + 4, escape(curves[i].label));
    legend += 22;
  }
  y_ = bottom + 40;
}

std::string plot::svg(std::string_view machine) const {
  constexpr std::string_view style = R"(<style>
.paper { fill: #ffffff; } text { fill: #26323f; } .muted { fill: #5b6b7c; } .strong { font-weight: 600; }
.grid { stroke: #dde3ea; } .aim { stroke: #c62828; stroke-width: 2; stroke-dasharray: 5 3; }
.c0 { fill: #2d8fd5; } .c1 { fill: #f0a81c; } .c2 { fill: #6b4bb8; } .c3 { fill: #2e9e5b; }
.l0, .l1, .l2, .l3 { fill: none; stroke-width: 2.4; }
.l0 { stroke: #2d8fd5; } .l1 { stroke: #f0a81c; } .l2 { stroke: #6b4bb8; } .l3 { stroke: #2e9e5b; }
@media (prefers-color-scheme: dark) {
.paper { fill: #161b22; } text { fill: #dbe3ec; } .muted { fill: #94a3b3; } .grid { stroke: #303a46; } .aim { stroke: #ff7b72; }
.c2 { fill: #a48be8; } .l2 { stroke: #a48be8; }
}
</style>)";
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" )"
      R"(font-family="Inter, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif" font-size="13">)"
      "\n<title>{2}</title>\n{3}\n"
      R"(<rect width="{0}" height="{1}" rx="8" class="paper"/>)"
      "\n"
      R"(<text x="{4}" y="36" font-size="17" class="strong">{2}</text>)"
      "\n{5}"
      R"(<text x="{4}" y="{6}" class="muted">{7}; redis-server on the same machine</text>)"
      "\n</svg>\n",
      width, y_ + 28, escape(title_), style, margin, body_, y_ + 10, escape(machine));
}

}  // namespace leasehold::bench
