// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/acquire_options.hpp>
#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/histogram.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/ticket.hpp>

#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold {

/// An event that an operator may want to know of; passed to client_options::observer.
/// @ingroup ref_observation
struct event {
  /// The kinds of events.
  enum class kind {
    connected,     ///< A connection is up. `text`: the server's version.
    disconnected,  ///< The connection is lost. `text`: why. On a quorum: the connection to any server.
    unreachable,   ///< An attempt to connect has failed, or the server answers, but not what it was asked (BUSY, for
                   ///< example). `text`: why. Not repeated while the reason stays the same. On a quorum a failed
                   ///< attempt is reported only while no majority is connected.
    refused,       ///< The server refused a command. `text`: its words.
    evicting,      ///< The server may evict locks: its maxmemory-policy, in `text`, is not noeviction.
    clock_jump,    ///< The server's clock stepped forward; every local deadline was shortened. `text`: by how much.
    acquired,      ///< A lock was acquired. `name`: the lock's, as in all the following.
    released,      ///< A hold is being released, or was detached.
    lost,          ///< A hold was lost.
    timed_out,     ///< An acquire operation ended with error::timed_out.
    cancelled,     ///< An acquire or try_acquire operation was cancelled.
    slow_wait,    ///< An acquire operation has waited for client_options::slow_wait, and goes on waiting. `text`: which
                  ///< client has the lock, since when, and how many entries are in the queue.
    credentials,  ///< What the client proves its identity with has a fault, and the connection goes on for now: the
                  ///< function client_options::credentials has failed, a server has refused a new password, or a
                  ///< certificate of the URL has expired. `text`: which and why. Not repeated while it stays the same.
    tagged_keys,  ///< The client's keys carry the tags of slots from now on, as with `?keys=tagged`. Once, at most.
                  ///< `text`: why, usually in the server's words.
    wanted,       ///< Another client waits for a lock that this client has: reported once for a hold that lingers
                  ///< (acquire_options::linger), or whose `hold::wanted` is under way.
  };
  kind what;  ///< What has happened.
  std::string_view
      name{};  ///< The lock's name where the event has one. Valid during the call only, as the other views.
  std::string_view text{};  ///< For people: one printable line.
  /// acquired, released, lost, wanted: the hold's. slow_wait: that of the hold in the way (one of them, if several);
  /// another program's value verbatim; "" if there is none, or the store does not answer.
  std::string_view token{};
  /// acquired, released, lost: the hold's. slow_wait: that of the hold in the way; 0 if that is not known, as for
  /// another program's hold and for one of several permits of a semaphore.
  std::uint64_t fence = 0;
  /// acquired, timed_out, cancelled, slow_wait: how long the operation has waited. released, lost: how long the lock
  /// was held.
  std::chrono::microseconds duration{0};
  std::string_view label{};   ///< The lock's class (client_options::classify), or "".
  std::string_view holder{};  ///< slow_wait: client_options::label of the client that has the lock; "" if not known.
  /// slow_wait: when the server granted the hold in the way, by the server's clock. Readers that hold together, and
  /// holds that an owner has at the same time, count from the first of them. None where the fence is not known.
  std::optional<std::chrono::system_clock::time_point> since{};
};

/// The enumerator's name, for example "clock_jump".
/// @ingroup ref_observation
std::string_view to_string(event::kind what) noexcept;

/// What client_options::credentials gives. Not an aggregate, on purpose (docs/gcc12.md).
/// @ingroup ref_clients
struct credentials {
  credentials();  ///< Of a server that asks for no password.
  /// `expires`: when the server forgets the password, or the living connection with it.
  credentials(std::string user, std::string password,
              std::chrono::steady_clock::time_point expires = std::chrono::steady_clock::time_point::max());
  credentials(const credentials&);                 ///< Copies.
  credentials(credentials&&) noexcept;             ///< Moves.
  credentials& operator=(const credentials&);      ///< Copies.
  credentials& operator=(credentials&&) noexcept;  ///< Moves.
  ~credentials();

  std::string user;      ///< "": the default user.
  std::string password;  ///< With an empty user and an empty password, the client does not authenticate itself.
  /// The function is asked again in time before this: after four fifths of the time that is left when it answers, and
  /// at least a second earlier if there is that much. `max()`: only before the next connection.
  std::chrono::steady_clock::time_point expires = std::chrono::steady_clock::time_point::max();
};

