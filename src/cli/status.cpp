// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "status.hpp"

#include "lock_text.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/admin.hpp>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace leasehold::cli {
namespace {

std::string in_json(const std::string& name, const lock_status& lock) {
  boost::json::object object = as_json(name, lock);
  boost::json::array queue;
  for (const waiter& w : lock.queue) {
    boost::json::object entry;
    add_bytes(entry, "token", w.token);
    entry["lease_ms"] = w.lease.count();
    entry["silent"] = w.silent;
    add_asker(entry, w.role, w.owner);
    queue.push_back(std::move(entry));
  }
  object["queue"] = std::move(queue);
  add_details(object, lock);
  return printable_json(boost::json::serialize(object)) + "\n";
}

std::string in_words(const std::string& name, const lock_status& lock) {
  std::string text = fmt::format("{}: {}", printable(name), lock.held ? holders_text(lock) : "free");
  if (lock.held) {
    text += fmt::format(", {}, {}", lease_text(lock), fence_text(lock));
    if (is_mutex(lock)) text += ", token " + printable(lock.token);
    if (lock.lingers) text += ", lingers (its client may keep it idle)";
  }
  text += fmt::format(", {} waiting\n", lock.waiters) + holds_text(lock);
  for (std::size_t i = 0; i < lock.queue.size(); ++i) {
    const waiter& w = lock.queue[i];
    text +=
        fmt::format("{:>3}  {}  {:.1f} s{}{}\n", i + 1, printable(w.token), static_cast<double>(w.lease.count()) / 1000,
                    asker_text(w.role, w.owner), w.silent ? "  silent" : "");
  }
  if (lock.waiters > lock.queue.size()) text += fmt::format("     and {} more\n", lock.waiters - lock.queue.size());
  return text;
}

}  // namespace

int status(const status_options& wanted) {
  asio::io_context& context = lasting_context();
  const client store = connect(context, wanted.store);
  error_code failed;
  lock_status lock;
  show(store, wanted.name, [&](error_code ec, lock_status answer) {
    failed = ec;
    lock = std::move(answer);
    store.close([&](error_code) { context.stop(); });
  });
  context.run();
  if (failed) throw describe(failed, store, wanted.store, wanted.name);
  print(wanted.json ? in_json(wanted.name, lock) : in_words(wanted.name, lock));
  return 0;
}

}  // namespace leasehold::cli
