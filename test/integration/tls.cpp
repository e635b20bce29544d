// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// TLS: whom the client believes, as whom it shows itself, and what it says if either is refused.
#include "support/certificates.hpp"
#include "support/needs.hpp"
#include "support/with_redis.hpp"

#include <boost/asio/ssl.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct with_certificates : certificate_authority {
  struct tls_server {
    unsigned short port;
    redis_server redis;
  };

  std::unique_ptr<tls_server> serve(const std::string& name, const std::string& clients = "no",
                                    const std::string& bind = "127.0.0.1") {
    const auto port = free_port();
    return std::unique_ptr<tls_server>(new tls_server{
        port, redis_server({"tls-port " + std::to_string(port), "tls-cert-file " + *this / (name + ".crt"),
                            "tls-key-file " + *this / (name + ".key"), "tls-ca-cert-file " + *this / "ca.crt",
                            "tls-auth-clients " + clients, "bind " + bind})});
  }

  std::string url(const tls_server& s, const std::string& host, const std::string& query) {
    return "rediss://" + host + ":" + std::to_string(s.port) + query;
  }

  std::string ca() const { return "?ca=" + *this / "ca.crt"; }

  // What a client says in the end, and for what reason.
  struct verdict {
    error_code ec;
    std::string event;
    std::string failure;
  };

  awaitable<verdict> ready(std::string where, std::chrono::milliseconds patience = 1500ms) {
    const auto told = std::make_shared<std::string>();
    client_options o;
    o.connect_timeout = patience;
    o.idle_timeout = forever;
    o.observer = [told](const event& e) {
      if (e.what == event::kind::unreachable || e.what == event::kind::disconnected) told->append(e.text) += '\n';
    };
    client c(co_await asio::this_coro::executor, where, o);
    auto [ec] = co_await c.ready(as_tuple);
    // On a machine that stands still, the time may be over before the first attempt is.
    const bool is_ready = !ec;
    co_await eventually("it is told why", [&] { return is_ready || !told->empty(); });
    verdict v{ec, *told, c.last_failure()};
    if (!ec) {
      hold h = co_await mutex(c, "n").acquire();
      BOOST_TEST(h.valid());
      co_await h.release();
    }
    co_await c.close();
    co_return v;
  }

  awaitable<void> accepts(std::string where) {
    const verdict v = co_await ready(where, limit);
    BOOST_TEST(!v.ec, where << ": " << v.failure);
    BOOST_TEST(v.failure == "");
  }

  // The words stand in both places. (Whoever refuses our certificate closes the connection at once, and its words may
  // be lost with it: then they are those of another attempt.)
  awaitable<void> refuses(std::string where, std::string words) {
    const verdict v = co_await ready(where);
    BOOST_TEST(v.ec == error::unreachable, where);
    const bool cut_off = v.failure.find("reset by peer") != std::string::npos;
    BOOST_TEST((cut_off || v.failure.find(words) != std::string::npos), where << ": " << v.failure);
    BOOST_TEST(v.event.find(words) != std::string::npos, where << ": " << v.event);
  }
};