/// What client_options::credentials is asked for.
/// @ingroup ref_clients
struct credentials_request {
  /// What the connection leads to.
  enum class role {
    server,    ///< A server that has the locks: the only one, a master, a node of a cluster, a member of a quorum.
    sentinel,  ///< A Sentinel, which has users and a password of its own.
  };
  credentials_request(std::string server, role of, asio::any_io_executor executor);  ///< Made by the client.
  credentials_request(const credentials_request&);                                   ///< Copies.
  credentials_request& operator=(const credentials_request&);                        ///< Copies.
  ~credentials_request();

  std::string server;              ///< "host:port", or the path of a unix socket.
  role of;                         ///< What is there.
  asio::any_io_executor executor;  ///< The client's.
};

/// Takes the answer of client_options::credentials: once, from any thread, at once or later. Only the first call
/// counts.
///
/// It is a completion handler: for an operation that completes with `void(error_code, credentials)`, and for
/// `asio::co_spawn` of a coroutine that returns credentials (docs/guide.md).
/// @ingroup ref_clients
class credentials_handler {
 public:
  using function = std::function<void(std::string why, leasehold::credentials)>;  ///< `why`: of the failure, or "".
  explicit credentials_handler(function);                                         ///< Made by the client.
  credentials_handler(const credentials_handler&);                                ///< Copies.
  credentials_handler& operator=(const credentials_handler&);                     ///< Copies.
  ~credentials_handler();

  void operator()(leasehold::credentials) const;                                  ///< The answer.
  void operator()(const error_code&, leasehold::credentials = {}) const;          ///< The answer, or why there is none.
  void operator()(const std::exception_ptr&, leasehold::credentials = {}) const;  ///< The same.
  void operator()(std::string why, leasehold::credentials = {}) const;            ///< The same; "": there is an answer.

 private:
  struct state;
  std::shared_ptr<state> state_;
};

/// See client_options::credentials.
/// @ingroup ref_clients
using credentials_function = std::function<void(const credentials_request&, credentials_handler)>;

/// Settings of a client. Not an aggregate, on purpose: `client c(co_await this_coro::executor, url)` with an aggregate
/// default argument corrupts memory under g++ 12. Set members one by one: `client_options o; o.prefix = "app:";`
/// @ingroup ref_clients
struct client_options {
  client_options();                                      ///< The defaults below.
  client_options(const client_options&);                 ///< Copies.
  client_options(client_options&&) noexcept;             ///< Moves.
  client_options& operator=(const client_options&);      ///< Copies.
  client_options& operator=(client_options&&) noexcept;  ///< Moves.
  ~client_options();

  /// Put in front of every name. Any bytes, 65,536 at most, else error::invalid_option.
  std::string prefix;

  /// Identifies this program to operators: each of its tokens begins with it. 1 to 32 characters of A-Z, a-z, 0-9, '_'
  /// and '-'. "": the host's name and the process id, `<host>-<pid>`.
  std::string label;

  /// How long `ready` waits, and the bound of `close` and of each attempt to connect. (The look-up of a host's name
  /// before an attempt takes as long as the system's resolver takes.) 1 ms to 30 days. Keep it above command_timeout:
  /// after a broken connection `close` waits until a request that was not answered can no longer run.
  std::chrono::milliseconds connect_timeout{5000};

  /// How long a command may go unanswered, while no other is answered, before the client gives up the connection. For a
  /// renewal the time is shorter, see `renewal`. 1 ms to 30 days.
  std::chrono::milliseconds command_timeout{2000};

  /// Allowance for clocks that run at different rates, subtracted from every lease: drift * lease + drift_floor.
  /// 0 to 0.5, and 0 ms to 1 min. The defaults are those of "Distributed Locks with Redis" (redis.io).
  double drift = 0.01;
  std::chrono::milliseconds drift_floor{2};  ///< The part of the allowance that does not grow with the lease.

  /// For how long coroutines of this client may pass a lock on to each other without asking Redis, counted from the
  /// last request by which Redis granted the lock, or let the client keep it, or from the message that brought it. In
  /// that time they overtake waiters of other clients. 0 to 1 s; 0: never.
  std::chrono::microseconds cohort{10000};

