// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/database.hpp"

#include "store/memory/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace leasehold::detail::memory {
namespace {

using words = database::words;

constexpr auto largest = std::numeric_limits<std::int64_t>::max();
constexpr auto smallest = std::numeric_limits<std::int64_t>::min();

reply nil() { return {}; }
reply ok() { return status("OK"); }
reply wrong_type() { return error("WRONGTYPE Operation against a key holding the wrong kind of value"); }
reply syntax_error() { return error("ERR syntax error"); }
reply not_an_integer() { return error("ERR value is not an integer or out of range"); }
reply not_a_float() { return error("ERR value is not a valid float"); }
reply would_overflow() { return error("ERR increment or decrement would overflow"); }
reply invalid_expiry(std::string_view command) {
  return error("ERR invalid expire time in '" + to_lower(command) + "' command");
}
reply wrong_number(std::string_view command) {
  return error("ERR wrong number of arguments for '" + to_lower(command) + "' command");
}
constexpr const char* out_of_memory = "OOM command not allowed when used memory > 'maxmemory'.";

std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  if (b > 0 ? a > largest - b : a < smallest - b) return std::nullopt;
  return a + b;
}

// Start and end of a range of n items (without the end), as GETRANGE, LRANGE and ZRANGE count.
std::pair<std::size_t, std::size_t> range_of(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto n = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(0, first + n);
  if (last < 0) last += n;
  last = std::min(last, n - 1);
  if (first > last || first >= n) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

// A bound of ZRANGEBYSCORE.
struct score_bound {
  double score;
  bool is_excluded;
};

std::optional<score_bound> to_bound(std::string_view text) {
  const bool is_excluded = text.starts_with('(');
  if (is_excluded) text.remove_prefix(1);
  // Unlike a score, it may be empty or begin with blanks.
  const std::string copy(text);
  char* end = nullptr;
  const double score = std::strtod(copy.c_str(), &end);
  if (*end != '\0' || std::isnan(score)) return std::nullopt;
  return score_bound{score, is_excluded};
}

bool is_above(double score, score_bound low) { return low.is_excluded ? score > low.score : score >= low.score; }
bool is_below(double score, score_bound high) { return high.is_excluded ? score < high.score : score <= high.score; }

std::vector<reply> page_of(const sorted_set_value& set, bool with_scores, std::size_t first, std::size_t end,
                           bool is_reversed) {
  std::vector<reply> all;
  all.reserve((end - first) * (with_scores ? 2 : 1));
  for (std::size_t i = first; i < end; ++i) {
    const auto& item = set.items()[is_reversed ? set.size() - 1 - i : i];
    all.push_back(bulk(item.member));
    if (with_scores) all.push_back(bulk(from_score(item.score)));
  }
  return all;
}

}  // namespace

struct command {
  // may_say_zero: 0 does not mean that nothing was changed.
  enum flag : unsigned { none = 0, writes = 1, needs_memory = 2, keyless = 4, many_keys = 8, may_say_zero = 16 };

  bool is(flag f) const { return (flags & f) != 0; }
  bool has_right_number(words w) const {
    const auto n = static_cast<int>(w.size());
    return arity > 0 ? n == arity : n >= -arity;
  }

  reply (*run)(database&, words);
  int arity;  // With the name. Negative: at least that many.
  unsigned flags;
};

// The commands. w[0] is the name as the client wrote it, and the number of the arguments has been checked.
struct commands {
  static const command* find(std::string_view name);

  // The value of a key if it has the type T. Sets `is_wrong` if the key has a value of another type.
  template <class T>
  static T* get(database& db, std::string_view key, bool& is_wrong) {
    auto* const stored = db.find(key);
    if (!stored) return nullptr;
    T* const value = std::get_if<T>(&stored->value);
    is_wrong = value == nullptr;
    return value;
  }

  template <class T>
  static T& create(database& db, std::string_view key) {
    auto& stored = db.keys_[std::string(key)];
    return stored.value.emplace<T>();
  }

  // Calls read(value) for a key with a T. Answers `absent` if there is no such key.
  template <class T, class F>
  static reply with(database& db, std::string_view key, reply absent, F read) {
    bool is_wrong = false;
    T* const value = get<T>(db, key, is_wrong);
    if (is_wrong) return wrong_type();
    return value ? read(*value) : std::move(absent);
  }

  // ---- Keys

  static reply del(database& db, words w) {
    std::int64_t n = 0;
    for (const auto key : w.subspan(1)) n += db.find(key) && db.erase(key);
    return integer(n);
  }

