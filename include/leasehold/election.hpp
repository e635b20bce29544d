// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/acquire_options.hpp>
#include <leasehold/client.hpp>
#include <leasehold/detail/operation.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/lock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace leasehold {

class leader_observer;
class leadership;

/// The leader of an election, as others see it.
/// @ingroup ref_elections
struct leader_info {
  std::string value;        ///< What the leader has proclaimed last: its address, for example. Any bytes.
  std::uint64_t fence = 0;  ///< The leader's term: it grows from each leader to the next.
  /// When the term began, by the server's clock. It follows from the fence, so it is too late while the server's fences
  /// are ahead of its clock: after a step back of the clock, for example.
  std::chrono::system_clock::time_point since;

  friend bool operator==(const leader_info&, const leader_info&) = default;  ///< All members are equal.
};

/// The longest value of a leader, in bytes.
/// @ingroup ref_elections
inline constexpr std::size_t longest_value = 65536;

namespace detail {
namespace kinds {
extern const kind election;
}
class campaign_op;
class leader_term;
class watch_handle;
using leader_handler = asio::any_completion_handler<void(error_code, std::optional<leader_info>)>;
using shared_text = std::shared_ptr<const std::string>;
void start_campaign(const std::shared_ptr<lock_state>&, asio::any_completion_handler<void(error_code, leadership)>,
                    acquire_options, shared_text value);
void start_leader(const std::shared_ptr<lock_state>&, leader_handler);
void start_proclaim(const std::shared_ptr<hold_state>&, hold_handler, std::shared_ptr<leader_term>, shared_text value);
std::shared_ptr<watch_handle> make_watch(const std::shared_ptr<lock_state>&);
void start_next(const std::shared_ptr<watch_handle>&, leader_handler);
asio::any_io_executor executor_of(const std::shared_ptr<watch_handle>&) noexcept;
}  // namespace detail

/// Proof that this program leads; what `election::campaign` yields.
///
/// It is a `hold` of the election's name, with the value that others see. The hold's renewals keep the leadership alive
/// until it is resigned, destroyed or lost. Work that must stop when it is lost belongs into `while_held`, see
/// `hold()`.
///
/// Movable, not copyable. An empty leadership (default-constructed, or moved from) answers "", 0 and false, and its
/// operations complete with error::not_held.
///
/// The handler of an operation runs on its associated executor, else on the client's (for an empty leadership, on
/// Asio's system executor), and never inside the call. The leadership may be moved or destroyed while the operation is
/// under way.
///
/// Thread safety: a leadership belongs to one thread at a time. It may outlive its client, its election and the
/// execution context.
/// @ingroup ref_elections
class [[nodiscard]] leadership {
 public:
  using executor_type = asio::any_io_executor;

  leadership() noexcept = default;  ///< Empty.

  executor_type get_executor() const noexcept { return hold_.get_executor(); }  ///< As hold::get_executor.
  const std::string& name() const noexcept { return hold_.name(); }             ///< As hold::name.

  /// The term: the fencing token of the hold. It grows strictly from each leader to the next. Kept after resigning.
  std::uint64_t term() const noexcept { return hold_.fence(); }
  std::uint64_t fence() const noexcept { return hold_.fence(); }  ///< The same as `term()`.

  /// What the latest successful `proclaim` has proclaimed, or else `campaign`. Kept after resigning.
  std::string value() const;

  bool valid() const noexcept { return hold_.valid(); }  ///< As hold::valid.
  /// As hold::expires_at.
  std::chrono::steady_clock::time_point expires_at() const noexcept { return hold_.expires_at(); }

  /// False if the leadership was lost, and its lease ended more than `within` ago: by then the program should have
  /// stopped leading. True before, and for a leadership that is empty or was resigned. For a health check of the
  /// program, which is decided from local knowledge. A negative duration counts as 0.
  bool healthy(std::chrono::milliseconds within) const noexcept;

  /// The hold behind it, for `while_held` and `hold::extend`.
  leasehold::hold& hold() noexcept { return hold_; }
  const leasehold::hold& hold() const noexcept { return hold_; }  ///< @overload