  /// For a quorum. A server that was restarted has forgotten what it had granted. So its grants do not count until it
  /// has been up for this long, and for the longest lease that this client has asked for. Set it to the longest lease
  /// that any client asks for. 0 (counts at once) to 30 days.
  std::chrono::milliseconds restart_delay{30000};

  /// A client without a hold, an operation or a release under way disconnects after this long (twice as long at most).
  /// So `io_context::run()` can return. The next operation connects again. 1 ms to 30 days, or `forever`: the client
  /// stays connected, and run() does not return before close() or the end of the last handle.
  std::chrono::milliseconds idle_timeout{1000};

  /// Pauses between attempts to connect.
  backoff reconnect{std::chrono::milliseconds(20), std::chrono::milliseconds(1000), 2.0, 0.5};

  /// A record without an expiry was made by another program. A client waits for it as for any other, and it may stay
  /// forever. With this option, a client that waits for it gives it an expiry of one lease (acquire_options::lease).
  bool repair_missing_expiry = false;

  /// Recursive mutexes wake Redisson's waiters for the same lock, and are woken by its unlocks, by the messages on
  /// `redisson_lock__channel:{<prefix + name>}`. Without it each side finds out by polling (docs/interop.md).
  bool redisson = false;

  /// Called with each event, one at a time, on one of the execution context's threads, also inside a call that starts
  /// an operation. It must not block. An exception that it throws leaves `io_context::run()`, and disturbs nothing
  /// else. It may be called until close has completed or `io_context::run()` has returned, because the last releases
  /// are reported, too.
  std::function<void(const event&)> observer;

  /// Sorts locks into classes: client::stats_by_class has figures for each, and the events of a lock name its class.
  /// Called with the lock's name (without the prefix) when a lock is constructed or a ticket is resumed, on the thread
  /// that does so, and not again for copies and operations. So several threads may call it at the same time. It returns
  /// the label of the class; "": the lock is in no class. The same name must always have the same label. An exception
  /// that it throws leaves the constructor of the lock. If a ticket is resumed, the exception leaves
  /// `io_context::run()`, and the operation ends with error::invalid_option.
  ///
  /// Labels should be few. A lock is in the class "other" if 64 other labels were given before its own, or if its label
  /// is longer than 128 bytes or not UTF-8.
  std::function<std::string(std::string_view name)> classify;

  /// An acquire operation that waits this long for a busy lock is counted in statistics::slow_waits and reported once
  /// as event::kind::slow_wait, while it still waits. If there is an observer, the client asks the server which hold is
  /// in the way: one script for all waits of a lock that become slow together. 1 ms to 30 days, or `forever`: never.
  std::chrono::milliseconds slow_wait = forever;

  /// For passwords that change: where the client gets the user and the password of each connection, instead of from
  /// the URL. A URL with a password, too, is error::invalid_option, except `?sentinel_password=`: then the function is
  /// not asked for Sentinels.
  ///
  /// The client asks it before each connection, to a server or to a Sentinel, and again before the credentials expire.
  /// With the new ones the client authenticates the living connection (AUTH), on which everything else goes on. It has
  /// connect_timeout to answer; a later answer is dropped. If it fails, or if the server refuses what it gave, the
  /// client reports that as an event (unreachable without a connection, else credentials) and asks again, with the
  /// pauses of `reconnect`.
  ///
  /// It is called on one of the execution context's threads, once for each connection, and maybe again before it has
  /// answered. It must not block. An exception counts as a failure. No text of the library shows a user or a password
  /// that it gave (of the latest 256). With a coroutine: `leasehold/credentials.hpp`. It is not asked for `memory:`.
  credentials_function credentials;
};

/// What a client has done so far. Counters never decrease; gauges show the present state.
///
/// `acquire_all` counts as the acquire operations that it consists of. Where one script takes all its locks, only the
/// locks that it acquires are counted.
/// @ingroup ref_observation
struct statistics {
  std::size_t held = 0;     ///< Gauge: holds alive.
  std::size_t waiting = 0;  ///< Gauge: acquire and try_acquire operations under way.