  static reply exists(database& db, words w) {
    std::int64_t n = 0;
    for (const auto key : w.subspan(1)) n += db.find(key) != nullptr;
    return integer(n);
  }

  static reply type(database& db, words w) {
    static constexpr std::string_view names[] = {"string", "hash", "zset", "set", "list"};
    const auto* const stored = db.find(w[1]);
    return status(stored ? names[stored->value.index()] : "none");
  }

  static reply pttl(database& db, words w) { return left(db, w[1], 1); }
  static reply ttl(database& db, words w) { return left(db, w[1], 1000); }
  static reply left(database& db, std::string_view key, std::int64_t unit) {
    const auto* const stored = db.find(key);
    if (!stored) return integer(-2);
    if (stored->expires < 0) return integer(-1);
    return integer((std::max<std::int64_t>(0, stored->expires - db.now_ms()) + unit / 2) / unit);
  }

  static reply pexpiretime(database& db, words w) {
    const auto* const stored = db.find(w[1]);
    return integer(!stored ? -2 : stored->expires < 0 ? -1 : stored->expires);
  }

  static reply persist(database& db, words w) {
    auto* const stored = db.find(w[1]);
    if (!stored || stored->expires < 0) return integer(0);
    stored->expires = -1;
    return integer(1);
  }

  static reply pexpire(database& db, words w) { return expire_at(db, w, db.now_ms(), 1); }
  static reply expire(database& db, words w) { return expire_at(db, w, db.now_ms(), 1000); }
  static reply pexpireat(database& db, words w) { return expire_at(db, w, 0, 1); }
  static reply expireat(database& db, words w) { return expire_at(db, w, 0, 1000); }
  static reply expire_at(database& db, words w, std::int64_t since, std::int64_t unit) {
    bool nx = false, xx = false, gt = false, lt = false;
    for (const auto option : w.subspan(3)) {
      bool* const chosen = is_word(option, "nx")   ? &nx
                           : is_word(option, "xx") ? &xx
                           : is_word(option, "gt") ? &gt
                           : is_word(option, "lt") ? &lt
                                                   : nullptr;
      if (!chosen) return error("ERR Unsupported option " + std::string(option));
      *chosen = true;
    }
    if (nx && (xx || gt || lt)) return error("ERR NX and XX, GT or LT options at the same time are not compatible");
    if (gt && lt) return error("ERR GT and LT options at the same time are not compatible");
    const auto given = to_integer(w[2]);
    if (!given) return not_an_integer();
    if (*given > largest / unit || *given < smallest / unit) return invalid_expiry(w[0]);
    const auto when = sum(*given * unit, since);
    if (!when) return invalid_expiry(w[0]);
    auto* const stored = db.find(w[1]);
    if (!stored) return integer(0);
    const auto current = stored->expires;
    if ((nx && current >= 0) || (xx && current < 0)) return integer(0);
    // For GT and LT a key without an expiry lives forever.
    if (gt && (current < 0 || *when <= current)) return integer(0);
    if (lt && current >= 0 && *when >= current) return integer(0);
    if (*when <= db.now_ms()) {
      db.erase(w[1]);
    } else {
      stored->expires = *when;
    }
    return integer(1);
  }

  static reply keys(database& db, words w) {
    std::vector<reply> all;
    for (const auto& [key, stored] : db.keys_) {
      if (!db.has_expired(stored) && matches(w[1], key)) all.push_back(bulk(key));
    }
    return array(std::move(all));
  }

  // The cursor is a hash value: the scan visits the keys in the order of their hash values. So keys that come and go
  // meanwhile change nothing for the others.
  static reply scan(database& db, words w) {
    std::uint64_t cursor = 0;
    for (const char c : w[1]) {
      if (c < '0' || c > '9') return error("ERR invalid cursor");
      cursor = cursor * 10 + static_cast<std::uint64_t>(c - '0');
    }
    std::string_view pattern = "*";
    std::optional<std::string_view> wanted_type;
    std::int64_t count = 10;
    for (std::size_t i = 2; i < w.size(); i += 2) {
      if (i + 1 == w.size()) return syntax_error();
      if (is_word(w[i], "match")) {
        pattern = w[i + 1];
      } else if (is_word(w[i], "count")) {
        const auto n = to_integer(w[i + 1]);
        if (!n) return not_an_integer();
        if (*n < 1) return syntax_error();
        count = *n;
      } else if (is_word(w[i], "type")) {
        wanted_type = w[i + 1];
      } else {
        return syntax_error();
      }
    }
    std::multimap<std::uint64_t, const std::string*> behind;
    for (const auto& [key, stored] : db.keys_) {
      const auto at = static_cast<std::uint64_t>(string_hash()(key)) >> 1;
      if (at >= cursor && !db.has_expired(stored)) behind.emplace(at, &key);
    }
    std::vector<reply> all;
    std::uint64_t next = 0;
    std::int64_t visited = 0;
    std::uint64_t last = 0;
    for (const auto& [at, key] : behind) {
      if (visited >= count && at != last) {
        next = at;
        break;
      }
      ++visited;
      last = at;
      if (!matches(pattern, *key)) continue;
      if (wanted_type && !is_word(*wanted_type, type(db, std::array<std::string_view, 2>{"type", *key}).text)) continue;
      all.push_back(bulk(*key));
    }
    return array({bulk(std::to_string(next)), array(std::move(all))});
  }

