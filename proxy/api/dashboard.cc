// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/dashboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "proxy/http/fields.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kPolicy =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
    "'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: "
    "same-origin\r\n";

std::string_view field_of(const RequestHead& head, std::string_view name) {
  const Field* const field = find_field(head.fields, name);
  return field == nullptr ? std::string_view() : field->value;
}

// Whether Accept-Encoding names it, with another weight than 0.
bool takes(std::string_view codings, std::string_view wanted) {
  for (std::string_view weight; next_element(codings, weight);) {
    const std::string_view name = trim(next_part(weight, ';'));
    if (!equals_ignoring_case(name, wanted)) continue;
    weight = trim(weight);
    return !starts_ignoring_case(weight, "q=0") || weight.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

const DashboardFile* find_file(std::string_view name) {
  const auto files = dashboard_files();
  const auto found = std::ranges::find(files, name, &DashboardFile::name);
  return found == files.end() ? nullptr : &*found;
}

HttpReply whole(const DashboardFile& file, const RequestHead& head, std::string_view caching, std::string more_fields) {
  more_fields += kPolicy;
  more_fields += "Vary: Accept-Encoding\r\n";
  const std::string_view accepted = field_of(head, "accept-encoding");
  if (!takes(accepted, "gzip") && !takes(accepted, "*")) {
    return {.status = 406,
            .body = "This is sent compressed alone: ask with Accept-Encoding: gzip (curl --compressed).\n"};
  }
  more_fields += "Content-Encoding: gzip\r\n";
  return {.type = file.type, .body = std::string(file.gzip), .more_fields = std::move(more_fields), .caching = caching};
}

HttpReply page_reply(const HttpRequest& request) {
  const std::string etag = fmt::format("\"{}\"", dashboard_page_digest());
  const std::string_view known = field_of(request.head, "if-none-match");
  std::string more_fields = fmt::format("ETag: {}\r\n", etag);
  if (has_element(known, etag) || has_element(known, "W/" + etag)) {
    return {.status = 304, .more_fields = std::move(more_fields), .caching = "no-cache"};
  }
  return whole(*find_file("index.html"), request.head, "no-cache", std::move(more_fields));
}

HttpReply part_reply(const HttpRequest& request) {
  const DashboardFile* const file =
      request.arguments.at(0) == dashboard_digest()
          ? find_file(fmt::format("{}/{}", request.arguments.at(1), request.arguments.at(2)))
          : nullptr;
  if (file == nullptr) return {.status = 404, .body = "There is no such file in this version: open / again.\n"};
  return whole(*file, request.head, "public, max-age=31536000, immutable", {});
}

}  // namespace

std::vector<HttpRoute> dashboard_routes() {
  return {{.method = "GET", .path = "/", .handler = page_reply},
          {.method = "GET", .path = "/page/{digest}/{folder}/{file}", .handler = part_reply}};
}

}  // namespace bloomwall::proxy
