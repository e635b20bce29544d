// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The Sentinels of a group: they report where the master is, and when another server becomes the master. Boost.Redis
// can ask Sentinels, too, but it asks one after the other, each for a whole time-out. And it reports neither which host
// it was sent to (TLS verifies that name) nor why there is none. Everything here happens on the client's strand.
#pragma once

#include "store/redis/sentinel_round.hpp"
#include "store/store.hpp"
#include "store/url.hpp"
#include "time/clock.hpp"
#include "time/pauses.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

class sentinels final : public std::enable_shared_from_this<sentinels> {
 public:
  // `changed` is called when a Sentinel reports another master than the one last found.
  sentinels(boost::asio::any_io_executor strand, address where, const client_options&, std::function<void()> changed);
  ~sentinels();

  // Finds the master with the first Sentinel that knows it; see found(). Takes the time-out at most.
  void ask(boost::asio::any_completion_handler<void()>);
  // The server that was found cannot be used. The next round begins with another Sentinel: this one may be cut off from
  // its group.
  void doubt();
  void stop();

  const std::vector<host_and_port>& known() const { return known_; }
  // Adds Sentinels of the group, to be asked after those that are known.
  void add(const std::vector<host_and_port>&);

  struct result {
    host_and_port master;  // No host: not found.
    std::string why;       // Why it was not found.
    bool refused = false;  // Most Sentinels have answered, and said no.
  };
  const result& found() const { return found_; }

 private:
  class link;
  using timer = boost::asio::basic_waitable_timer<clock, wait_traits, boost::asio::any_io_executor>;

  void begin();
  void limit_round();
  void on_limit();
  void ask_next();
  void on_answer(link&, const std::vector<reply>&);
  void on_message(const reply&);
  void on_end(link&, const std::string& why);
  void no_answer(link&, std::string_view words, bool refuses);
  void conclude(result);
  void retry_later();
  void drop(std::shared_ptr<link>&);
  void drop_all();
  void call_back();

  const boost::asio::any_io_executor strand_;
  const address where_;
  const client_options& options_;  // The options outlive the Sentinels.
  const std::function<void()> changed_;

  std::vector<host_and_port> known_;  // The Sentinel that answered last comes first.
  sentinel_round round_;
  std::vector<std::shared_ptr<link>> links_;  // The Sentinels whose answers are still to come.
  std::shared_ptr<link> watched_;             // The Sentinel that answered: it reports when the master changes.
  clock::time_point watched_since_{};
  bool asking_ = false;
  bool stopped_ = false;
  bool awaited_ = false;  // A caller of ask() waits for concluded_.
  result found_;
  host_and_port rumour_;  // Another master that one Sentinel has named since then, while no caller waited.
  // The caller of ask() may own the object that owns this. So its handler waits in the execution context, which
  // destroys it when it ends. A handler in a member would keep all of them alive forever.
  timer concluded_;
  timer head_start_;
  timer limit_;
  timer retry_;
  pauses pauses_;
  std::minstd_rand random_;
};

}  // namespace leasehold::detail
