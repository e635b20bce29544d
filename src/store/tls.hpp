// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "../url.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace leasehold::detail {

// A TLS context for this address that verifies the certificate and the host's name (unless the address says otherwise)
// names the host to the server (SNI): the host that `host` says when a handshake starts; and has the client's certificate
// if there is one. Throws system_error(invalid_url) if a file cannot be used. Whenever the server's certificate is refused,
// `why` says so; nobody clears it.
boost::asio::ssl::context make_tls_context(const address&, std::shared_ptr<const std::string> host,
                                           std::shared_ptr<std::string> why);

}  // namespace leasehold::detail
