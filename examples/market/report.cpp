// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "market/report.hpp"

#include "support/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

namespace market {
namespace {

// "Redis in Action", tables 6-1 to 6-3: what came of 60 seconds. Where the book has "less than", so has `less`.
struct printed {
  long sellers;
  long buyers;
  method how;
  double listed;
  double bought;
  double retries;
  double wait;  // milliseconds
  std::string_view less_bought = "";
  std::string_view less_retries = "";
  std::string_view less_wait = "";
};
constexpr std::array<printed, 9> book{{
    {1, 1, method::watch, 145'000, 27'000, 80'000, 14},
    {1, 1, method::one_lock, 51'000, 50'000, 0, 1},
    {1, 1, method::item_lock, 113'000, 110'000, 0, 1, "", "", "<"},
    {5, 1, method::watch, 331'000, 200, 50'000, 150, "<"},
    {5, 1, method::one_lock, 68'000, 13'000, 10, 5, "", "<"},
    {5, 1, method::item_lock, 192'000, 36'000, 0, 2, "", "", "<"},
    {5, 5, method::watch, 206'000, 600, 161'000, 498, "<"},
    {5, 5, method::one_lock, 21'000, 20'500, 0, 14},
    {5, 5, method::item_lock, 116'000, 111'000, 0, 3, "", "", "<"},
}};
constexpr double book_seconds = 60;

const printed* in_book(const load& size, method how) {
  for (const printed& p : book) {
    if (p.sellers == size.sellers && p.buyers == size.buyers && p.how == how) return &p;
  }
  return nullptr;
}

std::string_view long_name(method how) {
  switch (how) {
    case method::watch: return "WATCH";
    case method::one_lock: return "one lock";
    case method::item_lock: return "lock per item";
  }
  return "";
}

// 1234567 is 1,234,567.
std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

// What a buyer waited for a purchase, in milliseconds.
double wait(const figures& f) { return f.bought == 0 ? 0 : f.waited * 1000 / static_cast<double>(f.bought); }
std::string wait_text(const figures& f) { return f.bought == 0 ? "-" : fmt::format("{:.3f} ms", wait(f)); }

std::string players(const load& size) {
  return fmt::format("{} seller{}, {} buyer{}", size.sellers, size.sellers == 1 ? "" : "s", size.buyers,
                     size.buyers == 1 ? "" : "s");
}

std::optional<figures> find(const std::vector<result>& all, long sellers, long buyers, method how) {
  for (const result& r : all) {
    if (r.size.sellers == sellers && r.size.buyers == buyers && r.how == how) return r.found;
  }
  return std::nullopt;
}

}  // namespace

std::string_view short_name(method how) {
  switch (how) {
    case method::watch: return "watch";
    case method::one_lock: return "one";
    case method::item_lock: return "item";
  }
  return "";
}

std::string name(const load& size) { return fmt::format("{}+{}", size.sellers, size.buyers); }

std::string table(const std::vector<result>& all, const load& size, std::chrono::seconds length) {
  const double scale = static_cast<double>(length.count()) / book_seconds;
  std::string text = fmt::format("{} for {} s", players(size), length.count());
  text += fmt::format("; the book's figures are for 60 s, and stand here times {}/60\n", length.count());
  text += fmt::format("{:<16}{:>11}{:>11}{:>11}{:>10}{:>14}{:>12}{:>12}\n", "", "listed", "bought", "retries",
                      "too late", "average wait", "Redis", "program");
  for (const result& r : all) {
    if (r.size.sellers != size.sellers || r.size.buyers != size.buyers) continue;
    const figures& f = r.found;
    text += fmt::format("{:<16}{:>11}{:>11}{:>11}{:>10}{:>14}{:>7.2f} core{:>7.2f} core\n", long_name(r.how),
                        grouped(static_cast<double>(f.listed)), grouped(static_cast<double>(f.bought)),
                        grouped(static_cast<double>(f.retries)), grouped(static_cast<double>(f.too_late)), wait_text(f),
                        f.redis_core, f.own_core);
    if (const printed* p = in_book(size, r.how)) {
      text += fmt::format("{:<16}{:>11}{:>11}{:>11}{:>10}{:>14}\n", "  in the book", grouped(p->listed * scale),
                          fmt::format("{}{}", p->less_bought, grouped(std::ceil(p->bought * scale))),
                          fmt::format("{}{}", p->less_retries, grouped(std::ceil(p->retries * scale))), "",
                          fmt::format("{}{:.0f} ms", p->less_wait, p->wait));
    }
  }
  return text;
}

std::string aims(const std::vector<result>& all) {
  std::string text;
  const auto tell = [&](bool reached, const std::string& what) {
    text += fmt::format("{}: {}\n", what, reached ? "reached" : "not reached");
  };
  const auto rate = [](const figures& f) { return static_cast<double>(f.listed + f.bought) / f.seconds; };
  const auto beside_the_book = [&](long sellers, long buyers, double aim) {
    const auto f = find(all, sellers, buyers, method::item_lock);
    if (!f) return;
    const printed* p = in_book({sellers, buyers}, method::item_lock);
    const double times = rate(*f) / ((p->listed + p->bought) / book_seconds);
    tell(times >= aim,
         fmt::format("lock per item, {}+{}: listed and bought {:.1f} times as many as in the book (aim: {})", sellers,
                     buyers, times, aim));
  };
  beside_the_book(1, 1, 1.5);
  beside_the_book(5, 5, 5);
  for (const result& r : all) {
    if (r.how != method::item_lock) continue;
    const std::string size = name(r.size);
    tell(r.found.bought > 0 && wait(r.found) < 1,
         fmt::format("lock per item, {}: {} for a purchase (aim: below 1 ms)", size, wait_text(r.found)));
    tell(r.found.retries == 0, fmt::format("lock per item, {}: {} retries (aim: none)", size, r.found.retries));
    if (const auto w = find(all, r.size.sellers, r.size.buyers, method::watch)) {
      tell(r.found.bought >= w->bought,
           fmt::format("lock per item, {}: {} bought, with WATCH {} (aim: not fewer)", size,
                       grouped(static_cast<double>(r.found.bought)), grouped(static_cast<double>(w->bought))));
    }
  }
  return text;
}

std::string picture(const std::vector<result>& all, std::chrono::seconds length) {
  constexpr double width = 1240;
  constexpr double left = 150;
  constexpr double room = 470;  // For the figures to the right of the longest bar.
  constexpr double bar = 15;
  constexpr double row = 42;
  constexpr double head = 38;
  const auto colour = [](method how) {
    return how == method::watch ? "#d1495b" : how == method::one_lock ? "#f0a81c" : "#2e9e5b";
  };
  const double scale = static_cast<double>(length.count()) / book_seconds;

  std::vector<load> sizes;
  double most = 1;
  for (const result& r : all) {
    if (sizes.empty() || name(sizes.back()) != name(r.size)) sizes.push_back(r.size);
    most = std::max(most, static_cast<double>(r.found.listed + r.found.bought));
    if (const printed* p = in_book(r.size, r.how)) most = std::max(most, (p->listed + p->bought) * scale);
  }
  const double height = 130 + static_cast<double>(sizes.size()) * head + static_cast<double>(all.size()) * row + 12;
  support::svg svg(width, height, "A market in Redis: WATCH, one lock, a lock per item");
  svg.put(
      R"(<text x="28" y="67" fill="#5b6b7c">Items bought (dark) and listed (light) in {} s. The upper bar of a pair )"
      R"(was measured, the grey one below it is the book's figure for 60 s times {}/60.</text>)",
      length.count(), length.count());

  const auto bars = [&](double y, double h, double bought, double listed, std::string_view fill,
                        const std::string& text) {
    const double pixel = (width - left - room) / most;
    svg.put(R"(<rect x="{}" y="{:.1f}" width="{:.1f}" height="{}" fill="{}"/>)", left, y, bought * pixel, h, fill);
    svg.put(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" fill="{}" fill-opacity="0.35"/>)",
            left + bought * pixel, y, listed * pixel, h, fill);
    svg.put(R"(<text x="{:.1f}" y="{:.1f}" font-size="12">{}</text>)", left + (bought + listed) * pixel + 8, y + h - 3,
            support::svg::escape(text));
  };
  double y = 92;
  std::string last;
  for (const result& r : all) {
    if (name(r.size) != last) {
      last = name(r.size);
      svg.put(R"(<text x="28" y="{:.1f}" font-size="16" font-weight="600">{}</text>)", y + 22, players(r.size));
      y += head;
    }
    const figures& f = r.found;
    svg.put(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", left - 12, y + bar - 3, long_name(r.how));
    bars(y, bar, static_cast<double>(f.bought), static_cast<double>(f.listed), colour(r.how),
         fmt::format("{} bought, {} listed, {} retries, {} to wait", grouped(static_cast<double>(f.bought)),
                     grouped(static_cast<double>(f.listed)), grouped(static_cast<double>(f.retries)), wait_text(f)));
    if (const printed* p = in_book(r.size, r.how)) {
      bars(y + bar + 1, bar - 2, p->bought * scale, p->listed * scale, "#8a97a5",
           fmt::format("book: {}{} bought, {} listed, {}{} retries, {}{:.0f} ms to wait", p->less_bought,
                       grouped(std::ceil(p->bought * scale)), grouped(p->listed * scale), p->less_retries,
                       grouped(std::ceil(p->retries * scale)), p->less_wait, p->wait));
    }
    y += row;
  }
  return svg.end();
}

}  // namespace market