  std::uint64_t acquired = 0;        ///< Locks acquired.
  std::uint64_t handed_off = 0;      ///< Grants that a releaser made and the store pushed.
  std::uint64_t passed = 0;          ///< Grants from one local waiter to the next without asking Redis.
  std::uint64_t contended = 0;       ///< Operations that found the lock busy at least once.
  std::uint64_t timed_out = 0;       ///< acquire operations that ended with error::timed_out.
  std::uint64_t cancelled = 0;       ///< acquire and try_acquire operations that were cancelled.
  std::uint64_t lost = 0;            ///< Holds lost, or found lost by their release.
  std::uint64_t released = 0;        ///< Releases that the store confirmed.
  std::uint64_t renewed = 0;         ///< Leases lengthened by automatic renewal.
  std::uint64_t renewal_failed = 0;  ///< Renewals (also the first, which confirms a grant) that got no answer or were
                                     ///< refused; each is tried again.
  std::uint64_t withdrawn = 0;       ///< Attempts withdrawn: places in queues, late or unknown grants.
  std::uint64_t refused = 0;         ///< Refusals by the server.
  std::uint64_t commands = 0;        ///< Requests sent; on a quorum, one to all servers counts once.
  std::uint64_t connects = 0;        ///< Connections that came up, also after client_options::idle_timeout.
  std::uint64_t reconnects = 0;      ///< Connections that came up after another was lost.
  std::uint64_t clock_jumps = 0;     ///< Forward steps of the server's clock noticed.
  std::uint64_t slow_waits = 0;      ///< acquire operations that waited for client_options::slow_wait.
  std::uint64_t wanted = 0;          ///< Locks for which another client waited, as event::kind::wanted.
  std::uint64_t lingered = 0;        ///< Locks acquired from a hold that lingered, without a command.

  histogram waiting_time;  ///< From the start of an operation to its lock.
  histogram hold_time;     ///< From the lock to its release or loss.
  histogram round_trip;    ///< From a script to its answer.
};

/// What a client has done so far with the locks of one class (client_options::classify). The members mean what they
/// mean in `statistics`.
/// @ingroup ref_observation
struct class_statistics {
  std::size_t held = 0;     ///< Gauge: holds alive.
  std::size_t waiting = 0;  ///< Gauge: acquire and try_acquire operations under way.

  std::uint64_t acquired = 0;    ///< Locks acquired.
  std::uint64_t contended = 0;   ///< Operations that found the lock busy at least once.
  std::uint64_t timed_out = 0;   ///< acquire operations that ended with error::timed_out.
  std::uint64_t cancelled = 0;   ///< acquire and try_acquire operations that were cancelled.
  std::uint64_t lost = 0;        ///< Holds lost, or found lost by their release.
  std::uint64_t slow_waits = 0;  ///< acquire operations that waited for client_options::slow_wait.

  histogram waiting_time;  ///< From the start of an operation to its lock.
  histogram hold_time;     ///< From the lock to its release or loss.
};

namespace detail {
struct access;
std::shared_ptr<client_handle> make_client(asio::any_io_executor, std::vector<std::string> urls, client_options);
void start_ready(const std::shared_ptr<client_handle>&, asio::any_completion_handler<void(error_code)>);
void start_close(const std::shared_ptr<client_handle>&, asio::any_completion_handler<void(error_code)>);
void start_resume(const std::shared_ptr<client_handle>&, asio::any_completion_handler<void(error_code, hold)>,
                  const ticket&, resume_options);
}  // namespace detail

