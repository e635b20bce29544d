// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One operation that waits for a lock, as its entry sees it: implemented by acquire.hpp.
#pragma once

#include "client/client_core.hpp"
#include "time/clock.hpp"

#include <leasehold/acquire_options.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>

#include <boost/intrusive/list.hpp>

#include <memory>

namespace leasehold::detail {

class queue_entry;

class waiter : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual const acquire_options& options() const = 0;
  virtual const std::shared_ptr<client_handle>& handle() const = 0;
  virtual clock::time_point began() const = 0;
  // time_point::max(): there is none.
  virtual clock::time_point deadline() const = 0;
  // The same object. The caller keeps it during a call that may end the waiter.
  virtual std::shared_ptr<waiter> shared() = 0;

  virtual void belong_to(std::shared_ptr<queue_entry>) = 0;
  virtual void note_contention() = 0;
  virtual void complete(hold) = 0;
  virtual void complete(error_code) = 0;
  // The single attempt was answered: the lock is busy.
  virtual void complete_busy() = 0;
  // The outcome is decided; what may be left of the attempt is being released. The operation ends with left(), or after
  // a limit of 100 ms.
  virtual void wait_for_leave(error_code outcome) = 0;
  virtual void left() = 0;
  // The store has answered the attempt late: the lock was busy.
  virtual void note_busy() = 0;

  // Readers that wait in one entry when one of them is granted the lock are granted it together, past writers that wait
  // behind the entry: it stood for all of them.
  bool may_follow() const { return may_follow_; }
  void let_follow() { may_follow_ = true; }
  // What it is granted leaves nothing busy, until hold_state::keep_rest.
  bool forgoes_rest() const { return forgoes_rest_; }
  void forgo_rest() { forgoes_rest_ = true; }

 protected:
  ~waiter() = default;

 private:
  bool may_follow_ = false;
  bool forgoes_rest_ = false;
};

}  // namespace leasehold::detail
