// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The interface that runs the scripts. Implementations: redis/redis.hpp (one server), cluster/cluster.hpp,
// quorum/quorum.hpp. Everything here happens on the client's strand.
#pragma once

#include "protocol/outcome.hpp"
#include "protocol/request.hpp"
#include "store/url.hpp"
#include "time/clock.hpp"
#include "time/server_clock.hpp"

#include <leasehold/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

// How a call ended.
struct answer {
  // Null: there was no answer, and it is unknown whether the script ran.
  const outcome* from_store = nullptr;
  clock::time_point sent;
  clock::time_point received;
  // The clock of the server that answered; null if several did.
  server_clock* server = nullptr;
};

// An object that sends requests and receives the answers. `tag` is its own number for a request.
class caller : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // What to send. Asked when the call is sent, which may be later than store::run, or never. It may be asked again for
  // the same call (if the server did not know the script yet), and so may `sent`, which follows.
  virtual request request_of(std::uint32_t tag) const = 0;
  virtual void sent(std::uint32_t tag, const sending&) { (void)tag; }
  // Whether the call is still of use. Asked if the server did not know the script, or if the call has waited for
  // others: it would now run after everything that was sent since then.
  virtual bool wants(std::uint32_t tag) const {
    (void)tag;
    return true;
  }
  // The order of calls that have to wait: first those that keep a hold, then those that release one, then those that
  // ask for a new one.
  enum class turn : std::uint8_t { keeps, releases, asks };
  virtual turn turn_of(std::uint32_t tag) const {
    (void)tag;
    return turn::asks;
  }
  // If nothing is answered on a connection for this long after the call was sent, the connection is given up. A value
  // above client_options::command_timeout counts as command_timeout.
  virtual std::chrono::milliseconds patience_of(std::uint32_t tag) const {
    (void)tag;
    return std::chrono::milliseconds::max();
  }
  // Called exactly once for each call, never from inside store::run.
  virtual void answered(std::uint32_t tag, const answer&) = 0;
  // The store is up again, or has a new route for calls. Called only after client_core::when_up.
  virtual void store_is_up() {}
  // The store refuses every connection. Called only after client_core::when_up, instead of store_is_up.
  virtual void store_refuses(error_code) {}

 protected:
  ~caller() = default;
};

class store {
 public:
  // What a connection learns about its server.
  struct server {
    std::string version;
    std::string maxmemory_policy;  // "" if the server does not say.
    std::string publish_refusal;   // The server's words if it does not let the client publish, else "".
    std::chrono::seconds uptime{0};
    bool has_slots = false;  // It is in cluster mode.
    bool again = false;      // It is not the first connection of this store to the server.
    bool another = false;    // It may not know earlier grants: it is another process, or another server.
  };

  // What a store knows about its servers and the next store of the same client must not forget.
  struct memory {
    struct server {
      std::string run_id;
      bool was_up = false;
      std::optional<clock::time_point> started;  // Only for the servers of a quorum, like the next one.
      bool replaced = false;
      std::vector<host_and_port> hosts;  // Of a group of Sentinels.
    };
    std::vector<server> servers;                 // One server, or those of a quorum.
    std::vector<host_and_port> hosts;            // Cluster nodes or Sentinels, in addition to those of the URL.
    std::chrono::milliseconds longest_lease{0};  // Of a quorum.
  };

