// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/url.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace leasehold::detail {

// Reads the files that the address names, once for the client's whole life: they may be replaced while it runs. Throws
// system_error(invalid_url) that names the file if one of them cannot be used.
void read_tls_files(address&);

// A TLS context for this address, whose files must have been read. It verifies the certificate and the host's name
// (unless the address says otherwise). It names the host to the server (SNI): the one in `host` when a handshake
// starts. It has the client's certificate if there is one. Whenever the server's certificate is refused, it writes that
// to `why`, and never clears it.
boost::asio::ssl::context make_tls_context(const address&, std::shared_ptr<const std::string> host,
                                           std::shared_ptr<std::string> why);

}  // namespace leasehold::detail