  static reply dbsize(database& db, words) { return integer(static_cast<std::int64_t>(db.size())); }

  static reply flushall(database& db, words w) {
    if (w.size() > 2 || (w.size() == 2 && !is_word(w[1], "sync") && !is_word(w[1], "async"))) return syntax_error();
    db.keys_.clear();
    return ok();
  }

  // ---- Strings

  static reply get_string(database& db, words w) {
    return with<string_value>(db, w[1], nil(), [](const auto& s) { return bulk(s); });
  }

  static reply strlen(database& db, words w) {
    return with<string_value>(db, w[1], integer(0),
                              [](const auto& s) { return integer(static_cast<std::int64_t>(s.size())); });
  }

  // Null for a value of another type.
  static reply mget(database& db, words w) {
    std::vector<reply> all(w.size() - 1);
    for (std::size_t i = 1; i < w.size(); ++i) {
      bool is_wrong = false;
      if (const auto* const value = get<std::string>(db, w[i], is_wrong)) all[i - 1] = bulk(*value);
    }
    return array(std::move(all));
  }

  static reply getrange(database& db, words w) {
    const auto first = to_integer(w[2]), last = to_integer(w[3]);
    if (!first || !last) return not_an_integer();
    return with<string_value>(db, w[1], bulk(""), [&](const string_value& s) {
      const auto n = static_cast<std::int64_t>(s.size());
      if (*first < 0 && *last < 0 && *first > *last) return bulk("");
      // An end before the first byte is the first byte, unlike in LRANGE and ZRANGE.
      const auto end = *last < 0 ? std::max<std::int64_t>(0, *last + n) : *last;
      const auto [from, to] = range_of(*first, end, s.size());
      return bulk(std::string_view(s).substr(from, to - from));
    });
  }

  static reply append(database& db, words w) {
    bool is_wrong = false;
    auto* s = get<string_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    if (!s) s = &create<string_value>(db, w[1]);
    s->append(w[2]);
    return integer(static_cast<std::int64_t>(s->size()));
  }

  static reply set(database& db, words w) {
    bool nx = false, xx = false, wants_old = false, keeps = false, is_instant = false;
    std::int64_t unit = 0;
    std::optional<std::string_view> expiry;
    for (std::size_t i = 3; i < w.size(); ++i) {
      const auto option = w[i];
      const bool has_expiry = expiry.has_value();
      if (is_word(option, "nx") && !xx) {
        nx = true;
      } else if (is_word(option, "xx") && !nx) {
        xx = true;
      } else if (is_word(option, "get")) {
        wants_old = true;
      } else if (is_word(option, "keepttl") && !has_expiry) {
        keeps = true;
      } else if ((is_word(option, "ex") || is_word(option, "px") || is_word(option, "exat") ||
                  is_word(option, "pxat")) &&
                 !has_expiry && !keeps && i + 1 < w.size()) {
        unit = is_word(option, "ex") || is_word(option, "exat") ? 1000 : 1;
        is_instant = option.size() == 4;
        expiry = w[++i];
      } else {
        return syntax_error();
      }
    }
    std::int64_t when = -1;
    if (expiry) {
      const auto given = to_integer(*expiry);
      if (!given) return not_an_integer();
      if (*given <= 0 || *given > largest / unit) return invalid_expiry(w[0]);
      const auto instant = sum(*given * unit, is_instant ? 0 : db.now_ms());
      if (!instant) return invalid_expiry(w[0]);
      when = *instant;
    }
    auto* stored = db.find(w[1]);
    reply old;
    if (wants_old && stored) {
      const auto* const s = std::get_if<string_value>(&stored->value);
      if (!s) return wrong_type();
      old = bulk(*s);
    }
    if (nx ? stored != nullptr : xx && stored == nullptr) return wants_old ? std::move(old) : nil();
    if (!stored) stored = &db.keys_[std::string(w[1])];
    if (auto* const s = std::get_if<string_value>(&stored->value)) {
      *s = w[2];
    } else {
      stored->value.emplace<string_value>(w[2]);
    }
    if (!keeps) stored->expires = when;
    return wants_old ? std::move(old) : ok();
  }

