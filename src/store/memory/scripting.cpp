// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/scripting.hpp"

#include "store/memory/text.hpp"

#include <boost/pool/pool.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}

namespace leasehold::detail::memory {
namespace {

constexpr const char* chunk_name = "@user_script";

// The memory of a Lua state: lists of free blocks, for a script makes many small things, and drops them afterwards.
class blocks {
 public:
  // nullptr: there is no memory left.
  void* allocate(std::size_t size) noexcept {
    return size > largest ? std::malloc(size) : pools_[number_of(size)].malloc();
  }
  void deallocate(void* block, std::size_t size) noexcept {
    if (size > largest) return std::free(block);
    pools_[number_of(size)].free(block);
  }
  // Whether a block of the one size is large enough for the other one, and not too large.
  static bool are_alike(std::size_t a, std::size_t b) noexcept {
    return a <= largest && b <= largest && number_of(a) == number_of(b);
  }

 private:
  static constexpr std::size_t unit = 16, largest = 512;
  static std::size_t number_of(std::size_t size) noexcept { return (size - 1) / unit; }
  using all_pools = std::array<boost::pool<>, largest / unit>;
  template <std::size_t... I>
  static all_pools make(std::index_sequence<I...>) {
    return {boost::pool<>(unit * (I + 1))...};
  }

  all_pools pools_ = make(std::make_index_sequence<largest / unit>());
};

std::string sha1_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), bytes.data(), &size, EVP_sha1(), nullptr);
  static constexpr char digits[] = "0123456789abcdef";
  std::string all;
  for (unsigned i = 0; i < size; ++i) all += {digits[bytes[i] / 16], digits[bytes[i] % 16]};
  return all;
}

std::string_view string_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(lua, index, &size);
  return bytes ? std::string_view(bytes, size) : std::string_view();
}

// Pushes a table {err = "CODE text"}. A text that begins with "-" has a code of its own; for others it is ERR.
void push_error(lua_State* lua, std::string_view text) {
  std::string all;
  if (text.starts_with('-')) {
    text.remove_prefix(1);
    all = text.find(' ') == text.npos ? "ERR " : "";
  } else {
    all = "ERR ";
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  all += text;
  lua_createtable(lua, 0, 1);
  lua_pushstring(lua, all.c_str());
  lua_setfield(lua, -2, "err");
}

// What redis.call returns.
void push(lua_State* lua, const reply& r) {
  switch (r.type) {
    case reply::kind::nil: lua_pushboolean(lua, 0); return;
    case reply::kind::integer: lua_pushnumber(lua, static_cast<lua_Number>(r.integer)); return;
    case reply::kind::bulk: lua_pushlstring(lua, r.text.data(), r.text.size()); return;
    case reply::kind::status:
      lua_createtable(lua, 0, 1);
      lua_pushlstring(lua, r.text.data(), r.text.size());
      lua_setfield(lua, -2, "ok");
      return;
    case reply::kind::error:
      push_error(lua, "-" + r.text);
      // In Redis this field says that the error has been counted already. Scripts can see it.
      lua_pushboolean(lua, 1);
      lua_setfield(lua, -2, "ignore_error_stats_update");
      return;
    case reply::kind::array:
      lua_checkstack(lua, 4);
      lua_createtable(lua, static_cast<int>(r.items.size()), 0);
      int i = 0;
      for (const auto& item : r.items) {
        push(lua, item);
        lua_rawseti(lua, -2, ++i);
      }
      return;
  }
}

// Converts as C does on the machines that Redis runs on: a number out of range becomes the smallest integer.
std::int64_t to_int64(lua_Number n) {
  constexpr lua_Number end = 9223372036854775808.0;
  return n >= -end && n < end ? static_cast<std::int64_t>(n) : std::numeric_limits<std::int64_t>::min();
}

// The string in a field of the table on top of the stack; none if the field has another type.
std::optional<std::string> string_field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  std::optional<std::string> found;
  if (lua_type(lua, -1) == LUA_TSTRING) found = lua_tostring(lua, -1);
  lua_pop(lua, 1);
  return found;
}

