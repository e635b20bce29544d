// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/memory/database.hpp"
#include "store/memory/reply.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace leasehold::detail::memory {

// Runs Lua scripts against a database as EVAL and EVALSHA do: with KEYS, ARGV and `redis`, the conversions between Lua
// and RESP2, the texts of errors, and no rollback when a script fails halfway. It serves any number of
// databases, and must not be used from two threads at once.
//
// Not modelled, because no script here uses it: shebang lines, RESP3, the libraries cjson, cmsgpack, struct and bit,
// time limits, and the protection of globals that exist already.
class scripting {
 public:
  using strings = std::span<const std::string_view>;

  scripting();
  scripting(scripting&&) noexcept;
  scripting& operator=(scripting&&) noexcept;
  ~scripting();

  // Which keys a script may access. Servers with many threads or shards behind one address refuse keys that the caller
  // has not declared.
  enum class may_access { any_key, declared_keys };

  // As EVAL. A text is compiled once; a known one costs its digest.
  reply run(std::string_view text, strings keys, strings arguments, database&);

  // As SCRIPT LOAD: the digest, in lower-case hexadecimal, or the error of the compiler.
  reply load(std::string_view text);

  // As EVALSHA. Texts that have been loaded or run before are known; for others the reply is NOSCRIPT.
  reply run_digest(std::string_view digest, strings keys, strings arguments, database&,
                   may_access = may_access::any_key);
  bool knows(std::string_view digest) const { return find(digest) != nullptr; }

 private:
  struct state;
  state* find(std::string_view digest) const;
  state* find_or_compile(std::string_view text, reply& failure);

  string_map<std::unique_ptr<state>> scripts_;  // By digest.
};

}  // namespace leasehold::detail::memory