  static reply incr(database& db, words w) { return add(db, w[1], 1); }
  static reply decr(database& db, words w) { return add(db, w[1], -1); }
  static reply incrby(database& db, words w) {
    const auto by = to_integer(w[2]);
    return by ? add(db, w[1], *by) : not_an_integer();
  }
  static reply add(database& db, std::string_view key, std::int64_t by) {
    bool is_wrong = false;
    auto* s = get<string_value>(db, key, is_wrong);
    if (is_wrong) return wrong_type();
    const auto old = s ? to_integer(*s) : 0;
    if (!old) return not_an_integer();
    const auto value = sum(*old, by);
    if (!value) return would_overflow();
    if (!s) s = &create<string_value>(db, key);
    *s = std::to_string(*value);
    return integer(*value);
  }

  // ---- Hashes

  static reply hset(database& db, words w) {
    if (w.size() % 2 != 0) return wrong_number(w[0]);
    bool is_wrong = false;
    auto* hash = get<hash_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    if (!hash) hash = &create<hash_value>(db, w[1]);
    std::int64_t added = 0;
    for (std::size_t i = 2; i < w.size(); i += 2) added += hash->set(w[i], w[i + 1]);
    return integer(added);
  }

  static reply hsetnx(database& db, words w) {
    bool is_wrong = false;
    auto* hash = get<hash_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    if (hash && hash->find(w[2])) return integer(0);
    if (!hash) hash = &create<hash_value>(db, w[1]);
    hash->set(w[2], w[3]);
    return integer(1);
  }

  static reply hget(database& db, words w) {
    return with<hash_value>(db, w[1], nil(), [&](const hash_value& hash) {
      const auto* const value = hash.find(w[2]);
      return value ? bulk(*value) : nil();
    });
  }

  static reply hmget(database& db, words w) {
    std::vector<reply> all(w.size() - 2);
    bool is_wrong = false;
    const auto* const hash = get<hash_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    for (std::size_t i = 2; hash && i < w.size(); ++i) {
      if (const auto* const value = hash->find(w[i])) all[i - 2] = bulk(*value);
    }
    return array(std::move(all));
  }

  static reply hexists(database& db, words w) {
    return with<hash_value>(db, w[1], integer(0),
                            [&](const auto& hash) { return integer(hash.find(w[2]) != nullptr); });
  }

  static reply hlen(database& db, words w) {
    return with<hash_value>(db, w[1], integer(0),
                            [](const auto& hash) { return integer(static_cast<std::int64_t>(hash.size())); });
  }

  static reply hgetall(database& db, words w) { return fields(db, w, true, true); }
  static reply hkeys(database& db, words w) { return fields(db, w, true, false); }
  static reply hvals(database& db, words w) { return fields(db, w, false, true); }
  static reply fields(database& db, words w, bool with_names, bool with_values) {
    return with<hash_value>(db, w[1], array({}), [&](const hash_value& hash) {
      std::vector<reply> all;
      all.reserve(hash.size() * 2);
      hash.for_each([&](const std::string& field, const std::string& value) {
        if (with_names) all.push_back(bulk(field));
        if (with_values) all.push_back(bulk(value));
      });
      return array(std::move(all));
    });
  }

  static reply hdel(database& db, words w) {
    return with<hash_value>(db, w[1], integer(0), [&](hash_value& hash) {
      std::int64_t n = 0;
      for (const auto field : w.subspan(2)) n += hash.erase(field);
      if (hash.size() == 0) db.erase(w[1]);
      return integer(n);
    });
  }

  static reply hincrby(database& db, words w) {
    const auto by = to_integer(w[3]);
    if (!by) return not_an_integer();
    bool is_wrong = false;
    auto* hash = get<hash_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    const auto* const text = hash ? hash->find(w[2]) : nullptr;
    const auto old = text ? to_integer(*text) : 0;
    if (!old) return error("ERR hash value is not an integer");
    const auto value = sum(*old, *by);
    if (!value) return would_overflow();
    if (!hash) hash = &create<hash_value>(db, w[1]);
    hash->set(w[2], std::to_string(*value));
    return integer(*value);
  }

  // ---- Sorted sets

