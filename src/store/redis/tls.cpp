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
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace leasehold::detail {

// What a context refers to as long as it is used.
struct tls_identity::state {
  std::shared_ptr<const std::string> host;
  // What the files held when they were last read; null if there are none.
  std::unique_ptr<boost::asio::ssl::context> of_files;
  bool has_authority = false;
  std::string expired;  // Which of them, in words.
  std::string refused;  // Why the server's certificate was.
};

namespace {

namespace ssl = boost::asio::ssl;

using shared_state = std::shared_ptr<tls_identity::state>;

void free_state(void*, void* state, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<shared_state*>(state); }

// The index under which a context keeps its state.
int state_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_state);
  return index;
}

[[noreturn]] void fail(const std::string& what, const error_code& ec) {
  throw exception(make_error_code(error::invalid_url), {.detail = what + " cannot be used: " + ec.message()});
}

// Longer than any bundle of certificate authorities.
constexpr std::size_t longest_file = std::size_t{16} * 1024 * 1024;

std::string text_of(const std::string& file, const std::string& what) {
  std::string text;
  if (file.empty()) return text;
  // libc++ reads it as an empty file.
  std::error_code none;
  if (std::filesystem::is_directory(file, none)) fail(what, make_error_code(boost::system::errc::is_a_directory));
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
void use_certificate(ssl::context& context, const address& where) {
  if (where.certificate.empty()) return;
  error_code ec;
  // Otherwise OpenSSL would ask at the terminal for the password of an encrypted key.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); }, ec);
  context.use_certificate_chain(boost::asio::buffer(text_of(where.certificate, words_for_certificate(where))), ec);
  if (ec) fail(words_for_certificate(where), ec);
  context.use_private_key(boost::asio::buffer(text_of(where.key, words_for_key(where))), ssl::context::pem, ec);
  // Only this check finds a key that is of another type than the certificate's.
  if (!ec && SSL_CTX_check_private_key(context.native_handle()) != 1) {
    ec = error_code(static_cast<int>(ERR_get_error()), boost::asio::error::get_ssl_category());
  }
  if (ec) fail(words_for_key(where), ec);
}

// A context that nothing connects with: it keeps what the files hold. Null: there are none.
std::unique_ptr<ssl::context> read_files(const address& where) {
  if (!where.tls || (where.ca.empty() && where.certificate.empty())) return nullptr;
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  use_certificate(*context, where);
  error_code ec;
  if (!where.ca.empty()) {
    context->add_certificate_authority(boost::asio::buffer(text_of(where.ca, words_for_ca(where))), ec);
  }
  if (ec) fail(words_for_ca(where), ec);
  return context;
}

bool has_expired(const X509* certificate) { return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0; }

// All of them: a bundle may contain old ones.
bool all_have_expired(X509_STORE* authorities) {
  const STACK_OF(X509_OBJECT)* const all = X509_STORE_get0_objects(authorities);
  int valid = 0;
  for (int i = 0; i < sk_X509_OBJECT_num(all); ++i) {
    const X509* const one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
    if (one != nullptr && !has_expired(one)) ++valid;
  }
  return valid == 0;
}

// A sentence for each file whose certificate has expired.
std::string expired_in(const ssl::context& of_files, const address& where) {
  SSL_CTX* const context = const_cast<ssl::context&>(of_files).native_handle();
  std::string all;
  if (!where.certificate.empty() && has_expired(SSL_CTX_get0_certificate(context))) {
    all = words_for_certificate(where) + " has expired";
  }
  if (!where.ca.empty() && all_have_expired(SSL_CTX_get_cert_store(context))) {
    all += (all.empty() ? "" : "; ") + words_for_ca(where) + " has expired";
  }
  return all;
}

// Boost.Redis makes the TLS stream itself, sets no name, and may make it long before it connects. So the name and what
// the files hold are set when the handshake starts.
void on_tls_event(const SSL* begun, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  const auto* state = static_cast<const shared_state*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(begun), state_index()));
  if (state == nullptr) return;
  SSL* const connection = const_cast<SSL*>(begun);
  const std::string& name = *(*state)->host;
  error_code not_an_address;
  boost::asio::ip::make_address(name, not_an_address);
  // SNI never names an address (RFC 6066, section 3).
  if (not_an_address) SSL_set_tlsext_host_name(connection, name.c_str());
  if (!(*state)->of_files) return;
  SSL_CTX* const files = (*state)->of_files->native_handle();
  if (X509* const certificate = SSL_CTX_get0_certificate(files)) {
    STACK_OF(X509)* between = nullptr;
    SSL_CTX_get_extra_chain_certs(files, &between);  // Where use_certificate_chain has put them.
    SSL_use_cert_and_key(connection, certificate, SSL_CTX_get0_privatekey(files), between, /*override=*/1);
  }
  if ((*state)->has_authority) SSL_set1_verify_cert_store(connection, SSL_CTX_get_cert_store(files));
}

// The authority must vouch for the certificate, and the certificate must be for the host that was asked for.
auto verification(shared_state of) {
  return [of = std::move(of)](bool preverified, ssl::verify_context& context) {
    if (ssl::host_name_verification(*of->host)(preverified, context)) return true;
    X509_STORE_CTX* const store = context.native_handle();
    if (preverified) X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    of->refused = "the certificate of '" + *of->host +
                  "' is refused: " + X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
    return false;
  };
}

}  // namespace

void check_tls_files(const address& where) { read_files(where); }

tls_identity::tls_identity(const address& where, std::shared_ptr<const std::string> host)
    : where_(where), state_(std::make_shared<state>()) {
  state_->host = std::move(host);
  state_->has_authority = !where.ca.empty();
}

ssl::context tls_identity::make_context() const {
  ssl::context context(ssl::context::tls_client);
  context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  if (!where_.tls) return context;
  auto kept = std::make_unique<shared_state>(state_);
  if (SSL_CTX_set_ex_data(context.native_handle(), state_index(), kept.get()) == 1) kept.release();
  SSL_CTX_set_info_callback(context.native_handle(), on_tls_event);
  context.set_verify_mode(where_.verify ? ssl::verify_peer : ssl::verify_none);
  if (!where_.verify) return context;
  error_code ignored;
  context.set_verify_callback(verification(state_));
  if (where_.ca.empty()) context.set_default_verify_paths(ignored);
  return context;
}

std::string tls_identity::load() {
  state_->refused.clear();
  state_->expired.clear();
  try {
    state_->of_files = read_files(where_);
  } catch (const exception& e) {
    return e.detail();
  }
  if (state_->of_files) state_->expired = expired_in(*state_->of_files, where_);
  return {};
}

const std::string& tls_identity::expired() const { return state_->expired; }

std::string tls_identity::why_ended(const std::string& reason) const {
  const std::string& why = state_->refused.empty() ? reason : state_->refused;
  return state_->expired.empty() ? why : state_->expired + ": " + why;
}

}  // namespace leasehold::detail
