// A load that notices everything: keep-alive clients, tunnels that move data, and one long download, all of them
// checked byte by byte. Runs on threads of its own between start and stop; loopback only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bloomwall::test {

// Byte at an offset of every stream that is checked.
constexpr unsigned char pattern(std::uint64_t offset) {
  return static_cast<unsigned char>((offset * 0x9e3779b97f4a7c15U) >> 56);
}

// Sends back what it is sent; one thread for all connections.
class EchoServer {
 public:
  EchoServer();
  ~EchoServer();
  std::uint16_t port() const { return port_; }

 private:
  void serve();
  int listener_ = -1;
  int stop_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

struct LoadPlan {
  std::uint16_t proxy = 0;
  std::string small_url;  // answered with small_body
  std::string small_body;
  std::string big_url;  // answered with big_bytes of pattern()
  std::uint64_t big_bytes = 0;
  std::string echo_authority;  // host:port of an EchoServer
  std::string fields = {};     // of each head, "Name: value\r\n" each
  unsigned clients = 0;
  unsigned tunnels = 0;
  bool reconnects = false;  // clients follow "Connection: close"; without it that is a failure
};

struct LoadReport {
  std::uint64_t requests = 0;
  std::uint64_t tunnel_bytes = 0;
  std::uint64_t download_bytes = 0;
  std::vector<std::string> failures;  // the first few
  std::uint64_t failure_count = 0;
};

class Load {
 public:
  explicit Load(LoadPlan plan);
  ~Load();
  LoadReport stop();  // lets requests under way finish, ends the tunnels, waits for the download
  LoadReport so_far();

 private:
  friend struct LoadConnection;
  void run_clients();
  void run_tunnels();
  void run_download();
  void fail(const std::string& what);

  const LoadPlan plan_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  LoadReport report_;
  std::vector<std::thread> threads_;
};

}  // namespace bloomwall::test
