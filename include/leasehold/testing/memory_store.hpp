// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// For unit tests of programs that take locks: a store without a server, and a clock that the test moves. It is a part
// of the library leasehold::testing; nothing else includes it.
#pragma once

#include <leasehold/client.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace leasehold::testing {

/// One Redis server inside the test: its data, and the connections to it.
///
/// A client with the URL `memory:NAME` uses it, with the engine and the scripts of every other client. Several such
/// URLs make a quorum. Locks of all kinds, their queues, renewals and losses behave as on a server. Nothing waits for a
/// network: `io_context::poll()` runs everything that is ready, answers of the store included.
///
/// <!-- examples/unit_test/main.cpp store -->
/// @code
/// asio::io_context context;
/// leasehold::testing::memory_store store{"theatre"};
/// leasehold::client client{context, store.url()};
/// @endcode
///
/// It has no replicas, so a grant that waits for some (acquire_options::replicas) is never acknowledged; and no memory
/// limit. There are no Sentinel groups and no clusters of such stores.
///
/// @par Time
/// Time passes by itself; advance() adds to it. A client cannot distinguish that from a program that was paused, or
/// from a machine that was asleep, for as long.
///
/// @par Lifetime
/// Clients may outlive the store. To them it is a server that has stopped for good, even if another store of the same
/// name is made; that one starts empty.
///
/// @par Thread safety
/// All functions, and the clients of the store, may be used from any thread. As long as one thread does so, no other
/// destroys an execution context that has clients with such URLs: close them first.
/// @ingroup ref_testing
class memory_store {
 public:
  /// `name`: 1 to 64 letters, digits, '_' or '-'.
  ///
  /// @throws exception error::invalid_url: another name, or there is a store of that name in this process.
  explicit memory_store(std::string_view name);
  memory_store(const memory_store&) = delete;
  memory_store& operator=(const memory_store&) = delete;
  ~memory_store();  ///< Breaks every connection.

  const std::string& url() const noexcept;  ///< `memory:NAME`

  /// Moves time forward, for all stores and all clients of this process: leases, time limits, retries and the clocks of
  /// the stores; not Asio's own timers. 0 to 30 days. Time cannot be moved back.
  ///
  /// The call itself completes nothing: what is due then is done by the next `io_context::run()` or `poll()`.
  ///
  /// This is one pause, so a lease that ends within it is lost, renewed or not, and a lost hold is reported. Advance in
  /// steps shorter than a third of the lease (of its part before acquire_options::margin), and `poll()` after each, to
  /// let a program renew.
  ///
  /// @throws exception error::invalid_option: out of range.
  static void advance(std::chrono::milliseconds d);

  /// Breaks every connection. The clients connect again after client_options::reconnect, as counted by the moved clock.
  void disconnect();

  /// Stops the server: breaks every connection, and refuses new ones. Leases go on. No effect if it is stopped.
  void stop();

  /// Starts the server again, with the data that it had when it was stopped. Clients find another process, and ask
  /// whether their holds are still there; in a quorum it counts after client_options::restart_delay. No effect if it is
  /// running.
  void start();

  /// Deletes the record of the lock, as an eviction does, or a restart without data. Its queue stays. A holder is
  /// notified at its next renewal: a third of its lease away. Returns whether there was a record.
  ///
  /// `name`: of the lock, of any kind, with client_options::prefix in front; also below.
  bool lose(std::string_view name);

  /// Another program acquires the mutex, without waiting, and never renews it. Returns false if it is held already or
  /// others wait for it. `lease`: 1 ms to 30 days. In a quorum one store is one server's vote: a majority of them keeps
  /// the clients out.
  ///
  /// @throws exception error::invalid_option: `lease` out of range. error::wrong_type: the record is no mutex.
  bool hold_elsewhere(std::string_view name, std::chrono::milliseconds lease = std::chrono::seconds(30));

  /// That program releases it: the next waiter is granted the mutex. (On a quorum it asks within 2 ms.) Returns false
  /// if hold_elsewhere() has not acquired it, or it was lost since.
  bool release_elsewhere(std::string_view name);

  /// Whether a lock of that name, of any kind, is held: by clients of this process or by hold_elsewhere().
  bool held(std::string_view name) const;

 private:
  struct node;
  std::shared_ptr<node> node_;
};

}  // namespace leasehold::testing
