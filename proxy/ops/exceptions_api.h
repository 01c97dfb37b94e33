// Exceptions over the control socket (http_server.h), and what `bloomwall allow`, `deny` and `exceptions` ask:
//   GET    /api/v1/exceptions        {"items":[...],"next":null}, each as in exception_list.h
//   POST   /api/v1/exceptions        {"action":"allow","entry":"example.com","filters":["ads"],
//                                    "until":"2026-11-23T12:00:00Z","why":"..."}: 201,
//                                    {"item":{...},"warnings":["..."]}. "entry" as in an allow list; "filters" may be
//                                    left out; "until": null stays, left out is a day
//   DELETE /api/v1/exceptions/{id}   200, {"item":{...}}
// A change is in the file and asked by every worker before the reply ends. Errors are application/problem+json (RFC
// 9457): 400 what cannot be taken, 404 no such id, 409 there are too many, 500 the file cannot be written, 503 the
// process ends. After an error nothing has changed. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/ops/exception_list.h"
#include "proxy/ops/http_routes.h"

namespace bloomwall::proxy {

class ExceptionsApi {
 public:
  struct Daemon {
    // Serves exceptions() from now on; `adopted` on the loop, later, once every worker does.
    std::function<void(std::function<void()> adopted)> publish;
    // The process ends: another one may have read the file already, and would not know of a change.
    std::function<bool()> is_ending;
    // What whoever made it should know: filters that do not exist, an effect that it cannot have. After publish().
    std::function<std::vector<std::string>(const filter::Override& made)> warnings;
  };
  ExceptionsApi(const std::filesystem::path& state_folder, Daemon daemon);

  // Why the file cannot be used, and nothing be served: what it denies would pass.
  const std::string& error() const { return error_; }
  std::vector<filter::Override> exceptions() const { return list_.exceptions(); }
  std::vector<HttpRoute> routes();  // of this object, which must outlive them
  void sweep();  // forgets those that have ended, and has tunnels judged again; to be called each second

 private:
  HttpReply list() const;
  std::vector<std::string> warnings_of(const filter::Override& made) const;
  HttpReply make(const HttpRequest& request);
  HttpReply remove(const HttpRequest& request);
  HttpReply publish(int status, const ExceptionList::Item& item, const HttpStream& asker, bool is_new);

  Daemon daemon_;
  ExceptionList list_;
  std::string error_;
};

}  // namespace bloomwall::proxy