/// A program's connection to one store. It owns the connection, the renewals and the waiting.
///
/// A handle, cheap to copy: all copies share one connection, which starts to connect at once and reconnects by itself.
///
/// URLs:
/// - `redis://[user:password@]host[:port][/db]`: one server.
/// - `rediss://...`: one server, by TLS. Certificate and host name are verified; `?insecure=1` switches that off.
///   `?ca=FILE` names a certificate authority, `?cert=FILE&key=FILE` the certificate that the client shows and its key,
///   unencrypted. All are PEM files, read by the constructor and again before each connection.
///   `?tls_server_name=NAME` is what the server's certificate must name instead of the host, and what the client asks
///   for (SNI); in a group or a cluster, of all servers.
/// - `unix:///path[?db=N]`: one server on this host; user and password as in redis://.
/// - `redis+sentinel://[user:password@]h1:26379,h2:26379/master-name[/db]` and `rediss+sentinel://...` (TLS to
///   Sentinels and servers, with the parameters of rediss://): the master of a Sentinel group, which the client
///   follows. User and password are those of the servers, `?sentinel_password=P` and `&sentinel_user=U` those of the
///   Sentinels.
/// - `?keys=tagged` behind a URL of one of these: the address has shards behind it, so all keys of a lock have to be in
///   one slot. The client finds that out by itself, with the first request that the server refuses
///   (docs/managed-services.md).
/// - `redis+cluster://h1:7000,h2:7001` and `rediss+cluster://...` (TLS): a Redis Cluster, reached by some of its nodes.
/// - `memory:NAME`: a store inside a unit test (leasehold/testing/memory_store.hpp).
///
/// Several URLs make a quorum of independent servers, best three or five: a lock is held while a majority of them holds
/// it, and a minority may be down (docs/guarantees.md). Each URL is one of the above, except a cluster or tagged keys
/// (error::not_supported); the same one twice is error::invalid_url. All clients must have the same list: two
/// majorities of different lists may have no server in common. A quorum has no queue and no semaphores.
///
/// `io_context::run()` can return
/// - after `close()`;
/// - when the last client, lock, hold and operation is gone (their releases go out first);
/// - when the client holds nothing and nothing was asked of it for client_options::idle_timeout. It then disconnects,
///   and connects again for the next operation.
///
/// Clients, locks, holds and operations may outlive the execution context; they then do nothing, and their
/// `get_executor()` is empty. (A token that makes a timer of it, such as `asio::cancel_after`, throws
/// `asio::execution::bad_executor`.)
///
/// After `io_context::stop()`, or after the context is destroyed, the client sends nothing any more: locks that are
/// held stay until their leases have ended. Wait for `close()` before that.
///
/// The handler of an operation runs on its associated executor, else on the client's, and never inside the call. The
/// handle may be destroyed while the operation is under way.
///
/// Thread safety: const functions may be called from any thread. Only blocking::client starts a thread. (Asio has one
/// for its resolver, and some for its system executor. An operation of an empty hold or of no lock uses that one if its
/// handler has no executor, or one that can only be dispatched to: an `any_completion_executor`.)
/// @ingroup ref_clients
class client {
 public:
  using executor_type = asio::any_io_executor;

  /// @throws exception error::invalid_url (the text says what is wrong; it has no user and no password, and repeats
  /// nothing of a URL that cannot be parsed but its scheme), error::invalid_option, error::not_supported.
  client(executor_type executor, std::string_view url, client_options options = {})
      : client(std::move(executor), std::vector<std::string>{std::string(url)}, std::move(options)) {}

  /// Two URLs or more: a quorum of independent servers.
  client(executor_type executor, std::initializer_list<std::string_view> urls, client_options options = {})
      : client(std::move(executor), std::vector<std::string>(urls.begin(), urls.end()), std::move(options)) {}

  client(executor_type executor, std::vector<std::string> urls, client_options options = {})
      : handle_(detail::make_client(std::move(executor), std::move(urls), std::move(options))) {}  ///< @overload

  template <std::derived_from<asio::execution_context> Context>
  client(Context& context, std::string_view url, client_options options = {})
      : client(executor_type(context.get_executor()), url, std::move(options)) {}  ///< @overload

  template <std::derived_from<asio::execution_context> Context>
  client(Context& context, std::initializer_list<std::string_view> urls, client_options options = {})
      : client(executor_type(context.get_executor()), urls, std::move(options)) {}  ///< @overload

  template <std::derived_from<asio::execution_context> Context>
  client(Context& context, std::vector<std::string> urls, client_options options = {})
      : client(executor_type(context.get_executor()), std::move(urls), std::move(options)) {}  ///< @overload

  executor_type get_executor() const noexcept { return detail::executor_of(handle_); }  ///< What it was made with.

  /// Waits until the store answers; on a quorum, until a majority does.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// error::unreachable: no answer within client_options::connect_timeout; last_failure() says what is known of the
  /// reason (an unknown host, a certificate that was refused). error::refused: the server refused the client (a wrong
  /// password, for example); last_refusal() has its words. error::closed.
  /// @par Cancellation
  /// All types; nothing changes.
  template <asio::completion_token_for<void(error_code)> Token>
  auto ready(Token&& token) const {
    return detail::initiate<&detail::start_ready, void(error_code)>(handle_, std::forward<Token>(token));
  }
  [[nodiscard]] auto ready() const { return ready(asio::deferred); }  ///< @overload

