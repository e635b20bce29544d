// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the scripts are to do, said once more: the queue of a lock, and what its kind has to say to it
// (lua/shared/call.lua). Times are the server's, in microseconds; leases are in milliseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

enum class lock_kind { mutex, recursive_mutex, shared_mutex, counting_semaphore };

struct queue_message {
  std::string client;
  std::string text;
  std::string ask;  // Of the entry that it is about.
};

// The lock record, for all kinds: a mutex is one with a single member that stays until the key expires.
struct record_model {
  struct member {
    std::string token;
    std::int64_t deadline;
    std::uint64_t fence;
    std::string ask;
  };

  explicit record_model(lock_kind k) : kind(k) {}

  const lock_kind kind;
  std::int64_t now = 0;
  std::int64_t last_fence = 0;
  std::vector<member> members;
  std::int64_t foreign = 0;  // What another program counts: its string, or how many times its owner is in.
  std::int64_t expires = 0;  // Of the key, in milliseconds, and there until then; -1: no expiry.
  bool has_header = false;
  std::uint64_t latest = 0;
  std::int64_t soonest = 0;
  std::string about;

  // What differs between the kinds.
  bool admits(const std::string& ask, bool from_queue) const;
  bool reenters(const std::string& ask) const;
  std::string about_for(const std::string& ask) const;
  bool shares_fence() const { return kind == lock_kind::recursive_mutex || kind == lock_kind::shared_mutex; }
  std::int64_t left_for() const;
  std::string depth() const;

  std::int64_t ms() const { return now / 1000; }
  std::int64_t count() const { return foreign + static_cast<std::int64_t>(members.size()); }
  bool occupied() const { return count() > 0; }
  bool only_members() const { return foreign == 0; }
  bool exists() const { return occupied() || has_header; }
  std::int64_t key_left() const { return expires < 0 ? -1 : expires - ms(); }
  bool is_in(const std::string& token) const { return find(token) != nullptr; }
  const member* find(const std::string& token) const;
  member* find(const std::string& token);

  void tick();      // The key expires.
  void take_out();  // Who is past his deadline.
  void clear();
  std::uint64_t next_fence();
  std::uint64_t enter(const std::string& token, const std::string& ask, std::int64_t lease);
  void leave(const std::string& token);
  void finish();
  std::int64_t lengthen(const std::string& token, std::int64_t lease);
  std::uint64_t refresh(const std::string& token);
  // The longest member's deadline becomes that of the key, if it was this one's.
  void shorten(std::int64_t deadline);

  // As HGETALL tells it, sorted; of a mutex: the string.
  std::string stored() const;
};

class queue_model {
 public:
  struct entry {
    std::string token;
    std::string stamp;
    std::int64_t lease;
    std::int64_t due;
    std::string ask;
  };

  // When scripts have run on the queue: the last time; the last time before the latest pause and the first time after
  // it; by how much the clock was stepped back.
  struct runs {
    std::int64_t last = 0;
    std::int64_t before = 0;
    std::int64_t resumed = 0;
    std::int64_t back = 0;
  };

  explicit queue_model(lock_kind k) : lock(k) {}

  record_model lock;
  std::deque<entry> waiting;
  runs ran;  // As stored.
  std::int64_t queue_expires = 0;
  std::vector<queue_message> sent;

  // That a schedule was not too tame.
  std::size_t handed_off = 0;
  std::size_t kept = 0;
  std::size_t passed_over = 0;
  std::size_t taken_out = 0;
  std::size_t entered_again = 0;
  std::size_t forgiven = 0;

  void tick();
  void forget_queue();
  std::string stored_runs() const;
  std::deque<entry>::iterator find(const std::string& token);
  std::string clock() const;

  // The scripts: what each answers.
  std::string acquire(const std::string& token, std::int64_t lease, const std::string& stamp, const std::string& ask,
                      bool late, bool repair);
  std::string extend(const std::string& token, std::int64_t lease, bool confirm);
  std::string release(const std::string& token);
  std::string keep(const std::string& token, std::int64_t lease, const std::string& ask);
  std::string refresh(const std::string& token, std::int64_t lease, const std::string& ask, bool late);
  std::string downgrade(const std::string& token);
  std::string resize(const std::string& limit, bool late);
  std::string inspect();

 private:
  // One call's way along the queue: how many entries it has left where they are, how many were silent.
  struct walk {
    std::size_t at = 0;
    std::size_t silent = 0;
  };
  struct front {
    bool asker_is_in = false;
    std::string first, second;
    walk w;
  };

  // What is called first when a script runs.
  void begin_script();
  void note_run();
  std::int64_t due_of(const entry& e) const;
  bool living(const entry& e) const { return lock.now <= due_of(e) + 1000000; }
  bool overdue(const entry& e) const { return due_of(e) == now_.resumed || lock.now > due_of(e) + 100000; }
  bool gone(const entry& e) const { return lock.now > due_of(e) + 11000000; }
  std::string limit_for(const std::string& token, const std::string& ask);
  bool leave_queue(const std::string& token);
  std::string next_waiting(walk&);
  void tell(const std::string& token, const std::string& text);
  void watch(const std::string& token);
  front advance(const std::string& asker, std::int64_t asked = 0);
  void require_order(const std::string& token) const;
  bool others_wait(const std::string& token, const std::string& ask);
  std::string renewed(const std::string& token, std::int64_t lease);
  std::string answer(int status, std::uint64_t fence, std::int64_t left);
  std::string lengthen(const std::string& token, std::int64_t lease, bool may_leave, bool made_room = false);

  runs now_;  // As the script that runs takes them.
  bool runs_are_old_ = false;
};

}  // namespace leasehold::test
