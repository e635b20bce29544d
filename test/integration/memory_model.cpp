// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The store in memory against real servers: the same random commands and scripts run on both, with the same clock. Each
// reply, each message and the whole content are compared. LEASEHOLD_SEED repeats a run, LEASEHOLD_COMMANDS makes it
// longer.
#include "protocol/scripts.hpp"
#include "schedule/memory_host.hpp"
#include "schedule/queue_schedule.hpp"
#include "schedule/server_host.hpp"
#include "store/memory/cluster.hpp"
#include "store/memory/text.hpp"
#include "support/on_valkey.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_model)

namespace {

using leasehold::detail::memory::is_word;
using leasehold::detail::memory::shown;
using leasehold::test::chosen_seed;
using leasehold::test::memory_host;
using leasehold::test::reply;
using leasehold::test::server_host;

namespace scripts = leasehold::detail::scripts;

using words = std::vector<std::string>;

class model_listener final : public leasehold::detail::memory::session {
 public:
  void deliver(std::string_view, std::string_view message) override { heard.emplace_back(message); }
  void close() override {}
  void on_left(std::string_view) override {}

  words heard;
};

std::string text_of(const reply& r) {
  if (r.type != '*') return r.type + shown(r.text);
  std::string all = "*[";
  for (const auto& item : r.items) all += (all.size() > 2 ? ", " : "") + text_of(item);
  return all + "]";
}

std::string text_of(const words& w) {
  std::string all;
  for (const auto& word : w) all += (all.empty() ? "" : " ") + shown(word).substr(0, 100);
  return all;
}

// Without the words that differ between Redis and Valkey.
std::string without_names(std::string text) {
  using change = std::pair<std::string_view, std::string_view>;
  for (const auto& [theirs, ours] :
       {change{"Redis ", ""}, {" redis lib", ""}, {"Lua command", "Command"}, {" Please use EVAL.", ""}}) {
    for (std::size_t at; (at = text.find(theirs)) != text.npos;) text.replace(at, theirs.size(), ours);
  }
  return text;
}

// Where the order is the server's own affair, the sorted one. `step`: the items that belong together, of which the
// first one begins at `from`.
reply sorted(reply r, std::size_t step, std::size_t from = 0) {
  if (r.items.size() <= from) return r;
  std::vector<std::vector<reply>> groups;
  for (std::size_t i = from; i < r.items.size(); ++i) {
    if ((i - from) % step == 0) groups.emplace_back();
    groups.back().push_back(std::move(r.items[i]));
  }
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a[0].text < b[0].text; });
  r.items.resize(from);
  for (auto& g : groups) {
    for (auto& item : g) r.items.push_back(std::move(item));
  }
  return r;
}

std::string compared(const words& w, reply r) {
  if (r.type == '*' && is_word(w[0], "hgetall")) r = sorted(std::move(r), 2);
  for (const char* const name : {"hkeys", "hvals", "smembers", "keys"}) {
    if (r.type == '*' && is_word(w[0], name)) r = sorted(std::move(r), 1);
  }
  // The holds of a record are listed as HGETALL has them: once a hash is large, in an order of the server's own.
  if (r.type == '*' && w[0] == "EVALSHA" && w.size() > 7) {
    if (w[7] == "inspect") r = sorted(std::move(r), 3, 5);
    if (w[7] == "show" || w[7] == "break") r = sorted(std::move(r), 4, 8);
  }
  if (r.type == '*' && is_word(w[0], "scan") && r.items.size() == 2) {
    // A small server may answer with more than one page, too; the caller asks for one that has everything.
    r.items[1] = sorted(std::move(r.items[1]), 1);
  }
  return without_names(text_of(r));
}

std::string first_word(std::string_view text) { return std::string(text.substr(0, text.find(' '))); }

// Both, side by side.
class both {
 public:
  both() {
    for (const auto* s :
         {&scripts::mutex, &scripts::recursive_mutex, &scripts::shared_mutex, &scripts::counting_semaphore,
          &scripts::election, &scripts::admin, &scripts::all, &scripts::bundle}) {
      server_.load(s->text);
      model_.load(s->text);
    }
    set_time(1800000000000000);
  }

  std::int64_t now() const { return now_; }

  // For commands that do not depend on each other: shows all differences and not only the first one.
  void go_on_after_differences() { goes_on_ = true; }

  void set_time(std::int64_t microseconds) {
    flush();
    now_ = microseconds;
    server_.set_time(now_);
    model_.set_time(now_);
  }

  void run(words w) {
    server_.send(w);
    model_.send(w);
    sent_.push_back(std::move(w));
    if (sent_.size() >= 100) flush();
  }

  void flush() {
    for (; !sent_.empty(); sent_.pop_front()) {
      const words& w = sent_.front();
      const std::string expected = compared(w, server_.receive());
      const std::string got = compared(w, model_.receive());
      log_.push_back(std::to_string(now_) + " " + text_of(w) + " -> " + expected.substr(0, 1000));
      if (log_.size() > 60) log_.pop_front();
      if (w[0] == "EVALSHA") note(w, got);
      if (got == expected) continue;
      if (!goes_on_) BOOST_FAIL(history() << "the model: " << got);
      BOOST_ERROR(text_of(w) << "\nthe server: " << expected << "\nthe model:  " << got);
    }
  }

