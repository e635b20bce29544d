// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "svg.hpp"
#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

// A timeline as SVG: time to the right, a row per server, in it a lane per lock, and a bar per hold.
class picture {
 public:
  picture(const timeline& t, std::vector<std::string> servers, std::vector<std::string> locks, timeline::instant begin,
          timeline::instant end)
      : timeline_(t), servers_(std::move(servers)), locks_(std::move(locks)), begin_(begin) {
    seconds_ = std::max(1.0, std::chrono::duration<double>(end - begin).count());
  }

  // `verdict` is the line below the picture; `good` colours it.
  std::string draw(std::string_view verdict, bool good) {
    const double bottom = top + static_cast<double>(servers_.size()) * (row_height() + row_gap) - row_gap;
    const double height = bottom + 92;
    svg_.emplace(width, height,
                 fmt::format("{} servers, one Redis, {} locks: who held what", servers_.size(), locks_.size()));
    definitions();
    put(R"(<text x="28" y="67" fill="#5b6b7c">Each lock has clients of its own at all servers. A bar is the time that )"
        R"(a server worked under a lock: at no instant is a colour in two rows.</text>)");
    put(R"(<text x="28" y="87" fill="#5b6b7c">One server is killed while it holds a lock. That lock waits for the end )"
        R"(of the dead server's lease, and is then taken over. The others go on.</text>)");
    legend(118);
    axis(bottom);
    for (std::size_t s = 0; s < servers_.size(); ++s) row(s);
    for (const timeline::span& w : timeline_.waits()) wait(w);
    for (const timeline::hold& h : timeline_.holds()) bar(h);
    for (const auto& [server, at] : timeline_.killed()) kill(server, at);
    put(R"(<text x="28" y="{}" font-weight="600" fill="{}">{}</text>)", height - 20, good ? "#1b7f4d" : "#c62828",
        escape(fmt::format("{} {}", good ? "\u2713" : "\u2717", verdict)));
    return svg_->end();
  }

