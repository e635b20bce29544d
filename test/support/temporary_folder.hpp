// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <string>

namespace leasehold::test {

// A folder of its own for each test, with a path that is short enough for a unix socket. Deleted with the object.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  std::string operator/(const std::string& file) const { return (path_ / file).string(); }
  std::string path() const { return path_.string(); }

  // Writes a file into the folder and returns its path.
  std::string write(const std::string& file, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

// Empty if the file cannot be read: a process of /proc may end between the opening and the reading.
std::string read_file(const std::string& path);

}  // namespace leasehold::test
