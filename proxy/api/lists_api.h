// The lists of filters, over the API (api_access.h): what `bloomwall update` has made of them, and a wish for its next
// run.
//   GET  /api/v1/lists          {"items":[...],"next":null,"intermediates":null}, each as in lists_json.h
//   GET  /api/v1/lists/{name}   that of one filter; 404: there is none that is made of lists
//   POST /api/v1/update         {"filters":["ads"],"force":false}: 202 with the same: the next run asks for the lists
//                               of these filters at once; all may be left out: of all filters. "force" overrules
//                               guards, and is audited, for "why". The run is another process: bloomwall-update.path
//                               starts it, or `bloomwall update --loop` sees the wish; else it is the timer's next one.
//                               404: no such filter; 409: there are no lists; 500: the wish cannot be written
//   POST /api/v1/update/forced  the same body: 201 with the same, and no more than the row of the audit, for a run that
//                               `bloomwall update --force` is about to make itself
// Role: operator. Thread: the loop's; reads lists.json again when it has changed. Wishes are written on the state's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "filter/file/mapped_file.h"
#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"
#include "proxy/update/lists_state.h"
#include "proxy/update/update_run.h"

namespace bloomwall::proxy {

class ListsApi {
 public:
  ListsApi(const Served& served, StateService& state) : served_(served), kept_(state) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them
  // What is known now; empty where nothing is, or lists.json cannot be read.
  const ListsState& state(const conf::Config& settings);

 private:
  HttpReply all();
  HttpReply one(const ApiRequest& request);
  struct Asked {
    UpdateWish wish;
    std::string why;
  };
  tl::expected<Asked, HttpReply> understand(const ApiRequest& request) const;
  HttpReply wish(const ApiRequest& request);
  HttpReply force(const ApiRequest& request);
  // Rows of the audit where guards are to be overruled, and the wish for the next run. No folder: no wish. `then`: what
  // is replied once both are kept.
  HttpReply note(const ApiRequest& request, const Asked& asked, const std::filesystem::path& folder,
                 std::function<HttpReply()> then);

  const Served& served_;
  StateService& kept_;
  std::optional<filter::FileStamp> stamp_;  // of the file that `state_` was read from
  ListsState state_;
};

}  // namespace bloomwall::proxy
