// A browser that has the dashboard open: the stream of requests, and every figure, list and search again and again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bloomwall::test {

struct DashboardReport {
  std::uint64_t answers = 0;          // of the API, each with status 200
  std::uint64_t streams = 0;          // opened, one after another
  std::uint64_t lines = 0;            // of these streams
  std::vector<std::string> failures;  // the first few
  std::uint64_t failure_count = 0;
};

class DashboardLoad {
 public:
  // `port`: of the admin listener; `token`: of an administrator. Two threads run until stop().
  DashboardLoad(std::uint16_t port, std::string token);
  ~DashboardLoad();
  DashboardReport stop();

 private:
  void run_stream();
  void run_questions();
  void fail(const std::string& what);
  void count(std::uint64_t& what);
  std::string question(const std::string& path) const;

  const std::uint16_t port_;
  const std::string token_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  DashboardReport report_;
  std::vector<std::thread> threads_;
};

}  // namespace bloomwall::test
