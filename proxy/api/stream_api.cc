// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/stream_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/api/api_reply.h"
#include "proxy/api/request_json.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {
namespace {

constexpr Role kRole = Role::maintainer;
constexpr std::string_view kComment = ":\n\n";

std::string sse_event(std::string_view name, const nlohmann::ordered_json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json_line(data));
}

}  // namespace

ApiRoute StreamApi::route() {
  return {.method = "GET", .path = "/api/v1/stream", .role = kRole, .handler = [this](const ApiRequest& request) {
            return begin(request);
          }};
}

HttpReply StreamApi::begin(const ApiRequest& request) {
  const std::string decision = query_argument(request.http.head, "decision");
  if (!decision.empty() && decision != "blocked")
    return problem(400, "Not understood", "decision is blocked, or nothing");
  if (is_handed_over_) return problem(503, "Not now", "another process serves");
  forget_gone();
  if (streams_.size() >= kMost) return problem(503, "Not now", "there are 8 streams already");
  const Clock::time_point now = now_();
  streams_.push_back({.to = request.http.stream,
                      .is_of_blocked = !decision.empty(),
                      .may_still = request.caller.may_still,
                      .began = now,
                      .written = now});
  tell_watch();
  return {.type = "text/event-stream", .body = std::string(kComment), .goes_on = true};
}

void StreamApi::show(const QueryLog::Shown& shown) {
  const Clock::time_point now = now_();
  for (Stream& stream : streams_) {
    std::string text;
    stream.skipped += shown.skipped;
    for (const RequestRow& row : shown.rows) {
      if (stream.is_of_blocked && row.decision != RowDecision::blocked) continue;
      if (stream.allowance.take(now)) {
        text += sse_event("request", request_json(row));
      } else {
        ++stream.skipped;
      }
    }
    if (stream.skipped > 0) text += sse_event("skipped", {{"requests", std::exchange(stream.skipped, 0)}});
    if (text.empty()) continue;
    stream.to.write(text);
    stream.written = now;
  }
}

void StreamApi::tick() {
  const Clock::time_point now = now_();
  forget_gone();
  for (Stream& stream : streams_) {
    const bool may_go_on = !stream.may_still || stream.may_still(kRole);
    if (!may_go_on || now - stream.began >= kLongest) {
      stream.to.end();
    } else if (now - stream.written >= kQuiet) {
      stream.to.write(kComment);
      stream.written = now;
    }
  }
}

void StreamApi::hand_over() {
  is_handed_over_ = true;
  for (Stream& stream : std::exchange(streams_, {})) stream.to.end();
  tell_watch();
}

void StreamApi::forget_gone() {
  if (std::erase_if(streams_, [](const Stream& stream) { return !stream.to.goes_on(); }) > 0) tell_watch();
}

void StreamApi::tell_watch() {
  Watch watch = Watch::nobody;
  for (const Stream& stream : streams_) watch = std::max(watch, stream.is_of_blocked ? Watch::blocked : Watch::all);
  watch_(watch);
}

}  // namespace bloomwall::proxy