// Takes the script's result from the top of the stack.
reply pop(lua_State* lua) {
  reply r;
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING: r = bulk(string_at(lua, -1)); break;
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, -1)) r = integer(1);
      break;
    case LUA_TNUMBER: r = integer(to_int64(lua_tonumber(lua, -1))); break;
    case LUA_TTABLE:
      if (!lua_checkstack(lua, 4)) {
        r = error("ERR reached lua stack limit");
      } else if (const auto err = string_field(lua, "err")) {
        r = error(in_one_line(*err));
      } else if (const auto ok = string_field(lua, "ok")) {
        r = status(*ok);
        std::replace_if(
            r.text.begin(), r.text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
      } else {
        r = array({});
        for (int i = 1;; ++i) {
          lua_rawgeti(lua, -1, i);
          if (lua_isnil(lua, -1)) {
            lua_pop(lua, 1);
            break;
          }
          r.items.push_back(pop(lua));
        }
      }
      break;
    default: break;
  }
  lua_pop(lua, 1);
  return r;
}

// A function that raises errors must not have C++ objects with destructors: Lua leaves it by longjmp.
int refuse_new_global(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

int refuse_unknown_global(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}

int error_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, "wrong number or type of arguments");
  } else {
    const std::string_view text = lua_tostring(lua, 1);
    push_error(lua, text.starts_with('-') ? std::string(text) : "-" + std::string(text));
  }
  return 1;
}

int status_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, "wrong number or type of arguments");
    return 1;
  }
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

int sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) {
    push_error(lua, "wrong number of arguments");
    return lua_error(lua);
  }
  lua_pushstring(lua, sha1_of(string_at(lua, 1)).c_str());
  return 1;
}

int log(lua_State*) { return 0; }

// pcall as scripts see it: the error of a command is its text and not a table.
int protected_call(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (lua_pcall(lua, arguments - 1, LUA_MULTRET, 0) != 0) {
    lua_remove(lua, 1);
    if (lua_istable(lua, -1)) {
      lua_getfield(lua, -1, "err");
      if (lua_isstring(lua, -1)) lua_replace(lua, -2);
    }
    lua_pushboolean(lua, 0);
    lua_insert(lua, 1);
  }
  return lua_gettop(lua);
}

// Called where an error was raised: makes a table of the error and its place.
int describe_error(lua_State* lua) {
  lua_Debug place{};
  bool is_known = lua_getstack(lua, 1, &place) && lua_getinfo(lua, "nSl", &place);
  if (is_known && std::string_view(place.what) == "C") {
    is_known = lua_getstack(lua, 2, &place) && lua_getinfo(lua, "nSl", &place);
  }
  if (!lua_istable(lua, 1)) {
    const char* const text = lua_tostring(lua, 1);
    lua_pushstring(lua, ("ERR " + std::string(text ? text : luaL_typename(lua, 1))).c_str());
    lua_createtable(lua, 0, 3);
    lua_insert(lua, -2);
    lua_setfield(lua, -2, "err");
    lua_replace(lua, 1);
  }
  if (is_known) {
    lua_pushstring(lua, place.source);
    lua_setfield(lua, 1, "source");
    lua_pushnumber(lua, place.currentline);
    lua_setfield(lua, 1, "line");
  }
  lua_settop(lua, 1);
  return 1;
}

}  // namespace

