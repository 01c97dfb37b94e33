// The other side of a conversation in a test: a blocking socket that is told line by line what to say and what it must
// hear. Every wait has a deadline; what does not happen in time, or differently, is a std::runtime_error that says what
// came instead, so a script reads top to bottom without checks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall::test {

inline constexpr std::chrono::milliseconds kPatience{8000};  // long enough for a loaded machine under a sanitizer

class ScriptedPeer {
 public:
  explicit ScriptedPeer(int connected_fd) : fd_(connected_fd) {}
  static ScriptedPeer connect(std::uint16_t port, const std::string& ip = "127.0.0.1");
  ScriptedPeer(ScriptedPeer&& other) noexcept;
  ScriptedPeer& operator=(ScriptedPeer&& other) noexcept;
  ~ScriptedPeer();

  void send(std::string_view bytes);
  void send_in_pieces(std::string_view bytes, std::size_t piece);  // each in a segment of its own
  // The next bytes are exactly these.
  void expect(std::string_view bytes);
  std::string read_exactly(std::size_t size);
  std::string read_until(std::string_view end);  // `end` included
  std::string read_head() { return read_until("\r\n\r\n"); }
  std::string read_to_end();  // until the other side closes
  void expect_end();          // it closes and says nothing more
  void expect_reset();
  bool is_quiet_for(std::chrono::milliseconds time);  // nothing comes and nothing ends
  // The body of a chunked message, its coding removed; trailers stay unread up to the empty line, which is taken.
  std::string read_chunked(std::string* trailers = nullptr);

  void shut_write();
  void reset();
  void close();
  int fd() const { return fd_; }
  std::uint16_t local_port() const;

 private:
  bool fill(std::chrono::steady_clock::time_point deadline);  // false: the other side closed
  [[noreturn]] void fail(const std::string& what) const;
  int fd_ = -1;
  std::string buffer_;
  bool ended_ = false;
};

// Listens on a free port of a loopback address.
class ScriptedListener {
 public:
  explicit ScriptedListener(const std::string& ip = "127.0.0.1");
  ScriptedListener(const ScriptedListener&) = delete;
  ScriptedListener& operator=(const ScriptedListener&) = delete;
  ~ScriptedListener();
  ScriptedPeer accept();
  bool nobody_comes_for(std::chrono::milliseconds time);
  std::uint16_t port() const { return port_; }
  std::string authority() const;  // "127.0.0.1:4711"
  void close();

 private:
  int fd_ = -1;
  std::string ip_;
  std::uint16_t port_ = 0;
};

// A loopback port on which nobody listens.
std::uint16_t closed_port();

}  // namespace bloomwall::test
