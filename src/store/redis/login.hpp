// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// With which user and password the connections of a store, or to a Sentinel, begin: those of the URL, or those that
// client_options::credentials gives. Everything here happens on the client's strand, and so do the answers of that
// function (client_core::ask_for_credentials).
#pragma once

#include "store/redis/reauthentication.hpp"
#include "time/clock.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace leasehold::detail {

class login final : public std::enable_shared_from_this<login> {
 public:
  using role = credentials_request::role;

  // of_url: used if there is no function, or if it is not to be asked. The options outlive the login.
  login(boost::asio::any_io_executor strand, const client_options&, role, credentials of_url, bool may_ask = true);

  // A function is asked.
  bool asks() const { return may_ask_; }
  const credentials& present() const { return credentials_; }
  // Why there are none; "": there are.
  const std::string& problem() const { return problem_; }

  // Asks for the next connection, to this server. The handler is called when there is an answer, after connect_timeout
  // or by stop(). Only if it asks().
  void ask(std::string server, boost::asio::any_completion_handler<void()>);
  void stop() { release(); }

  // The connection is up, and was authenticated with the present credentials. The login asks for the next ones in time
  // and passes them to `authenticate`, which is followed by authenticated() unless the connection ends. report: why
  // there are no new ones.
  struct living {
    std::function<void(const credentials&)> authenticate;
    std::function<void(std::string_view why)> report;
  };
  void keep(living);
  // words: the server's if it has refused the credentials, else "".
  void authenticated(std::string_view words);
  // The connection has ended.
  void release();

 private:
  using timer = boost::asio::basic_waitable_timer<clock, wait_traits, boost::asio::any_io_executor>;

  void request();
  void on_answer(std::string why, credentials given);
  void ask_again_at(clock::time_point due);
  void ask_again();
  void renew();
  void fail(const std::string& why);

  const boost::asio::any_io_executor strand_;
  const client_options& options_;
  const role role_;
  const bool may_ask_;
  credentials credentials_;
  std::string server_;
  std::string problem_;
  std::uint64_t number_ = 0;  // Of the latest request. An answer to another one is late.
  std::uint64_t life_ = 0;    // Of the connection that is kept.
  living living_;
  std::string reported_;
  reauthentication schedule_;
  // The handler of ask() waits in the execution context, as in sentinels.hpp.
  timer limit_;
  timer next_;
  std::minstd_rand random_;
};

}  // namespace leasehold::detail