// One for each script: a collection does not visit the others, and what is in use is near.
struct scripting::state {
  explicit state(std::string d) : digest(std::move(d)), lua(lua_newstate(allocate, &memory)) {
    if (!lua) throw std::bad_alloc();
    // Few live things, much that is dropped: a collection at four times the memory, and not at twice.
    lua_gc(lua, LUA_GCSETPAUSE, 400);
    open_library("", luaopen_base);
    open_library(LUA_TABLIBNAME, luaopen_table);
    open_library(LUA_STRLIBNAME, luaopen_string);
    open_library(LUA_MATHLIBNAME, luaopen_math);
    lua_newtable(lua);
    add_function("call", call);
    add_function("pcall", pcall);
    add_function("error_reply", error_reply);
    add_function("status_reply", status_reply);
    add_function("sha1hex", sha1hex);
    add_function("log", log);
    int level = 0;
    for (const char* name : {"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"}) {
      lua_pushnumber(lua, level++);
      lua_setfield(lua, -2, name);
    }
    refuse_new_fields();
    lua_setglobal(lua, "redis");
    for (const char* name : {LUA_TABLIBNAME, LUA_STRLIBNAME, LUA_MATHLIBNAME}) {
      lua_getglobal(lua, name);
      refuse_new_fields();
      lua_pop(lua, 1);
    }
    lua_pushcfunction(lua, protected_call);
    lua_setglobal(lua, "pcall");
    for (const char* name : {"dofile", "loadfile", "print", "getfenv", "setfenv"}) {
      lua_pushnil(lua);
      lua_setglobal(lua, name);
    }
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    refuse_new_fields();
    lua_getmetatable(lua, -1);
    lua_pushcfunction(lua, refuse_unknown_global);
    lua_setfield(lua, -2, "__index");
    lua_pop(lua, 2);
    lua_pushcfunction(lua, describe_error);
    describe = luaL_ref(lua, LUA_REGISTRYINDEX);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { lua_close(lua); }

  static void* allocate(void* to, void* old, std::size_t old_size, std::size_t size) noexcept {
    auto& all = *static_cast<blocks*>(to);
    if (old != nullptr && size != 0 && blocks::are_alike(old_size, size)) return old;
    void* const made = size != 0 ? all.allocate(size) : nullptr;
    if (size != 0 && made == nullptr) return nullptr;
    if (made != nullptr && old != nullptr) std::memcpy(made, old, std::min(old_size, size));
    if (old != nullptr) all.deallocate(old, old_size);
    return made;
  }

  void open_library(const char* name, lua_CFunction open) {
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
  }

  void add_function(const char* name, lua_CFunction f) {
    lua_pushlightuserdata(lua, this);
    lua_pushcclosure(lua, f, 1);
    lua_setfield(lua, -2, name);
  }

  // For the table on top of the stack.
  void refuse_new_fields() {
    lua_createtable(lua, 0, 2);
    lua_pushcfunction(lua, refuse_new_global);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, -2);
  }

  // Leaves the result, or an error as a table, on top of the stack. Returns whether it is an error that has to be
  // raised.
  static bool run_command(lua_State* lua, bool raises) noexcept {
    auto& self = *static_cast<state*>(lua_touserdata(lua, lua_upvalueindex(1)));
    const int n = lua_gettop(lua);
    if (n == 0) {
      push_error(lua, "Please specify at least one argument for this redis lib call");
      return true;
    }
    // Most commands have few words.
    std::array<std::string_view, 16> few;
    std::vector<std::string_view> many;
    if (n > static_cast<int>(few.size())) many.resize(static_cast<std::size_t>(n));
    const std::span<std::string_view> words =
        many.empty() ? std::span(few).first(static_cast<std::size_t>(n)) : std::span(many);
    std::vector<number_text> numbers;
    for (int i = 1; i <= n; ++i) {
      auto& word = words[static_cast<std::size_t>(i - 1)];
      if (lua_type(lua, i) == LUA_TNUMBER) {
        if (numbers.empty()) numbers.reserve(static_cast<std::size_t>(n));
        word = write_number(lua_tonumber(lua, i), numbers.emplace_back());
      } else if (lua_type(lua, i) == LUA_TSTRING) {
        word = string_at(lua, i);
      } else {
        push_error(lua, "Lua redis lib command arguments must be strings or integers");
        return true;
      }
    }
    const auto* const named = database::command_of(words);
    if (self.only_declared) {
      for (const auto key : database::keys_in(named, words)) {
        if (self.is_declared(key)) continue;
        push_error(lua, "script tried accessing undeclared key");
        return true;
      }
    }
    const reply r = self.db->execute_in_script(named, words, self.has_written);
    push(lua, r);
    return raises && r.is_error();
  }

  static int call(lua_State* lua) { return run_command(lua, true) ? lua_error(lua) : 1; }

  static int pcall(lua_State* lua) {
    run_command(lua, false);
    return 1;
  }

