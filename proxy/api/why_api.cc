// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/why_api.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "proxy/api/api_reply.h"
#include "proxy/decision/snapshot.h"
#include "proxy/explain/under_name.h"

namespace bloomwall::proxy {

WhyApi::WhyApi(EventLoop& loop, const Served& served)
    : loop_(loop), served_(served), thread_(kMostWaiting, JobThread::AtEnd::drop) {}

ApiRoute WhyApi::route() {
  return {.method = "GET", .path = "/api/v1/why", .role = Role::reviewer, .handler = [this](const ApiRequest& request) {
            return answer(request);
          }};
}

HttpReply WhyApi::answer(const ApiRequest& request) {
  const std::string url = query_argument(request.http.head, "url");
  if (url.empty()) return problem(400, "Not understood", "url is needed");
  const std::vector<std::string> under = query_arguments(request.http.head, "under");
  if (const auto wrong = wrong_name_of(under)) return problem(400, "Not understood", "under " + *wrong);
  const bool is_asked =
      ask({.url = url, .lists = {}, .filter = query_argument(request.http.head, "filter"), .under = under, .stop = {}},
          [asker = request.http.stream](const WhyAnswer& found) { asker.reply(json_reply(to_json(found))); });
  if (is_asked) return {.is_later = true};
  return problem(503, "Not known now", "nothing is served, or too many questions wait already");
}

bool WhyApi::ask(WhyQuestion question, Done done) {
  const Edition& served = served_.edition();
  if (served.policy == nullptr) return false;
  return thread_.post([this, question = std::move(question), edition = served,
                       done = std::move(done)](const std::stop_token& stop) mutable {
    question.stop = [&stop] { return stop.stop_requested(); };
    WhyAnswer found = why(*edition.policy, edition.snapshot->settings, question);
    loop_.post([done = std::move(done), found = std::move(found)] { done(found); });
  });
}

}  // namespace bloomwall::proxy
