// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace leasehold::test {

temporary_folder::temporary_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "leasehold.XXXXXX").string();
  if (!::mkdtemp(path.data())) throw std::system_error(errno, std::generic_category(), path);
  path_ = path;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string temporary_folder::write(const std::string& file, const std::string& content) const {
  std::string path = *this / file;
  std::ofstream out(path, std::ios::binary);
  out << content;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace leasehold::test
