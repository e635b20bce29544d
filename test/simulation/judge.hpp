// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What must be true of what clients have seen and what the servers have done. It is told what happens, and says what is
// wrong: the first complaint ends a schedule. What clients have seen is judged once more at the end by what judges the
// random faults on real servers, too (judge/history.hpp).
#pragma once

#include "judge/history.hpp"
#include "simulation/leftovers.hpp"
#include "simulation/world.hpp"

#include <leasehold/acquire_options.hpp>
#include <leasehold/election.hpp>
#include <leasehold/hold.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::simulation {

enum class kind { mutex, recursive_mutex, shared_mutex, counting_semaphore };
std::string_view name_of(kind);

// A promise is broken.
struct broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One hold, as its user sees it.
struct held {
  process* by;
  std::string worker, name, owner;
  bool reader = false;
  bool becomes_reader = false;  // A downgrade was asked for: since then it may be either.
  leadership led{};             // Its hold is there whether or not the lock is that of an election.
  std::uint64_t fence = 0;
  clock::time_point since{};
  clock::time_point asked{};  // When the request was sent; before `since`, also if the process stood still.
  acquire_options options{};
  bool waited_for_others = false;           // By acquire_all: granted some time ago.
  std::optional<clock::time_point> told{};  // lost() has completed.
  bool given_up = false;                    // Released, or dropped.
  bool is_being_released = false;
  // When the holder could not reach the servers, or did not run, or the network was slow; the grant counts, too.
  clock::time_point last_trouble{};
  bool was_in_trouble = false;

  // What was so when the judge compared it with the one server: until something of it changes both ends stay as they
  // are.
  struct comparison {
    std::size_t server;
    std::uint64_t changes;
    clock::time_point server_since, deadline;
    clock::duration server_offset;
    bool may_not_know_of_step;
    bool operator==(const comparison&) const = default;
  };
  std::optional<comparison> compared{};

  std::string client{};           // Of its user.
  std::string field{};            // Of its record on a server: "leasehold:<token>".
  clock::time_point called{};     // When its user began to ask for it, or for the downgrade.
  test::tenure* noted = nullptr;  // For the judge of histories.
  std::string ticket{};           // From which it was resumed; "": it was acquired.

  hold& held_by_user() { return led.hold(); }
  const hold& held_by_user() const { return led.hold(); }
};

class judge {
 public:
  struct rules {
    kind of = kind::mutex;
    std::uint32_t limit = 1;  // Of a semaphore.
    // Data may be lost: from then on exclusion is not promised.
    bool lossy = false;
    // The longest client_options::cohort.
    clock::duration cohort{};
    // Keys are those of a server that checks slots.
    bool tagged = false;
    // Each name has one server, whose record tells more than clients see.
    bool one_server = true;
    // Mutexes with these names linger for that long at most.
    clock::duration linger{};
    std::vector<std::string> names{};  // Of all locks.
    // Who is told what by messages is judged, too.
    bool messages = false;
    // Some holds have at_least.
    bool rests = false;
    // The nodes of a cluster have clocks of their own, and a slot that moves takes its leases with it.
    bool clocks_differ = false;
  };
  judge(world& w, const rules& r)
      : world_(w),
        rules_(r),
        first_offsets_(w.number_of_servers()),
        runs_(w.number_of_servers()),
        steps_(w.number_of_servers()) {
    for (std::size_t i = 0; i < first_offsets_.size(); ++i) first_offsets_[i] = w.clock_of_server(i).offset;
    if (!r.one_server && !r.rests) leftovers_.emplace(w, r.names);
  }

