// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/kinds.hpp"

#include "protocol/keys.hpp"
#include "protocol/slots.hpp"

#include <functional>

namespace leasehold::test {

const std::string the_tagged_queue = detail::queue_key(detail::tag_of_slot(detail::slot_of("n")), "n");

// (One type of a handler for all kinds.)
void asker::acquire(acquire_options o) {
  ec.reset();
  const std::function<void(error_code, hold)> handler = [s = asked_](error_code e, hold h) {
    s->ec = e;
    s->got = std::move(h);
  };
  std::visit([&](const auto& l) { l.acquire(o, asio::bind_cancellation_slot(signal.slot(), handler)); }, lock);
}

void asker::try_acquire(acquire_options o) {
  ec.reset();
  const std::function<void(error_code, std::optional<hold>)> handler = [s = asked_](error_code e,
                                                                                    std::optional<hold> h) {
    s->ec = e;
    if (h) s->got = std::move(*h);
  };
  std::visit([&](const auto& l) { l.try_acquire(o, asio::bind_cancellation_slot(signal.slot(), handler)); }, lock);
}

void asker::watch() {
  lost.ec.reset();
  got.lost([s = asked_](error_code e) { s->lost.ec = e; });
}

awaitable<void> acquired(asker& a, acquire_options o) {
  a.acquire(o);
  co_await eventually("it has an answer", [&] { return a.ended(); });
  if (*a.ec) throw system_error(*a.ec);
}

awaitable<bool> tried(asker& a, acquire_options o) {
  a.got = hold();
  a.try_acquire(o);
  co_await eventually("it has an answer", [&] { return a.ended(); });
  if (*a.ec) throw system_error(*a.ec);
  co_return a.got.valid();
}

awaitable<lock_info> inspected(const any_lock& lock) {
  std::optional<lock_info> info;
  const std::function<void(error_code, lock_info)> handler = [&](error_code, lock_info i) { info = std::move(i); };
  std::visit([&](const auto& l) { l.inspect(handler); }, lock);
  co_await eventually("it is inspected", [&] { return info.has_value(); });
  co_return *info;
}

}  // namespace leasehold::test
