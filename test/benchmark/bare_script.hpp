// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The mutex's script on a connection without a client: what leasehold asks of Redis, and nothing else.
#pragma once

#include "protocol/scripts.hpp"
#include "protocol/slots.hpp"

#include <boost/redis/request.hpp>

#include <string>

namespace leasehold::bench {

inline void push_load(boost::redis::request& r) { r.push("SCRIPT", "LOAD", detail::scripts::mutex.text); }

template <class... Arguments>
void push_script(boost::redis::request& r, const std::string& record, const Arguments&... arguments) {
  r.push("EVALSHA", detail::scripts::mutex.sha1, "4", record, detail::only_fence_key, "leasehold:{0}:queue:" + record,
         "leasehold:{0}:entries:" + record, arguments...);
}

// With a stamp it would wait in the queue. Never too late.
inline void push_acquire(boost::redis::request& r, const std::string& record, const std::string& token,
                         const std::string& stamp) {
  push_script(r, record, "acquire", token, "30000", "9000000000000000", stamp);
}

inline void push_release(boost::redis::request& r, const std::string& record, const std::string& token) {
  push_script(r, record, "release", token);
}

}  // namespace leasehold::bench