std::string refusal(const std::string& url) {
  asio::io_context context;
  try {
    client c(context, url);
  } catch (const system_error& e) {
    BOOST_TEST(e.code() == error::invalid_url);
    return e.what();
  }
  return "";
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(clients_with_tls, with_certificates)

BOOST_AUTO_TEST_CASE(a_certificate_of_the_authority_for_the_host_is_accepted) {
  const auto server = serve("good");
  run([&]() -> awaitable<void> {
    co_await accepts(url(*server, "localhost", ca()));
    // A certificate may name addresses.
    co_await accepts(url(*server, "127.0.0.1", ca()));
    co_await accepts(url(*server, "localhost", ca() + "&insecure=0"));
  });
}

BOOST_AUTO_TEST_CASE(an_unknown_authority_is_refused) {
  const auto server = serve("good");
  self_sign("another");
  run([&]() -> awaitable<void> {
    co_await refuses(url(*server, "localhost", "?ca=" + *this / "another.crt"),
                     "is refused: self-signed certificate in certificate chain");
    // The system's authorities do not know ours.
    co_await refuses(url(*server, "localhost", ""), "is refused: self-signed certificate in certificate chain");
    co_await accepts(url(*server, "localhost", "?insecure=1"));
  });
}

BOOST_AUTO_TEST_CASE(a_certificate_for_another_host_is_refused) {
  issue("other", "DNS:other.example,IP:192.0.2.1");
  const auto server = serve("other");
  run([&]() -> awaitable<void> {
    const std::string words = "is refused: hostname mismatch";
    co_await refuses(url(*server, "localhost", ca()), "the certificate of 'localhost' " + words);
    co_await refuses(url(*server, "127.0.0.1", ca()), "the certificate of '127.0.0.1' " + words);
    co_await accepts(url(*server, "localhost", "?insecure=1"));
  });
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_is_refused) {
  issue("expired", "DNS:localhost", -10, -1);
  const auto server = serve("expired");
  run([&]() -> awaitable<void> {
    co_await refuses(url(*server, "localhost", ca()), "certificate has expired");
    co_await accepts(url(*server, "localhost", "?insecure=1"));
  });
}

BOOST_AUTO_TEST_CASE(a_certificate_that_is_not_valid_yet_is_refused) {
  issue("early", "DNS:localhost", 1, 10);
  const auto server = serve("early");
  run([&]() -> awaitable<void> { co_await refuses(url(*server, "localhost", ca()), "certificate is not yet valid"); });
}

BOOST_AUTO_TEST_CASE(a_certificate_that_is_signed_by_itself_is_refused_unless_it_is_the_authority) {
  self_sign("self", "-addext subjectAltName=DNS:localhost");
  const auto server = serve("self");
  run([&]() -> awaitable<void> {
    co_await refuses(url(*server, "localhost", ca()), "self-signed certificate");
    co_await accepts(url(*server, "localhost", "?ca=" + *this / "self.crt"));
  });
}

BOOST_AUTO_TEST_CASE(a_server_without_tls_is_no_server_with_it) {
  const auto server = serve("good");
  run([&]() -> awaitable<void> {
    const verdict v = co_await ready("rediss://127.0.0.1:" + std::to_string(server->redis.port()) + ca());
    BOOST_TEST(v.ec == error::unreachable);
    BOOST_TEST(v.failure != "");
    const verdict w = co_await ready("redis://127.0.0.1:" + std::to_string(server->port));
    BOOST_TEST(w.ec == error::unreachable);
    BOOST_TEST(w.failure != "");
  });
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_made_again_is_verified_again) {
  const auto port = free_port();
  const auto configuration = [&](const std::string& name) {
    return std::vector<std::string>{"tls-port " + std::to_string(port), "tls-cert-file " + *this / (name + ".crt"),
                                    "tls-key-file " + *this / (name + ".key"), "tls-ca-cert-file " + *this / "ca.crt",
                                    "tls-auth-clients no"};
  };
  issue("other", "DNS:other.example");
  std::optional<redis_server> server(std::in_place, configuration("good"));
  run([&]() -> awaitable<void> {
    client_options o;
    o.reconnect = {.first = 1ms, .max = 20ms};
    o.idle_timeout = forever;  // On a busy machine a server takes longer to start.
    client c(co_await asio::this_coro::executor, "rediss://localhost:" + std::to_string(port) + ca(), o);
    co_await c.ready();
    server.reset();
    server.emplace(configuration("other"));
    co_await eventually("the other one is refused",
                        [&] { return c.last_failure().find("mismatch") != std::string::npos; });
    BOOST_TEST(c.stats().connects == 1U);
    server.reset();
    server.emplace(configuration("good"));
    co_await eventually("it is connected", [&] { return c.stats().connects == 2; });
    BOOST_TEST(c.last_failure() == "");
  });
}

BOOST_AUTO_TEST_CASE(a_client_shows_its_certificate_where_the_server_asks_for_one) {
  issue("client", "DNS:client.example");
  self_sign("stranger");
  const auto server = serve("good", "yes");
  const auto pair = [&](const std::string& name) {
    return "&cert=" + *this / (name + ".crt") + "&key=" + *this / (name + ".key");
  };
  run([&]() -> awaitable<void> {
    co_await accepts(url(*server, "localhost", ca() + pair("client")));
    co_await accepts(url(*server, "localhost", "?insecure=1" + pair("client")));
    co_await refuses(url(*server, "localhost", ca()), "certificate required");
    co_await refuses(url(*server, "localhost", ca() + pair("stranger")), "unknown ca");
  });
}

// The server knows the authority, and not the one between it and the client's certificate.
BOOST_AUTO_TEST_CASE(a_client_shows_the_certificates_between_its_own_and_the_authority) {
  issue_between("between", "client");
  const auto server = serve("good", "yes");
  const auto pair = [&](const std::string& file) {
    return "&cert=" + *this / file + "&key=" + *this / std::string("client.key");
  };
  run([&]() -> awaitable<void> {
    co_await accepts(url(*server, "localhost", ca() + pair("client-chain.crt")));
    co_await refuses(url(*server, "localhost", ca() + pair("client.crt")), "unknown ca");
  });
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_used_are_named) {
  issue("client", "DNS:client.example");
  openssl("genrsa -out rsa.key 2048");
  openssl("ec -in client.key -aes128 -passout pass:secret -out encrypted.key");
  folder_.write("nonsense", "nonsense");
  const std::string good = *this / "client.crt";
  const auto with = [&](const std::string& cert, const std::string& key) {
    const std::string text = refusal("rediss://h?cert=" + cert + "&key=" + key);
    // Others make their connections later, and are refused by the constructor all the same.
    for (const std::string url : {"rediss+cluster://h", "rediss+sentinel://h/m"}) {
      BOOST_TEST(refusal(url + "?cert=" + cert + "&key=" + key) == text);
    }
    return text;
  };
  BOOST_TEST(with(good, *this / "client.key") == "");
  for (const std::string file : {"absent", "nonsense", "client.key"}) {
    BOOST_TEST(with(*this / file, *this / "client.key").find("the certificate '" + *this / file + "'") !=
               std::string::npos);
  }
  // Without a password the encrypted one is of no use; nobody is asked for it.
  for (const std::string file : {"absent", "nonsense", "ca.key", "rsa.key", "encrypted.key"}) {
    BOOST_TEST(with(good, *this / file).find("the key '" + *this / file + "'") != std::string::npos);
  }
  BOOST_TEST(refusal("rediss://h?ca=" + *this / "absent").find(*this / "absent") != std::string::npos);
  BOOST_TEST(refusal("rediss://h?ca=" + *this / "nonsense").find(*this / "nonsense") != std::string::npos);
  BOOST_TEST(refusal("rediss+cluster://h?ca=" + *this / "absent").find(*this / "absent") != std::string::npos);
  BOOST_TEST(refusal("rediss+sentinel://h/m?ca=" + *this / "absent").find(*this / "absent") != std::string::npos);
  BOOST_TEST(refusal("rediss://h?ca=/dev/zero").find("/dev/zero") != std::string::npos);
  BOOST_TEST(refusal("rediss://h?ca=/").find("directory") != std::string::npos);
  BOOST_TEST(refusal("rediss://h?cert=" + good) != "");
  BOOST_TEST(refusal("rediss://h?key=" + *this / "client.key") != "");
  BOOST_TEST(refusal("redis://h?cert=" + good + "&key=" + *this / "client.key") != "");
}

BOOST_AUTO_TEST_CASE(an_address_of_ipv6_is_verified, *needs(has_ipv6, "this machine has no IPv6")) {
  issue("six", "IP:::1");
  const auto right = serve("six", "no", "127.0.0.1 ::1");
  const auto wrong = serve("good", "no", "127.0.0.1 ::1");
  run([&]() -> awaitable<void> {
    co_await accepts(url(*right, "[::1]", ca()));
    co_await refuses(url(*wrong, "[::1]", ca()), "hostname mismatch");
  });
}

BOOST_AUTO_TEST_CASE(no_connection_waits_for_acknowledgements_with_tls_either) {
  const auto server = serve("good");
  run([&]() -> awaitable<void> {
    client_options o;
    o.idle_timeout = forever;
    client c(co_await asio::this_coro::executor, url(*server, "localhost", ca()), o);
    co_await c.ready();
    for (std::uint64_t i = 0;; ++i) {
      std::size_t connections = 0;
      for (int fd = 3; fd < 256; ++fd) {
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
        if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != server->port) continue;
        int value = 0;
        size = sizeof value;
        BOOST_TEST(::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0);
        BOOST_TEST(value != 0);
        ++connections;
      }
      BOOST_TEST(connections == 1U);
      if (i == 2) break;
      server->redis.command("CLIENT", "KILL", "TYPE", "pubsub");
      co_await eventually("it is connected again", [&] { return c.stats().reconnects == i + 1; });
    }
  });
}

