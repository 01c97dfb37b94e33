// How far a build is, on one line of a terminal that is written over and over: what is read, how fast, how long it will
// take yet, and what a streamed build has written. Nothing where messages do not go to a terminal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "filter/builder/builder.h"
#include "filter/cli/streams.h"

namespace bloomwall::filter {

class BuildProgressLine {
 public:
  explicit BuildProgressLine(const Streams& io) : io_(io) {}
  ~BuildProgressLine() { clear(); }
  BuildProgressLine(const BuildProgressLine&) = delete;
  BuildProgressLine& operator=(const BuildProgressLine&) = delete;
  void show(const BuildProgress& progress);
  void show(const std::string& text);  // as it is, but not more often than ten times a second
  void clear();

 private:
  const Streams& io_;
  BuildPhase phase_ = BuildPhase::finishing;
  std::string name_;                                     // of what is being read
  std::chrono::steady_clock::time_point shown_, begun_;  // since `begun_` it is being read
  bool is_shown_ = false;
};

// "reading ads.txt.zst: 120.0 MB of 1.2 GB (10 %), 60.0 MB/s, 18 s left", after `seconds` of it.
std::string text_of(const BuildProgress& progress, double seconds);

}  // namespace bloomwall::filter
