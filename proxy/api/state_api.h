// The rest of the state over the API (api_access.h):
//   GET    /api/v1/tokens?cursor=&search=&limit=   {"items":[{"name":"ci","groups":["build"],"role":null,
//                                 "created":"...","until":"..."}],"next":null}, in the order of names, kUsualPage or
//                                 "limit" of them; "search": in name, group or role. With "faults", where its groups
//                                 are not what they seem (name_review.h)
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

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"

namespace bloomwall::proxy {

class StateApi {
 public:
  static constexpr std::size_t kMostPage = 1000, kUsualPage = 200;
  StateApi(StateService& state, Served& served) : state_(state), served_(served) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them

 private:
  HttpReply list_tokens(const ApiRequest& request) const;
  static std::string etag_of(const State& state, std::uint64_t generation);
  std::vector<std::string> faults_of(const Token& token) const;
  HttpReply make_token(const ApiRequest& request);
  HttpReply remove_token(const ApiRequest& request);
  HttpReply audit(const ApiRequest& request);

  StateService& state_;
  Served& served_;
};

}  // namespace bloomwall::proxy
