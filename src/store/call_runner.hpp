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
    // To call call_runner::drain, not inside this call.
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
  // Passes on what `f(pipeline)` has produced, in a later turn.
  template <class F>
  void collect(F f) {
    const bool is_expected = pipeline_.has_results();
    f(pipeline_);
    if (!is_expected && pipeline_.has_results()) connection_.drain_later();
  }
  void drain();

  pipeline& calls() { return pipeline_; }
  const pipeline& calls() const { return pipeline_; }
  server_clock& clock_there() { return clock_; }

 private:
  void append(call);
  void send_alone(call, const reply& to_its_bundle, clock::time_point now);
  void settle(call, const reply* from_server, clock::time_point now);

  connection& connection_;
  redis_server::router* const router_;
  server_clock clock_;
  pipeline pipeline_;
};

}  // namespace leasehold::detail
