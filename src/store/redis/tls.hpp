// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "store/url.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace leasehold::detail {

// Reads the files that the address names, once for the client's whole life: they may be replaced while it runs. Throws
// system_error(invalid_url), naming the file, if one cannot be used.
void read_tls_files(address&);

// A TLS context for this address, whose files were read. It verifies the certificate and the host's name (unless the
// address says otherwise), names the host to the server (SNI), the one that `host` says when a handshake starts, and has
// the client's certificate if there is one. Whenever the server's certificate is refused, `why` says so; nobody clears it.
boost::asio::ssl::context make_tls_context(const address&, std::shared_ptr<const std::string> host,
                                           std::shared_ptr<std::string> why);

}  // namespace leasehold::detail
