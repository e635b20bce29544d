// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>

namespace leasehold::detail {

// A Lua script as the build embeds it: the shared parts that it uses, then lua/<name>.lua.
struct script {
  std::string_view name;
  std::string_view sha1;  // of `text`, in lower-case hexadecimal, as EVALSHA takes it
  std::string_view text;
};

// One for each file lua/*.lua; lua/CMakeLists.txt generates the definitions. A script need not be declared here: a new
// kind of lock declares its script beside its row (kind.cpp).
namespace scripts {

extern const script admin;
extern const script all;
extern const script bundle;
extern const script counting_semaphore;
extern const script election;
extern const script mutex;
extern const script recursive_mutex;
extern const script shared_mutex;

}  // namespace scripts
}  // namespace leasehold::detail
