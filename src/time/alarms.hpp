// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// All alarms of a client: deadlines, pauses, renewals. They are in one ordered set, so that a client needs a single
// timer. No I/O, no clock of its own.
#pragma once

#include "time/clock.hpp"

#include <boost/intrusive/set.hpp>

namespace leasehold::detail {

// Something to be called at an instant. An alarm that is unset (or destroyed) costs nothing.
class alarm : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                                                     boost::intrusive::optimize_size<true>> {
 public:
  alarm() = default;
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;

  bool is_set() const { return is_linked(); }
  clock::time_point due() const { return due_; }
  void unset() { unlink(); }

 protected:
  ~alarm() = default;

 private:
  friend class alarms;
  // The alarm is unset when it rings; it may set itself again or destroy itself.
  virtual void ring(clock::time_point now) = 0;

  clock::time_point due_{};
};

class alarms {
 public:
  alarms() = default;
  ~alarms() { clear(); }

  void set(alarm& a, clock::time_point due) {
    a.unlink();
    a.due_ = due;
    set_.insert(a);
  }

  // The earliest instant at which an alarm is due; time_point::max() if none is set.
  clock::time_point next() const { return set_.empty() ? clock::time_point::max() : set_.begin()->due_; }

  // Rings the alarms that are due. An alarm that is set again for no later than `now` waits for the next call, so that
  // this call ends. If an alarm throws, those that have not rung yet stay set.
  void ring(clock::time_point now) {
    while (!set_.empty() && set_.begin()->due_ <= now) move_first(set_, due_);
    while (!due_.empty()) {
      alarm& a = *due_.begin();
      a.unlink();
      try {
        a.ring(now);
      } catch (...) {
        while (!due_.empty()) move_first(due_, set_);
        throw;
      }
    }
  }

  // Unsets all alarms, even those that have not rung yet while others ring.
  void clear() {
    set_.clear();
    due_.clear();
  }

 private:
  struct earlier {
    bool operator()(const alarm& a, const alarm& b) const { return a.due_ < b.due_; }
  };
  using ordered = boost::intrusive::multiset<alarm, boost::intrusive::compare<earlier>,
                                             boost::intrusive::constant_time_size<false>>;
  static void move_first(ordered& from, ordered& to) {
    alarm& a = *from.begin();
    a.unlink();
    to.insert(a);
  }
  ordered set_;
  ordered due_;  // The alarms that ring now.
};

}  // namespace leasehold::detail
