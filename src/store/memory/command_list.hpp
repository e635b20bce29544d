// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The commands of a batch on their way to a server in memory. store/redis/request_writer.hpp is the same for a server.
#pragma once

#include "protocol/arguments.hpp"
#include "protocol/scripts.hpp"
#include "store/memory/server.hpp"
#include "store/pipeline.hpp"

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail::memory {

// A script call or a command, as it is sent.
class script_call {
 public:
  script_call(const script& what, bool whole_text, bool asking, const arguments& args)
      : script_(&what), whole_text_(whole_text), asking_(asking), keys_(args.keys().size()) {
    add(args.keys());
    add(args.args());
  }
  explicit script_call(const std::vector<std::string>& command) : command_(command) {}

  reply run(server& s, bool* wrote = nullptr) const {
    if (script_ == nullptr) return s.answer(command_);
    boost::container::small_vector<std::string_view, few> views;
    std::size_t from = 0;
    for (const auto end : ends_) {
      views.push_back(std::string_view(text_).substr(from, end - from));
      from = end;
    }
    const std::span all(views.data(), views.size());
    return s.run(*script_, whole_text_, all.first(keys_), all.subspan(keys_), asking_, wrote);
  }

 private:
  static constexpr std::size_t few = 18;
  void add(std::span<const std::string_view> views) {
    for (const auto word : views) {
      text_ += word;
      ends_.push_back(text_.size());
    }
  }

  const script* script_ = nullptr;
  bool whole_text_ = false, asking_ = false;
  // The keys and arguments one behind the other, and where each one ends.
  std::string text_;
  boost::container::small_vector<std::size_t, few> ends_;
  std::size_t keys_ = 0;
  std::vector<std::string> command_;
};

// The commands of a batch. Those of one word arrive with the command behind them.
class command_list final : public command_writer {
 public:
  struct command {
    script_call what;
    std::size_t replies;
  };

  static std::unique_ptr<command_writer> make() { return std::make_unique<command_list>(); }
  static std::vector<command> take(const pipeline::batch& b) {
    return std::exchange(static_cast<command_list&>(*b.request).commands_, {});
  }

  void write(const script& what, bool whole_text, arguments& args) override {
    add(script_call(what, whole_text, asking_, args));
  }
  void write(const std::vector<std::string>& all) override { add(script_call(all)); }
  void write(std::string_view word) override {
    ++in_front_;
    asking_ = word == "ASKING";
  }
  void clear() override { commands_.clear(); }

 private:
  void add(script_call what) {
    commands_.push_back({std::move(what), 1 + std::exchange(in_front_, 0)});
    asking_ = false;
  }

  std::vector<command> commands_;
  std::size_t in_front_ = 0;
  bool asking_ = false;
};

}  // namespace leasehold::detail::memory
