// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The Sentinels of a group: where the master is, and that it has become another. Boost.Redis asks Sentinels, too, but
// one after the other, each in its whole time-out, and tells neither whom it was sent to (TLS verifies that name) nor
// why it was sent nowhere. Everything here happens on the client's strand.
#pragma once

#include "store/store.hpp"
#include "store/url.hpp"
#include "time/clock.hpp"
#include "time/pauses.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace leasehold::detail {

class sentinels final : public std::enable_shared_from_this<sentinels> {
 public:
  // `changed` is called when a Sentinel says that another server than the one last found is the master now.
  sentinels(boost::asio::any_io_executor strand, address where, std::chrono::milliseconds timeout, const backoff& retry,
            std::function<void()> changed);
  ~sentinels();

  // Where the master is, by the first Sentinel that knows; see found(). Takes as long as the time-out at most.
  void ask(boost::asio::any_completion_handler<void()>);
  void stop();

  const std::vector<host_and_port>& known() const { return known_; }
  // More Sentinels of the group, to be asked behind those that are known.
  void add(const std::vector<host_and_port>&);

  struct result {
    host_and_port master;  // No host: not found.
    std::string why;       // It was not found.
    bool refused = false;  // Most Sentinels have answered, and said no.
  };
  const result& found() const { return found_; }

 private:
  class link;
  using timer = boost::asio::basic_waitable_timer<clock, wait_traits, boost::asio::any_io_executor>;

  void begin();
  void ask_next();
  void on_answer(link&, const std::vector<reply>&);
  void on_message(const reply&);
  void on_end(link&, const std::string& why);
  void note(const link&, std::string_view words);
  void no_answer(link&);
  void conclude(result);
  void retry_later();
  void drop(std::shared_ptr<link>&);
  void drop_all();
  void call_back();

  const boost::asio::any_io_executor strand_;
  const address where_;
  const std::chrono::milliseconds timeout_;
  const std::function<void()> changed_;

  std::vector<host_and_port> known_;  // The one that answered last comes first.
  std::size_t asked_ = 0;             // How many of them in this round.
  std::size_t refusals_ = 0;
  std::string words_;                         // What the Sentinels said that had no answer.
  std::vector<std::shared_ptr<link>> links_;  // Those of whom the answer is awaited.
  std::shared_ptr<link> watched_;             // The one that answered: it tells when the master changes.
  clock::time_point watched_since_{};
  bool asking_ = false;
  bool stopped_ = false;
  bool awaited_ = false;  // Somebody has asked, and waits for concluded_.
  result found_;
  // Who asks may own what owns this. His handler waits in the context, which destroys it when it ends; a member would
  // keep all of them alive for ever.
  timer concluded_;
  timer head_start_;
  timer limit_;
  timer retry_;
  const std::chrono::milliseconds longest_pause_;
  pauses pauses_;
  std::minstd_rand random_;
};

}  // namespace leasehold::detail