  /// Replaces the value that others see.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// error::lost: the leadership is gone; if the request was on its way, others may have seen the value for a moment.
  /// error::not_held: resigned already, or empty.
  /// error::invalid_option: the value is longer than longest_value. error::unreachable: no answer within
  /// client_options::command_timeout; the client goes on trying while the leadership lives, until the server has taken
  /// it or a later value. error::wrong_type: another program has written to the key of the value. error::refused: the
  /// value of before stays. If the connection broke meanwhile, others may see the refused value until the server has
  /// taken the value of before again: the client repeats it once a second. error::closed.
  /// @par Cancellation
  /// Terminal and partial end the wait only; the client goes on trying.
  template <asio::completion_token_for<void(error_code)> Token>
  auto proclaim(std::string value, Token&& token) {
    return detail::initiate<&detail::start_proclaim, void(error_code)>(
        detail::access::state(hold_), std::forward<Token>(token), term_,
        detail::shared_text(std::make_shared<const std::string>(std::move(value))));
  }
  [[nodiscard]] auto proclaim(std::string value) { return proclaim(std::move(value), asio::deferred); }  ///< @overload

  /// Ends the leadership: the value is withdrawn, and the next candidate in the queue leads.
  ///
  /// @par Completion signature `void(error_code)`
  /// @par Errors
  /// As hold::release.
  /// @par Cancellation
  /// Terminal and partial end the wait only; the release goes on.
  template <asio::completion_token_for<void(error_code)> Token>
  auto resign(Token&& token) {
    return hold_.release(std::forward<Token>(token));
  }
  [[nodiscard]] auto resign() { return resign(asio::deferred); }  ///< @overload

  /// Waits until the leadership is lost, as hold::lost does.
  ///
  /// @par Completion signature `void(error_code)`: success when lost.
  /// @par Errors
  /// error::not_held: resigned or destroyed, or empty.
  /// @par Cancellation
  /// All types; nothing changes for the leadership.
  template <asio::completion_token_for<void(error_code)> Token>
  auto lost(Token&& token) const {
    return hold_.lost(std::forward<Token>(token));
  }
  [[nodiscard]] auto lost() const { return lost(asio::deferred); }  ///< @overload

 private:
  friend class detail::campaign_op;
  leadership(leasehold::hold h, std::shared_ptr<detail::leader_term> term) noexcept
      : hold_(std::move(h)), term_(std::move(term)) {}

  leasehold::hold hold_;
  std::shared_ptr<detail::leader_term> term_;
};

/// Follows the leader; what `election::observe` yields.
///
/// The first `next` yields the present state, and each further one the next change. Changes that are faster than the
/// program asks are one change. A change is pushed by the leader's request to the server. The observer also asks after
/// a reconnect, when the leader's lease would end, and every 5 s, because a message can be lost.
///
/// An observer never yields a leader with a smaller fence than one that it has yielded before, nor an older value of
/// the same leader. (If leadership::proclaim was refused a value, the value of before is the newer one.) After a
/// failover, a server may answer with a term that is over: the observer takes that for "no leader".
/// (`election::leader` and another observer do not know what this one has seen.)
///
/// A handle, cheap to copy: copies are one observer. From its first `next` on, its client stays connected while it
/// lives. It may be destroyed while `next` is under way; the operation goes on.
///
/// The handler of an operation runs on its associated executor, else on the client's, and never inside the call.
///
/// Thread safety: const functions may be called from any thread.
/// @ingroup ref_elections
class [[nodiscard]] leader_observer {
 public:
  using executor_type = asio::any_io_executor;

  executor_type get_executor() const noexcept { return detail::executor_of(watch_); }  ///< The client's.

  /// Waits until the state differs from what was yielded before. No value: there is no leader, or it has not proclaimed
  /// its value yet. Several operations at once each yield a change of their own, in the order of their start.
  ///
  /// It waits while the store cannot be reached; asio::cancel_after bounds the wait.
  ///
  /// @par Completion signature `void(error_code, std::optional<leader_info>)`
  /// @par Errors
  /// error::refused. error::wrong_type: the key of the election holds something that is no mutex. error::invalid_name.
  /// error::not_supported: on a quorum. error::closed. After an error, `next` may be called again.
  /// @par Cancellation
  /// All types. No change is lost: the next `next` yields it.
  template <asio::completion_token_for<void(error_code, std::optional<leader_info>)> Token>
  auto next(Token&& token) const {
    return detail::initiate<&detail::start_next, void(error_code, std::optional<leader_info>)>(
        watch_, std::forward<Token>(token));
  }
  [[nodiscard]] auto next() const { return next(asio::deferred); }  ///< @overload

 private:
  friend class election;
  explicit leader_observer(std::shared_ptr<detail::watch_handle> w) noexcept : watch_(std::move(w)) {}

