// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The script calls of one connection: which of them wait for room, which travel in one request, which reply belongs to
// which call, and whether the server is silent. No I/O and no clock of its own: the connection (redis.cpp) carries out
// what is decided here.
#pragma once

#include "store/server.hpp"
#include "store/store.hpp"
#include "time/clock.hpp"

#include <boost/redis/request.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace leasehold::detail {

class pipeline {
 public:
  using call = redis_server::call;

  // The calls of one turn of the event loop. They travel in one request, written once.
  struct batch {
    boost::redis::request request;
    std::vector<call> calls;
    std::size_t answered = 0;
    clock::time_point sent{};  // A call may have been sent to another server before.
    std::chrono::milliseconds patience = std::chrono::milliseconds::max();

    clock::time_point gives_up_at(clock::time_point heard_at) const;
  };

  // A reply, or a call without one, on its way to its caller; a push message has no caller.
  struct result {
    call of;
    reply from_server;
    bool arrived;
  };

  // How many calls are under way at once, at the most: as many as keep a distant server busy. A client that writes more
  // than it reads fills the server's memory with replies, and is disconnected (client-output-buffer-limit pubsub). And a
  // call that waits here is as young as its sending.
  static constexpr std::size_t most_under_way = 1024;

  // A connection on which nothing is answered for `patience` is given up; a caller may have less.
  explicit pipeline(std::chrono::milliseconds patience) : patience_(patience) {}

  // --- Calls ---

  // A call from above. False: it has to wait for room, see next_waiting; true: add it.
  bool has_room_for(const call&) const;
  // It is answered after those in front of it. Returns when to look for silence at the latest.
  clock::time_point wait(call);
  // Puts the call into the next batch. A batch is sent at once if its connection is used by one call at a time, and
  // otherwise at the end of this turn of the event loop, together with what else is called until then.
  enum class then { nothing, flush_now, flush_at_the_end };
  then add(call, const destination&);
  // The next waiting call, if there is room and its caller still wants it; `sent` is `now`. Those that are not wanted fail.
  std::optional<call> next_waiting(clock::time_point now);
  // What is to be sent now; null: nothing.
  std::shared_ptr<batch> flush(clock::time_point now);
  // Boost.Redis has no further use for the batch: calls that are not answered fail.
  void end(const std::shared_ptr<batch>&);
  // Everything that was not sent fails.
  void drop();

  // --- Results ---

  // The next reply to the batch. Results are taken in a later turn: Boost.Redis must have finished with what it has read.
  void on_reply(batch&, reply&&);
  void on_push(reply&&);
  bool has_results() const { return !results_.empty(); }
  // In the order of their arrival.
  std::vector<result> take_results(clock::time_point now);
  // Keeps the memory.
  void give_back(std::vector<result>&&);

  // --- Silence ---

  clock::time_point heard_at() const { return heard_at_; }
  // When the first batch that is not answered by then makes the connection one that is silent; max: never.
  clock::time_point silent_at() const;
  // At silent_at or later: when to look again; nullopt: give the connection up.
  std::optional<clock::time_point> look_for_silence(clock::time_point now);
  // Another connection.
  void forget_silence() { doubted_ = false; }

 private:
  void push_without_caller(std::string_view command, clock::time_point sent);
  std::shared_ptr<batch> take_batch();
  void fail_rest(batch&);
  void fail(call);

  const std::chrono::milliseconds patience_;
  std::shared_ptr<batch> next_;
  bool alone_ = false;                       // The last batch was one script, and nothing else was under way.
  std::array<std::deque<call>, 3> waiting_;  // By caller::turn.
  std::size_t under_way_ = 0;                // Of next_ and in_flight_, what is not answered.
  std::deque<std::shared_ptr<batch>> in_flight_;
  std::vector<std::shared_ptr<batch>> spare_;
  std::vector<result> results_;
  clock::time_point heard_at_{};
  bool doubted_ = false;  // It was silent at the last look, and nothing was heard since.
};

}  // namespace leasehold::detail