// Servers behind one address are told apart by the name that the client sends (SNI). An address is no name.
BOOST_AUTO_TEST_CASE(the_server_is_told_the_name_that_the_client_asks_for) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    asio::ssl::context context(asio::ssl::context::tls_server);
    context.use_certificate_chain_file(*this / "good.crt");
    context.use_private_key_file(*this / "good.key", asio::ssl::context::pem);
    asio::ip::tcp::acceptor acceptor(executor, {asio::ip::make_address("127.0.0.1"), 0});
    const std::string port = std::to_string(acceptor.local_endpoint().port());
    const auto name_in = [&](const std::string& url) -> awaitable<std::string> {
      client c(executor, url);
      std::string names;
      for (int i = 0; i < 2; ++i) {  // It is sent again in each attempt.
        asio::ip::tcp::socket socket = co_await acceptor.async_accept();
        asio::ssl::stream<asio::ip::tcp::socket> stream(std::move(socket), context);
        co_await stream.async_handshake(asio::ssl::stream_base::server);
        const char* const name = SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name);
        names += std::string(name == nullptr ? "none" : name) + " ";
      }
      co_await c.close();
      co_return names;
    };
    std::string names = co_await name_in("rediss://localhost:" + port + ca());
    BOOST_TEST(names == "localhost localhost ");
    names = co_await name_in("rediss://localhost:" + port + "?insecure=1");
    BOOST_TEST(names == "localhost localhost ");
    names = co_await name_in("rediss://127.0.0.1:" + port + ca());
    BOOST_TEST(names == "none none ");
  });
}

