// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/tls.hpp"

#include "store/secrets.hpp"

#include <leasehold/error.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

#include <boost/system/errc.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

namespace leasehold::detail {
namespace {

using host_name = std::shared_ptr<const std::string>;

void free_name(void*, void* name, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<host_name*>(name); }

// The index under which a context keeps the server's name.
int name_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_name);
  return index;
}

// Sets the server's name when the handshake starts: Boost.Redis creates the TLS stream itself and sets no name.
void on_tls_event(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  const auto* name = static_cast<const host_name*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), name_index()));
  if (name == nullptr) return;
  error_code not_an_address;
  boost::asio::ip::make_address(**name, not_an_address);
  // SNI never names an address (RFC 6066, section 3).
  if (not_an_address) SSL_set_tlsext_host_name(const_cast<SSL*>(ssl), (*name)->c_str());
}

[[noreturn]] void fail(const std::string& what, const error_code& ec) {
  throw exception(make_error_code(error::invalid_url), {.detail = what + " cannot be used: " + ec.message()});
}

// Longer than any bundle of certificate authorities.
constexpr std::size_t longest_file = std::size_t{16} * 1024 * 1024;

std::string text_of(const std::string& file, const std::string& what) {
  std::string text;
  if (file.empty()) return text;
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::array<char, 4096> part;
  while (in.read(part.data(), part.size()) || in.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > longest_file) fail(what, make_error_code(boost::system::errc::file_too_large));
  }
  if (!in.eof()) fail(what, error_code(errno, boost::system::generic_category()));
  return text;
}

std::string words_for_ca(const address& where) { return "the certificate authority " + file_in_quotes(where.ca); }
std::string words_for_certificate(const address& where) {
  return "the certificate " + file_in_quotes(where.certificate);
}
std::string words_for_key(const address& where) {
  return "the key " + file_in_quotes(where.key) + " of the certificate " + file_in_quotes(where.certificate);
}

// Loads the certificate that the client shows to the server, and its key.
void use_certificate(boost::asio::ssl::context& context, const address& where) {
  if (where.certificate.empty()) return;
  error_code ec;
  // Otherwise OpenSSL would ask at the terminal for the password of an encrypted key.
  context.set_password_callback([](std::size_t, boost::asio::ssl::context::password_purpose) { return std::string(); },
                                ec);
  context.use_certificate_chain(boost::asio::buffer(where.texts->certificate), ec);
  if (ec) fail(words_for_certificate(where), ec);
  context.use_private_key(boost::asio::buffer(where.texts->key), boost::asio::ssl::context::pem, ec);
  // Only this check finds a key that is of another type than the certificate's.
  if (!ec && SSL_CTX_check_private_key(context.native_handle()) != 1) {
    ec = error_code(static_cast<int>(ERR_get_error()), boost::asio::error::get_ssl_category());
  }
  if (ec) fail(words_for_key(where), ec);
}

// The authority must vouch for the certificate, and the certificate must be for the host that was asked for.
auto verification(std::shared_ptr<const std::string> host, std::shared_ptr<std::string> why) {
  return [host = std::move(host), why = std::move(why)](bool preverified, boost::asio::ssl::verify_context& context) {
    if (boost::asio::ssl::host_name_verification(*host)(preverified, context)) return true;
    X509_STORE_CTX* const store = context.native_handle();
    if (preverified) X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    *why = "the certificate of '" + *host +
           "' is refused: " + X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
    return false;
  };
}

}  // namespace

void read_tls_files(address& where) {
  if (where.ca.empty() && where.certificate.empty()) return;
  where.texts = std::make_shared<address::file_texts>(address::file_texts{
      text_of(where.ca, words_for_ca(where)), text_of(where.certificate, words_for_certificate(where)),
      text_of(where.key, words_for_key(where))});
  make_tls_context(where, std::make_shared<std::string>(), std::make_shared<std::string>());
}

boost::asio::ssl::context make_tls_context(const address& where, std::shared_ptr<const std::string> host,
                                           std::shared_ptr<std::string> why) {
  namespace ssl = boost::asio::ssl;
  ssl::context context(ssl::context::tls_client);
  context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  if (!where.tls) return context;
  auto name = std::make_unique<host_name>(host);
  if (SSL_CTX_set_ex_data(context.native_handle(), name_index(), name.get()) == 1) name.release();
  SSL_CTX_set_info_callback(context.native_handle(), on_tls_event);
  use_certificate(context, where);
  if (!where.verify) {
    context.set_verify_mode(ssl::verify_none);
    return context;
  }
  context.set_verify_mode(ssl::verify_peer);
  error_code ec;
  context.set_verify_callback(verification(std::move(host), std::move(why)));
  if (where.ca.empty()) {
    context.set_default_verify_paths(ec);
  } else {
    context.add_certificate_authority(boost::asio::buffer(where.texts->ca), ec);
  }
  if (ec) fail(words_for_ca(where), ec);
  return context;
}

}  // namespace leasehold::detail
