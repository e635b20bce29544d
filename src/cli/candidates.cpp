// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "candidates.hpp"

#include "known_subcommands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace leasehold::cli {
namespace {

const candidate stores[] = {{"redis://", "one server: [USER:PASSWORD@]HOST[:PORT][/DB]"},
                            {"rediss://", "one server, by TLS: [USER:PASSWORD@]HOST[:PORT][/DB]"},
                            {"unix:///", "one server on this host: PATH"},
                            {"redis+sentinel://", "a Sentinel group: HOST,.../MASTER"},
                            {"redis+cluster://", "a cluster: HOST,..."}};
const candidate units_of_time[] = {
    {"ms", "milliseconds"}, {"s", "seconds"}, {"m", "minutes"}, {"h", "hours"}, {"d", "days"}};

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

const known_option* find_option(const known_subcommand& s, const std::string& name) {
  const auto found =
      std::find_if(s.options.begin(), s.options.end(), [&](const known_option& o) { return contains(o.names, name); });
  return found == s.options.end() ? nullptr : &*found;
}

// What parse_options would make of the words so far.
class reader {
 public:
  reader(std::vector<std::string> words, const held_names_of& held_names)
      : words_(std::move(words)), held_names_(held_names), known_(known_subcommands()) {
    if (words_.empty()) words_.emplace_back();
    last_ = words_.back();
    words_.pop_back();
  }

  completion read() {
    std::size_t i = 0;
    while (i < words_.size() && words_[i].starts_with('-')) ++i;
    if (i < words_.size()) {
      const auto found = std::find_if(known_.begin() + 1, known_.end(),
                                      [&](const known_subcommand& s) { return s.name == words_[i]; });
      if (found == known_.end()) return {};
      subcommand_ = &*found;
      ++i;
    }
    for (; i < words_.size(); ++i) {
      if (words_[i] == "--" && (!separated_ || runs())) {
        // The words behind it (behind the second one, if the names are behind the first) belong to the command only.
        if (runs() && !names_.empty()) return {fmt::format("command {}", i + 1)};
        if (separated_) return {};
        separated_ = true;
        pending_ = nullptr;
      } else {
        take(words_[i]);
      }
    }
    return complete_last();
  }

 private:
  bool runs() const { return subcommand_->name == "run" || subcommand_->name == "elect"; }

  void take(const std::string& word) {
    if (separated_) {
      names_.push_back(word);
    } else if (pending_) {
      take_value(*std::exchange(pending_, nullptr), word);
    } else if (word.size() > 1 && word.starts_with('-')) {
      const auto end = word.find('=');
      const known_option* option = find_option(*subcommand_, word.substr(0, end));
      if (!option) return;
      used_.insert(used_.end(), option->excludes.begin(), option->excludes.end());
      if (option->value.empty()) return;
      if (end == word.npos) {
        pending_ = option;
      } else {
        take_value(*option, word.substr(end + 1));
      }
    } else {
      names_.push_back(word);
    }
  }

  void take_value(const known_option& option, const std::string& value) {
    if (contains(option.names, "--redis")) store_.urls.push_back(value);
    if (contains(option.names, "--redis-file")) store_.file = value;
    if (contains(option.names, "--user")) store_.user = value;
    if (contains(option.names, "--password-file")) store_.password_file = value;
    if (contains(option.names, "--password-command")) store_.password_command = value;
    if (contains(option.names, "--prefix")) store_.prefix = value;
  }

  completion complete_last() {
    if (!separated_) {
      if (pending_) return values(*pending_, "");
      if (const auto end = last_.find('='); last_.starts_with("--") && end != last_.npos) {
        const known_option* option = find_option(*subcommand_, last_.substr(0, end));
        return option && !option->value.empty() ? values(*option, last_.substr(0, end + 1)) : completion{};
      }
      if (last_.starts_with('-')) return options();
    }
    if (subcommand_->name.empty()) return subcommands();
    if (!subcommand_->takes_name || (!runs() && !names_.empty())) {
      return last_.empty() && !separated_ ? options() : completion{};
    }
    // An election has one name.
    completion a = names_.empty() || subcommand_->name == "run" ? held() : completion{};
    if (runs() && !names_.empty() && last_.empty()) a.candidates.push_back(command_follows());
    return a;
  }

  // `head` stands before the value in the same word.
  completion values(const known_option& option, const std::string& head) const {
    completion a;
    if (option.value == "FILE") {
      a.first = "files";
    } else if (option.value == "URL") {
      a.first = "beginnings";
      for (const auto& store : stores) add(a, {head + store.word, store.help});
    } else if (option.value == "TIME") {
      const std::string number = last_.substr(head.size());
      if (number.empty() || number.find_first_not_of("0123456789.") != number.npos) return a;
      for (const auto& unit : units_of_time) add(a, {head + number + unit.word, unit.help});
    }
    return a;
  }

  completion options() const {
    completion a;
    for (const auto& option : subcommand_->options) {
      for (const auto& name : option.names) {
        if (!contains(used_, name)) add(a, {name, option.help});
      }
    }
    if (runs() && !names_.empty()) add(a, command_follows());
    return a;
  }

  completion subcommands() const {
    completion a;
    for (const auto& s : known_) {
      if (!s.name.empty()) add(a, {s.name, s.help});
    }
    return a;
  }

  completion held() const {
    completion a;
    // A key press must not run a command of an unfinished line.
    if (!store_.password_command.empty()) return a;
    for (const auto& name : held_names_(store_)) {
      // Elsewhere it would be an option or refused, and no argument has a NUL in it. A lock cannot be named twice.
      const bool can_stand = separated_ || (!name.starts_with('-') && name != "++");
      if (can_stand && name.find('\0') == name.npos && !contains(names_, name)) add(a, {name, ""});
    }
    return a;
  }

  static candidate command_follows() { return {"--", "COMMAND follows"}; }

  void add(completion& a, candidate c) const {
    if (c.word.starts_with(last_)) a.candidates.push_back(std::move(c));
  }

  std::vector<std::string> words_;
  std::string last_;
  const held_names_of& held_names_;
  const std::vector<known_subcommand> known_;

  const known_subcommand* subcommand_ = &known_[0];
  const known_option* pending_ = nullptr;  // Its value comes next.
  bool separated_ = false;                 // By "--".
  std::vector<std::string> names_;
  std::vector<std::string> used_;  // Options that are not to be offered any more.
  store_options store_;
};

}  // namespace

completion complete_words(std::vector<std::string> words, const held_names_of& held_names) {
  return reader(std::move(words), held_names).read();
}

}  // namespace leasehold::cli