BOOST_AUTO_TEST_CASE(another_name_than_that_of_the_address_may_be_verified_and_asked_for) {
  issue("other", "DNS:other.example,IP:192.0.2.1");
  const auto server = serve("other");
  const auto good = serve("good");
  run([&]() -> awaitable<void> {
    co_await accepts(url(*server, "127.0.0.1", ca() + "&tls_server_name=other.example"));
    co_await accepts(url(*server, "localhost", ca() + "&tls_server_name=192.0.2.1"));
    // It is the only name that counts.
    co_await refuses(url(*good, "localhost", ca() + "&tls_server_name=other.example"),
                     "the certificate of 'other.example' is refused: hostname mismatch");
  });
}

BOOST_AUTO_TEST_CASE(certificates_that_are_replaced_are_used_by_the_next_connection) {
  issue("client", "DNS:client.example");
  self_sign("stranger");
  issue("expired", "DNS:client.example", -10, -1);
  const auto server = serve("good", "yes");
  const auto put = [&](const std::string& name) {
    for (const std::string end : {".crt", ".key"}) {
      std::filesystem::copy_file(*this / (name + end), *this / ("mine" + end),
                                 std::filesystem::copy_options::overwrite_existing);
    }
  };
  const auto trust = [&](const std::string& name) {
    std::filesystem::copy_file(*this / (name + ".crt"), *this / "trusted.crt",
                               std::filesystem::copy_options::overwrite_existing);
  };
  put("stranger");
  trust("stranger");
  run([&]() -> awaitable<void> {
    std::vector<std::string> texts;
    const auto was_told = [&texts](const std::string& words) {
      return std::any_of(texts.begin(), texts.end(), [&](const auto& t) { return t.find(words) != t.npos; });
    };
    client_options o;
    o.reconnect = {.first = 5ms, .max = 50ms};
    o.idle_timeout = forever;
    o.observer = [&texts](const event& e) {
      if (e.name.empty()) texts.push_back(std::string(to_string(e.what)) + ": " + std::string(e.text));
    };
    client c(co_await asio::this_coro::executor,
             url(*server, "localhost",
                 "?ca=" + *this / "trusted.crt" + "&cert=" + *this / "mine.crt" + "&key=" + *this / "mine.key"),
             o);
    // An authority that does not know the server.
    co_await eventually("it is refused", [&] { return was_told("unreachable: the certificate of 'localhost'"); });
    trust("ca");
    co_await eventually("the server refuses the client's", [&] { return was_told("unknown ca"); });
    put("client");
    co_await eventually("it is connected", [&] { return c.stats().connects == 1; });
    hold h = co_await mutex(c, "n").acquire();

    const auto drop = [&] { server->redis.command("CLIENT", "KILL", "TYPE", "pubsub"); };
    const std::string mine = "the certificate '" + *this / "mine.crt" + "'";
    put("expired");
    drop();
    co_await eventually("the file is named", [&] { return was_told("credentials: " + mine + " has expired"); });
    co_await eventually("and named again as the reason", [&] { return was_told("unreachable: " + mine); });
    const auto warnings =
        std::count_if(texts.begin(), texts.end(), [](const auto& t) { return t.starts_with("cred"); });
    BOOST_TEST(warnings == 1);
    std::filesystem::remove(*this / "mine.crt");
    co_await eventually("a missing one is told", [&] {
      return was_told("unreachable: " + mine + " cannot be used: No such file or directory");
    });
    put("client");
    co_await eventually("it is connected again", [&] { return c.stats().connects == 2; });
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_is_told_although_the_server_does_not_mind) {
  issue("expired", "DNS:client.example", -10, -1);
  const std::string expired = *this / "expired.crt";
  const std::string bundle = folder_.write("bundle.crt", read_file(authority()) + read_file(expired));
  const std::string pair = "&cert=" + expired + "&key=" + *this / "expired.key";
  const auto server = serve("good");
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    std::vector<std::string> texts;
    client_options o;
    o.observer = [&texts](const event& e) {
      if (e.what == event::kind::credentials) texts.emplace_back(e.text);
    };
    // One authority of the bundle is still valid, so nothing is said about it.
    client c(executor, url(*server, "localhost", "?ca=" + bundle + pair), o);
    co_await c.ready();
    BOOST_TEST_REQUIRE(texts.size() == 1U);
    const std::string words = "the certificate '" + expired + "' has expired";
    BOOST_TEST(texts[0] == words);
    co_await c.close();
    texts.clear();
    client d(executor, url(*server, "localhost", "?insecure=1&ca=" + expired + pair), o);
    co_await d.ready();
    BOOST_TEST_REQUIRE(texts.size() == 1U);
    BOOST_TEST(texts[0] == words + "; the certificate authority '" + expired + "' has expired");
    co_await d.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
