// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "tls.hpp"

#include <leasehold/error.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace leasehold::detail {
namespace {

using host_name = std::shared_ptr<const std::string>;

void free_name(void*, void* name, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<host_name*>(name); }

// Where a context keeps the server's name.
int name_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_name);
  return index;
}

// Boost.Redis creates the TLS stream by itself and sets no server name, so it is set when the handshake starts.
void on_tls_event(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  const auto* name = static_cast<const host_name*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), name_index()));
  if (name == nullptr) return;
  error_code not_an_address;
  boost::asio::ip::make_address(**name, not_an_address);
  // A server's name in SNI is never an address (RFC 6066, section 3).
  if (not_an_address) SSL_set_tlsext_host_name(const_cast<SSL*>(ssl), (*name)->c_str());
}

}  // namespace

boost::asio::ssl::context make_tls_context(const address& where, std::shared_ptr<const std::string> host) {
  namespace ssl = boost::asio::ssl;
  ssl::context context(ssl::context::tls_client);
  context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  if (!where.tls) return context;
  auto name = std::make_unique<host_name>(host);
  if (SSL_CTX_set_ex_data(context.native_handle(), name_index(), name.get()) == 1) name.release();
  SSL_CTX_set_info_callback(context.native_handle(), on_tls_event);
  if (!where.verify) {
    context.set_verify_mode(ssl::verify_none);
    return context;
  }
  context.set_verify_mode(ssl::verify_peer);
  context.set_verify_callback([host](bool preverified, ssl::verify_context& c) {
    return ssl::host_name_verification(*host)(preverified, c);
  });
  error_code ec;
  if (where.ca.empty()) {
    context.set_default_verify_paths(ec);
  } else {
    context.load_verify_file(where.ca, ec);
  }
  if (ec) {
    throw system_error(make_error_code(error::invalid_url),
                       "the certificate authority '" + where.ca + "' cannot be used: " + ec.message());
  }
  return context;
}

}  // namespace leasehold::detail
