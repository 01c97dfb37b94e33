// Scratch files and pipes of the log tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace bloomwall::test {

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-log-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path folder_;
};

// A FIFO that a log writes to and the test reads from, or does not.
class Fifo {
 public:
  explicit Fifo(const std::string& path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(fd_, 0);
  }
  ~Fifo() { ::close(fd_); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;
  void shrink() const { ::fcntl(fd_, F_SETPIPE_SZ, 4096); }
  bool has_bytes(std::chrono::milliseconds bound) const {
    pollfd ready{fd_, POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(bound.count())) == 1 && (ready.revents & POLLIN) != 0;
  }
  // Everything that comes until nothing has come for `pause`.
  std::string read_all(std::chrono::milliseconds pause) const {
    std::string all;
    std::array<char, 65536> piece{};
    while (has_bytes(pause)) {
      const ssize_t got = ::read(fd_, piece.data(), piece.size());
      if (got <= 0) break;
      all.append(piece.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace bloomwall::test
