// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "status.hpp"

#include "store.hpp"
#include "text.hpp"

#include <leasehold/mutex.hpp>

#include <fmt/format.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/system_error.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace leasehold::cli {
namespace {

// JSON is UTF-8, but names and foreign tokens are any bytes.
void add_bytes(boost::json::object& object, const std::string& key, const std::string& bytes) {
  if (is_utf8(bytes)) {
    object[key] = bytes;
  } else {
    object[key + "_base64"] = base64(bytes);
  }
}

std::string as_json(const std::string& name, const lock_info& info) {
  boost::json::object object;
  add_bytes(object, "name", name);
  object["held"] = info.held;
  add_bytes(object, "token", info.token);
  // A string, because many JSON parsers round numbers of this size.
  object["fence"] = std::to_string(info.fence);
  object["ttl_ms"] = nullptr;
  if (info.ttl) object["ttl_ms"] = info.ttl->count();
  object["waiters"] = info.waiters;
  return boost::json::serialize(object) + "\n";
}

std::string as_text(const std::string& name, const lock_info& info) {
  const std::string line = fmt::format("{}: {}", printable(name), info.held ? "held" : "free");
  const std::string waiters = fmt::format(", {} waiting\n", info.waiters);
  if (!info.held) return line + waiters;
  // Fences count from 1: another program's lock has none.
  return line +
         (info.ttl ? fmt::format(", {:.1f} s left", static_cast<double>(info.ttl->count()) / 1000) : ", for ever") +
         (info.fence != 0 ? fmt::format(", fence {}", info.fence) : ", without a fence") +
         fmt::format(", token {}", printable(info.token)) + waiters;
}

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  throw failure(exit_code::lost, fmt::format("standard output: {}", std::strerror(errno)));
}

}  // namespace

int status(const status_options& wanted) {
  asio::io_context context(1);
  const client store = connect(context, wanted.store);
  const mutex lock(store, wanted.name);
  error_code failed;
  lock_info answer;
  lock.inspect([&](error_code ec, lock_info info) {
    failed = ec;
    answer = std::move(info);
    store.close([](error_code) {});
  });
  context.run();
  if (failed) throw describe(failed, store, wanted.store, wanted.name);
  print(wanted.json ? as_json(wanted.name, answer) : as_text(wanted.name, answer));
  return 0;
}

}  // namespace leasehold::cli
