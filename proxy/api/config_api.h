// The configuration that is served, over the API (api_access.h):
//   GET /api/v1/config   {"generation":1,"settings":{"listeners":[...],...}}: every key of bloomwall.yaml, defaults
//                        included; durations, sizes and shares as texts ("10s", "64KiB", "2%"). Role: admin
// Secrets stand in files, of which only the paths are shown; arguments of helpers, which may hold some, are "***".
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/api/api_access.h"
#include "proxy/api/served.h"

namespace bloomwall::proxy {

class ConfigApi {
 public:
  explicit ConfigApi(const Served& served) : served_(served) {}
  ApiRoute route() const;  // of this object, which must outlive it

 private:
  const Served& served_;
};

}  // namespace bloomwall::proxy
