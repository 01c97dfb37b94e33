// A load inside TLS that the proxy ends: connections that are kept for a while and then made anew, with a full
// handshake and resumed in turn, allowed and listed URLs mixed, all answers checked octet by octet. Runs on threads of
// its own between start and stop; loopback only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bloomwall::test {

struct TlsLoadPlan {
  std::uint16_t proxy = 0;
  std::string host;         // of an origin that the proxy decrypts
  std::uint16_t port = 0;   // of that origin
  std::string roots;        // file of the authority that the proxy mints with
  std::string path;         // answered with `body`
  std::string listed_path;  // answered with 403 by the proxy
  std::string body;
  std::string fields = {};  // of each CONNECT, "Name: value\r\n" each
  unsigned clients = 0;     // a thread each
  unsigned requests = 6;    // of each connection; the fifth is for listed_path
};

struct TlsLoadReport {
  std::uint64_t requests = 0, blocked = 0;
  std::uint64_t full = 0, resumed = 0;  // handshakes
  std::vector<std::string> failures;    // the first few
  std::uint64_t failure_count = 0;
};

class TlsLoad {
 public:
  explicit TlsLoad(TlsLoadPlan plan);
  ~TlsLoad();
  TlsLoadReport stop();  // lets connections under way finish

 private:
  class Client;
  void fail(const std::string& what);

  const TlsLoadPlan plan_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  TlsLoadReport report_;
  std::vector<std::thread> threads_;
};

}  // namespace bloomwall::test
