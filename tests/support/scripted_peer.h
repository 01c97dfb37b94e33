// The other side of a conversation in a test: it is told line by line what to say and what it must hear. Every call
// ends within kPatience; what does not happen in time, or differently, is a std::runtime_error that says what came
// instead, so a script reads top to bottom without checks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace bloomwall::test {

inline constexpr std::chrono::milliseconds kPatience{20'000};  // long enough for a loaded machine under a sanitizer

// Whether the condition holds within kPatience. For what no descriptor tells of: a counter, another process.
template <typename Condition>
bool comes_true(const Condition& condition) {
  for (const auto end = std::chrono::steady_clock::now() + kPatience; !condition();) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// What is said and read, over whatever carries the octets.
class Peer {
 public:
  Peer() = default;
  Peer(Peer&&) noexcept = default;
  Peer& operator=(Peer&&) noexcept = default;
  virtual ~Peer() = default;

  virtual void send(std::string_view bytes) = 0;
  void expect(std::string_view bytes);  // the next bytes are exactly these
  std::string read_exactly(std::size_t size);
  std::string read_until(std::string_view end);  // `end` included
  std::string read_head() { return read_until("\r\n\r\n"); }
  // The body of a chunked message, its coding removed; what follows it is appended to `trailers`, line by line.
  std::string read_chunked(std::string* trailers = nullptr);
  std::string read_to_end();  // until the other side closes
  void expect_end();          // it closes and says nothing more

 protected:
  using Deadline = std::chrono::steady_clock::time_point;
  // Appends what comes next to unread_. False: the other side ended. Throws where nothing comes in time.
  virtual bool fill(Deadline deadline) = 0;
  [[noreturn]] void fail(const std::string& what) const;
  std::string unread_;
};

// A blocking socket.
class ScriptedPeer final : public Peer {
 public:
  explicit ScriptedPeer(int fd);  // connected, or about to be; no call on it blocks for longer than kPatience
  static ScriptedPeer connect(std::uint16_t port, const std::string& ip = "127.0.0.1");
  // As the client `own_ip` (127.0.0.2 and so on).
  static ScriptedPeer connect_from(const std::string& own_ip, std::uint16_t port, const std::string& ip = "127.0.0.1");
  ScriptedPeer(ScriptedPeer&& other) noexcept;
  ScriptedPeer& operator=(ScriptedPeer&& other) noexcept;
  ~ScriptedPeer() override;

  void send(std::string_view bytes) override;
  void send_in_pieces(std::string_view bytes, std::size_t piece);  // each in a segment of its own
  void expect_reset();
  bool is_quiet_for(std::chrono::milliseconds time);  // nothing comes and nothing ends
  void await_news(Deadline deadline) const;           // there is something to receive

  void shut_write();
  void reset();
  void close();
  int fd() const { return fd_; }
  std::uint16_t local_port() const;

 private:
  static ScriptedPeer made(const std::string& own_ip, std::uint16_t port, const std::string& ip);
  bool fill(Deadline deadline) override;
  int fd_ = -1;
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
  // What happens first: `other` says something, or (false) somebody comes. Where `other` ends, somebody is to come.
  bool speaks_first(const ScriptedPeer& other) const;
  std::uint16_t port() const { return port_; }
  std::string authority() const;  // "127.0.0.1:4711"
  void close();

 private:
  int fd_ = -1;
  std::string ip_;
  std::uint16_t port_ = 0;
};

// A loopback port on which nobody listens, and nobody else can until this process ends.
std::uint16_t closed_port();

}  // namespace bloomwall::test