  /// Ends everything and disconnects: waiters fail with error::closed, hold::lost completes, holds are released
  /// (a hold of with_lock once its body has ended). Idempotent; bounded by client_options::connect_timeout.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// error::unreachable: some hold, or what a request without an answer may leave, could not be released in time; it
  /// ends with its lease.
  /// @par Cancellation
  /// Terminal and partial end the wait only; closing goes on.
  template <asio::completion_token_for<void(error_code)> Token>
  auto close(Token&& token) const {
    return detail::initiate<&detail::start_close, void(error_code)>(handle_, std::forward<Token>(token));
  }
  [[nodiscard]] auto close() const { return close(asio::deferred); }  ///< @overload

  /// Goes on with a hold that was detached: the same name, token and fence. A new lease begins, and the client renews
  /// it.
  ///
  /// The client has to be one of the same servers and the same client_options::prefix as that of the detached hold;
  /// otherwise the ticket is lost. If a ticket is resumed twice, both have the same hold: when one of them has released
  /// it, it is lost for the other one. A hold that was resumed is not passed on within its client; a release hands the
  /// lock to the next waiter in the queue.
  ///
  /// @par Completion signature `void(error_code, hold)`
  /// @par Errors
  /// error::lost: the hold was released or its lease has ended, no matter which client has the lock now. Nothing is
  /// re-created. error::invalid_ticket: it is empty. error::invalid_option: an option is out of range, or
  /// client_options::classify has thrown. error::not_supported: a semaphore on a quorum. error::unreachable: no answer
  /// within client_options::command_timeout. error::no_quorum: too few servers of a quorum answered. error::refused,
  /// error::invalid_name, error::closed.
  /// @par Cancellation
  /// All types. The ticket is still good; a request that is under way only lengthens the lease.
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto resume(const ticket& detached, resume_options options, Token&& token) const {
    return detail::initiate<&detail::start_resume, void(error_code, hold)>(handle_, std::forward<Token>(token),
                                                                           detached, options);
  }
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto resume(const ticket& detached, Token&& token) const {
    return resume(detached, resume_options(), std::forward<Token>(token));
  }  ///< @overload
  [[nodiscard]] auto resume(const ticket& detached, resume_options options) const {
    return resume(detached, options, asio::deferred);
  }  ///< @overload
  [[nodiscard]] auto resume(const ticket& detached) const {
    return resume(detached, resume_options(), asio::deferred);
  }  ///< @overload

  /// A snapshot.
  statistics stats() const;

  /// A snapshot of the figures of each class, by its label. Empty without client_options::classify. A class is there
  /// from its first lock on.
  std::map<std::string, class_statistics> stats_by_class() const;

  /// The URL that the client was made with, or several with ", " between them, without credentials and parameters. For
  /// people.
  std::string server() const;

  /// Explains an error that an operation of this client has ended with, in one line:
  /// "refused: redis://10.0.0.7: NOAUTH Authentication required." "" for no error. (For a lock: basic_lock::explain.)
  std::string explain(const error_code& ec) const;

  /// The server's words for the latest event::kind::refused, or "": an error::refused, a refusal of something in the
  /// background (a renewal, for example), or of PUBLISH when the client connects. Neither here nor elsewhere does the
  /// library show a user or a password of a URL or of client_options::credentials, even if a server repeats it: it
  /// shows "***" instead. One line of at most 500 bytes of the server's, in which what a terminal would obey, or is not
  /// UTF-8, is escaped.
  std::string last_refusal() const;

  /// Why there is no connection: what the latest attempt to connect, or the loss of the connection, has ended with. ""
  /// while there is a connection, and before anything is known of the first attempt. While there is a connection but
  /// the server does not answer what it is asked: the reason for that. On a quorum: of the server that failed last; ""
  /// once a server has come back.
  std::string last_failure() const;

 private:
  friend detail::access;
  std::shared_ptr<detail::client_handle> handle_;
};

}  // namespace leasehold
