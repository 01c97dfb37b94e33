// What a peak took goes back to the system once those who caused it are gone, and does not stay with the process.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

#ifndef BLOOMWALL_SANITIZED  // whose allocator keeps what was freed
constexpr std::size_t kPeakClients = 400;
constexpr std::size_t kHead = 60'000;  // of each, and no whole one
constexpr const char* kPeakYaml =
    "workers: 2\ntimeouts: {announce: 0, request_header: 1m}\naccess: {deny_destinations: []}\n"
    "log: {access: {file: off}}\n";

// KiB of a process's own.
std::uint64_t memory_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    std::uint64_t size = 0;
    if (word == "RssAnon:" && status >> size) return size;
  }
  return 0;
}

TEST(MemoryAfterPeak, OfHeadsGoesBackToTheSystem) {
  const TempDir folder;
  Proxy proxy(folder, kPeakYaml);
  const auto now = [&] { return memory_of(proxy.process().pid()); };
  const std::uint64_t before = now(), rise = kPeakClients * kHead / 1024;
  ASSERT_GT(before, 0U);
  const std::string half = "GET http://ok.test/ HTTP/1.1\r\nX: " + std::string(kHead, 'h');
  for (int round = 0; round < 2; ++round) {
    std::vector<ScriptedPeer> clients;
    for (std::size_t i = 0; i < kPeakClients; ++i) {
      clients.push_back(ScriptedPeer::connect(proxy.port()));
      clients.back().send(half);
    }
    ASSERT_TRUE(comes_true([&] { return now() > before + rise * 9 / 10; })) << before << " KiB before, " << now();
    clients.clear();
    EXPECT_TRUE(comes_true([&] { return now() < before + rise / 3; })) << before << " KiB before, " << now();
  }
}
#endif

}  // namespace
}  // namespace bloomwall::test