  std::shared_ptr<held> granted(held);
  void told(held&);
  // Its release says that it was lost.
  void found_lost(const held&);
  // An extension to this lease that has begun then, by the world's clock and by that of the process, is done.
  void extended(const held&, clock::time_point began, clock::time_point began_there,
                std::chrono::milliseconds lease) const;
  void given_up(held& h);
  // A writer asks to become a reader; and has become one.
  void downgrades(held&);
  void downgraded(held&);
  // An operation with this limit has ended now; forever: it had none.
  void ended(const process&, std::string_view what, clock::time_point began, clock::duration frozen_then,
             clock::duration limit);
  // What has begun then by the clock of the process was granted now: not after its limit, even if the process stood
  // still.
  void granted_in_time(const process&, std::string_view what, clock::time_point began_there,
                       std::chrono::milliseconds limit) const;
  // What has begun then by the clock of the process, with this limit (forever: none), was granted nothing, for this
  // reason: one that can be, and if the time is up it is up.
  void granted_nothing(const process&, std::string_view what, clock::time_point began_there,
                       std::chrono::milliseconds limit, error_code) const;
  // A user of this process begins to want a lock or to use a ticket, and needs nothing of it any more.
  void begins(process& p) {
    if (leftovers_) leftovers_->begins(p);
  }
  void ends(process& p) {
    if (leftovers_) leftovers_->ends(p);
  }
  // An acquire_all begins, and has ended.
  void wants_all(const process& p) { wants_all_.insert(&p); }
  void has_all_or_none(const process& p) { wants_all_.erase(wants_all_.find(&p)); }
  // A hold was detached by a request that began then; its lease is that of the ticket.
  void detached(const held&, clock::time_point began, std::chrono::milliseconds lease);
  // Its ticket was resumed, which has this fence: the same hold goes on. Otherwise as granted().
  std::shared_ptr<held> resumed(held after, const held& before, std::uint64_t fence);
  // A ticket is lost, says the client.
  void not_resumed(const held& before) const;
  // Nobody can resume this ticket any more: its hold was released.
  void ticket_is_used_up(const std::string& ticket) { used_up_.insert(ticket); }
  // A holder waits until another client waits for the lock. Then he does so no longer.
  void wants_to_know(const std::shared_ptr<held>& h) { curious_[h] = world_.now(); }
  void knows(const std::shared_ptr<held>& h) { curious_.erase(h); }
  // To be called after each instant.
  void look();
  // Its user may work under it.
  bool works(const held& h) const { return !h.given_up && !h.told && is_valid(h); }
  // Something may have kept a message from those to whom it was sent, or may have delayed it.
  clock::time_point last_hindered() const { return last_hindered_; }
  // Neither data nor leases are what clients may believe.
  bool is_excused() const { return is_lossy_ || may_be_lost_; }
  // From then on nothing is promised, whatever the rules say of what might be lost.
  bool has_lost_data() const { return is_lossy_; }
  // Every process of it has died.
  void forget(const process&);
  // Somebody has deleted something on a server.
  void data_were_lost() {
    is_lossy_ = true;
    lost_data_at_ = world_.now();
    for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
      lost_fences_below_ =
          std::max(lost_fences_below_, static_cast<std::uint64_t>(world_.server(i).time().count()) * 2048);
    }
  }
  // A replica has taken over, and data may be lost. Every replica has acknowledged what was acquired with `replicas`.
  void replica_took_over();
  // Nothing must be left on the servers but the counters of fences, and what leaders have proclaimed who have died, or
  // whose end was lost: it ends by itself.
  void nothing_is_left(bool values_may_be);
  // Every operation has ended.
  void judge_histories();
  // Its user was told that it is released.
  void released(const held&);
  // A server's process has ended, and its data are lost.
  void note_loss() {
    last_loss_ = world_.now();
    may_be_lost_ = true;
    released_.clear();
  }
  // A server's clock was set back: a lease that has ended for its client, which does not release the lock then, goes
  // on.
  void note_set_back() { released_.clear(); }
  // The server's clock was stepped forward: a hold on a bare majority may be lost until its client hears of the step.
  void note_step(std::size_t server);
  // A server has answered a call of this token, and has said what time it is.
  void note_answer(std::size_t server, std::string_view token);
  // A server of a quorum has granted something to this token, with this fence.
  void note_grant(std::size_t server, std::string_view token, std::uint64_t fence);

  std::uint64_t grants() const { return grants_; }

 private:
  std::size_t majority() const { return world_.number_of_servers() / 2 + 1; }
  // By the clock of its process.
  bool is_valid(const held&) const;
  [[noreturn]] void complain(const std::string& what) const;
  void exclude(const held&);
  // acquire_options::at_least of those who had the lock before, and may be dead.
  void look_at_rest(const held&);
  // Whether a server has the hold, and has not ended its lease.
  bool has(std::size_t server, const held& h) const { return has(server, h.name, h.field); }
  bool has(std::size_t server, const std::string& name, const std::string& field) const;
  // With which fence, for one that has it; 0: its record shows none.
  std::uint64_t recorded_fence(std::size_t server, const held&) const;
  // How many servers have it, or may have lost it without the library's fault: a majority at most. With `steps`: also
  // those whose clock was stepped forward while the hold's client cannot know it.
  std::size_t number_that_have(const held&, bool steps) const;
  // The clock of this server was stepped forward, and the hold's client may not know it.
  bool may_not_know_of_step(std::size_t server, const held&) const;
  // By a step of the one server's clock that its client may not know of: the server does not have it, whether or not it
  // is up now, or has granted it again with a later fence.
  bool may_have_ended(const held&) const;
  // A majority has it only if a step is not known.
  bool rests_on_a_step(const held&) const;
  // When its user began to ask for it, or a waiter before it.
  clock::time_point asked_first(const held&) const;
  // The server that knows this fence has forgotten it, or is away.
  bool may_have_gone_back(const held&, std::uint64_t fence) const;
  void note_what_was_heard();
  void look_at_servers(const held&);
  void look_at_deadline(const held&);
  // Whether that may have another result than the last time.
  bool is_to_be_compared(held&) const;
  void look_at_fence(const held&);
  void look_at_cohort(const held&);
  // The same where several holds exist at a time, for one that was granted just now.
  void look_at_pass(const held&);
  // Others are granted what a ticket keeps busy.
  void look_at_tickets(const held&);
  void look_for_hindrances();
  // It was released, another client waits for it, and its client keeps it.
  void look_at_lingering();
  // Another client waits, and the holder is not told.
  void look_at_curious();
  // Since when another client that lives waits in the queue of this lock, at the earliest; max(): none does.
  clock::time_point others_wait_since(const std::string& name, std::string_view client);
  void forget_what_has_left_queues();
  std::string tag_of(const std::string& name) const;
  std::string queue_of(const std::string& name) const;
  clock::duration messages_take() const;
  bool is_idle(const std::string& name, const std::string& token);
  process* process_of(std::string_view client) const;
  bool are_as_if_new() const;
  void look_for_trouble();
  std::string without_reason(const held&) const;
  bool reaches_its_servers(const held&) const;
  void look_at_counter(std::size_t server, const std::string& key) const;

  // What a hold with at_least keeps busy, whatever becomes of it.
  struct rest {
    std::string worker, name, owner;
    bool reader;
    std::uint64_t fence;
    clock::time_point called;
    std::chrono::milliseconds at_least;
  };

  world& world_;
  const rules rules_;
  std::vector<rest> rests_;
  std::vector<std::shared_ptr<held>> holds_;
  std::map<std::string, std::uint64_t> highest_fence_, highest_writer_;
  std::map<std::string, std::string> owner_of_highest_;
  std::map<std::string, clock::time_point> since_of_highest_;
  clock::time_point last_loss_{};
  std::uint64_t grants_ = 0;
  std::vector<clock::duration> first_offsets_;  // Of the servers' clocks.

  struct run {
    std::string id;
    clock::time_point since{};  // Of this process of the server; time_point(): the first one.
  };
  bool refused_ = false;  // By a server that was busy, at the last look.
  clock::time_point refused_until_{};
  clock::time_point slow_until_{};
  clock::time_point last_slow_{};  // When a vote on a quorum could last take longer than it is waited for,
  clock::duration how_slow_{0};    // and how long a message could take then.
  clock::duration slowest_then_{0};
  void begin_note(held&);
  void end_note(held&);

  bool is_lossy_ = false;
  bool may_be_lost_ = false;  // A server has forgotten something, or its clock was stepped forward.
  std::map<const process*, test::process_history> histories_;
  clock::time_point lost_data_at_{};
  std::uint64_t lost_fences_below_ = 0;
  mutable std::string complaint_;  // To be made at the next look.
  std::vector<run> runs_;          // By the number of the server.
  // What a client has heard of a server since its clock was stepped.
  struct answer {
    clock::time_point since = clock::time_point::max();  // It has come by then, unless a connection was cut.
    std::uint64_t connections = 0;                       // Of the client, when the server answered.
    bool has_come = false;
  };
  std::vector<bool> steps_;                             // By the number of the server.
  std::map<std::string, std::vector<answer>> answers_;  // By the client's part of its tokens.
  struct connections {
    std::uint64_t so_far = 0;
    clock::time_point since{};
  };
  std::map<const process*, connections> connections_;
  struct vote {
    std::uint64_t counter = 0;  // Of the server, after it; 0: it has granted nothing.
    std::uint64_t given = 0;
    bool is_late = false;       // Late bytes have brought it there.
    clock::time_point since{};  // The first one with this token.
  };
  std::map<std::string, std::vector<vote>> votes_;  // By token and server.
  clock::time_point last_step_{};
  bool rested_on_a_step_ = false;  // A hold of the one server did, when it was granted.
  struct tenure {
    std::string record;
    std::int64_t expires = 0;  // In milliseconds of the server's clock.
    clock::time_point since{};
  };
  std::map<std::string, tenure> tenures_;                   // Of mutexes, by their names: what the record says.
  std::map<std::size_t, clock::time_point> refuses_until_;  // By server: it was busy, and refuses clients.
  struct idle_record {
    std::string token;
    clock::time_point since{};  // It is idle, another client waits, and nothing hinders either.
  };
  std::map<std::string, idle_record> idle_;  // By name.
  struct place {
    clock::time_point since{};
    bool ran_out = false;  // Its client has not asked in time.
  };
  std::map<std::pair<std::string, std::string>, place> in_queue_since_;  // By name and token.
  std::multiset<const process*> wants_all_;                              // An acquire_all of it is under way.
  std::set<std::string> lost_;                                           // Tokens of holds that were lost.
  // By name, the token of the hold whose release was reported last, as long as the record has had it since then: its
  // client keeps it. (A request that runs late can make a record of the same token again.)
  std::map<std::string, std::string> released_;
  struct kept_by_ticket {
    std::string worker, name, owner, token;
    bool reader;
    clock::time_point until{};  // By the clock of the world, at least.
  };
  std::vector<kept_by_ticket> tickets_;           // Which nobody has resumed so far.
  std::set<std::string, std::less<>> given_out_;  // Tokens of all tickets so far.
  std::set<std::string> used_up_;
  std::map<std::shared_ptr<held>, clock::time_point> curious_;  // Since when.
  clock::time_point last_hindered_{};
  bool was_hindered_ = false;
  std::uint64_t connections_then_ = 0;
  struct arrival {
    std::uint64_t fence = 0;
    clock::time_point at{};
  };
  std::map<std::string, arrival> arrivals_;  // Of the latest grants that were pushed, by the names of mutexes.
  std::map<std::string, arrival> words_;     // The latest of Redis on a token, where it is not that of a mutex.
  struct stop {
    clock::duration frozen{0};  // For how long it had been at a standstill in all,
    clock::time_point seen{};   // and when that was found to have grown.
  };
  std::map<const process*, stop> stops_;
  std::optional<leftovers> leftovers_;  // Of a quorum, if a released lock is free at once.
};

}  // namespace leasehold::simulation
