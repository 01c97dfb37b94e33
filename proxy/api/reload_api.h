// POST /api/v1/reload: reloads, and completes its reply when the outcome is known. Both sides are here: the route, for
// the control socket, and the client of `bloomwall reload`. The reply is a stream of JSON objects, one a line
// (application/x-ndjson):
//   {"pid":4711,"configuration":"/etc/bloomwall/bloomwall.yaml"}   at once: who answers, and what it serves
//   {"text":"verifying ads.bwf: 50 %"}                             any number: progress, warnings, what came out
//   {"exit_status":0}                                              last: 0 where what was asked for is served now
// Texts are for people: one line, octets that are no UTF-8 shown as \xNN.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/api/http_client.h"
#include "proxy/api/http_routes.h"
#include "proxy/io/event_loop.h"
#include "proxy/reload/reload_job.h"

namespace bloomwall::proxy {

// The requests that wait for an outcome. Thread: the loop's.
class ReloadApi {
 public:
  // `reload` is called on the loop; its Done may come from any thread, while the loop lives.
  using Reload = std::function<void(Reloader::Done)>;
  ReloadApi(EventLoop& loop, const std::filesystem::path& configuration, Reload reload);

  HttpRoute route();                // of this object, which must outlive it
  void say(std::string_view text);  // to all waiting clients

 private:
  HttpReply begin(const HttpStream& asker);
  void answer(const HttpStream& asker, const ReloadOutcome& outcome);

  EventLoop& loop_;
  const std::string introduction_;
  const Reload reload_;
  std::vector<HttpStream> waiting_;  // may include clients that have gone
};

struct ReloadAnswer {
  int exit_status = 0;
  int pid = 0;                // of the process that answered; 0: it did not say
  std::string configuration;  // as it was shown
};
// Sends a request whose reply is such a stream, and waits; blocking. Each text goes to `said`.
tl::expected<ReloadAnswer, std::string> ask_and_follow(const std::filesystem::path& socket,
                                                       const HttpQuestion& question,
                                                       const std::function<void(std::string_view)>& said,
                                                       const HttpPatience& patience);
// Sends the request and waits; blocking. Each text goes to `said`. Error: why there is no answer.
tl::expected<ReloadAnswer, std::string> ask_to_reload(const std::filesystem::path& socket,
                                                      const std::function<void(std::string_view)>& said,
                                                      const HttpPatience& patience = {});

}  // namespace bloomwall::proxy