  // Implemented by the client.
  class events {
   public:
    // Before a connection to the server counts as up: why it must not. The store reports that as a refusal, and tries
    // again. "": it may.
    virtual std::string objection(const std::string& /*run_id*/) { return {}; }
    virtual void on_up(const server&) = 0;
    virtual void on_down(std::string_view why) = 0;
    // An attempt to connect has failed, but the server has not refused it.
    virtual void on_no_answer(std::string_view why) = 0;
    // A message was published on the client's channel.
    virtual void on_message(std::string_view) = 0;
    // A message was published on this channel, or the client listens to it from now on.
    virtual void on_channel(std::string_view channel) = 0;
    // Grants in this slot are pushed to this client from now on.
    virtual void on_grants_pushed(std::uint16_t slot) = 0;
    // Calls that had no route may have one now.
    virtual void on_rerouted() = 0;
    // The records in this slot belong to another server from now on.
    virtual void on_moved(std::uint16_t slot) = 0;
    // A server's clock was stepped forward by this much.
    virtual void on_clock_jump(clock::duration) = 0;
    virtual void on_refused(std::string_view words) = 0;
    // What the client proves its identity with has a fault, and the connection goes on for now.
    virtual void on_credentials(std::string_view why) = 0;
    // The client's keys are tagged (protocol/keys.hpp),
    virtual bool has_tagged_keys() const { return false; }
    // and have to be from now on, for this reason.
    virtual void on_tagged_keys(std::string_view why) { (void)why; }
    virtual void on_stopped() = 0;

   protected:
    ~events() = default;
  };

  virtual ~store() = default;

  // True: waiters queue in the store. Without a queue they ask again from time to time, and releases wake them.
  virtual bool has_queue() const { return true; }
  // The store itself releases what an attempt that it does not grant has left on some of its servers. The next attempt
  // then needs another token.
  virtual bool releases_leftovers() const { return false; }

  // Connects, and reconnects whenever the connection is lost, until stop. Holds `keep_alive` (the owner of the events)
  // meanwhile.
  virtual void start(std::shared_ptr<void> keep_alive) = 0;
  // Ends every connection. on_stopped follows, and no event after it.
  virtual void stop() = 0;
  virtual memory known() const = 0;
  // To be called before start.
  virtual void assume(const memory&) = 0;
  // Nothing is under way except calls whose callers wait for them.
  virtual bool quiet() const { return true; }
  virtual bool up() const = 0;
  // Servers answer, but fewer than a call needs.
  virtual bool too_few_answer() const { return false; }
  // The number of the connection that is up; it changes with each reconnect. Calls of one connection run in the order
  // of `run`. If they have to wait there for others, they run in the order of caller::turn. So caller::wants must be
  // false for a call when its caller makes another one about the same token that overtakes it.
  virtual std::uint64_t epoch() const = 0;
  // Sends the caller's request to the server that has the record. False (and no answer follows): that server is not up.
  virtual bool run(std::shared_ptr<caller>, std::uint32_t tag) = 0;
  // The same, and then waits for up to `limit` until `replicas` replicas have what the script has written
  // (outcome::acknowledged). The call is not ordered with other calls, and supports neither
  // not-after nor the queue.
  virtual bool run_acknowledged(std::shared_ptr<caller>, std::uint32_t tag, std::uint32_t replicas,
                                std::chrono::milliseconds limit) = 0;
  // The records under which a script that belongs to no record has to run, in order to reach every server once.
  virtual std::vector<std::string> routes() const { return {std::string()}; }
  // Messages of this slot are to reach the client (or need not any more): an entry waits in a queue of the slot, or a
  // hold is to be notified if its lock is broken.
  virtual void subscribe_slot(std::uint16_t slot) { (void)slot; }
  virtual void unsubscribe_slot(std::uint16_t slot) { (void)slot; }
  // A server's clock was stepped forward by `jump`. Returns until when this token certainly keeps what it was to have
  // until `deadline`.
  virtual clock::time_point after_jump(const std::string& token, clock::time_point deadline,
                                       clock::duration jump) const {
    (void)token;
    return deadline - jump;
  }
  // The hold with this token was detached. Another client may go on with it, so nothing writes it again from here.
  virtual void let_go(const std::string& token) { (void)token; }
  // Listens to another channel on every connection, until ignore.
  virtual void listen(const std::string& channel) = 0;
  virtual void ignore(const std::string& channel) = 0;
};

// Makes a client's stores one after the other: the next one when the client wakes up from its rest. All use one strand.
class store_factory {
 public:
  virtual ~store_factory() = default;
  virtual boost::asio::any_io_executor strand() const = 0;
  // The events outlive the store's last event.
  virtual std::shared_ptr<store> make(store::events&) const = 0;
};

}  // namespace leasehold::detail
