// GET /api/v1/stream   requests as they end, as server-sent events (text/event-stream); ?decision=blocked: those that
// were blocked alone. Operator.
//   event: request            event: skipped
//   data: {...}               data: {"requests":12}
// (request_json.h; what there was no room for). Which requests: those that the query log may keep (log_rules.h),
// whatever it records. At most kMost streams (503), RequestFeed::kShownASecond events a second each; a client that does
// not read is cut (http_server.h), and each stream ends after kLongest: browsers connect again by themselves. It also
// ends, within two seconds, where its caller may not ask for it any more (Caller::may_still), and where another process
// serves from then on, which the client then reaches.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "proxy/api/api_access.h"
#include "proxy/query_log/query_log.h"

namespace bloomwall::proxy {

class StreamApi {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 8;
  static constexpr std::chrono::seconds kLongest{3600};
  static constexpr std::chrono::seconds kQuiet{15};  // then a comment is sent, which finds out who has gone

  // `watch`: which requests are wanted from now on.
  StreamApi(std::function<void(Watch)> watch, std::function<Clock::time_point()> now)
      : watch_(std::move(watch)), now_(std::move(now)) {}

  ApiRoute route();  // of this object, which must outlive it
  void show(const QueryLog::Shown& shown);
  void tick();       // about once a second
  void hand_over();  // all end, and none begins any more: another process serves
  std::size_t size() const { return streams_.size(); }

 private:
  struct Stream {
    HttpStream to;
    bool is_of_blocked = false;
    std::function<bool(Role)> may_still;  // of its caller
    Clock::time_point began, written;
    Allowance allowance{RequestFeed::kShownASecond};
    std::uint64_t skipped = 0;
  };
  HttpReply begin(const ApiRequest& request);
  void forget_gone();
  void tell_watch();

  const std::function<void(Watch)> watch_;
  const std::function<Clock::time_point()> now_;
  std::vector<Stream> streams_;
  bool is_handed_over_ = false;
};

}  // namespace bloomwall::proxy
