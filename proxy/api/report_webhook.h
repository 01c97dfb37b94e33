// Tells a URL of new reports (reports.webhook): a POST of {"event":"report","report":{...}}, the report as in
// report_item.h, to an http or https URL. What is not answered by 2xx is tried again after kPauses, except where the
// answer says that the request itself is wrong (4xx but for 408 and 429). No redirect is followed and no proxy is used.
// What the receiver says is thrown away. The URL may hold a secret and is not logged.
// At most kMostWaiting reports wait; further ones are dropped: they are in the state all the same.
// The thread, started by the first report, waits for the network; only the destructor waits for it, for
// the second in which a transfer notices it. What waits then is dropped.
// Threads: one, for send(); figures() any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/units.h"
#include "proxy/state/report_item.h"

namespace bloomwall::proxy {

class ReportWebhook {
 public:
  static constexpr std::size_t kMostWaiting = 64;
  static constexpr Milliseconds kLongest{10'000};  // of one try
  static constexpr std::array<Milliseconds, 2> kPauses{Milliseconds(1000), Milliseconds(5000)};
  struct Figures {
    std::uint64_t sent = 0, failed = 0, dropped = 0;  // reports
  };

  ReportWebhook();  // before there are other threads
  ~ReportWebhook();
  ReportWebhook(const ReportWebhook&) = delete;
  ReportWebhook& operator=(const ReportWebhook&) = delete;

  void send(const std::string& url, const ReportItem& report);  // an empty URL: to nobody
  Figures figures() const { return {sent_.load(), failed_.load(), dropped_.load()}; }

 private:
  struct Message {
    std::string url, body;
  };
  enum class Outcome : std::uint8_t { done, again, refused };
  void run(const std::stop_token& stop);
  bool wait(const std::stop_token& stop, Milliseconds pause);  // false: it is over
  void deliver(const Message& message, const std::stop_token& stop);
  static Outcome post(const Message& message, const std::stop_token& stop, std::string& why);

  std::atomic<std::uint64_t> sent_{0}, failed_{0}, dropped_{0};
  std::mutex mutex_;
  std::condition_variable_any wanted_;
  std::deque<Message> waiting_;  // guarded by mutex_
  std::jthread thread_;          // last: it uses all of the above
};

}  // namespace bloomwall::proxy
