// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/url.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace leasehold::detail {

// Throws exception(invalid_url) that names the file if one of those that the address names cannot be used.
void check_tls_files(const address&);

// As whom the connections of one store show themselves in TLS, and whom they believe. The files that the address names
// are read again before each connection, since they may be replaced while the client runs.
class tls_identity {
 public:
  // host: what the certificate must name when a handshake starts, and what the client asks the server for (SNI).
  tls_identity(const address&, std::shared_ptr<const std::string> host);

  // For the object that makes the connections. It verifies the certificate and the host's name (unless the address says
  // otherwise), and has the client's certificate if there is one.
  boost::asio::ssl::context make_context() const;
  // Reads the files, for the next connection. Returns why they cannot be used; "": they can.
  std::string load();
  // Which of the certificates that were read have expired, in words that name the file; "": none. The connection is
  // made all the same: only the server knows whether it minds.
  const std::string& expired() const;
  // Why the connection has ended: if one of the certificates is the reason, that.
  std::string why_ended(const std::string& reason) const;

  struct state;  // Of tls.cpp.

 private:
  const address where_;
  std::shared_ptr<state> state_;
};

}  // namespace leasehold::detail
