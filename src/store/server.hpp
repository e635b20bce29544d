// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A store that is one Redis server, as clusters and quorums see it. They make their servers with a factory that is
// passed in: over Boost.Redis (redis/redis.hpp), or in a simulation.
#pragma once

#include "store/store.hpp"
#include "store/url.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail {

class redis_server : public store {
 public:
  // A script call on its way.
  struct call {
    std::shared_ptr<caller> the_caller;
    std::uint32_t tag;
    clock::time_point sent;  // When it was sent for the first time.
    std::uint16_t slot = 0;
    std::uint8_t redirections = 0;
    bool asking = false;      // The slot is being moved to this server (ASK).
    bool whole_text = false;  // The server did not know the script's digest.
    bool alone = false;       // Not in a bundle: its bundle was refused as a whole.
    detail::verb verb{};      // Of the request, once it was sent.
  };

  // The part of a store that knows what is around the server: the slots, and the other servers of a cluster.
  class router {
   public:
    // The server has answered with MOVED or ASK, or wants other keys (wants_tagged_keys). True: the router has taken
    // over the call. False: this is the call's answer.
    virtual bool redirect(call&, std::string_view words) = 0;
    // Calls carry the slot of their record.
    virtual bool has_slots() const { return true; }
    // Calls about different records may be in one command, if their keys let them (bundled_calls).
    virtual bool may_bundle() const { return false; }
    virtual bool pushes_grants(std::uint16_t slot) const = 0;
    // From now on the client is subscribed to this channel, or is not subscribed any more.
    virtual void on_shard_channel(std::string_view channel, bool subscribed) = 0;
    // The server refuses such channels for good. The connection is given up.
    virtual void on_no_shard_channels() {}
    // It refuses this one, not for good. The connection is given up then.
    virtual void on_refused_shard_channel([[maybe_unused]] std::string_view channel,
                                          [[maybe_unused]] std::string_view words) {}

   protected:
    ~router() = default;
  };

  // Takes over a call that was sent to another server. Only while up.
  virtual void take_over(call) = 0;
  // Sends commands of any kind, in one request. Null: not all were answered, or not within command_timeout plus
  // `longer`.
  using commands = std::vector<std::vector<std::string>>;
  virtual void exec(const commands&, std::chrono::milliseconds longer,
                    std::function<void(const std::vector<reply>*)> then) = 0;
  virtual void publish(const std::string& channel, std::string_view message) = 0;
  virtual void change_shard_channel(const std::string& channel, bool listen) = 0;
};

// Makes servers that share one strand.
class server_maker {
 public:
  // `channel`: where the client is notified of its grants; "" for a server that does not notify it. The events and the
  // router (which may be null) outlive the server's last event.
  using function =
      std::function<std::shared_ptr<redis_server>(address, std::string channel, store::events&, redis_server::router*)>;

  // The options belong to the client and outlive every copy.
  server_maker(boost::asio::any_io_executor strand, const client_options& options, std::string client, function make)
      : strand_(std::move(strand)), options_(&options), client_(std::move(client)), make_(std::move(make)) {}

  const boost::asio::any_io_executor& strand() const { return strand_; }
  const client_options& options() const { return *options_; }
  const std::string& client() const { return client_; }
  std::shared_ptr<redis_server> make(address where, std::string channel, store::events& events,
                                     redis_server::router* router = nullptr) const {
    return make_(std::move(where), std::move(channel), events, router);
  }

 private:
  boost::asio::any_io_executor strand_;
  const client_options* options_;
  std::string client_;
  function make_;
};

// Makes the servers of URLs memory:NAME. Set by leasehold::testing, null in programs without it.
using server_source = server_maker (*)(const boost::asio::any_io_executor&, const client_options&, std::string client);
void set_memory_servers(server_source) noexcept;
server_source memory_servers() noexcept;

}  // namespace leasehold::detail