  std::shared_ptr<detail::watch_handle> watch_;
};

/// Elects one leader among the programs that campaign under a name, and tells all others which one. A handle, cheap to
/// copy.
///
/// The leader is the holder of the mutex of that name, and proclaims a value: its address, for example. Candidates wait
/// in the queue of the mutex, first come, first served. Use a name for an election or for a mutex, not for both: a
/// `mutex` of the same name and its election exclude each other, and while the mutex is held there is no leader.
///
/// <!-- examples/guide.cpp election -->
/// @code
/// leasehold::leadership led = co_await election.campaign("10.0.0.7:8000", {.lease = 10s});
/// co_await leasehold::while_held(led.hold(), serve(led.term()));
/// co_await led.resign();
/// @endcode
///
/// Every deployment but a quorum, where each operation ends with error::not_supported: an observer there could be told
/// of an older leader by a majority that does not know the newest one.
///
/// The handler of an operation runs on its associated executor, else on the client's, and never inside the call.
///
/// Thread safety: const functions may be called from any thread.
/// @ingroup ref_elections
class election {
 public:
  using executor_type = asio::any_io_executor;

  /// A bad name is reported by the operations.
  election(const client& c, std::string name)
      : lock_(detail::make_lock(detail::access::handle(c), detail::kinds::election, std::move(name))) {}
  template <detail::only_a_view Name>
  election(const client& c, const Name& name) : election(c, detail::string_of(name)) {}  ///< @overload

  executor_type get_executor() const noexcept { return detail::executor_of(lock_); }  ///< The client's.

  /// Without the client's prefix.
  const std::string& name() const noexcept { return detail::name_of(lock_); }

  /// Explains an error that an operation of this election has ended with, as basic_lock::explain.
  std::string explain(const error_code& ec) const { return detail::explain(lock_, ec); }

  /// Waits until this program leads, and others see its value.
  ///
  /// @par Completion signature `void(error_code, leadership)`
  /// @par Errors
  /// Those of basic_lock::acquire. error::invalid_option also if the value is longer than longest_value. error::lost:
  /// the leadership was gone before the value was known to be proclaimed. error::not_supported: on a quorum. If the
  /// value cannot be proclaimed within client_options::command_timeout of the grant, the leadership is resigned:
  /// error::unreachable.
  /// @par Cancellation
  /// All types. Leaves no trace, as basic_lock::acquire.
  template <asio::completion_token_for<void(error_code, leadership)> Token>
  auto campaign(std::string value, acquire_options options, Token&& token) const {
    return detail::initiate<&detail::start_campaign, void(error_code, leadership)>(
        lock_, std::forward<Token>(token), options,
        detail::shared_text(std::make_shared<const std::string>(std::move(value))));
  }
  template <asio::completion_token_for<void(error_code, leadership)> Token>
  auto campaign(std::string value, Token&& token) const {
    return campaign(std::move(value), acquire_options(), std::forward<Token>(token));
  }  ///< @overload
  [[nodiscard]] auto campaign(std::string value, acquire_options options) const {
    return campaign(std::move(value), options, asio::deferred);
  }  ///< @overload
  [[nodiscard]] auto campaign(std::string value) const {
    return campaign(std::move(value), acquire_options(), asio::deferred);
  }  ///< @overload

  /// Asks for the leader. No value: there is no leader, or it has not proclaimed its value yet. It is what the server
  /// knows: after a failover, this may be an earlier leader than an earlier answer. `observe` never goes back.
  ///
  /// @par Completion signature `void(error_code, std::optional<leader_info>)`
  /// @par Errors
  /// error::unreachable: no answer within client_options::command_timeout. error::refused. error::wrong_type: the key
  /// of the election holds something that is no mutex. error::invalid_name. error::not_supported: on a quorum.
  /// error::closed.
  /// @par Cancellation
  /// All types; nothing changes.
  template <asio::completion_token_for<void(error_code, std::optional<leader_info>)> Token>
  auto leader(Token&& token) const {
    return detail::initiate<&detail::start_leader, void(error_code, std::optional<leader_info>)>(
        lock_, std::forward<Token>(token));
  }
  [[nodiscard]] auto leader() const { return leader(asio::deferred); }  ///< @overload

  /// Follows the leader.
  leader_observer observe() const { return leader_observer(detail::make_watch(lock_)); }

 private:
  std::shared_ptr<detail::lock_state> lock_;
};

}  // namespace leasehold
