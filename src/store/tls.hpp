// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "../url.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace leasehold::detail {

// A TLS context for this address that verifies the certificate and the host's name (unless the address says otherwise)
// and names the host to the server (SNI): the host that `host` says when a handshake starts. Throws
// system_error(invalid_url) if the authority's file cannot be used.
boost::asio::ssl::context make_tls_context(const address&, std::shared_ptr<const std::string> host);

}  // namespace leasehold::detail
