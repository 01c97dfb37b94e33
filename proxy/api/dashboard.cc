// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/dashboard.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
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

// What Accept-Encoding says of a coding: whether it is taken, with another weight than 0. Nothing: it is not named.
std::optional<bool> takes(std::string_view codings, std::string_view wanted) {
  for (std::string_view weight; next_element(codings, weight);) {
    const std::string_view name = trim(next_part(weight, ';'));
    if (!equals_ignoring_case(name, wanted)) continue;
    weight = trim(weight);
    return !starts_ignoring_case(weight, "q=0") || weight.find_first_of("123456789") != std::string_view::npos;
  }
  return std::nullopt;
}

bool takes_gzip(std::string_view codings) {
  return takes(codings, "gzip").value_or(takes(codings, "*").value_or(false));
}

// It is taken unless it is ruled out by its name or with all the rest.
bool takes_identity(std::string_view codings) {
  return takes(codings, "identity").value_or(takes(codings, "*").value_or(true));
}

// What the build has compressed, whole.
std::string inflated(std::string_view gzip) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  std::string out;
  std::array<char, 16384> piece{};
  // zlib does not write to what it reads.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::bad_alloc();
  return out;
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
  if (!takes_gzip(accepted)) {
    if (!takes_identity(accepted)) {
      return {.status = 406, .body = "This is sent with gzip, or without any coding: Accept-Encoding takes neither.\n"};
    }
    return {.type = file.type, .body = inflated(file.gzip), .more_fields = std::move(more_fields), .caching = caching};
  }
  more_fields += "Content-Encoding: gzip\r\n";
  return {.type = file.type, .body = std::string(file.gzip), .more_fields = std::move(more_fields), .caching = caching};
}

HttpReply page_reply(const HttpRequest& request) {
  // Of a tag each coding has its own (RFC 9110 section 8.8.3.3).
  const std::string_view coding = takes_gzip(field_of(request.head, "accept-encoding")) ? "" : "-identity";
  const std::string etag = fmt::format("\"{}{}\"", dashboard_page_digest(), coding);
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