  // The messages and the whole content.
  void check() {
    flush();
    auto expected = server_.messages(), got = model_.messages();
    for (auto* const all : {&expected, &got}) sort_broken(*all);
    for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
      if (expected[i].channel != got[i].channel || expected[i].text != got[i].text) {
        BOOST_FAIL(history() << "published: " << expected[i].channel << " " << expected[i].text
                             << "\nthe model: " << got[i].channel << " " << got[i].text);
      }
    }
    if (expected.size() != got.size()) {
      BOOST_FAIL(history() << expected.size() << " messages; the model: " << got.size());
    }
    for (const auto& m : got) reached_.insert(first_word(m.text));
    const std::string content = dump_of_server(), model = model_.database().dump();
    if (content != model) BOOST_FAIL(history() << content << "the model:\n" << model);
  }

  struct grant {
    std::string token;
    std::string fence;
  };
  // The latest one for this lock whose reply has been read; it may be over.
  const grant& latest_grant(const std::string& record) { return latest_[record]; }

  // How replies of scripts and messages have begun so far: that the calls were not too tame.
  const std::set<std::string>& reached() const { return reached_; }

  // The clients of all holds of a lock that is broken are notified in the order of HGETALL, too.
  static void sort_broken(std::vector<leasehold::test::script_host::message>& all) {
    const auto is_broken = [](const auto& m) { return m.text.starts_with("broken "); };
    for (auto begin = all.begin(); begin != all.end();) {
      const auto end = std::find_if_not(begin, all.end(), is_broken);
      std::sort(begin, end, [](const auto& a, const auto& b) { return a.text < b.text; });
      begin = std::find_if(end, all.end(), is_broken);
    }
  }

  // So that no key that has expired is still stored.
  void touch_all(const words& keys) {
    words w{"EXISTS"};
    w.insert(w.end(), keys.begin(), keys.end());
    run(std::move(w));
    flush();
  }

 private:
  std::string history() const {
    std::string all = "\n";
    for (const auto& l : log_) all += l + "\n";
    return all;
  }

  void note(const words& w, const std::string& answer) {
    reached_.insert(first_word(answer));
    if (w.size() > 8 && w[7] == "acquire" && answer.starts_with("$\"1 ")) {
      latest_[w[3]] = {w[8], first_word(std::string_view(answer).substr(4))};
    }
  }

  std::string dump_of_server() {
    reply keys = sorted(server_.command({"KEYS", "*"}), 1);
    for (const auto& key : keys.items) {
      server_.send({"TYPE", key.text});
      server_.send({"PEXPIRETIME", key.text});
    }
    std::vector<std::pair<std::string, std::string>> found;
    for (std::size_t i = 0; i < keys.items.size(); ++i) {
      std::string type = server_.receive().text;
      found.emplace_back(std::move(type), server_.receive().text);
    }
    std::string all;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::string& key = keys.items[i].text;
      const auto& [type, expires] = found[i];
      all += shown(key) + " " + expires + " " + type;
      if (type == "string") {
        all += " " + shown(server_.command({"GET", key}).text);
      } else if (type == "hash") {
        const reply r = sorted(server_.command({"HGETALL", key}), 2);
        for (std::size_t k = 0; k < r.items.size(); k += 2) {
          all += " " + shown(r.items[k].text) + "=" + shown(r.items[k + 1].text);
        }
      } else if (type == "zset") {
        const reply r = server_.command({"ZRANGE", key, "0", "-1", "WITHSCORES"});
        for (std::size_t k = 0; k < r.items.size(); k += 2) {
          all += " " + shown(r.items[k].text) + "=" + r.items[k + 1].text;
        }
      } else {
        const reply r =
            type == "set" ? sorted(server_.command({"SMEMBERS", key}), 1) : server_.command({"LRANGE", key, "0", "-1"});
        for (const auto& item : r.items) all += " " + shown(item.text);
      }
      all += "\n";
    }
    return all;
  }

  server_host server_;
  memory_host model_;
  std::int64_t now_ = 0;
  bool goes_on_ = false;
  std::map<std::string, grant> latest_;
  std::set<std::string> reached_;
  std::deque<words> sent_;
  std::deque<std::string> log_;
};

