// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/client.hpp>
#include <leasehold/lock.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace leasehold {

namespace detail::kinds {
// Two sides of one lock.
extern const kind writer, reader;
}  // namespace detail::kinds

/// One writer or any number of readers.
///
/// Readers and writers wait in one queue and are granted the lock in its order; adjacent readers are granted it
/// together. So neither side starves: a reader that comes while a writer waits is queued behind that writer. (On a
/// quorum there is no queue, and readers that never leave a gap keep a writer out.) The readers of one phase have the
/// same fence (on a quorum each one between those of the writers before and after). Every reader has a token and a
/// lease of its own.
///
/// With an owner, a reader is granted the lock while another reader of the same owner has it, even past a waiting
/// writer. (Otherwise an owner that reads twice would wait for a writer that waits for it.) A writer cannot acquire the
/// lock again.
///
/// hold::downgrade turns a writer into a reader without a gap. A reader lock cannot be upgraded: two readers that both
/// want to become writers would each wait until the other has gone.
/// @ingroup ref_locks
class shared_mutex : public basic_lock {
 public:
  /// The reader's side, as a lock: its acquire and try_acquire are shared.
  class reader_side : public basic_lock {
   private:
    friend shared_mutex;
    explicit reader_side(std::shared_ptr<detail::lock_state> lock) noexcept : basic_lock(std::move(lock)) {}
  };

  /// A bad name, and an owner that is longer than 65,536 bytes, "leasehold" or begins with "leasehold:", is reported by
  /// the operations as error::invalid_name.
  shared_mutex(const client& c, std::string name, const std::string& owner = {})
      : basic_lock(detail::make_lock(detail::access::handle(c), detail::kinds::writer, name, owner)),
        reader_(detail::make_lock(detail::access::handle(c), detail::kinds::reader, std::move(name), owner)) {}
  template <class Name, class Owner = std::string>
  requires detail::only_a_view<Name> || detail::only_a_view<Owner> shared_mutex(const client& c, const Name& name,
                                                                                const Owner& owner = {})
      : shared_mutex(c, detail::string_of(name), detail::string_of(owner)) {}  ///< @overload

  /// For with_lock and acquire_all.
  reader_side shared() const { return reader_; }

  /// As acquire, for a reader.
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto acquire_shared(acquire_options options, Token&& token) const {
    return reader_.acquire(options, std::forward<Token>(token));
  }
  template <asio::completion_token_for<void(error_code, hold)> Token>
  auto acquire_shared(Token&& token) const {
    return reader_.acquire(std::forward<Token>(token));
  }                                                                                                      ///< @overload
  [[nodiscard]] auto acquire_shared(acquire_options options) const { return reader_.acquire(options); }  ///< @overload
  [[nodiscard]] auto acquire_shared() const { return reader_.acquire(); }                                ///< @overload

  /// As try_acquire, for a reader.
  template <asio::completion_token_for<void(error_code, std::optional<hold>)> Token>
  auto try_acquire_shared(acquire_options options, Token&& token) const {
    return reader_.try_acquire(options, std::forward<Token>(token));
  }
  template <asio::completion_token_for<void(error_code, std::optional<hold>)> Token>
  auto try_acquire_shared(Token&& token) const {
    return reader_.try_acquire(std::forward<Token>(token));
  }  ///< @overload
  [[nodiscard]] auto try_acquire_shared(acquire_options options) const {
    return reader_.try_acquire(options);
  }                                                                                ///< @overload
  [[nodiscard]] auto try_acquire_shared() const { return reader_.try_acquire(); }  ///< @overload

 private:
  reader_side reader_;
};

}  // namespace leasehold
