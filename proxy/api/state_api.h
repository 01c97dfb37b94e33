// The rest of the state over the API (api_access.h):
//   GET    /api/v1/tokens         {"items":[{"name":"ci","groups":["build"],"role":null,"created":"...",
//                                 "until":"..."}],"next":null}
//   POST   /api/v1/tokens         {"name":"ci","groups":["build"],"role":"viewer","until":"2027-01-31T12:00:00Z"}: 201,
//                                 {"token":"bw_...","item":{...},"warnings":["..."]}: the token, this once. "groups"
//                                 and "role" may be left out; "until": null stays
//   DELETE /api/v1/tokens/{name}  200, {"item":{...}}. Refused from the next request on, wherever it is used; tunnels
//                                 that it has opened end: they are judged again before the reply. An answer under
//                                 way is finished
//   GET    /api/v1/audit?since=2026-11-22T12:00:00Z&cursor=   rows as in audit.h, the newest first, 200 a page
// Errors as in exceptions_api.h. Role: admin. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "proxy/api/api_access.h"
#include "proxy/api/state_service.h"

namespace bloomwall::proxy {

class StateApi {
 public:
  struct Daemon {
    std::function<void(std::function<void()> adopted)> publish;  // as in ExceptionsApi::Daemon
    std::function<bool()> is_ending;                             // likewise
  };
  StateApi(StateService& state, Daemon daemon) : state_(state), daemon_(std::move(daemon)) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them

 private:
  HttpReply list_tokens() const;
  HttpReply make_token(const ApiRequest& request);
  HttpReply remove_token(const ApiRequest& request);
  HttpReply audit(const ApiRequest& request);

  StateService& state_;
  Daemon daemon_;
};

}  // namespace bloomwall::proxy
