// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a client has to do with, as far as its core must reach it.
#pragma once

#include "protocol/message.hpp"
#include "time/clock.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace leasehold::detail {

// An operation, a hold or a release that is under way in a client. The core notifies it of what concerns it, and ends
// it when the client closes or its context ends.
class activity : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // The client closes: the activity ends with error::closed, or releases.
  virtual void on_close() = 0;
  // The store has stopped for good: what could not be released stays.
  virtual void on_stopped() {}
  // The server's clock was stepped forward.
  virtual void on_clock_jump(clock::duration) {}
  // Another server than before answers.
  virtual void on_other_server() {}
  // The same for some slots.
  virtual void on_moved(const std::unordered_set<std::uint16_t>&) {}
  // The keys are tagged from now on.
  virtual void on_tagged_keys() {}
  // According to a message, an operator has broken the hold with this token.
  virtual void on_broken(std::string_view token) { (void)token; }
  // An idle client may disconnect only if none of its activities needs the store.
  virtual bool needs_store() const { return true; }
  // The context ends: destroy the handler, and keep no executor. Nothing may be sent or posted any more.
  virtual void abandon() = 0;

 protected:
  ~activity() = default;
};

// The queued entries of the client, as far as the client must reach them: implemented by lock/registry.hpp.
class queued_entries {
 public:
  virtual ~queued_entries() = default;
  // Messages may have been lost: every entry in a queue of Redis polls.
  virtual void poll_all() = 0;
  // The same for the entries in these slots.
  virtual void poll_slots(const std::unordered_set<std::uint16_t>& slots) = 0;
  // The client has another store: it has to listen there to everything.
  virtual void listen_again() = 0;
  // The keys are tagged from now on: messages arrive by slots.
  virtual void listen_in_slots() = 0;
  // A message was published on this channel.
  virtual void on_channel(std::string_view channel) = 0;
  // This was published on the client's channel.
  virtual void on_message(const message&) = 0;
  // The context ends: forget everything.
  virtual void abandon() = 0;
};

}  // namespace leasehold::detail