  static reply zadd(database& db, words w) {
    bool nx = false, xx = false, gt = false, lt = false, ch = false, incr = false;
    std::size_t i = 2;
    for (; i < w.size(); ++i) {
      bool* const chosen = is_word(w[i], "nx")     ? &nx
                           : is_word(w[i], "xx")   ? &xx
                           : is_word(w[i], "gt")   ? &gt
                           : is_word(w[i], "lt")   ? &lt
                           : is_word(w[i], "ch")   ? &ch
                           : is_word(w[i], "incr") ? &incr
                                                   : nullptr;
      if (!chosen) break;
      *chosen = true;
    }
    const auto pairs = w.subspan(i);
    if (pairs.empty() || pairs.size() % 2 != 0) return syntax_error();
    if (nx && xx) return error("ERR XX and NX options at the same time are not compatible");
    if ((gt && (nx || lt)) || (lt && nx)) {
      return error("ERR GT, LT, and/or NX options at the same time are not compatible");
    }
    if (incr && pairs.size() > 2) return error("ERR INCR option supports a single increment-element pair");
    std::vector<double> scores;
    scores.reserve(pairs.size() / 2);
    for (std::size_t k = 0; k < pairs.size(); k += 2) {
      const auto score = to_score(pairs[k]);
      if (!score) return not_a_float();
      scores.push_back(*score);
    }
    bool is_wrong = false;
    auto* set = get<sorted_set_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    if (!set && xx) return incr ? nil() : integer(0);
    std::int64_t added = 0, changed = 0;
    std::optional<double> latest;
    for (std::size_t k = 0; k < scores.size(); ++k) {
      const auto member = pairs[2 * k + 1];
      const auto old = set ? set->score_of(member) : std::nullopt;
      if (old ? nx : xx) continue;
      double score = scores[k];
      if (incr && old) score += *old;
      if (std::isnan(score)) return error("ERR resulting score is not a number (NaN)");
      if (old && ((gt && score <= *old) || (lt && score >= *old))) continue;
      latest = score;
      if (!set) set = &create<sorted_set_value>(db, w[1]);
      added += !old;
      changed += !old || *old != score;
      set->set(member, score);
    }
    if (incr) return latest ? bulk(from_score(*latest)) : nil();
    return integer(ch ? changed : added);
  }

  static reply zrem(database& db, words w) {
    return with<sorted_set_value>(db, w[1], integer(0), [&](sorted_set_value& set) {
      std::int64_t n = 0;
      for (const auto member : w.subspan(2)) n += set.erase(member);
      if (set.size() == 0) db.erase(w[1]);
      return integer(n);
    });
  }

  static reply zscore(database& db, words w) {
    return with<sorted_set_value>(db, w[1], nil(), [&](const sorted_set_value& set) {
      const auto score = set.score_of(w[2]);
      return score ? bulk(from_score(*score)) : nil();
    });
  }

  static reply zcard(database& db, words w) {
    return with<sorted_set_value>(db, w[1], integer(0),
                                  [](const auto& set) { return integer(static_cast<std::int64_t>(set.size())); });
  }

  static reply zrank(database& db, words w) {
    return with<sorted_set_value>(db, w[1], nil(), [&](const sorted_set_value& set) {
      const auto score = set.score_of(w[2]);
      return score ? integer(static_cast<std::int64_t>(set.rank_of(w[2], *score))) : nil();
    });
  }

