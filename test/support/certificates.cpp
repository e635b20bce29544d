// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/certificates.hpp"

#include "support/child.hpp"

#include <array>
#include <chrono>
#include <ctime>
#include <stdexcept>

namespace leasehold::test {
namespace {

std::string day(int from_now) {
  const auto then = std::chrono::system_clock::now() + std::chrono::hours(24) * from_now;
  const auto seconds = std::chrono::system_clock::to_time_t(then);
  std::array<char, 32> text{};
  std::tm parts{};
  std::strftime(text.data(), text.size(), "%Y%m%d%H%M%SZ", ::gmtime_r(&seconds, &parts));
  return text.data();
}

}  // namespace

certificate_authority::certificate_authority() {
  self_sign("ca");
  issue("good", "DNS:localhost,IP:127.0.0.1");
}

// (`openssl x509` can set a date in the past only by -days, and OpenSSL 3.5 refuses a negative number there.)
void certificate_authority::issue(const std::string& name, const std::string& subject_names, int from, int until) {
  folder_.write(name + ".ext", "subjectAltName=" + subject_names + "\n");
  folder_.write("index-" + name, "");
  folder_.write(name + ".cnf", "[ca]\ndefault_ca=a\n[a]\ndatabase=index-" + name +
                                   "\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n[p]\n"
                                   "commonName=supplied\n");
  openssl("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + name + ".key -out " + name +
          ".csr -subj /CN=" + name);
  openssl("ca -batch -notext -config " + name + ".cnf -cert ca.crt -keyfile ca.key -in " + name + ".csr -out " + name +
          ".crt -extfile " + name + ".ext -startdate " + day(from) + " -enddate " + day(until));
}

void certificate_authority::issue_between(const std::string& between, const std::string& name) {
  folder_.write(between + ".ext", "basicConstraints=critical,CA:TRUE\n");
  const auto sign = [this](const std::string& what, const std::string& by, const std::string& more) {
    openssl("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + what + ".key -out " + what +
            ".csr -subj /CN=" + what);
    openssl("x509 -req -in " + what + ".csr -CA " + by + ".crt -CAkey " + by + ".key -CAcreateserial -days 30 -out " +
            what + ".crt" + more);
  };
  sign(between, "ca", " -extfile " + between + ".ext");
  sign(name, between, "");
  folder_.write(name + "-chain.crt", read_file(folder_ / (name + ".crt")) + read_file(folder_ / (between + ".crt")));
}

void certificate_authority::self_sign(const std::string& name, const std::string& more) {
  openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + name + ".key -out " + name +
          ".crt -days 30 -subj /CN=" + name + " " + more);
}

void certificate_authority::openssl(const std::string& arguments) {
  child c({"sh", "-c", "cd " + folder_.path() + " && exec openssl " + arguments});
  c.read_rest();
  if (c.wait() != 0) throw std::runtime_error("openssl: " + c.errors());
}

std::vector<std::string> certificate_authority::configuration(const std::string& name) const {
  return {"tls-cert-file " + (folder_ / (name + ".crt")), "tls-key-file " + (folder_ / (name + ".key")),
          "tls-ca-cert-file " + authority(), "tls-auth-clients no"};
}

certificates::certificates() {
  issue("other", "DNS:other.example");
  issue("expired", "DNS:localhost,IP:127.0.0.1", -10, -1);
}

}  // namespace leasehold::test
