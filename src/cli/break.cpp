// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "break.hpp"

#include "lock_text.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/admin.hpp>

#include <fmt/format.h>

#include <utility>

namespace leasehold::cli {

int break_by_force(const break_options& wanted) {
  asio::io_context& context = lasting_context();
  const client store = connect(context, wanted.store);
  error_code failed;
  broken_lock lock;
  break_lock(store, wanted.name, wanted.force, [&](error_code ec, broken_lock answer) {
    failed = ec;
    lock = std::move(answer);
    store.close([&](error_code) { context.stop(); });
  });
  context.run();
  if (failed == error::not_held) {
    throw failure(exit_code::none, fmt::format("{}: the lock is not held", in_quotes(wanted.name)));
  }
  if (failed == error::wrong_type) {
    throw failure(exit_code::wrong_type,
                  fmt::format("{}: wrong type: the key {} is no lock of leasehold{}", in_quotes(wanted.name),
                              in_quotes(wanted.store.prefix + wanted.name),
                              wanted.force ? ", and no other program's either" : "; --force breaks another program's"));
  }
  if (failed == error::timed_out) {
    throw failure(exit_code::not_acquired,
                  fmt::format("{}: not broken, it changes hands too fast", in_quotes(wanted.name)));
  }
  if (failed) throw describe(failed, store, wanted.store, wanted.name);
  print(fmt::format("{}: was {}, {}, {}; {}\n{}", printable(wanted.name), held_by_text(lock), fence_text(lock),
                    lease_text(lock), lock.next.empty() ? "free now" : "handed to " + printable(lock.next),
                    holds_text(lock)));
  return 0;
}

}  // namespace leasehold::cli
