// Groups and their switches (proxy/access/switches.h) over the API (api_access.h), and what `bloomwall switch` asks:
//   GET    /api/v1/groups                          {"items":[{"name":"pupils","index":0,"actions":{"games":"block"},
//                                                  "filters":[{"name":"games","action":"block"}],
//                                                  "criteria":[{"kind":"clients","count":1,"names":["10.0.0.0/8"]}],
//                                                  "otherwise":"allow","schedules":[{"name":"lessons","active":true,
//                                                  "until":"..."}],"switches":[...],"safe_search":["google"]}],
//                                                  "next":null,"void_switches":[]}: what each does now; "until" is null
//                                                  where no change is known; "filters" has the actions in the order in
//                                                  which filters are asked; "criteria" are what must all hold of a
//                                                  client: clients, listeners, users, user_groups, certificates, with
//                                                  at most kMostNames names each, and none for roles below operator;
//                                                  switches as in switch_item.h; of those that have no effect "void"
//                                                  says why. Role: viewer
//   PUT    /api/v1/groups/{group}/switches/{key}   {"value":"deny","until":"2026-11-23T12:00:00Z","why":"exam"}: 200,
//                                                  {"item":{...},"warnings":["..."]}. Key: filters.NAME, otherwise,
//                                                  or pause, which has no value; "why" may be left out
//   DELETE the same                                200, {"item":{...}}
// A change is stored and used by every worker before the reply; open tunnels are judged again. Role:
// reviewer, but for filters.NAME with the value allow, which lets pass what other filters stop: operator.
// Errors are application/problem+json (RFC 9457): 400 what cannot be taken, 403 a reviewer of some groups alone
// (Caller::groups) asks for others, or a reviewer for allow, 404 no such group, filter or switch, 409 there are too
// many, or the filter takes no exceptions (filters[].exceptions) and the value is not block, 412 the field If-Match
// names another ETag than that of GET /api/v1/groups by now, 500 it cannot be kept, 503 the process ends.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "proxy/access/group_rules.h"
#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"

namespace bloomwall::proxy {

class GroupsApi {
 public:
  static constexpr std::size_t kMostNames = 20;
  GroupsApi(StateService& state, Served& served) : state_(state), served_(served) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them

 private:
  HttpReply set(const ApiRequest& request);
  HttpReply remove(const ApiRequest& request);
  std::shared_ptr<const GroupRules> rules() const;  // null: there are no groups
  void publish(const SwitchItem& item, const HttpStream& asker, bool is_new);

  StateService& state_;
  Served& served_;
};

}  // namespace bloomwall::proxy