  // False: the text does not compile, and `why` says more.
  bool compile(std::string_view text, reply& why) {
    if (luaL_loadbuffer(lua, text.data(), text.size(), chunk_name) != 0) {
      why = error("ERR Error compiling script (new function): " + in_one_line(string_at(lua, -1)));
      return false;
    }
    function = luaL_ref(lua, LUA_REGISTRYINDEX);
    return true;
  }

  void push_strings(strings all) {
    lua_createtable(lua, static_cast<int>(all.size()), 0);
    int i = 0;
    for (const auto s : all) {
      lua_pushlstring(lua, s.data(), s.size());
      lua_rawseti(lua, -2, ++i);
    }
  }

  void set_global(const char* name, strings all) {
    lua_pushstring(lua, name);
    push_strings(all);
    lua_rawset(lua, LUA_GLOBALSINDEX);
  }

  // Scripts mostly take their keys in turn.
  bool is_declared(std::string_view key) {
    for (std::size_t tried = 0; tried < declared.size(); ++tried) {
      if (declared[next_declared] == key) return true;
      if (++next_declared == declared.size()) next_declared = 0;
    }
    return false;
  }

  reply run(strings keys, strings arguments, database& on, may_access which) {
    db = &on;
    has_written = false;
    only_declared = which == may_access::declared_keys;
    declared = keys;
    next_declared = 0;
    set_global("KEYS", keys);
    set_global("ARGV", arguments);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, describe);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, function);
    const bool has_failed = lua_pcall(lua, 0, 1, -2) != 0;
    db = nullptr;
    reply r = has_failed ? failure() : pop(lua);
    lua_settop(lua, 0);
    return r;
  }

  // The error on top of the stack, as a reply.
  reply failure() {
    if (!lua_istable(lua, -1)) {
      const char* const text = lua_tostring(lua, -1);
      return error(in_one_line("ERR Error running script " + digest + ", " + (text ? text : "execution failure")));
    }
    std::string text = string_field(lua, "err").value_or("ERR unknown error");
    lua_getfield(lua, -1, "line");
    const bool has_line = lua_isnumber(lua, -1);
    const std::string line = has_line ? std::to_string(lua_tointeger(lua, -1)) : "";
    lua_pop(lua, 1);
    const auto source = string_field(lua, "source");
    if (has_line && source) text += " script: " + digest + ", on " + *source + ":" + line + ".";
    return error(in_one_line(text));
  }

  const std::string digest;
  blocks memory;
  lua_State* const lua;
  int describe = 0;
  int function = 0;
  database* db = nullptr;
  bool has_written = false;
  bool only_declared = false;
  strings declared;
  std::size_t next_declared = 0;
};

scripting::scripting() = default;
scripting::scripting(scripting&&) noexcept = default;
scripting& scripting::operator=(scripting&&) noexcept = default;
scripting::~scripting() = default;

scripting::state* scripting::find(std::string_view digest) const {
  const auto found = scripts_.find(digest);
  return found != scripts_.end() ? found->second.get() : nullptr;
}

scripting::state* scripting::find_or_compile(std::string_view text, reply& failure) {
  const std::string digest = sha1_of(text);
  if (auto* const known = find(digest)) return known;
  auto made = std::make_unique<state>(digest);
  if (!made->compile(text, failure)) return nullptr;
  return scripts_.emplace(digest, std::move(made)).first->second.get();
}

reply scripting::run(std::string_view text, strings keys, strings arguments, database& db) {
  reply failure;
  auto* const script = find_or_compile(text, failure);
  return script ? script->run(keys, arguments, db, may_access::any_key) : failure;
}

reply scripting::load(std::string_view text) {
  reply failure;
  const auto* const script = find_or_compile(text, failure);
  return script ? bulk(script->digest) : failure;
}

reply scripting::run_digest(std::string_view digest, strings keys, strings arguments, database& db, may_access which) {
  auto* script = find(digest);
  if (script == nullptr) script = find(to_lower(digest));
  if (script == nullptr) return error("NOSCRIPT No matching script. Please use EVAL.");
  return script->run(keys, arguments, db, which);
}

}  // namespace leasehold::detail::memory
