// What systemd would hear: the socket of NOTIFY_SOCKET, in the environment for as long as this lives. Like systemd it
// reads all the time: the kernel holds ten messages, and whoever sends the eleventh waits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"

namespace bloomwall::test {

class NotifySocket {
 public:
  NotifySocket() {
    const std::string path = (folder_.path() / "notify").string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    reader_ = std::thread([this] { read(); });
  }
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::shutdown(fd_, SHUT_RDWR);  // ends the read
    reader_.join();
    ::close(fd_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // The next message that was not given yet; empty where none comes in time.
  std::string next(std::chrono::milliseconds bound = std::chrono::seconds(20)) const { return wait_for("", bound); }
  // The first such message that holds `text`; those before it are left out.
  std::string wait_for(const std::string& text, std::chrono::milliseconds bound = std::chrono::seconds(20)) const {
    std::unique_lock lock(mutex_);
    std::string found;
    changed_.wait_for(lock, bound, [&] {
      while (found.empty() && given_ < messages_.size()) {
        if (messages_[given_].find(text) != std::string::npos) found = messages_[given_];
        ++given_;
      }
      return !found.empty();
    });
    return found;
  }

 private:
  void read() {
    std::array<char, 4096> text{};
    for (ssize_t got = 0; (got = ::recv(fd_, text.data(), text.size(), 0)) > 0;) {
      const std::lock_guard lock(mutex_);
      messages_.emplace_back(text.data(), static_cast<std::size_t>(got));
      changed_.notify_all();
    }
  }

  TempDir folder_;
  int fd_ = -1;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> messages_;  // guarded by mutex_
  mutable std::size_t given_ = 0;
  std::thread reader_;
};

}  // namespace bloomwall::test
