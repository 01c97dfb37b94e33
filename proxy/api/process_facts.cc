// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/process_facts.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace bloomwall::proxy {
namespace {

const auto started = std::chrono::system_clock::now();  // static initialisation: before main

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// A line of /proc/self/status: "RssAnon:	    1234 kB".
std::uint64_t kilobytes(const std::string& line, const char* key) {
  if (!line.starts_with(key)) return 0;
  return std::strtoull(line.c_str() + std::strlen(key), nullptr, 10) * 1024;
}

}  // namespace

ProcessFacts read_process_facts() {
  ProcessFacts facts;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) facts.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.most_descriptors = limit.rlim_cur;
  facts.start_seconds = std::chrono::duration<double>(started.time_since_epoch()).count();
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/self/fd", error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) ++facts.open_descriptors;
  if (facts.open_descriptors > 0) --facts.open_descriptors;  // the one that read them
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    facts.resident_bytes += kilobytes(line, "VmRSS:");
    facts.anonymous_bytes += kilobytes(line, "RssAnon:");
  }
  return facts;
}

}  // namespace bloomwall::proxy
