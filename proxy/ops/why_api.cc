// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/why_api.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "proxy/ops/api_reply.h"

namespace bloomwall::proxy {

WhyApi::WhyApi(EventLoop& loop, std::function<const Edition&()> served)
    : loop_(loop), served_(std::move(served)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

WhyApi::~WhyApi() {
  thread_.request_stop();
  thread_.join();
}

ApiRoute WhyApi::route() {
  return {.method = "GET", .path = "/api/v1/why", .role = Role::reviewer, .handler = [this](const ApiRequest& request) {
            return answer(request);
          }};
}

HttpReply WhyApi::answer(const ApiRequest& request) {
  const std::string url = query_argument(request.http.head, "url");
  if (url.empty()) return problem(400, "Not understood", "url is needed");
  const bool is_asked =
      ask({.url = url, .lists = {}, .filter = query_argument(request.http.head, "filter"), .stop = {}},
          [asker = request.http.stream](const WhyAnswer& found) { asker.reply(json_reply(to_json(found))); });
  if (is_asked) return {.is_later = true};
  return problem(503, "Not known now", "nothing is served, or too many questions wait already");
}

bool WhyApi::ask(WhyQuestion question, Done done) {
  const Edition& edition = served_();
  if (edition.policy == nullptr) return false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back({std::move(question), edition, std::move(done)});
  }
  wanted_.notify_one();
  return true;
}

void WhyApi::run(const std::stop_token& stop) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!wanted_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (stop.stop_requested()) return;
    job.question.stop = [&stop] { return stop.stop_requested(); };
    WhyAnswer found = why(*job.edition.policy, job.edition.snapshot->settings, job.question);
    loop_.post([done = std::move(job.done), found = std::move(found)] { done(found); });
  }
}

}  // namespace bloomwall::proxy
