// What the writer's thread and those who push share. Only line_writer*.cc include it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "proxy/log/byte_ring.h"
#include "proxy/log/line_writer.h"
#include "proxy/log/output_file.h"

namespace bloomwall::proxy {

class LineWriter::Ring {
 public:
  explicit Ring(std::size_t bytes) : ring(bytes) {}
  ByteRing ring;
};

struct LineWriter::State {
  State(OutputFile output, std::size_t bytes, Notice tell, Timing times);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Any thread.
  void wake() noexcept;
  void run();  // the writer's thread

  const std::size_t ring_bytes;
  const Notice notice;
  const Timing timing;
  const bool journal;
  const int wake_fd;
  std::atomic<bool> sleeping{false};  // the next push must wake the writer
  std::atomic<bool> hurry{false};     // a ring is half full and the writer knows
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> written{0};

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<Ring> rings;  // grows only; addresses stay
  std::optional<std::string> reopen_target;
  std::uint64_t flush_wanted = 0, flush_done = 0;
  bool stopping = false, ended = false;

 private:
  enum class Pass : std::uint8_t { nothing, progress, blocked, failing };
  struct Requests {
    std::optional<std::string> reopen_target;
    bool stop = false;
  };
  Requests take_requests();
  void look_for_rings();  // mutex held
  Pass drain();
  // What waits, from the ring on whose turn it is; the rest of a half-written line is always the first piece.
  struct Waiting {
    std::vector<std::string_view> pieces;
    std::vector<std::size_t> owners;  // index in `known` for each piece
  };
  Waiting look() const;
  void consume(const Waiting& shown, std::size_t bytes);
  void reopen_now(const std::string& target);
  void skip_rest_of_line();
  void confirm_flush();
  void count_lost_lines();
  void sleep_after(Pass pass);
  void watch_trouble(Pass pass);
  void begin_trouble(const std::string& why);

  // The writer's thread alone.
  OutputFile file;
  std::vector<ByteRing*> known;  // the rings, as of the last look
  std::size_t first = 0;         // index in `known` of the ring to go on with
  bool mid_line = false;         // that ring's line is half written
  std::vector<std::uint64_t> flush_marks;
  std::uint64_t flush_marked = 0;
  bool troubled = false;
  std::uint64_t dropped_seen = 0, dropped_before = 0;
  std::chrono::steady_clock::time_point last_drop;
  int last_error = 0;
};

}  // namespace bloomwall::proxy
