// Takes lines from any number of rings and writes them in batches, on a thread of its own. Pushing never blocks.
// Sleeping and waking: the first line after a pause wakes the writer (one system call); while lines keep coming it
// polls every Timing::gather, so that pushing costs no system call until a ring is half full. Trouble (a full disk, a
// pipe without a reader, dropped lines) is reported to `notice` once when it begins and once, with the number of lines
// lost, when it has been over for Timing::quiet. While a disk fails, lines stay in the ring and are written once it
// works again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace bloomwall::proxy {

class LineWriter {
 public:
  static constexpr std::size_t kMostRings = 1100;
  struct Timing {
    std::chrono::milliseconds gather{20};
    std::chrono::milliseconds retry{1000};  // after an error of the disk
    std::chrono::milliseconds quiet{10'000};
  };

  class Ring;                                              // one producer at a time
  using Notice = std::function<void(const std::string&)>;  // called on the writer's thread

  // The error is "TARGET: why". ring_bytes: of each ring.
  static tl::expected<std::unique_ptr<LineWriter>, std::string> open(const std::string& target, std::size_t ring_bytes,
                                                                     Notice notice, Timing timing);
  static tl::expected<std::unique_ptr<LineWriter>, std::string> open(const std::string& target, std::size_t ring_bytes,
                                                                     Notice notice) {
    return open(target, ring_bytes, std::move(notice), Timing{});
  }
  ~LineWriter();  // close(one second)
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Null where there are kMostRings already or no memory; push() to null drops. Lives as long as the writer.
  Ring* add_ring() noexcept;
  void push(Ring* ring, std::string_view line) noexcept;  // '\n' included

  bool is_journal() const;  // as it was opened
  // Any thread. An empty target opens the present one again.
  void reopen(const std::string& target = {});
  bool flush(std::chrono::milliseconds bound);
  void close(std::chrono::milliseconds bound);
  std::uint64_t dropped() const noexcept;
  std::uint64_t written() const noexcept;

 private:
  struct State;
  explicit LineWriter(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // shared with the thread, which outlives us where its disk is stuck
};

}  // namespace bloomwall::proxy
