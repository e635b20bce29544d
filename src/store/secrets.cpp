// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/secrets.hpp"

#include <boost/algorithm/string/find.hpp>
#include <boost/algorithm/string/predicate.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace leasehold::detail {
namespace {

constexpr std::string_view mask = "***";

// Shorter credentials may be part of ordinary words: they are hidden only where they stand alone.
constexpr std::size_t shortest_part_of_a_word = 4;

// Servers cut off long arguments when they repeat them. So a beginning of a credential of this length is hidden, too.
constexpr std::size_t shortest_beginning = 8;

// The mask itself cannot be hidden, and nothing need not be.
bool is_mask(const std::string& s) { return s.find_first_not_of('*') == s.npos; }

bool is_word_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Redis puts blanks in the place of line ends, since an error is one line.
bool same(char said, char secret) { return said == secret || (said == ' ' && (secret == '\r' || secret == '\n')); }

// How many bytes of the text at this place belong to the secret.
std::size_t found_at(std::string_view text, std::size_t at, std::string_view secret) {
  const auto end =
      std::mismatch(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), secret.begin(), secret.end(), same);
  const auto length = static_cast<std::size_t>(end.second - secret.begin());
  if (length != secret.size()) return length < shortest_beginning ? 0 : length;
  const bool alone = (at == 0 || !is_word_character(text[at - 1])) &&
                     (at + length == text.size() || !is_word_character(text[at + length]));
  return length >= shortest_part_of_a_word || alone ? length : 0;
}

std::string without_user_and_parameters(std::string_view url) {
  const auto authority = url.find("://") + 3;
  std::string_view rest = url.substr(authority);
  const std::string scheme(url.substr(0, authority));
  const auto at = rest.rfind('@');
  const auto question = rest.find('?');
  if (at == rest.npos) return scheme + std::string(rest.substr(0, question));
  // The part in front of an '@' may be a password that was not escaped.
  if (question < at) return scheme + std::string(mask);
  return scheme + std::string(mask) + std::string(rest.substr(at, question == rest.npos ? question : question - at));
}

}  // namespace

std::string without_credentials(std::string_view url) {
  std::string shown = without_user_and_parameters(url);
  const std::size_t hidden = behind_password(shown).size();
  return hidden == 0 ? shown : shown.substr(0, shown.size() - hidden) + std::string(mask);
}

std::string_view behind_password(std::string_view text) {
  const auto word = boost::algorithm::ifind_first(text, "password");
  return word.empty() ? std::string_view() : text.substr(static_cast<std::size_t>(word.end() - text.begin()));
}

std::string only_scheme(std::string_view url) {
  for (const std::string_view scheme : {"redis://", "rediss://", "unix://", "redis+sentinel://", "rediss+sentinel://",
                                        "redis+cluster://", "rediss+cluster://"}) {
    if (url.starts_with(scheme)) return std::string(scheme) + std::string(mask);
  }
  return "the URL";
}

std::string file_in_quotes(std::string_view name) {
  const bool suspicious = name.find_first_of("@=?&:") != name.npos || boost::algorithm::icontains(name, "passw");
  return "'" + std::string(suspicious ? mask : name) + "'";
}

secrets::secrets(std::vector<std::string> all) : all_(std::move(all)) { std::erase_if(all_, is_mask); }

void secrets::add(const std::string& s) {
  if (is_mask(s) || std::find(all_.begin(), all_.end(), s) != all_.end()) return;
  std::erase(added_, s);
  added_.push_back(s);
  if (added_.size() > most_added) added_.pop_front();
}

std::string secrets::hide(std::string_view text) const {
  std::vector<bool> hidden(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t most = 0;
    for (const std::string& s : all_) most = std::max(most, found_at(text, i, s));
    for (const std::string& s : added_) most = std::max(most, found_at(text, i, s));
    // Checks all credentials: a false beginning of one may overlap with another.
    std::fill_n(hidden.begin() + static_cast<std::ptrdiff_t>(i), most, true);
  }
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!hidden[i]) {
      shown += text[i];
    } else if (i == 0 || !hidden[i - 1]) {
      shown += mask;
    }
  }
  return shown;
}

}  // namespace leasehold::detail
