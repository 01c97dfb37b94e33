// Takes reports of mistakes from workers, and tells the reporters the outcome (proxy/decision/
// self_service.h). A report is on the disk when its page says so.
// Limits: ReportRate, ReportItem::kMostOpen, and kMostQuestions that are being answered at a time.
// Threads: ask() and tickets() any; all else the loop's. Must outlive the workers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "proxy/api/report_rate.h"
#include "proxy/api/state_service.h"
#include "proxy/decision/self_service.h"

namespace bloomwall::proxy {

// What has become of reports since the process began: `taken` new ones, `merged` with others; not taken because the
// ticket was `forged` or `late`, because there were too many (`limited`), or because the state could not be written or
// was full (`failed`); what reviewers have `accepted` and `rejected`.
struct ReportCounts {
  std::uint64_t taken = 0, merged = 0, forged = 0, late = 0, limited = 0, failed = 0, accepted = 0, rejected = 0;
};

class ReportDesk final : public SelfService {
 public:
  static constexpr std::size_t kMostQuestions = 64;
  struct Clocks {
    std::int64_t (*seconds)();  // since 1970
    std::chrono::steady_clock::time_point (*monotonic)() = &std::chrono::steady_clock::now;
  };
  // `is_ending`: no change is taken any more (Served::takes_changes()).
  // `is_new`: is told of each report that is no other's again.
  ReportDesk(EventLoop& loop, StateService& state, const ReportTickets::Key& key, std::function<bool()> is_ending,
             ReportCounts& counts, Clocks clocks, std::function<void(const ReportItem&)> is_new = {});
  ReportDesk(const ReportDesk&) = delete;
  ReportDesk& operator=(const ReportDesk&) = delete;

  bool ask(SelfQuestion question, Done done) override;
  const ReportTickets& tickets() const override { return tickets_; }

 private:
  void answer(const SelfQuestion& question, const Done& done);
  void submit(const SelfQuestion& question, const Done& done);
  const ReportItem* report_of(std::uint64_t id, std::uint32_t reporter) const;
  ReportPage look(std::string_view text) const;
  ReportPage page_of(const StateResult<ReportItem>& kept);

  EventLoop& loop_;
  StateService& state_;
  const ReportTickets tickets_;
  std::function<bool()> is_ending_;
  const Clocks clocks_;
  ReportRate rate_;
  ReportCounts& counts_;
  std::function<void(const ReportItem&)> is_new_;
  const std::shared_ptr<std::atomic<std::size_t>> questions_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace bloomwall::proxy