  static reply zrange(database& db, words w) { return zrange_by(db, w, false); }
  static reply zrangebyscore(database& db, words w) { return zrange_by(db, w, true); }
  static reply zrange_by(database& db, words w, bool by_score) {
    const bool is_zrange = !by_score;
    bool with_scores = false, is_reversed = false;
    std::optional<std::int64_t> offset;
    std::int64_t limit = -1;
    for (std::size_t i = 4; i < w.size(); ++i) {
      if (is_word(w[i], "withscores")) {
        with_scores = true;
      } else if (is_word(w[i], "limit") && i + 2 < w.size()) {
        const auto skipped = to_integer(w[i + 1]), most = to_integer(w[i + 2]);
        if (!skipped || !most) return not_an_integer();
        offset = *skipped;
        limit = *most;
        i += 2;
      } else if (is_zrange && is_word(w[i], "rev")) {
        is_reversed = true;
      } else if (is_zrange && is_word(w[i], "byscore")) {
        by_score = true;
      } else {
        return syntax_error();
      }
    }
    if (offset && !by_score) {
      return error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    }
    if (!by_score) {
      const auto first = to_integer(w[2]), last = to_integer(w[3]);
      if (!first || !last) return not_an_integer();
      return with<sorted_set_value>(db, w[1], array({}), [&](const sorted_set_value& set) {
        const auto [from, to] = range_of(*first, *last, set.size());
        return array(page_of(set, with_scores, from, to, is_reversed));
      });
    }
    const auto low = to_bound(w[is_reversed ? 3 : 2]), high = to_bound(w[is_reversed ? 2 : 3]);
    if (!low || !high) return error("ERR min or max is not a float");
    return with<sorted_set_value>(db, w[1], array({}), [&](const sorted_set_value& set) {
      const auto& items = set.items();
      const auto begin = std::partition_point(items.begin(), items.end(),
                                              [&](const auto& item) { return !is_above(item.score, *low); });
      const auto end =
          std::partition_point(begin, items.end(), [&](const auto& item) { return is_below(item.score, *high); });
      auto from = static_cast<std::size_t>(begin - items.begin()), to = static_cast<std::size_t>(end - items.begin());
      if (is_reversed) from = items.size() - std::exchange(to, items.size() - from);
      if (offset && *offset < 0) return array({});
      from = std::min(to, from + static_cast<std::size_t>(offset.value_or(0)));
      if (limit >= 0) to = std::min(to, from + static_cast<std::size_t>(limit));
      return array(page_of(set, with_scores, from, to, is_reversed));
    });
  }

  // ---- Sets and lists: no script uses them, but records of other programs may have these types.

  static reply sadd(database& db, words w) {
    bool is_wrong = false;
    auto* set = get<set_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    if (!set) set = &create<set_value>(db, w[1]);
    std::int64_t n = 0;
    for (const auto member : w.subspan(2)) n += set->members.set(member, "");
    return integer(n);
  }

  static reply srem(database& db, words w) {
    return with<set_value>(db, w[1], integer(0), [&](set_value& set) {
      std::int64_t n = 0;
      for (const auto member : w.subspan(2)) n += set.members.erase(member);
      if (set.members.size() == 0) db.erase(w[1]);
      return integer(n);
    });
  }

  static reply scard(database& db, words w) {
    return with<set_value>(db, w[1], integer(0),
                           [](const auto& set) { return integer(static_cast<std::int64_t>(set.members.size())); });
  }

  static reply sismember(database& db, words w) {
    return with<set_value>(db, w[1], integer(0),
                           [&](const auto& set) { return integer(set.members.find(w[2]) != nullptr); });
  }

  static reply smembers(database& db, words w) {
    return with<set_value>(db, w[1], array({}), [](const set_value& set) {
      std::vector<reply> all;
      set.members.for_each([&](const std::string& member, const std::string&) { all.push_back(bulk(member)); });
      return array(std::move(all));
    });
  }

  static reply rpush(database& db, words w) { return push(db, w, false); }
  static reply lpush(database& db, words w) { return push(db, w, true); }
  static reply push(database& db, words w, bool in_front) {
    bool is_wrong = false;
    auto* list = get<list_value>(db, w[1], is_wrong);
    if (is_wrong) return wrong_type();
    if (!list) list = &create<list_value>(db, w[1]);
    for (const auto item : w.subspan(2)) list->items.emplace(in_front ? list->items.begin() : list->items.end(), item);
    return integer(static_cast<std::int64_t>(list->items.size()));
  }

  static reply llen(database& db, words w) {
    return with<list_value>(db, w[1], integer(0),
                            [](const auto& list) { return integer(static_cast<std::int64_t>(list.items.size())); });
  }

  static reply lrange(database& db, words w) {
    const auto first = to_integer(w[2]), last = to_integer(w[3]);
    if (!first || !last) return not_an_integer();
    return with<list_value>(db, w[1], array({}), [&](const list_value& list) {
      std::vector<reply> all;
      const auto [from, to] = range_of(*first, *last, list.items.size());
      for (std::size_t i = from; i < to; ++i) all.push_back(bulk(list.items[i]));
      return array(std::move(all));
    });
  }

  // ---- Others

  static reply publish(database& db, words w) { return integer(db.publish_ ? db.publish_(w[1], w[2], false) : 0); }
  static reply spublish(database& db, words w) { return integer(db.publish_ ? db.publish_(w[1], w[2], true) : 0); }

  static reply time(database& db, words) {
    return array({bulk(std::to_string(db.now_us_ / 1000000)), bulk(std::to_string(db.now_us_ % 1000000))});
  }

  static reply ping(database&, words w) {
    if (w.size() > 2) return wrong_number(w[0]);
    return w.size() == 2 ? bulk(w[1]) : status("PONG");
  }

