// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/ticket_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace leasehold::detail {
namespace {

constexpr std::string_view ticket_prefix = "lh1.";
constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t checksum_size = 4;
constexpr std::size_t longest_name = 65536;
constexpr std::size_t longest_token = 256;
constexpr std::uint64_t longest_ticket_lease = std::uint64_t{30} * 24 * 3600 * 1000;

// CRC-32 as of zip and Ethernet. It detects mistakes; it is no proof against a forgery, which the token is.
std::uint32_t ticket_checksum(std::string_view bytes) {
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) sum = (sum >> 1) ^ ((sum & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~sum;
}

void put_number(std::string& to, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) to.push_back(static_cast<char>(n | 0x80));
  to.push_back(static_cast<char>(n));
}

void put_text(std::string& to, std::string_view text) {
  put_number(to, text.size());
  to += text;
}

std::string in_base64url(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int number = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (number += 8; number >= 6; number -= 6) text.push_back(digits[bits >> (number - 6) & 63U]);
  }
  if (number != 0) text.push_back(digits[bits << (6 - number) & 63U]);
  return text;
}

// False: a character is none of base64url.
bool from_base64url(std::string_view text, std::string& bytes) {
  std::uint32_t bits = 0;
  int number = 0;
  for (const char c : text) {
    const auto digit = digits.find(c);
    if (digit == digits.npos) return false;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    number += 6;
    if (number < 8) continue;
    number -= 8;
    bytes.push_back(static_cast<char>(bits >> number & 255U));
  }
  return true;
}

// Takes values from the front; `fine` is false once one was missing.
struct ticket_reader {
  std::string_view rest;
  bool fine = true;

  std::uint64_t number(std::uint64_t most) {
    std::uint64_t n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest.empty()) break;
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      n |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte >= 0x80) continue;
      fine = fine && n <= most;
      return fine ? n : 0;
    }
    fine = false;
    return 0;
  }
  std::string text(std::size_t longest) {
    const auto size = number(longest);
    fine = fine && size <= rest.size();
    if (!fine) return {};
    std::string found(rest.substr(0, size));
    rest.remove_prefix(size);
    return found;
  }
};

bool is_token(std::string_view token) {
  const auto plain = [](unsigned char c) { return c > ' ' && c < 0x7F && c != ':' && c != '~'; };
  return !token.empty() && std::all_of(token.begin(), token.end(), plain) && token.find('.') != 0 &&
         token.find('.') != token.npos;
}

bool is_valid(const ticket_fields& f) {
  const bool has_limit = f.kind->ask == ask_is::limit;
  const bool may_have_owner = f.kind->ask == ask_is::owner || f.kind->ask == ask_is::role_and_owner;
  return !f.name.empty() && (f.limit != 0) == has_limit && (may_have_owner || f.owner.empty()) && is_token(f.token) &&
         f.lease.count() != 0 && f.depth != 0;
}

}  // namespace

std::string ticket_text(const ticket_fields& f) {
  std::string bytes;
  put_text(bytes, f.kind_name);
  put_number(bytes, f.kind->role == role::reader ? 1 : 0);
  put_text(bytes, f.name);
  put_text(bytes, f.owner);
  put_number(bytes, f.limit);
  put_text(bytes, f.token);
  put_number(bytes, f.fence);
  put_number(bytes, f.recorded);
  put_number(bytes, static_cast<std::uint64_t>(f.lease.count()));
  put_number(bytes, f.depth);
  put_number(bytes, static_cast<std::uint64_t>(f.rest.count()));
  put_number(bytes, static_cast<std::uint64_t>(f.rest_from));
  const auto sum = ticket_checksum(bytes);
  for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(sum >> shift & 255U));
  return std::string(ticket_prefix) + in_base64url(bytes);
}

ticket_read read_ticket(std::string_view text) {
  const auto because = [](const char* wrong) { return ticket_read{{}, wrong}; };
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (text.empty()) return because("it is empty");
  if (!text.starts_with(ticket_prefix)) return because("it does not begin with 'lh1.'");
  std::string bytes;
  if (!from_base64url(text.substr(ticket_prefix.size()), bytes)) {
    return because("it contains a character that is none of a ticket");
  }
  if (bytes.size() <= checksum_size) return because("a part of it is missing");
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < checksum_size; ++i) {
    sum |= std::uint32_t{static_cast<unsigned char>(bytes[bytes.size() - checksum_size + i])} << (8 * i);
  }
  bytes.resize(bytes.size() - checksum_size);
  if (sum != ticket_checksum(bytes)) return because("its checksum is wrong: a part of it is missing or was changed");
  ticket_reader from{bytes};
  ticket_fields f;
  f.kind_name = from.text(longest_token);
  f.kind = kind_of(f.kind_name, from.number(1) == 1);
  f.name = from.text(longest_name);
  f.owner = from.text(longest_name);
  f.limit = static_cast<std::uint32_t>(from.number(std::numeric_limits<std::uint32_t>::max()));
  f.token = from.text(longest_token);
  f.fence = from.number(largest);
  f.recorded = from.number(largest);
  f.lease = std::chrono::milliseconds(from.number(longest_ticket_lease));
  f.depth = static_cast<std::uint32_t>(from.number(std::numeric_limits<std::uint32_t>::max()));
  f.rest = std::chrono::milliseconds(from.number(2 * longest_ticket_lease));
  f.rest_from = static_cast<std::int64_t>(from.number(largest));
  if (!from.fine || !from.rest.empty() || f.kind == nullptr || !is_valid(f)) {
    return because("it is no ticket of this version");
  }
  // One hold has one text: bits that say nothing are 0.
  if (ticket_text(f) != text) return because("it is not written as a ticket is");
  return {std::move(f), nullptr};
}

}  // namespace leasehold::detail
