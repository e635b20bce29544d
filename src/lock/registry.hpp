// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The entries of one client: by what they wait for, by their tokens, and by the channels that they listen to.
//
// Owned by the client; everything happens on its strand.
#pragma once

#include "client/client_core.hpp"
#include "lock/hold_state.hpp"
#include "lock/lingering_pauses.hpp"
#include "lock/lock_identity.hpp"
#include "lock/waiter.hpp"
#include "protocol/pushed_grant.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace leasehold::detail {

class holder_query;
struct joint_cohort;

// An entry as the registry sees it: implemented by queue_entry.hpp.
class registered_entry {
 public:
  virtual const lock_identity& lock() const = 0;
  // For a counting semaphore: the limit that its waiters believe in; 0 elsewhere.
  virtual std::uint32_t first_limit() const = 0;
  virtual const std::string& token() const = 0;
  // The same object. The caller keeps it during a call that may end the entry.
  virtual std::shared_ptr<registered_entry> shared() = 0;

  // Messages on the client's channel (lua/shared/queue.lua).
  virtual void on_granted(const pushed_grant&) = 0;
  virtual void on_watch() = 0;
  // Polls now: messages may have been lost, or another program has announced that the lock is free.
  virtual void poll_now() = 0;

  // The local waiter in front. Null if no waiter is left whose deadline has not passed.
  virtual waiter* first(clock::time_point now) = 0;
  // Redis has said that the lock is busy, and no more so far.
  virtual bool waits() const = 0;
  // That, or others are behind the waiter in front.
  virtual bool waits_for_long() const = 0;
  // Its waiters are about to have holds passed to them: until then, few requests.
  virtual void expect_passes() = 0;
  // Grants the waiter in front the hold that another waiter of this client has had. The entry leaves the queue with its
  // last waiter.
  virtual void grant_locally(hold_state::grant&&) = 0;

 protected:
  ~registered_entry() = default;
};

// What follows the announcements on a channel of its own: implemented by leader_watch.hpp.
class channel_watcher {
 public:
  // In the client's present layout of keys.
  virtual std::string channel() const = 0;
  // The same object.
  virtual std::shared_ptr<channel_watcher> shared() = 0;
  // Something was announced, or announcements may have been lost.
  virtual void look() = 0;

 protected:
  ~channel_watcher() = default;
};

// What is notified when another client waits for the lock that a token has: implemented by lingering.hpp, wanted.hpp.
class wanted_listener {
 public:
  virtual const lock_identity& wanted_lock() const = 0;
  // The same object. The caller keeps it during a call that may end the listener.
  virtual std::shared_ptr<wanted_listener> shared_listener() = 0;

  virtual void on_wanted() = 0;
  // Whether that is news for the hold.
  virtual bool is_first_wanted() { return true; }
  // Messages may have been lost, or reach the client only from now on.
  virtual void on_gap() = 0;

 protected:
  ~wanted_listener() = default;
};

// A lock that was released and lingers: implemented by lingering.hpp.
class idle_lock {
 public:
  // Grants it to the waiter. False: the waiter has to ask Redis, and the lock was released.
  virtual bool take(waiter&) = 0;
  // Releases it.
  virtual void stop() = 0;

 protected:
  ~idle_lock() = default;
};

class registry final : public queued_entries {
 public:
  explicit registry(client_core& core) : core_(core) {}
  static registry& of(client_core& core) { return static_cast<registry&>(core.queued()); }

  // The place of the entry for all waiters with the same ask for this lock; null if there is none.
  std::shared_ptr<registered_entry>& entry_of(const lock_identity&);
  // The same entry if there is one, otherwise null.
  std::shared_ptr<registered_entry> find(const lock_identity&) const;
  void forget(registered_entry&);
  // What the client's holds with the same ask have in common, as long as anything keeps it. Null where one hold exists
  // at a time.
  std::shared_ptr<joint_cohort> joint_of(const lock_identity&);
  // From now on, messages to the entry's token go to the entry.
  void remember_token(registered_entry&);
  void forget_token(registered_entry&);
  // Until forget_token, each message on the unlock channel of the entry's lock makes the entry poll.
  void listen(registered_entry&);
  // Those under way, by record.
  auto& holder_queries() { return holder_queries_; }
  // Until unwatch, the watcher looks at each message on its channel, and whenever messages may have been lost.
  void watch(channel_watcher&);
  void unwatch(channel_watcher&);

  // Until forget_listener, the listener is notified of messages about the token.
  void listen_for(const std::string& token, wanted_listener&);
  void forget_listener(const std::string& token, wanted_listener&);
  // Another client waits for what this token has. The second time changes nothing.
  void note_wanted(std::string_view token);
  bool is_wanted(const std::string& token) const;

  void add_idle(const lock_identity&, std::shared_ptr<idle_lock>);
  void remove_idle(const lock_identity&);
  // True: the waiter was granted the lock, which has lingered.
  bool take_idle(const lock_identity&, waiter&);
  lingering_pauses& pauses() { return pauses_; }
  // Releases the lock if it lingers.
  void stop_idle(const lock_identity&);

  void poll_all() override;
  void poll_slots(const std::unordered_set<std::uint16_t>& slots) override;
  void listen_again() override;
  void listen_in_slots() override;
  void on_channel(std::string_view channel) override;
  // Any other message is dropped, and so is one for a token that no longer waits: the next poll makes up for it.
  void on_message(const message&) override;
  void abandon() override;

 private:
  struct tenure {
    bool is_wanted = false;
    std::vector<wanted_listener*> listeners;
  };

  template <class Fits>
  void report_gap(Fits);

  client_core& core_;
  std::unordered_map<std::string, std::shared_ptr<registered_entry>> entries_;  // By lock_identity::local_queue.
  std::unordered_map<std::string, std::weak_ptr<joint_cohort>> joints_;         // By lock_identity::local_queue.
  std::size_t joints_to_purge_ = 16;                                            // From so many on.
  std::unordered_map<std::string, registered_entry*> in_queue_;                 // By token.
  std::unordered_multimap<std::string, registered_entry*> listeners_;           // By lock_identity::unlock_channel.
  std::unordered_map<std::string, tenure> tenures_;                             // By token.
  lingering_pauses pauses_;
  std::unordered_map<std::string, std::shared_ptr<idle_lock>> idle_;  // By lock_identity::local_queue.
  std::unordered_map<std::string, std::weak_ptr<holder_query>> holder_queries_;
  std::unordered_multimap<std::string, channel_watcher*> watchers_;  // By channel.
};

}  // namespace leasehold::detail