// Random commands. In a form, $ and a letter stand for something of a kind:
//   $k any key, $s of a string, $h of a hash, $z of a sorted set, $e of a set, $l of a list; $f field, $v value,
//   $i integer, $t milliseconds, $T seconds, $a instant in milliseconds, $A in seconds, $n score, $m member, $r index,
//   $b bound, $o offset (versions differ in what a negative one means), $N what may be no score, $p pattern
constexpr std::string_view forms[] = {
    "SET $s $v",
    "SET $s $v",
    "set $k $v",
    "SET $s $v NX",
    "SET $s $v XX",
    "SET $s $v PX $t",
    "SET $s $v EX $T",
    "SET $s $v PXAT $a",
    "SET $s $v EXAT $A",
    "SET $s $v KEEPTTL",
    "SET $s $v GET",
    "SET $s $v PX $t GET",
    "SET $s $v NX GET",
    "SET $s $v XX PX $t GET KEEPTTL",
    "SET $s $v NX XX",
    "SET $s $v PX",
    "SET $s $v PX $i",
    "SET $s $v EX $i nx",
    "SET $s",
    "SET $s $i",
    "SET $s $v FOO",
    "SET $s $v EX $T PX $t",
    "GET $s",
    "GET $s",
    "Get $k",
    "GET",
    "GET $s $s",
    "MGET $s",
    "MGET $k $s $k",
    "MGET",
    "STRLEN $s",
    "GETRANGE $s $r $r",
    "GETRANGE $s $i $r",
    "APPEND $s $v",
    "INCR $s",
    "INCRBY $s $i",
    "DECR $s",
    "DEL $k",
    "DEL $k $k $k",
    "UNLINK $k",
    "EXISTS $k",
    "EXISTS $k $k $k",
    "TYPE $k",
    "DEL",
    "PTTL $k",
    "TTL $k",
    "PEXPIRETIME $k",
    "PERSIST $k",
    "PEXPIRE $k $t",
    "PEXPIRE $k $t",
    "PEXPIRE $k $i",
    "EXPIRE $k $T",
    "EXPIRE $k $i",
    "PEXPIREAT $k $a",
    "EXPIREAT $k $A",
    "PEXPIRE $k $t NX",
    "PEXPIRE $k $t XX",
    "PEXPIRE $k $t GT",
    "PEXPIRE $k $t LT",
    "PEXPIRE $k $t XX LT",
    "PEXPIRE $k $t NX GT",
    "PEXPIRE $k $t GT LT",
    "PEXPIRE $k $t FOO",
    "HSET $h $f $v",
    "HSET $h $f $v",
    "HSET $h $f $v $f $v $f $v",
    "HSET $h $f $v $f",
    "HSET $h $f",
    "HSET $h $f $i",
    "HSETNX $h $f $v",
    "HGET $h $f",
    "HGET $h $f",
    "HMGET $h $f $f $f",
    "HGETALL $h",
    "HKEYS $h",
    "HVALS $h",
    "HLEN $h",
    "HEXISTS $h $f",
    "HDEL $h $f",
    "HDEL $h $f $f $f",
    "HINCRBY $h $f $i",
    "HINCRBY $h $f 1",
    "HGET $h",
    "HMGET $h",
    "ZADD $z $n $m",
    "ZADD $z $n $m",
    "ZADD $z $n $m $n $m $n $m",
    "ZADD $z NX $n $m",
    "ZADD $z XX $n $m",
    "ZADD $z GT $n $m",
    "ZADD $z LT CH $n $m",
    "ZADD $z CH $n $m $n $m",
    "ZADD $z INCR $n $m",
    "ZADD $z NX INCR $n $m",
    "ZADD $z NX XX $n $m",
    "ZADD $z GT LT $n $m",
    "ZADD $z NX GT $n $m",
    "ZADD $z $n $m $n",
    "ZADD $z $N $m",
    "ZADD $z INCR $n $m $n $m",
    "ZADD $z XX GT CH $n $m",
    "ZREM $z $m",
    "ZREM $z $m $m",
    "ZSCORE $z $m",
    "ZCARD $z",
    "ZRANK $z $m",
    "ZRANGE $z 0 -1",
    "ZRANGE $z $r $r",
    "ZRANGE $z $r $r WITHSCORES",
    "ZRANGE $z $r $r REV",
    "ZRANGE $z $r $r REV WITHSCORES",
    "ZRANGE $z $i $r",
    "ZRANGE $z $b $b BYSCORE",
    "ZRANGE $z $b $b BYSCORE LIMIT $o $r",
    "ZRANGE $z $b $b BYSCORE REV WITHSCORES",
    "ZRANGE $z $b $b BYSCORE REV LIMIT 1 2",
    "ZRANGE $z $r $r LIMIT 0 1",
    "ZRANGE $z $r $r FOO",
    "ZRANGE $z $v $r",
    "ZRANGEBYSCORE $z $b $b",
    "ZRANGEBYSCORE $z $b $b WITHSCORES",
    "ZRANGEBYSCORE $z $b $b LIMIT $o $r",
    "ZRANGEBYSCORE $z $v $b",
    "ZRANGEBYSCORE $z $b $b LIMIT 1",
    "SADD $e $m",
    "SADD $e $m $m",
    "SREM $e $m",
    "SCARD $e",
    "SISMEMBER $e $m",
    "SMEMBERS $e",
    "RPUSH $l $v",
    "LPUSH $l $v $v",
    "LLEN $l",
    "LRANGE $l $r $r",
    "LRANGE $l 0 $i",
    "KEYS *",
    "KEYS $p",
    "SCAN 0 COUNT 1000",
    "SCAN 0 MATCH $p COUNT 1000",
    "SCAN 0 COUNT 1000 TYPE hash",
    "SCAN x",
    "SCAN 0 COUNT 0",
    "SCAN 0 COUNT",
    "SCAN 0 COUNT x",
    "TIME",
    "PING",
    "PING $v",
    "PING a b",
    "ECHO $v",
    "PUBLISH channel $v",
    "PUBLISH channel",
    "TIME now",
    "NONSENSE",
    "nonsense $v $k",
};

