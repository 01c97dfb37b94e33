// The dashboard: a page of static files (dashboard/), compiled in, that asks the API (api_access.h) for what it shows.
//   GET /                                 the page. Requested each time it is opened; 304 if it has not changed
//   GET /page/{digest}/{folder}/{file}    what it is made of. The digest is over all these files, so none of them ever
//                                         changes under its address, and relative imports stay within one build
// Both to anybody: nothing is in them that is not in the program. They are compressed when the program is built, and
// sent so to a client that takes gzip; else as they are (RFC 9110 section 12.5.3: a request without Accept-Encoding
// takes everything, and people who look at it with curl want to read it). 406 where neither is taken. The policy for
// content lets the page run, show and ask nothing but what comes from this address. No sockets; the API's routes are
// others'.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "proxy/api/http_routes.h"

namespace bloomwall::proxy {

struct DashboardFile {
  std::string_view name;  // "app/main.js"; of the page itself "index.html"
  std::string_view type;
  std::string_view gzip;
};

// Made by embed_dashboard.cmake.
std::span<const DashboardFile> dashboard_files();
std::string_view dashboard_digest();       // of all files but the page: 16 hexadecimal digits
std::string_view dashboard_page_digest();  // of the page, likewise

std::vector<HttpRoute> dashboard_routes();

}  // namespace bloomwall::proxy
