// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/certificates.hpp"

#include "support/child.hpp"

#include <stdexcept>

namespace leasehold::test {

certificates::certificates() {
  openssl(
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.crt -days 30 "
      "-subj /CN=test-authority");
  issue("good", "DNS:localhost,IP:127.0.0.1", 30);
  issue("other", "DNS:other.example", 30);
  issue("expired", "DNS:localhost,IP:127.0.0.1", -1);
}

void certificates::openssl(const std::string& arguments) {
  child c({"sh", "-c", "cd " + folder_.path() + " && exec openssl " + arguments});
  c.read_rest();
  if (c.wait() != 0) throw std::runtime_error("openssl: " + c.errors());
}

void certificates::issue(const std::string& name, const std::string& subject_names, int days) {
  folder_.write(name + ".ext", "subjectAltName=" + subject_names + "\n");
  openssl("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + name + ".key -out " + name +
          ".csr -subj /CN=" + name);
  openssl("x509 -req -in " + name + ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -out " + name + ".crt -days " +
          std::to_string(days) + " -extfile " + name + ".ext");
}

std::vector<std::string> certificates::configuration(const std::string& name) const {
  return {"tls-cert-file " + (folder_ / (name + ".crt")), "tls-key-file " + (folder_ / (name + ".key")),
          "tls-ca-cert-file " + authority(), "tls-auth-clients no"};
}

}  // namespace leasehold::test
