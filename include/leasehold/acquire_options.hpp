// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace leasehold {

/// A wait without a deadline: no timer is armed for it.
/// @ingroup ref_acquiring
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();

/// How often the client extends a lease by itself while the hold lives.
///
/// The client renews a lease when a third of it has passed (a third of the part before `acquire_options::margin`). So
/// two attempts may fail before the lease is lost. On a connection that falls silent, an attempt fails after such a
/// third, but after half a second at least and client_options::command_timeout at most. So with a lease below 1.5 s
/// fewer attempts may fail. A cap bounds how long a program that hangs with a hold can keep all others out.
/// @ingroup ref_acquiring
class renewal {
 public:
  static const renewal automatic;  ///< As long as the hold lives.
  static const renewal none;       ///< Never: the hold ends with its first lease unless `hold::extend` is called.

  /// At most `n` renewals, hence at most n + 1 leases in all.
  static constexpr renewal at_most(std::uint32_t n) noexcept { return renewal(n); }

  /// The number of renewals allowed; the largest value means no limit.
  constexpr std::uint32_t limit() const noexcept { return limit_; }

  friend constexpr bool operator==(renewal, renewal) noexcept = default;

 private:
  explicit constexpr renewal(std::uint32_t limit) noexcept : limit_(limit) {}
  std::uint32_t limit_;
};

inline constexpr renewal renewal::automatic = renewal(std::numeric_limits<std::uint32_t>::max());
inline constexpr renewal renewal::none = renewal(0);

/// Pauses between attempts where the waiter cannot rely on being woken: exponential, with jitter.
///
/// Pause n lies between (1 - jitter) * d and d, where d = min(first * factor^n, max). jitter = 1 is "full jitter" of
/// Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
/// @ingroup ref_acquiring
struct backoff {
  std::chrono::milliseconds first{10};  ///< 1 ms or more, at most `max`.
  std::chrono::milliseconds max{500};   ///< At most 30 days.
  double factor = 2.0;                  ///< 1 or more, finite.
  double jitter = 1.0;                  ///< 0 (none) to 1 (full).

  friend constexpr bool operator==(const backoff&, const backoff&) noexcept = default;
};

/// How to acquire a lock. An aggregate: `lock.acquire({.lease = 10s, .wait = 2s})`.
///
/// Every member is trivially destructible, because g++ 12 corrupts memory when a co_await expression holds an
/// aggregate temporary with any other member. Members are only ever appended.
/// @ingroup ref_acquiring
struct acquire_options {
  /// How long Redis keeps the lock without a renewal. 1 ms to 30 days, else error::invalid_option.
  std::chrono::milliseconds lease = std::chrono::seconds(30);

  /// How long to wait for the lock, from the start of the operation, outages of the store included. 0: one attempt,
  /// for client_options::command_timeout at most. Negative: error::invalid_option (`seconds::max()` converted to
  /// milliseconds overflows into a negative number; use `forever`).
  std::chrono::milliseconds wait = forever;

  /// Whether the client renews the lease while the hold lives.
  renewal renew = renewal::automatic;

  /// Pauses between attempts while the server cannot answer for now (LOADING, BUSY), or while too few replicas
  /// acknowledge the grant. For a busy lock the client waits in the queue. A quorum has no queue: there the client
  /// polls with these pauses, and a release ends a pause early.
  backoff retry = {};

  /// How many replicas of the server must have acknowledged the grant (WAIT) before it counts; this costs one more
  /// round trip. A grant that too few acknowledge, within half the lease or client_options::command_timeout, is
  /// released. `acquire` then goes on after a pause (`retry`), and ends with error::no_quorum at its deadline;
  /// `try_acquire` ends with error::no_quorum. A failover to a replica that did not acknowledge can still lose the
  /// grant (docs/guarantees.md). Not for a quorum, because its servers are independent: error::not_supported.
  std::uint32_t replicas = 0;

  /// `hold::lost` and `with_lock` stop the work this long before `hold::expires_at()`. 0 or more and less than `lease`,
  /// else error::invalid_option. It has to leave something of the lease less the allowance for clocks
  /// (client_options::drift, and 2 ms): otherwise each hold is lost at its grant.
  std::chrono::milliseconds margin{0};

  /// No other client is granted the lock earlier than this after the grant, even if the hold is released, or its holder
  /// dies: for a job that several hosts start at nearly the same time. 0 to 30 days, else error::invalid_option.
  ///
  /// A release before that time completes at once. The lock then rests: no client holds it, and it is busy until the
  /// time is over. The first lease is as long as `at_least`, if `lease` is shorter. Each reader, each permit and each
  /// entry of an owner rests by itself; other readers, other permits and the same owner are not kept out. A downgrade
  /// lets readers in at once.
  std::chrono::milliseconds at_least{0};

  /// For how long the client may keep the lock, idle, after the hold was released. The next `acquire` or `try_acquire`
  /// of the same client then has it without a command to Redis. 0: it is released at once. At most 30 days, else
  /// error::invalid_option.
  ///
  /// As soon as another client waits for the lock, the client is notified, and releases it: at once if it is idle, else
  /// with the hold. If the message is lost, the other client waits for the holder and `linger` at most. For the
  /// `try_acquire` of another client, and for programs that do not wait in the queue, the lock is busy meanwhile.
  /// A lock lingers no longer than a third of the lease without an answer of Redis, and never past a loss, a reconnect
  /// or `client::close`. When this pays: docs/guide.md, "Lingering".
  ///
  /// A hint. It is ignored for other kinds than mutex, on a quorum, by acquire_all, and together with `replicas`,
  /// `at_least` or a limit of renewals.
  std::chrono::milliseconds linger{0};
};

static_assert(std::is_aggregate_v<acquire_options> && std::is_trivially_destructible_v<acquire_options>,
              "g++ 12 corrupts memory in co_await expressions with any other kind of aggregate temporary");

}  // namespace leasehold