  static reply echo(database&, words w) { return bulk(w[1]); }
};

const command* commands::find(std::string_view name) {
  constexpr unsigned none = command::none, keyless = command::keyless, many_keys = command::many_keys;
  constexpr unsigned w = command::writes, m = command::writes | command::needs_memory, z = m | command::may_say_zero;
  static const string_map<command> all = {
      {"append", {append, 3, m}},
      {"dbsize", {dbsize, 1, keyless}},
      {"decr", {decr, 2, m}},
      {"del", {del, -2, w | many_keys}},
      {"echo", {echo, 2, keyless}},
      {"exists", {exists, -2, many_keys}},
      {"expire", {expire, -3, w}},
      {"expireat", {expireat, -3, w}},
      {"flushall", {flushall, -1, w | keyless}},
      {"flushdb", {flushall, -1, w | keyless}},
      {"get", {get_string, 2, none}},
      {"getrange", {getrange, 4, none}},
      {"hdel", {hdel, -3, w}},
      {"hexists", {hexists, 3, none}},
      {"hget", {hget, 3, none}},
      {"hgetall", {hgetall, 2, none}},
      {"hincrby", {hincrby, 4, z}},
      {"hkeys", {hkeys, 2, none}},
      {"hlen", {hlen, 2, none}},
      {"hmget", {hmget, -3, none}},
      {"hset", {hset, -4, z}},
      {"hsetnx", {hsetnx, 4, m}},
      {"hvals", {hvals, 2, none}},
      {"incr", {incr, 2, z}},
      {"incrby", {incrby, 3, z}},
      {"keys", {keys, 2, keyless}},
      {"llen", {llen, 2, none}},
      {"lpush", {lpush, -3, m}},
      {"lrange", {lrange, 4, none}},
      {"mget", {mget, -2, many_keys}},
      {"persist", {persist, 2, w}},
      {"pexpire", {pexpire, -3, w}},
      {"pexpireat", {pexpireat, -3, w}},
      {"pexpiretime", {pexpiretime, 2, none}},
      {"ping", {ping, -1, keyless}},
      {"pttl", {pttl, 2, none}},
      {"publish", {publish, 3, keyless}},
      {"rpush", {rpush, -3, m}},
      {"sadd", {sadd, -3, m}},
      {"scan", {scan, -2, keyless}},
      {"scard", {scard, 2, none}},
      {"set", {set, -3, m}},
      {"sismember", {sismember, 3, none}},
      {"smembers", {smembers, 2, none}},
      {"spublish", {spublish, 3, keyless}},
      {"srem", {srem, -3, w}},
      {"strlen", {strlen, 2, none}},
      {"time", {time, 1, keyless}},
      {"ttl", {ttl, 2, none}},
      {"type", {type, 2, none}},
      {"unlink", {del, -2, w | many_keys}},
      {"zadd", {zadd, -4, z}},
      {"zcard", {zcard, 2, none}},
      {"zrange", {zrange, -4, none}},
      {"zrangebyscore", {zrangebyscore, -4, none}},
      {"zrank", {zrank, 3, none}},
      {"zrem", {zrem, -3, w}},
      {"zscore", {zscore, 3, none}},
  };
  std::array<char, 16> lower;
  if (name.size() > lower.size()) return nullptr;
  std::transform(name.begin(), name.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto found = all.find(std::string_view(lower.data(), name.size()));
  return found == all.end() ? nullptr : &found->second;
}

database::stored* database::find(std::string_view key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  if (has_expired(found->second)) {
    keys_.erase(found);
    return nullptr;
  }
  return &found->second;
}

const any_value* database::peek(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() || has_expired(found->second) ? nullptr : &found->second.value;
}

std::string_view database::text(std::string_view key) const {
  const auto* const value = peek(key);
  const auto* const text = value ? std::get_if<string_value>(value) : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

std::string_view database::text(std::string_view key, std::string_view field) const {
  const auto* const value = peek(key);
  const auto* const hash = value ? std::get_if<hash_value>(value) : nullptr;
  const auto* const text = hash ? hash->find(field) : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

bool database::erase(std::string_view key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return false;
  keys_.erase(found);
  return true;
}

void database::set_time(std::chrono::microseconds since_epoch) {
  if (since_epoch.count() < now_us_) erase_if(keys_, [this](const auto& k) { return has_expired(k.second); });
  now_us_ = since_epoch.count();
}

// A command that may write answers 0 or nil if there was nothing to change.
reply database::run(const command& c, words w) {
  reply r = c.run(*this, w);
  const bool is_zero = r.type == reply::kind::integer && r.integer == 0 && !c.is(command::may_say_zero);
  if (c.is(command::writes) && !r.is_error() && r.type != reply::kind::nil && !is_zero) ++changes_;
  return r;
}

reply database::execute(words w) {
  if (w.empty()) return error("ERR no command");
  const auto* const named = command_of(w);
  if (!named) {
    // C strings: they end at a zero byte.
    const auto shortened = [](std::string_view word, std::size_t most) {
      return std::string(word.substr(0, std::min(most, word.find('\0'))));
    };
    std::string text = "ERR unknown command '" + shortened(w[0], 128) + "', with args beginning with: ";
    const auto begin = text.size();
    for (std::size_t i = 1; i < w.size() && text.size() - begin < 128; ++i) {
      text += "'" + shortened(w[i], 128 - (text.size() - begin)) + "' ";
    }
    return error(in_one_line(text));
  }
  if (!named->has_right_number(w)) return wrong_number(w[0]);
  if (is_out_of_memory_ && named->is(command::needs_memory)) return error(out_of_memory);
  if (named->is(command::writes) && !refusal_of_writes_.empty()) return error(refusal_of_writes_);
  return run(*named, w);
}

reply database::execute(const std::vector<std::string>& all) {
  const std::vector<std::string_view> views(all.begin(), all.end());
  return execute(words(views));
}

const command* database::command_of(words w) { return commands::find(w[0]); }

database::words database::keys_in(const command* c, words w) {
  if (c == nullptr || c->is(command::keyless) || w.size() < 2) return {};
  return w.subspan(1, c->is(command::many_keys) ? w.size() - 1 : 1);
}

reply database::execute_in_script(const command* c, words w, bool& has_written) {
  if (!c) return error("ERR Unknown Redis command called from script");
  if (!c->has_right_number(w)) return error("ERR Wrong number of args calling Redis command from script");
  if (w[0] == denied_in_scripts_) return error("NOPERM this user has no permissions to run the command");
  const bool writes = c->is(command::writes);
  if (writes && !refusal_of_writes_.empty()) return error(refusal_of_writes_);
  if (is_out_of_memory_ && !has_written && c->is(command::needs_memory)) return error(out_of_memory);
  if (may_access_ && !may_access_(keys_in(c, w))) {
    return error("ERR Script attempted to access a non local key in a cluster node");
  }
  if (writes) has_written = true;
  return run(*c, w);
}

std::size_t database::size() const {
  return static_cast<std::size_t>(
      std::count_if(keys_.begin(), keys_.end(), [this](const auto& k) { return !has_expired(k.second); }));
}

void database::move_key(const std::string& key, database& to) {
  stored* const found = find(key);
  if (found == nullptr) return;
  stored moved = std::move(*found);
  if (moved.expires >= 0) moved.expires += to.now_ms() - now_ms();
  erase(key);
  ++changes_;
  to.keys_.insert_or_assign(key, std::move(moved));
  ++to.changes_;
}

std::vector<std::string> database::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, its] : keys_) {
    if (!has_expired(its)) all.push_back(key);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string database::dump() const {
  std::vector<const std::pair<const std::string, stored>*> sorted;
  sorted.reserve(keys_.size());
  for (const auto& k : keys_) {
    if (!has_expired(k.second)) sorted.push_back(&k);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });

  struct writer {
    std::string& all;
    void operator()(const string_value& s) const { all += " string " + shown(s); }
    void operator()(const hash_value& hash) const {
      all += " hash";
      std::map<std::string_view, std::string_view> fields;
      hash.for_each([&](const std::string& field, const std::string& value) { fields.emplace(field, value); });
      for (const auto& [field, value] : fields) all += " " + shown(field) + "=" + shown(value);
    }
    void operator()(const sorted_set_value& set) const {
      all += " zset";
      for (const auto& item : set.items()) all += " " + shown(item.member) + "=" + from_score(item.score);
    }
    void operator()(const set_value& set) const {
      all += " set";
      std::set<std::string_view> members;
      set.members.for_each([&](const std::string& member, const std::string&) { members.insert(member); });
      for (const auto member : members) all += " " + shown(member);
    }
    void operator()(const list_value& list) const {
      all += " list";
      for (const auto& item : list.items) all += " " + shown(item);
    }
  };

  std::string all;
  for (const auto* k : sorted) {
    all += shown(k->first) + " " + std::to_string(k->second.expires);
    std::visit(writer{all}, k->second.value);
    all += "\n";
  }
  return all;
}

}  // namespace leasehold::detail::memory
