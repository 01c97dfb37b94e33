// "reading 3 MB of 9 MB" on one line of a terminal, written over and over; nothing elsewhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "filter/cli/streams.h"

namespace bloomwall::filter {

class ReadProgress {
 public:
  explicit ReadProgress(const Streams& io) : io_(io) {}
  ~ReadProgress();
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;
  void show(std::uint64_t done, std::uint64_t total);

 private:
  const Streams& io_;
  std::chrono::steady_clock::time_point shown_;
  bool is_shown_ = false;
};

}  // namespace bloomwall::filter
