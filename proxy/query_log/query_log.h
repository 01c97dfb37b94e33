// The query log: takes what workers tell by their RequestFeed, and on a thread of its own writes it to the day's file
// (day_file.h) and hands some of it to those who watch. A transaction a second, or each kMostRows or kMostOctets.
// Requests never wait: without room in a feed, on the disk, or within keep_size, rows are dropped and counted. While
// another program holds the day's file, rows wait, as many here and the others in their feeds. A file that is damaged
// is set aside and a new one begun; one that cannot be written to is tried again with the next rows. The daemon's log
// says so once, and once that it works again.
// Old days go as day_folder.h says, so that all files together stay below keep_size.
// Threads: use(), watch(), figures() from any; add_feed() before the feed's worker starts. Hooks::show is called on the
// thread.
// Cost of an idle log: a wake-up a second while it records or is watched, else none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "conf/config.h"
#include "proxy/query_log/client_mask.h"
#include "proxy/query_log/request_feed.h"

namespace bloomwall::proxy {

class QueryLog {
 public:
  static constexpr std::size_t kMostRows = 1000;
  static constexpr std::size_t kMostOctets = 256 << 10;  // of their texts; the last one may go beyond it
  // What one transaction may add: new pages of the file, each of them beside it, too, and pages of the indexes there,
  // of which a larger file has more.
  static constexpr std::uint64_t margin(std::uint64_t keep_size) { return (std::uint64_t{3} << 19) + keep_size / 32; }

  struct Settings {
    conf::QueryLog query_log;
    std::filesystem::path folder;  // empty: nothing can be kept
  };
  struct Shown {
    std::vector<RequestRow> rows;
    std::uint64_t skipped = 0;  // more of them than may be shown
  };
  struct Hooks {
    std::function<void(Shown)> show = {};
    std::int64_t (*now)() = nullptr;  // milliseconds since 1970
  };
  QueryLog(const ClientMask& mask, Hooks hooks);
  ~QueryLog();  // close(one second)
  QueryLog(const QueryLog&) = delete;
  QueryLog& operator=(const QueryLog&) = delete;

  RequestFeed& add_feed();  // lives as long as the log
  const ClientMask& mask() const;
  void use(const Settings& settings);
  void watch(Watch watch);

  struct Figures {
    std::uint64_t written = 0;
    std::uint64_t dropped = 0;  // for lack of room in a feed
    std::uint64_t failed = 0;   // for lack of room on the disk or within keep_size, or for its errors
    std::uint64_t bytes = 0;    // of all files
  };
  Figures figures() const;

  // Waits until every row that was told before is written, or was dropped; false where the bound ran out.
  bool flush(std::chrono::milliseconds bound);
  // flush(), then the thread ends; one that the disk does not let go is left behind.
  void close(std::chrono::milliseconds bound);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread
};

// Where the files are: query_log.folder, else "log" in the state folder; empty: neither is there.
std::filesystem::path query_log_folder(const conf::QueryLog& settings, const std::filesystem::path& state_folder);

}  // namespace bloomwall::proxy
