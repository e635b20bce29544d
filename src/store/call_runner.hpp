// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The way of a script call over a connection, from store::run to caller::answered: what is written when, and what
// follows from a reply. It is the same for real connections (redis/redis.cpp) and those of a simulation
// (memory/memory_store.cpp), which do the I/O.
#pragma once

#include "store/pipeline.hpp"
#include "store/server.hpp"
#include "store/store.hpp"
#include "time/clock.hpp"
#include "time/server_clock.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace leasehold::detail {

class call_runner {
 public:
  using call = redis_server::call;

  class connection {
   public:
    virtual bool can_send() const = 0;
    // To write what pipeline::flush returns: now, or at the end of this turn of the event loop.
    virtual void flush() = 0;
    virtual void flush_later() = 0;
    // To call call_runner::drain in a later turn of the event loop.
    virtual void drain_later() = 0;
    virtual void on_push(const reply&) = 0;
    // The words of an error. True: they are about the connection, which ends, and are no answer to a call.
    virtual bool ends_with(std::string_view words) = 0;

   protected:
    ~connection() = default;
  };

  // The connection and the router (null: there is nothing to know) outlive this object.
  call_runner(connection& over, redis_server::router* router, double drift, pipeline p)
      : connection_(over), router_(router), clock_(drift), pipeline_(std::move(p)) {}

  // Only while the connection can send. Returns when to check for silence at the latest; max: no earlier than before.
  clock::time_point run(std::shared_ptr<caller>, std::uint32_t tag);
  void take_over(call);
  // Passes on what `f(pipeline)` has produced, in later turns.
  template <class F>
  void collect(F f) {
    f(pipeline_);
    if (pipeline_.has_results()) drain_later();
  }
  // Passes on a portion of the results. If there are more, the next turn passes on the next portion. So what the
  // callers ask for after the first portion is with the server while the client passes on the second.
  void drain();
  // Passes on all results.
  void drain_all();

  pipeline& calls() { return pipeline_; }
  const pipeline& calls() const { return pipeline_; }
  server_clock& clock_there() { return clock_; }

 private:
  void drain_later();
  void pass_on(pipeline::result, clock::time_point now);
  void send_waiting();
  void append(call);
  void send_alone(call, const reply& to_its_bundle, clock::time_point now);
  void settle(call, const reply* from_server, clock::time_point now);

  connection& connection_;
  redis_server::router* const router_;
  server_clock clock_;
  pipeline pipeline_;
  bool drains_later_ = false;
};

}  // namespace leasehold::detail