class generator {
 public:
  explicit generator(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t random(std::uint64_t below) { return engine_() % below; }
  bool one_in(std::uint64_t n) { return random(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[random(all.size())];
  }

  static const words& keys() {
    static const words all = {"s0", "s1", "s2", "h0", "h1",  "h2", "z0",   "z1",
                              "e0", "e1", "l0", "l1", "any", "",   "a b\n"};
    return all;
  }

  std::string value() {
    static const words all = {"",
                              "0",
                              "1",
                              "-1",
                              "10",
                              "007",
                              "-0",
                              "+1",
                              " 1",
                              "1 ",
                              "1.5",
                              "abc",
                              "9223372036854775807",
                              "-9223372036854775808",
                              "9223372036854775808",
                              "\r\n",
                              std::string("a\0b", 3),
                              "\xff\xfe",
                              "nan",
                              "inf",
                              "value"};
    if (one_in(30)) return std::string(random(200), 'x');
    return one_of(all);
  }
  // At most `range` units ahead, or half as many back, but not the present millisecond: what is SET to expire then is
  // there for Redis 7, and is not for Valkey 8.
  std::int64_t instant(std::int64_t now, std::int64_t unit, std::uint64_t range) {
    const auto t =
        now / unit + static_cast<std::int64_t>(random(range)) - static_cast<std::int64_t>(one_in(5) ? range / 2 : 0);
    return t * unit / 1000 == now / 1000 ? t + 1 : t;
  }
  std::string integer() { return one_in(3) ? value() : std::to_string(static_cast<std::int64_t>(random(2000)) - 1000); }
  std::string score() {
    static const words all = {"0", "1", "2", "-1", "1.5", "1e3", "+2", "1000000000000000", "-inf", "+inf"};
    return one_in(3) ? one_of(all) : std::to_string(random(50));
  }

  std::string word(char kind, std::int64_t now) {
    switch (kind) {
      case 's':
      case 'h':
      case 'z':
      case 'e':
      case 'l':
        if (!one_in(10)) return kind + std::to_string(random(kind == 'e' || kind == 'l' || kind == 'z' ? 2 : 3));
        [[fallthrough]];
      case 'k': return one_of(keys());
      case 'f': return one_in(20) ? value() : "f" + std::to_string(random(one_in(10) ? 60 : 6));
      case 'v': return value();
      case 'i': return integer();
      case 't':
        return std::to_string(one_in(8) ? static_cast<std::int64_t>(random(3)) - 1
                                        : static_cast<std::int64_t>(random(one_in(2) ? 20000 : 50)));
      case 'T': return std::to_string(static_cast<std::int64_t>(random(20)) - (one_in(8) ? 10 : 0));
      case 'a': return std::to_string(instant(now, 1000, 10000));
      case 'A': return std::to_string(instant(now, 1000000, 10));
      case 'n': return score();
      case 'N': {
        // No number that versions show in different ways.
        static const words all = {"", "007", "+1", " 1", "1 ", "1.5", "abc", "nan", "inf", "10", "1x"};
        return one_of(all);
      }
      case 'm': return one_in(20) ? value() : "m" + std::to_string(random(one_in(10) ? 60 : 6));
      case 'r': return std::to_string(static_cast<std::int64_t>(random(14)) - 6);
      case 'o': return std::to_string(random(7));
      case 'b': return (one_in(3) ? "(" : "") + score();
      case 'p': {
        static const words all = {"*",  "h*",   "?0",     "[hz]?", "[^s]*", "[a-s]1", "s\\0",
                                  "*1", "a*b*", "[z-a]0", "**",    "",      "h[0",    "\\"};
        return one_of(all);
      }
      default: return "";
    }
  }

  words command(std::int64_t now) {
    words all;
    std::istringstream in{std::string(forms[random(std::size(forms))])};
    for (std::string part; in >> part;) all.push_back(part[0] == '$' ? word(part[1], now) : part);
    return all;
  }

  // The same from a script.
  words command_in_script(std::int64_t now) {
    static const words texts = {
        "return redis.call(unpack(ARGV))",
        "return redis.pcall(unpack(ARGV))",
        "return {pcall(redis.call, unpack(ARGV))}",
        "local r = redis.pcall(unpack(ARGV))\nif type(r) == 'table' and r.err then\n  return {r.err, r}\nend\nreturn "
        "{r, type(r)}",
        "redis.call('SET', 's0', 'x')\nredis.call('HDEL', 'none', 'x')\nreturn redis.call(unpack(ARGV))",
        "redis.call('DEL', 'none')\nreturn redis.call(unpack(ARGV))",
        "redis.call(unpack(ARGV))\nredis.call('INCR', 's1')\nerror('on purpose')",
        "local function f() return redis.call(unpack(ARGV)) end\nlocal r = f()\nreturn {r, redis.call('TIME')}",
    };
    words inner = command(now);
    // The order is that of the server where a script does not sort it.
    for (const char* const name : {"hgetall", "hkeys", "hvals", "smembers", "keys", "scan"}) {
      if (is_word(inner[0], name)) inner[0] = "TYPE";
    }
    words all = {"EVAL", one_of(texts), "0"};
    all.insert(all.end(), inner.begin(), inner.end());
    return all;
  }

  // ---- The scripts of leasehold

  static words lock_keys(const std::string& name) {
    return {name, "leasehold:{0}:fence", "leasehold:{0}:queue:" + name, "leasehold:{0}:entries:" + name};
  }
  std::string lock_name() { return one_in(3) ? "b" : "a"; }
  std::string token() { return std::to_string(random(3)) + "." + std::to_string(random(6)); }
  std::string lease() { return std::to_string(one_in(3) ? 1 + random(3000) : 1000 + random(60000)); }
  std::string ask(const std::string& kind) {
    static const words owners = {"", "owner", "other"};
    if (kind == "recursive_mutex") return one_in(10) ? "" : one_of(owners);
    if (kind == "shared_mutex") return (one_in(3) ? "w" : "r") + one_of(owners);
    if (kind == "counting_semaphore") return std::to_string(1 + random(one_in(3) ? 4 : 2));
    return "";
  }

  words script(const std::string& kind, std::int64_t now) {
    static const words verbs = {"acquire",   "acquire", "acquire", "acquire", "acquire", "confirm",
                                "renew",     "release", "release", "release", "refresh", "inspect",
                                "downgrade", "resize",  "raise",   "nonsense"};
    const std::string& verb = one_of(verbs);
    const words keys = lock_keys(lock_name());
    const auto& script = kind == "mutex"             ? scripts::mutex
                         : kind == "recursive_mutex" ? scripts::recursive_mutex
                         : kind == "shared_mutex"    ? scripts::shared_mutex
                                                     : scripts::counting_semaphore;
    words all = {"EVALSHA", std::string(script.sha1)};
    if (verb == "renew" && !one_in(10)) {
      all.insert(all.end(), {"1", keys[0]});
    } else {
      all.push_back("4");
      all.insert(all.end(), keys.begin(), keys.end());
    }
    all.push_back(verb);
    if (verb == "inspect") return all;
    const std::string late = one_in(20) ? std::to_string(now - 1) : "9007199254740991";
    const std::string who = token();
    if (verb == "acquire") {
      all.insert(all.end(), {who, lease(), late, one_in(2) ? std::to_string(random(100)) : "", ask(kind)});
      if (one_in(4)) all.push_back(one_in(2) ? "1" : "");
      if (one_in(8)) all.push_back(token());
    } else if (verb == "release" && !one_in(3)) {
      all.push_back(who);
    } else if (verb == "release") {
      all.insert(all.end(), {who, lease(), ask(kind)});
    } else if (verb == "refresh") {
      all.insert(all.end(), {who, lease(), ask(kind), late});
    } else if (verb == "resize") {
      all.insert(all.end(), {std::to_string(1 + random(4)), late});
    } else if (verb == "raise") {
      const std::int64_t g = now + static_cast<std::int64_t>(random(100000));
      all.insert(all.end(), {who, std::to_string(g * 2048), std::to_string(g)});
      if (one_in(3)) all.push_back("1");
    } else {
      all.insert(all.end(), {who, one_in(5) ? "0" : lease()});
    }
    // A client that leaves something out, or sends nonsense.
    if (one_in(100)) all.resize(all.size() - random(3));
    if (one_in(200)) all.back() = value();
    return all;
  }

  words operators(both& b) {
    const std::string name = lock_name();
    words all = {"EVALSHA", std::string(scripts::admin.sha1), "4"};
    for (const auto& k : lock_keys(name)) all.push_back(k);
    if (one_in(3)) {
      all.push_back("show");
    } else {
      const auto& grant = b.latest_grant(name);
      all.insert(all.end(), {"break", one_in(5) ? token() : grant.token, one_in(5) ? "" : grant.fence});
      if (one_in(3)) all.push_back("force");
    }
    return all;
  }

  words several() {
    words all = {"EVALSHA", std::string(scripts::all.sha1), "8"};
    for (const char* name : {"a", "b"}) {
      for (const auto& k : lock_keys(name)) all.push_back(k);
    }
    all.insert(all.end(), {lease(), "9007199254740991", one_in(4) ? "1" : ""});
    for (int i = 0; i < 2; ++i) {
      const std::string& kind = one_in(30) ? "mutex" : kind_;
      all.insert(all.end(), {kind, token(), ask(kind)});
    }
    return all;
  }

  words bundle(std::int64_t now) {
    const words a = lock_keys("a"), b = lock_keys("b");
    words all = {"EVALSHA", std::string(scripts::bundle.sha1), "7", a[1], a[0], b[0], a[2], b[2], a[3], b[3]};
    const std::string late = one_in(20) ? std::to_string(now - 1) : "9007199254740991";
    all.insert(all.end(), {std::to_string(random(3)), lease(), late, one_in(2) ? std::to_string(random(100)) : ""});
    all.insert(all.end(), {token(), token()});
    return all;
  }

  // What other programs do to the keys of locks. Values are short: Redis keeps the order of small hashes only.
  words disturbance() {
    const words keys = lock_keys(lock_name());
    static const words hashes = {"leasehold", "owner", "f", "leasehold:0.1", "#ran", "#mutex", "0.1"};
    static const words contents = {"", "1", "nonsense", "1 2 3 4", "recursive_mutex 5 1 1 owner", "7 5000 1", "-3"};
    const std::string& key = one_in(2) ? keys[0] : one_of(keys);
    switch (random(9)) {
      case 0: return {"DEL", key};
      case 1: return {"PERSIST", key};
      case 2: return {"PEXPIRE", key, lease()};
      case 3: return {"SET", keys[0], one_in(2) ? "another program" : "leasehold:" + token() + ":17", "NX"};
      case 4: return {"HSET", key, one_of(hashes), one_of(contents)};
      case 5: return {"HINCRBY", keys[0], "owner", one_in(2) ? "1" : "-1"};
      case 6: return {"ZADD", keys[2], std::to_string(random(9)), token()};
      case 7: return {"SET", keys[1], one_in(2) ? value() : "4503599627370490"};
      default: return {"FLUSHALL"};
    }
  }

  // Most calls in a row are about one kind.
  words lock_command(both& b) {
    static const words kinds = {"mutex", "recursive_mutex", "shared_mutex", "counting_semaphore"};
    if (one_in(60)) kind_ = one_of(kinds);
    switch (random(40)) {
      case 0: return disturbance();
      case 1: return operators(b);
      case 2: return several();
      case 3:
      case 4: return bundle(b.now());
      default: return script(one_in(50) ? one_of(kinds) : kind_, b.now());
    }
  }

 private:
  std::mt19937_64 engine_;
  std::string kind_ = "mutex";
};

std::size_t chosen_number() {
  const char* const text = std::getenv("LEASEHOLD_COMMANDS");
  return text ? std::strtoull(text, nullptr, 10) : 20000;
}

// What is rare may come later than usual: `to_reach` is given ten times as many commands.
void run_random(const std::function<words(generator&, both&)>& next, const words& keys, const words& to_reach = {}) {
  const auto seed = chosen_seed();
  BOOST_TEST_CONTEXT("LEASEHOLD_SEED=" << seed) {
    generator g(seed);
    both b;
    const auto number = chosen_number();
    const auto is_reached = [&](const std::string& r) { return b.reached().contains(r); };
    for (std::size_t i = 0; i < number || (i < 10 * number && !std::ranges::all_of(to_reach, is_reached)); ++i) {
      if (g.one_in(15)) {
        b.set_time(b.now() + static_cast<std::int64_t>(g.random(g.one_in(3) ? 3000000 : g.one_in(2) ? 300000 : 1500)));
      }
      if (g.one_in(3000)) {
        b.touch_all(keys);
        b.set_time(b.now() - static_cast<std::int64_t>(g.random(20000000)));
      }
      if (g.one_in(2000)) b.set_time(b.now() + static_cast<std::int64_t>(g.random(100000000)));
      if (g.one_in(200)) b.run({"CONFIG", "SET", "maxmemory", g.one_in(3) ? "1" : "0"});
      b.run(next(g, b));
      if (i % 100 == 99) b.check();
    }
    b.check();
    std::string missing;
    for (const auto& r : to_reach) missing += is_reached(r) ? "" : r + ' ';
    BOOST_TEST(missing == "");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_commands_have_the_same_replies_and_leave_the_same_keys) {
  run_random([](generator& g, both& b) { return g.one_in(4) ? g.command_in_script(b.now()) : g.command(b.now()); },
             generator::keys());
}

BOOST_AUTO_TEST_CASE(random_calls_of_the_scripts_have_the_same_replies_and_leave_the_same_keys) {
  words keys = generator::lock_keys("a");
  for (const auto& k : generator::lock_keys("b")) keys.push_back(k);
  // The statuses of all verbs, what release answers, errors, and all messages.
  run_random([](generator& g, both& b) { return g.lock_command(b); }, keys,
             {R"($"1)", R"($"0)", R"($"2)", R"($"3)", R"($"-1)", R"($"-2)", R"(:"1")", R"(:"0")", R"(:"-1")",
              R"(-"WRONGTYPE)", R"(-"OOM)", R"(-"ERR)", R"(*[$"1)", "granted", "watch", "broken"});
}

// Between Lua and RESP, and what the sandbox refuses.
BOOST_AUTO_TEST_CASE(scripts_return_and_fail_in_the_same_way) {
  static const words texts = {
      "return",
      "return nil",
      "return true",
      "return false",
      "return 1",
      "return 1.9",
      "return -1.9",
      "return 9007199254740993",
      "return 1e15",
      "return 'text'",
      "return 'two\\r\\nlines'",
      "return ''",
      "return 'a\\0b'",
      "return {}",
      "return {1, 2.5, 'three', false, true, {4, {5}}}",
      "return {1, nil, 3}",
      "return {1, 2, x = 3}",
      "return {x = 3}",
      "return {ok = 'fine'}",
      "return {ok = 'two\\r\\nlines\\n'}",
      "return {err = 'MY error'}",
      "return {err = 'two\\r\\nlines\\n'}",
      "return {err = ''}",
      "return {err = 'x', 1, 2}",
      "return {err = 5}",
      "return {ok = 5}",
      "return {{ok = 'fine'}, {err = 'MY error'}}",
      "return function() end",
      "return redis.status_reply('fine')",
      "return redis.status_reply()",
      "return redis.status_reply(1)",
      "return redis.error_reply('MY error')",
      "return redis.error_reply('-MY error')",
      "return redis.error_reply('MY')",
      "return redis.error_reply('two\\r\\nlines\\r\\n')",
      "return redis.error_reply({})",
      "return redis.error_reply('WRONGTYPE x' .. string.char(0) .. 'y')",
      "return redis.sha1hex('text')",
      "return redis.call('PING')",
      "return type(redis.call('PING'))",
      "return redis.call('PING').ok",
      "return {redis.call('GET', 'none') == false, redis.call('SET', 'k', 'v').ok, redis.call('GET', 'k')}",
      "return redis.call('SET', 'k', 1.5) and redis.call('GET', 'k')",
      "return redis.call('SET', 'k', 10) and redis.call('GET', 'k')",
      "return redis.call('SET', 'k', -7) and redis.call('GET', 'k')",
      "return redis.call('SET', 'k', 4503599627370496) and redis.call('GET', 'k')",
      "return redis.call('HMGET', 'none', 'a', 'b')",
      "return redis.call('MGET', 'none', 's', 'h')",
      "return #redis.call('HMGET', 'none', 'a', 'b')",
      "return redis.call()",
      "return redis.pcall()",
      "return redis.call('GET')",
      "return redis.pcall('GET')",
      "return redis.pcall('GET').err",
      "return redis.call('NONSENSE')",
      "return redis.call('GET', {})",
      "return redis.call('GET', nil)",
      "return redis.call('GET', true)",
      "return redis.pcall('GET', true).err",
      "return redis.call({})",
      "return redis.call('GET', 1, 2)",
      "return redis.call('SET', 'k', 'v', 'FOO')",
      "redis.call('SET', 'k', 'v')\nreturn redis.call('HGET', 'k', 'f')",
      "redis.call('SET', 'k', 'v')\nreturn redis.pcall('HGET', 'k', 'f')",
      "redis.call('SET', 'k', 'v')\nlocal e = redis.pcall('HGET', 'k', 'f')\nlocal n = 0\nfor _ in pairs(e) do n = n + "
      "1 end\nreturn {n, e.err, tostring(e.ignore_error_stats_update)}",
      "redis.call('SET', 'k', 'half')\nerror('failed')",
      "redis.call('SET', 'k', 'half')\nlocal x = nil\nreturn x.y",
      "error('failed')",
      "error('failed', 0)",
      "error('failed', 2)",
      "error({err = 'MY error'})",
      "error()",
      "error(5)",
      "local function f()\n  error('failed')\nend\nf()",
      "return {pcall(error, 'failed')}",
      "return {pcall(error, {err = 'MY error'})}",
      "return {pcall(function() error('failed') end)}",
      "return {pcall(function() return redis.call('GET') end)}",
      "return {pcall(function() return 1, 2, 3 end)}",
      "return {pcall(redis.call, 'GET')}",
      "return select(2, pcall(redis.call, 'INCRBY', 'k', 'x'))",
      "x = 1",
      "return x",
      "function f() end",
      "string.x = 1",
      "redis.x = 1",
      "_G.x = 1",
      "return {pcall(function() x = 1 end)}",
      "return {pcall(function() return x end)}",
      "local a = {}\nsetmetatable(a, {__index = function() return 5 end})\nreturn a.x",
      "return type(print)",
      "return type(dofile)",
      "return this is no lua",
      "return (",
      "return #KEYS + #ARGV",
      "return {KEYS[1], ARGV[1], KEYS[2] == nil, ARGV[2]}",
      "KEYS[1] = 'other'\nARGV[2] = nil\nreturn {KEYS[1], ARGV[2] or 'nothing'}",
      "return redis.log(redis.LOG_DEBUG, 'text')",
      "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}",
      "return string.format('%d %06d %s', 1.0, 42, 'x')",
      "return string.format('%d', 'x')",
      "return ('x'):rep(3) .. 5 .. 1.5",
      "return 'x' < 5",
      "return {} .. 'x'",
      "return #nil",
      "return tostring(1e16)",
      "return 10 % 3 + 2 ^ 10",
      "return {tonumber('0x10'), tonumber(' 5 '), tonumber('x') == nil}",
      "return {math.floor(1.5), math.ceil(1.5), math.max(1, 2), math.min(1, 2), math.huge > 1}",
      "local t = {}\nfor k in string.gmatch('a b c', '%a') do t[#t + 1] = k end\nreturn t",
      "return {string.gsub('hello world', 'o', '0')}",
      "return {unpack({1, 2, 3})}",
      "return loadstring('return 7')()",
  };
  both b;
  b.go_on_after_differences();
  for (const auto& text : texts) b.run({"EVAL", text, "1", "key", "first", "second"});
  b.check();
  b.run({"EVALSHA", "0123456789012345678901234567890123456789", "0"});
  b.run({"CONFIG", "SET", "maxmemory", "1"});
  for (const char* const text :
       {"return redis.call('SET', 'k', 'v')", "return redis.pcall('SET', 'k', 'v')", "return redis.call('GET', 'k')",
        "redis.call('DEL', 'none')\nreturn redis.call('SET', 'k', 'w')",
        "redis.pcall('SET', 'k', 'v')\nreturn redis.pcall('SET', 'k', 'v')",
        "redis.call('PUBLISH', 'c', 'm')\nreturn redis.call('HSET', 'h', 'f', 'v')",
        "redis.pcall('HDEL', 'k', 'f')\nreturn redis.call('INCR', 'n')"}) {
    b.run({"EVAL", text, "0"});
  }
  b.run({"SET", "k", "v"});
  b.run({"PEXPIRE", "k", "1000"});
  b.run({"ZREM", "k", "v"});
  b.check();
}

// The master of the replica is away, so the data stay what they are.
BOOST_AUTO_TEST_CASE(replicas_refuse_the_same) {
  both b;
  b.go_on_after_differences();
  const auto acquire = [&](const std::string& name, const std::string& token) {
    words w = {"EVALSHA", std::string(scripts::mutex.sha1), "4"};
    for (const auto& k : generator::lock_keys(name)) w.push_back(k);
    w.insert(w.end(), {"acquire", token, "30000", "9007199254740991", "", ""});
    b.run(std::move(w));
  };
  acquire("a", "0.1");
  b.run({"REPLICAOF", "127.0.0.1", "1"});
  generator g(1);
  for (int i = 0; i < 500; ++i) b.run(g.one_in(2) ? g.command_in_script(b.now()) : g.command(b.now()));
  for (const char* const token : {"0.1", "0.2"}) {
    for (const char* const name : {"a", "b"}) {
      acquire(name, token);
      for (const auto& verb : {words{"renew", token, "30000"}, words{"release", token}}) {
        words w = {"EVALSHA", std::string(scripts::mutex.sha1), "4"};
        for (const auto& k : generator::lock_keys(name)) w.push_back(k);
        w.insert(w.end(), verb.begin(), verb.end());
        b.run(std::move(w));
      }
    }
  }
  b.check();
  BOOST_TEST(b.reached().contains(R"(-"READONLY)"));
  b.run({"REPLICAOF", "NO", "ONE"});
  acquire("b", "0.2");
  b.check();
}

// Admin's list reads the keys by SCAN, in an order that is the server's own.
BOOST_AUTO_TEST_CASE(listing_locks_shows_the_same) {
  both b;
  for (int i = 0; i < 20; ++i) {
    words w = {"EVALSHA", std::string(i % 2 ? scripts::mutex.sha1 : scripts::shared_mutex.sha1), "4"};
    for (const auto& k : generator::lock_keys("lock" + std::to_string(i))) w.push_back(k);
    w.insert(w.end(), {"acquire", "0.1", "30000", "9007199254740991", "", "r"});
    b.run(std::move(w));
  }
  for (int i = 0; i < 20; ++i) {
    b.run({"EVALSHA", std::string(scripts::admin.sha1), "0", "list", "lock" + std::to_string(i), "0",
           "leasehold:{0}:queue:"});
  }
  b.check();
}

// Of the model alone. PUBLISH reaches all nodes of a cluster, and SPUBLISH its own one.
BOOST_AUTO_TEST_CASE(a_message_reaches_those_that_have_subscribed_in_its_way) {
  namespace memory = leasehold::detail::memory;
  memory::scripting lua;
  const auto now = [] { return std::chrono::microseconds(std::chrono::hours(1)); };
  memory::server one(lua, now), other(lua, now);
  const memory::cluster both_nodes({&one, &other}, 2);
  const auto plain = std::make_shared<model_listener>(), of_slot = std::make_shared<model_listener>(),
             plain_at_other = std::make_shared<model_listener>(), of_slot_at_other = std::make_shared<model_listener>();
  for (const auto& l : {plain, plain_at_other}) l->channels.insert("c");
  for (const auto& l : {of_slot, of_slot_at_other}) l->shard_channels.insert("c");
  for (const auto& l : {plain, of_slot}) one.attach(l);
  for (const auto& l : {plain_at_other, of_slot_at_other}) other.attach(l);
  BOOST_TEST(one.execute({"PUBLISH", "c", "to all"}).integer == 1);
  BOOST_TEST(one.execute({"SPUBLISH", "c", "in the slot"}).integer == 1);
  BOOST_TEST((plain->heard == words{"to all"}));
  BOOST_TEST((plain_at_other->heard == words{"to all"}));
  BOOST_TEST((of_slot->heard == words{"in the slot"}));
  BOOST_TEST(of_slot_at_other->heard.empty());
}

BOOST_AUTO_TEST_SUITE_END()

namespace {
const leasehold::test::on_valkey memory_model_on_valkey("memory_model");
}
