// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The script calls of one connection: which calls wait for room, which travel in one request, which reply belongs to
// which call, and whether the server is silent. No I/O and no clock of its own: the connection (redis/redis.cpp, or
// memory/memory_store.cpp) carries out the decisions.
#pragma once

#include "protocol/arguments.hpp"
#include "store/bundled_calls.hpp"
#include "store/server.hpp"
#include "store/store.hpp"
#include "time/clock.hpp"

#include <boost/container/deque.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

// Commands that are written at once, in the form that a connection needs.
class command_writer {
 public:
  virtual ~command_writer() = default;
  // The arguments are valid during the call only.
  virtual void write(const script&, bool whole_text, arguments&) = 0;
  virtual void write(const std::vector<std::string>& words) = 0;
  // A command of one word.
  virtual void write(std::string_view word) = 0;
  virtual void clear() = 0;
};

class pipeline {
 public:
  using call = redis_server::call;

  // Of a script, and which command of its batch has it.
  struct text {
    const script* of;
    std::size_t command;
  };

  // The calls of one turn of the event loop. They are written at once.
  struct batch {
    std::unique_ptr<command_writer> request;  // Null: see expect.
    std::vector<calls> commands;              // Of each command: none, if no caller waits for its reply.
    std::vector<text> texts{};                // What it brings to a server that does not know it.
    std::size_t size = 0;                     // Calls, from flush on.
    std::size_t answered = 0;                 // Commands.
    clock::time_point sent{};                 // A call may have been sent to another server before that.
    std::chrono::milliseconds patience = std::chrono::milliseconds::max();

    clock::time_point gives_up_at(clock::time_point heard_at) const;
  };

  // A reply on its way to the callers of its calls, or the lack of one for one call. A push message has no call.
  struct result {
    calls of;
    reply from_server;
    bool arrived;
  };

  // The most calls that are under way at once, from when they are written until their results are taken: enough to keep
  // a distant server busy. A client that writes more than it reads fills the server's memory with replies, and is
  // disconnected (client-output-buffer-limit pubsub). And a call that waits here is filled in only when it is sent.
  static constexpr std::size_t most_under_way = 1024;

  using writer_maker = std::unique_ptr<command_writer> (*)();

  // If nothing is answered on a connection for `patience`, it is given up. A caller may set a shorter patience.
  // may_bundle: calls about different records may be in one command, if their keys let them.
  pipeline(writer_maker make_writer, std::chrono::milliseconds patience, bool may_bundle,
           std::size_t most = most_under_way)
      : make_writer_(make_writer), patience_(patience), may_bundle_(may_bundle), most_(most) {}

  // --- Calls ---

  // A call from the store. True: there is room, add it. False: it has to wait for room, see next_waiting.
  bool has_room_for(const call&) const;
  // The call waits, and is answered after those in front of it. Returns when to check for silence at the latest.
  clock::time_point wait(call);
  // Puts the call into the next batch. If the connection is used by one call at a time, the batch is sent at once.
  // Otherwise it is sent at the end of this turn of the event loop, with all calls added until then. clock,
  // pushes_grants: of the server (protocol/request.hpp).
  enum class then { nothing, flush_now, flush_at_the_end };
  then add(call, const server_clock&, bool pushes_grants);
  // The next waiting call, if there is room and its caller still wants it; `sent` is `now`. Calls that are not wanted
  // fail.
  std::optional<call> next_waiting(clock::time_point now);
  // The batch to send now; null: none.
  std::shared_ptr<batch> flush(clock::time_point now);
  // Something else was written, behind all that was sent before: until `end` it counts as a batch without an answer.
  std::shared_ptr<batch> expect(clock::time_point now, std::chrono::milliseconds patience);
  // The connection does not use the batch any more: its calls that were not answered fail.
  void end(const std::shared_ptr<batch>&);
  // All calls that were not sent fail.
  void drop();

  // How many calls make up a portion, for a bundle and for a turn of the event loop that passes on results: a quarter
  // of those under way. So the server works on some while the client passes on the results of others, and each command
  // still has as many calls as that permits.
  std::size_t portion() const;

  // --- Results ---

  // The next reply to the batch.
  void on_reply(batch&, reply&&);
  void on_push(reply&&);
  bool has_results() const { return !results_.empty(); }
  // The one that has waited longest. There must be one.
  result next_result();

  // --- Silence ---

  // The server has said something.
  void heard(clock::time_point now);
  clock::time_point heard_at() const { return heard_at_; }
  // When the connection counts as silent if the first batch without an answer is still not answered then; max: never.
  clock::time_point silent_at() const;
  // To be called at silent_at or later. Returns when to check again; nullopt: give the connection up.
  std::optional<clock::time_point> look_for_silence(clock::time_point now);
  // For a new connection.
  void forget_silence() { doubted_ = false; }

 private:
  void write_without_caller(std::string_view command);
  // Returns whether the text was written, and not the digest.
  bool write_script(const script&, bool whole_text, arguments&);
  void close_bundle();
  std::shared_ptr<batch> take_batch();
  void fail_rest(batch&);
  void fail(call);

  const writer_maker make_writer_;
  const std::chrono::milliseconds patience_;
  const bool may_bundle_;
  const std::size_t most_;  // See most_under_way.
  std::shared_ptr<batch> next_;
  // Calls of next_ that are to go out in one command, behind those that are written already.
  bundled_calls bundled_;
  bool alone_ = false;                       // The last batch was one script, and no other call was under way.
  std::array<std::deque<call>, 3> waiting_;  // By caller::turn.
  std::size_t under_way_ = 0;                // See most_under_way.
  std::deque<std::shared_ptr<batch>> in_flight_;
  std::vector<std::shared_ptr<batch>> spare_;
  // In the order of their arrival. (A std::deque would take memory for every second one.)
  using result_blocks = boost::container::deque_options<boost::container::block_size<32>>::type;
  boost::container::deque<result, void, result_blocks> results_;
  clock::time_point heard_at_{};
  bool doubted_ = false;  // It was silent at the last check, and nothing was heard since then.
};

}  // namespace leasehold::detail