 private:
  static constexpr double width = 1240;
  static constexpr double left = 104;
  static constexpr double right = 28;
  static constexpr double top = 150;
  static constexpr double lane_height = 24;
  static constexpr double bar_height = 16;
  static constexpr double padding = 6;
  static constexpr double row_gap = 12;
  // They differ in lightness, too, for readers who do not see all colours.
  static constexpr std::array<std::string_view, 6> colours{"#2e9e5b", "#f0a81c", "#6b4bb8",
                                                           "#2d8fd5", "#d1495b", "#5f6f7f"};

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    svg_->put(format, std::forward<Args>(args)...);
  }

  static std::string escape(std::string_view text) { return svg::escape(text); }

  double row_height() const { return static_cast<double>(locks_.size()) * lane_height + 2 * padding; }
  double row_top(std::size_t server) const { return top + static_cast<double>(server) * (row_height() + row_gap); }
  double seconds(timeline::instant t) const { return std::chrono::duration<double>(t - begin_).count(); }
  double x_of(double s) const { return left + std::clamp(s / seconds_, 0.0, 1.0) * (width - left - right); }
  double x(timeline::instant t) const { return t == timeline::instant::max() ? x_of(seconds_) : x_of(seconds(t)); }
  std::size_t lock_index(const std::string& name) const {
    return static_cast<std::size_t>(std::find(locks_.begin(), locks_.end(), name) - locks_.begin());
  }
  double lane(const timeline::span& s) const {
    return row_top(s.server) + padding + (static_cast<double>(lock_index(s.name)) + 0.5) * lane_height;
  }
  std::string_view colour(const std::string& name) const { return colours[lock_index(name) % colours.size()]; }

  void definitions() {
    put("<defs>");
    for (std::size_t i = 0; i < locks_.size(); ++i) {
      const auto c = colours[i % colours.size()];
      put(R"(<pattern id="lease{0}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform='rotate(45)'>)"
          R"(<rect width="7" height="7" fill="{1}" fill-opacity="0.14"/><rect width="2.5" height="7" fill="{1}" fill-opacity="0.6"/></pattern>)",
          i, c);
    }
    put(R"(<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">)"
        R"(<path d="M0,0.8 L9.5,5 L0,9.2 z" fill="#26323f"/></marker>)");
    put("</defs>");
  }

  void legend(double y) {
    double at = 28;
    const auto entry = [&](std::string_view text, double symbol) {
      put(R"(<text x="{:.1f}" y="{}">{}</text>)", at + symbol + 8, y + 4.5, escape(text));
      at += symbol + 8 + 7.2 * static_cast<double>(text.size()) + 22;
    };
    for (std::size_t i = 0; i < locks_.size(); ++i) {
      put(R"(<rect x="{:.1f}" y="{}" width="22" height="{}" rx="3" fill="{}"/>)", at, y - bar_height / 2, bar_height,
          colours[i % colours.size()]);
      entry("lock " + locks_[i], 22);
    }
    put(R"(<rect x="{:.1f}" y="{}" width="22" height="2.5" rx="1" fill="#5b6b7c" fill-opacity="0.5"/>)", at, y - 1.2);
    entry("requests wait for it here", 22);
    if (timeline_.killed().empty()) return;
    cross(at + 9, y);
    entry("the server is killed", 18);
    const timeline::hold* dead = nullptr;
    for (const timeline::hold& h : timeline_.holds()) {
      if (h.lease_end) dead = &h;
    }
    put(R"(<rect x="{:.1f}" y="{}" width="30" height="{}" rx="3" fill='url(#lease{})'/>)", at, y - bar_height / 2,
        bar_height, dead ? lock_index(dead->name) : 0);
    entry("the dead server's lease runs on", 30);
    put(R"(<line x1="{:.1f}" y1="{}" x2="{:.1f}" y2="{}" stroke="#26323f" stroke-width="1.6" marker-end='url(#arrow)'/>)",
        at, y, at + 26, y);
    entry("takeover", 26);
  }

  void axis(double bottom) {
    // As many ticks as can be read.
    double step = 1;
    for (const double s : {1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0}) {
      step = s;
      if (seconds_ / s <= 20) break;
    }
    for (double s = 0; s <= seconds_ + 1e-9; s += step) {
      put(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#dfe5ec"/>)", x_of(s), top - 6, bottom + 6);
      put(R"(<text x="{:.1f}" y="{}" text-anchor="middle" fill="#5b6b7c">{}</text>)", x_of(s), bottom + 23, s);
    }
    put(R"(<text x="{:.1f}" y="{}" text-anchor="middle" fill="#5b6b7c">seconds since the clients began</text>)",
        (left + width - right) / 2, bottom + 44);
  }

  void row(std::size_t server) {
    const double y = row_top(server);
    const auto killed = timeline_.killed().find(server);
    const double alive_until = killed == timeline_.killed().end() ? width - right : x(killed->second);
    put(R"(<rect x="{}" y="{}" width="{:.1f}" height="{}" rx="5" fill="#26323f" fill-opacity="0.045"/>)", left, y,
        alive_until - left, row_height());
    put(R"(<text x="{}" y="{}" text-anchor="end" font-size="15" font-weight="600">{}</text>)", left - 14,
        y + row_height() / 2 + 5, escape(servers_[server]));
  }

  void wait(const timeline::span& w) {
    put(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="2.5" fill="{}" fill-opacity="0.3"/>)", x(w.from),
        lane(w) - 1.2, std::max(0.5, x(w.to) - x(w.from)), colour(w.name));
  }

  void bar(const timeline::hold& h) {
    const double y = lane(h) - bar_height / 2;
    put(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="2.5" fill="{}"><title>{}</title></rect>)",
        x(h.from), y, std::max(1.5, x(h.to) - x(h.from)), bar_height, colour(h.name),
        escape(fmt::format("{} holds {} from {:.3f} s to {:.3f} s, fence {}", servers_[h.server], h.name,
                           seconds(h.from), h.to == timeline::instant::max() ? seconds_ : seconds(h.to), h.fence)));
    if (h.lease_end) {
      put(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="2.5" fill='url(#lease{})'/>)", x(h.to), y,
          x(h.lease_end->first) - x(h.to), bar_height, lock_index(h.name));
    }
  }

  void cross(double cx, double cy) {
    put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="9" fill="#c62828" stroke="#ffffff" stroke-width="2"/>)", cx, cy);
    put(R"(<path d="M{0:.1f},{1:.1f} l7,7 m0,-7 l-7,7" stroke="#ffffff" stroke-width="2" stroke-linecap="round"/>)",
        cx - 3.5, cy - 3.5);
  }

  void kill(std::size_t server, timeline::instant at) {
    const double y = row_top(server);
    put(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#c62828" stroke-width="2"/>)", x(at), y - 4,
        y + row_height() + 4);
    std::vector<std::string> story{fmt::format("{} is killed (SIGKILL) at {:.2f} s", servers_[server], seconds(at))};
    double text_x = x(at);
    std::size_t number = 0;
    for (const timeline::take_over& t : timeline_.take_overs()) {
      if (t.dead->server != server) continue;
      const double lease = std::chrono::duration<double>(t.dead->lease_end->first - at).count();
      text_x = std::max(text_x, x(t.dead->lease_end->first));
      std::string line = fmt::format("{} stays locked for {:.2f} s, until its lease ends", t.dead->name, lease);
      if (t.heir) {
        take_over(t, number++);
        line += fmt::format("; {} takes over {:.0f} ms later", servers_[t.heir->server],
                            std::chrono::duration<double, std::milli>(t.heir->from - t.dead->lease_end->first).count());
      }
      story.push_back(std::move(line));
      for (const auto& other : timeline_.others_during(*t.dead)) {
        story.push_back(fmt::format("{} goes on meanwhile: it is granted {} times", other.name, other.grants));
      }
    }
    for (const timeline::hold& h : timeline_.holds()) {
      if (h.lease_end && h.server == server) cross(x(at), lane(h));
    }
    // Where there is no room to the right of the lease, the text ends at the border.
    std::size_t longest = 0;
    for (const std::string& line : story) longest = std::max(longest, line.size());
    const double begin = std::min(text_x + 18, width - right - 7.0 * static_cast<double>(longest));
    double text_y = y + row_height() / 2 + 5 - 9.5 * static_cast<double>(story.size() - 1);
    for (const std::string& line : story) {
      put(R"(<text x="{:.1f}" y="{:.1f}" fill="#c62828"{}>{}</text>)", begin, text_y,
          &line == &story.front() ? R"( font-weight="600")" : "", escape(line));
      text_y += 19;
    }
  }

  // From the end of the lease to the heir's first bar, which it enters from the left. `number` keeps several apart.
  void take_over(const timeline::take_over& t, std::size_t number) {
    const double from_y = lane(*t.dead);
    const double to_y = lane(*t.heir);
    const double direction = to_y > from_y ? 1 : -1;
    const double at = x(t.heir->from);
    const double down = x(t.dead->lease_end->first) - 9 - 8 * static_cast<double>(number);
    const auto path = fmt::format("M{0:.1f},{1:.1f} V{2:.1f} Q{0:.1f},{3:.1f} {4:.1f},{3:.1f} H{5:.1f}", down,
                                  from_y + direction * bar_height / 2, to_y - direction * 6, to_y, down + 5, at - 1);
    put(R"(<path d="{}" fill="none" stroke="#ffffff" stroke-width="4.5"/>)", path);
    put(R"(<path d="{}" fill="none" stroke="#26323f" stroke-width="1.6" marker-end='url(#arrow)'/>)", path);
    put(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="3.5" fill="none" stroke="#26323f" stroke-width="1.6"/>)",
        at - 1.2, to_y - bar_height / 2 - 1.2, std::max(1.5, x(t.heir->to) - at) + 2.4, bar_height + 2.4);
  }

  const timeline& timeline_;
  std::vector<std::string> servers_;
  std::vector<std::string> locks_;
  timeline::instant begin_;
  double seconds_ = 1;
  std::optional<svg> svg_;
};

}  // namespace support
