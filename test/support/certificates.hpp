// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/temporary_folder.hpp"

#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

// A certificate authority of the test's own, and servers' certificates.
class certificates {
 public:
  // "good" is for localhost and 127.0.0.1, "other" for another host, "expired" is out of date.
  certificates();

  // The authority's file.
  std::string authority() const { return folder_ / "ca.crt"; }
  // For subject names such as "DNS:localhost,IP:127.0.0.1".
  void issue(const std::string& name, const std::string& subject_names, int days);
  // A certificate and its key.
  std::pair<std::string, std::string> files(const std::string& name) const {
    return {folder_ / (name + ".crt"), folder_ / (name + ".key")};
  }
  // Lines of the configuration of a server that has this certificate; its tls-port is not among them.
  std::vector<std::string> configuration(const std::string& name) const;

 private:
  void openssl(const std::string& arguments);

  temporary_folder folder_;
};

}  // namespace leasehold::test
