// A name server on a loopback port, UDP and TCP, that answers from a table and counts what it was asked. A name that is
// not in the table does not exist.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bloomwall::test {

class ScriptedDns {
 public:
  struct Record {
    std::vector<std::string> v4{}, v6{};
    std::uint32_t ttl = 60;
    bool silent = false;  // no answer at all
    bool server_failure = false;
    bool truncated = false;  // over UDP; the whole answer comes over TCP
    std::string alias{};     // CNAME that leads to the addresses
  };
  ScriptedDns();
  ~ScriptedDns();
  ScriptedDns(const ScriptedDns&) = delete;
  ScriptedDns& operator=(const ScriptedDns&) = delete;

  void set(const std::string& name, Record record);
  void stall_tcp(int connections) { stall_tcp_ = connections; }  // so many of the next are accepted and hear nothing
  std::string address() const;                                   // "127.0.0.1:5300"
  int asked(const std::string& name, bool v6) const;
  int asked_in_all() const;

 private:
  void serve();
  void serve_tcp();
  std::string reply(const std::string& query, bool over_tcp);

  int fd_ = -1, tcp_ = -1;
  std::vector<int> stalled_;
  std::atomic<int> stall_tcp_{0};
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;  // guarded by mutex_
  std::map<std::string, int> asked_[2];    // guarded by mutex_
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace bloomwall::test
