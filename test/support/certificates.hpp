// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/temporary_folder.hpp"

#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

// A certificate authority of the test's own, and what it has signed: "good" is for localhost and 127.0.0.1.
class certificate_authority {
 public:
  certificate_authority();

  // A file in the folder of all of these.
  std::string operator/(const std::string& file) const { return folder_ / file; }
  // The authority's certificate.
  std::string authority() const { return folder_ / "ca.crt"; }
  // A certificate and its key.
  std::pair<std::string, std::string> files(const std::string& name) const {
    return {folder_ / (name + ".crt"), folder_ / (name + ".key")};
  }
  // Signs a certificate for subject names such as "DNS:localhost,IP:127.0.0.1", which is valid from and until the given
  // days from now.
  void issue(const std::string& name, const std::string& subject_names, int from = -1, int until = 30);
  // Signs an authority `between`, and by it a certificate: NAME.crt and NAME.key, and both certificates in
  // NAME-chain.crt.
  void issue_between(const std::string& between, const std::string& name);
  // A certificate that is signed by itself, and so an authority of its own. `more` are options of openssl req.
  void self_sign(const std::string& name, const std::string& more = {});
  // Runs openssl in the folder; throws if it fails.
  void openssl(const std::string& arguments);
  // Lines of the configuration of a server that has this certificate; its tls-port is not among them.
  std::vector<std::string> configuration(const std::string& name) const;

 protected:
  temporary_folder folder_;
};

// With two more certificates: "other" is for another host, "expired" is out of date.
class certificates : public certificate_authority {
 public:
  certificates();
};

}  // namespace leasehold::test
