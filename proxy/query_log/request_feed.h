// What a worker tells of each request that has ended, on its way to the query log's thread, and the names of what it
// blocks, counted. note() takes no lock, makes no system call but the one that wakes that thread when the queue is half
// full, and never waits: a row for which there is no room is dropped and counted.
// While it is watched, at most kShownASecond of the rows that were blocked, and as many of the others, are shown.
// Threads: note(), see() and take_sums() by the worker; next() and done_with() by the log's thread; figures by any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/log/byte_ring.h"
#include "proxy/query_log/log_rules.h"
#include "proxy/telemetry/clients_seen.h"
#include "proxy/telemetry/count.h"
#include "proxy/telemetry/top_names.h"

namespace bloomwall::proxy {

enum class Watch : std::uint8_t { nobody, blocked, all };  // which requests somebody watches

// Of the requests since they were taken last.
struct FeedSums {
  BlockedTops tops;
  ClientsSeen clients;
  void add(const FeedSums& other) {
    tops.add(other.tops);
    clients.add(other.clients);
  }
};

// What all feeds share with the log's thread.
struct FeedSignals {
  std::atomic<Watch> watch{Watch::nobody};
  std::atomic<bool> is_urgent{false};  // a queue is half full, and the thread was told
  std::mutex mutex;
  std::condition_variable wanted;
};

// At most so many a second on average, and in one burst.
class Allowance {
 public:
  explicit Allowance(double a_second) : a_second_(a_second), left_(a_second) {}
  bool take(std::chrono::steady_clock::time_point now);
  bool has_any(std::chrono::steady_clock::time_point now);

 private:
  double a_second_;
  double left_;
  std::chrono::steady_clock::time_point at_{};
};

class RequestFeed {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{4} << 20;
  static constexpr double kShownASecond = 20;

  explicit RequestFeed(FeedSignals& signals) : signals_(signals), ring_(kQueueBytes) {}
  RequestFeed(const RequestFeed&) = delete;
  RequestFeed& operator=(const RequestFeed&) = delete;

  // Whether note() has a use for the record of a request of that verdict; else it need not be made. Counts what is not
  // shown for lack of room.
  bool wants(filter::Decision decision, const LogRules& rules);
  void note(const AccessRecord& record, const LogRules& rules);
  // That a request of this client has begun, whatever becomes of it; not where the rules say that nobody may be named.
  void see(const AccessRecord& record, const LogRules& rules);
  FeedSums take_sums() { return std::exchange(sums_, {}); }  // since the last call

  std::optional<RowInRing> next();  // the oldest row that waits
  void done_with(const RowInRing& row) { ring_.consume(row.size); }

  std::uint64_t dropped() const { return dropped_.get(); }  // rows that were to be kept
  std::uint64_t skipped() const { return skipped_.get(); }  // rows that were to be shown

 private:
  void count_names(const AccessRecord& record, const LogRules& rules);
  bool may_show(bool is_blocked);

  FeedSignals& signals_;
  ByteRing ring_;
  std::string row_;     // scratch memory of note()
  std::string joined_;  // of next(): a row that passes the ring's end
  FeedSums sums_;
  Allowance shown_blocked_{kShownASecond}, shown_others_{kShownASecond};
  Count dropped_, skipped_;
};

}  // namespace bloomwall::proxy
