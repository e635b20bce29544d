// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a lock is, apart from its client: a name, its kind, and the ask, which distinguishes its waiters (by owner, for
// example).
#pragma once

#include "client/metrics.hpp"
#include "protocol/keys.hpp"
#include "protocol/kind.hpp"
#include "protocol/request.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace leasehold::detail {

// Kept by everything that may outlive the lock and even the client: holds and releases.
struct lock_identity {
  // limit: of a counting semaphore; 0 elsewhere.
  lock_identity(const key_space& space, std::string name, const detail::kind&, const std::string& owner = {},
                std::uint32_t limit = 0);

  lock_identity(const lock_identity&) = delete;
  lock_identity& operator=(const lock_identity&) = delete;

  const std::string name;
  const detail::kind& kind;
  // Waiters with the same value, and the same limit, share one queue of the client. The next two are parts of it: each
  // hold has an identity of its own, and there may be very many.
  const std::string local_queue;
  const std::string_view record;  // prefix + name: the key, verbatim.
  const std::string_view ask;
  mutable std::atomic<std::uint32_t> limit;
  const std::uint16_t slot;  // Of the record, whether or not the store has slots.
  const bool notifies_redisson;
  // The channel on which a free lock is announced: by Redisson, which listens there, too (if client_options::redisson
  // is set), and on a quorum. "": there is none.
  std::string unlock_channel;
  std::shared_ptr<class_figures> its_class;  // Null: none.

  std::string_view label() const { return its_class ? std::string_view(its_class->label) : std::string_view(); }

  std::string local_queue_with(std::uint32_t l) const { return local_queue + " " + std::to_string(l); }
  // Those of the client's present layout. To be called on its strand. The views stay valid.
  basic_keys<std::string_view> keys() const;
  // A request about this lock, with its ask.
  request request_for(verb, std::string_view token = {}) const;
  std::string ask_text() const;

 private:
  // Derived from the record and the layout alone.
  struct companions {
    companions(const lock_identity&, bool tagged);

    bool is_tagged;
    std::string all;  // The three that follow.
    std::string_view queue;
    std::string_view entries;
    std::string_view leader;  // Of an election; "" elsewhere.
  };

  const std::shared_ptr<const key_layout> layout_;
  const companions first_;                            // Of the layout when the lock was made,
  mutable std::unique_ptr<const companions> tagged_;  // and if the layout has changed since then.
};

}  // namespace leasehold::detail
