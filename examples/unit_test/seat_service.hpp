// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The service that main.cpp tests: it sells the seats of a theatre. Several servers sell the same seats.
#pragma once

#include <leasehold/leasehold.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <string>

enum class sale {
  sold,
  taken,        // The seat belongs to another guest.
  busy,         // Another server is selling it, or the store is down.
  interrupted,  // The lock was lost before the guest had paid: the seat is not sold.
};

class seat_service {
 public:
  using payment = std::function<boost::asio::awaitable<void>()>;

  seat_service(leasehold::client client, payment pay);

  boost::asio::awaitable<sale> sell(std::string seat, std::string guest);
  const std::map<std::string, std::string>& guests() const { return guests_; }

 private:
  leasehold::client client_;
  payment pay_;
  std::map<std::string, std::string> guests_;  // By seat. (A real one is in a database, beside the fence.)
};
