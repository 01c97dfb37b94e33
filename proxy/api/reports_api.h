// Reports of mistakes over the API (api_access.h), and what `bloomwall reports` and `bloomwall report` ask:
//   GET  /api/v1/reports?state=open&cursor=   {"items":[...],"next":null}, the newest first, 200 a page; each as in
//                                             report_item.h, and beside it "opens": what accepting it would open, as
//                                             an allow list has it, and "insists": it was accepted until a build, and
//                                             ExceptionItem::kInsists builds list it still
//   POST /api/v1/reports/{id}/accept          {"scope":"group","until":"2026-11-23T12:00:00Z","words":"..."}: 200,
//                                             {"item":{...},"exception":{...},"warnings":["..."]}. All may be left out:
//                                             "scope": client, group or all; else its group where it has one, else all;
//                                             "group": another group; "until": null stays, else until a build of the
//                                             filters that stop it ("until_build": true), or for a day where none has
//                                             stopped it, or its group stops what is on no list; "entry": another one
//                                             than "opens"; "words": for whoever reported it
//   POST /api/v1/reports/{id}/reject          {"words":"..."}: 200, {"item":{...}}
// The exception and the decision on the report are one transaction; every worker asks the exception before the reply.
// Errors as in exceptions_api.h; 403 of a reviewer of some groups alone (Caller::groups): the report is of another
// group, or the exception would be for others; 409 it is no longer open.
// Such a reviewer sees reports of these groups alone. Role: reviewer. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proxy/api/api_access.h"
#include "proxy/api/report_desk.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"
#include "proxy/explain/exception_review.h"

namespace bloomwall::proxy {

class ReportsApi {
 public:
  static constexpr std::size_t kPage = 200;

  // `accepted`: called after a report was accepted and its exception published.
  ReportsApi(StateService& state, Served& served, ReportCounts& counts, std::function<void(const ReportItem&)> accepted)
      : state_(state), served_(served), counts_(counts), accepted_(std::move(accepted)) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them

 private:
  HttpReply list(const ApiRequest& request) const;
  HttpReply accept(const ApiRequest& request);
  HttpReply reject(const ApiRequest& request);
  void publish(const StateStore::Accepted& done, const HttpStream& asker);
  ExceptionReview review() const { return {served_.edition(), state_.state().tokens.get()}; }  // by what is served

  StateService& state_;
  Served& served_;
  ReportCounts& counts_;
  std::function<void(const ReportItem&)> accepted_;
};

// Figures of the state for metrics.
struct ReportFigures {
  std::size_t open = 0;
  std::int64_t oldest_seconds = 0;  // how long the oldest open one has waited; 0: none is
};
ReportFigures report_figures(const Reports& reports, std::int64_t now);

}  // namespace bloomwall::proxy
