// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace support {

// A folder of one's own that is gone with this object. It is in TMPDIR, or in /tmp if the path of a unix socket would
// be too long in TMPDIR.
class temporary_folder {
 public:
  explicit temporary_folder(const std::string& prefix) : path_(parent() + "/" + prefix + ".XXXXXX") {
    if (!::mkdtemp(path_.data())) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  // A socket's path has 107 bytes at most. 60 leave room for the names of the folder and of the socket.
  static std::string parent() {
    const std::string given = std::filesystem::temp_directory_path().string();
    return given.size() <= 60 ? given : "/tmp";
  }

  std::string path_;
};

}  // namespace support
