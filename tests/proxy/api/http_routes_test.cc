// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/http_routes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/http/http1_reader.h"

namespace bloomwall::proxy {
namespace {

constexpr TimePoint kRoutesNow{std::chrono::seconds(1'700'000'000)};

HttpReply no_reply(const HttpRequest&) { return {}; }

HttpRoutes table(std::optional<std::vector<std::string>> hosts = std::nullopt) {
  return HttpRoutes({{.method = "GET", .path = "/filters", .handler = no_reply},
                     {.method = "GET", .path = "/filters/{name}", .handler = no_reply},
                     {.method = "PUT", .path = "/filters/{name}", .handler = no_reply, .most_body = 4},
                     {.method = "PUT", .path = "/groups/{group}/switches/{key}", .handler = no_reply},
                     {.method = "POST", .path = "/check", .handler = no_reply, .needs_host = false}},
                    std::move(hosts));
}

// "PUT /filters/{name} ads" where a route is found, with what it captured; else "405 PUT" with what is allowed.
std::string find_in(const HttpRoutes& routes, const std::string& request_line, const std::string& fields = {}) {
  const HeadLimits limits;
  RequestReader reader(limits);
  const auto step = reader.feed(request_line + " HTTP/1.1\r\nHost: a.test\r\n" + fields + "\r\n");
  if (!step || step->event != ReadEvent::head) return "no head";
  const auto found = routes.find(reader.head());
  if (!found) return std::to_string(found.error().status) + " " + found.error().more_fields;
  std::string out = std::string(found->route->method) + " " + std::string(found->route->path);
  for (const std::string_view argument : found->arguments) out += " " + std::string(argument);
  return out;
}

TEST(HttpRoutes, FindsByMethodAndPath) {
  const HttpRoutes routes = table();
  const struct {
    const char* name;
    const char* request_line;
    const char* found;
  } rows[] = {
      {"a path", "GET /filters", "GET /filters"},
      {"the query is no part of it", "GET /filters?name=a/b", "GET /filters"},
      {"GET answers HEAD", "HEAD /filters", "GET /filters"},
      {"a segment in braces", "GET /filters/ads", "GET /filters/{name} ads"},
      {"as it came", "PUT /filters/a%2fb", "PUT /filters/{name} a%2fb"},
      {"two of them", "PUT /groups/kids/switches/k1", "PUT /groups/{group}/switches/{key} kids k1"},
      {"absolute form", "GET http://b.test/filters/ads?x", "GET /filters/{name} ads"},
      {"an empty segment is none", "GET /filters/", "404 "},
      {"a longer path", "GET /filters/ads/more", "404 "},
      {"a shorter one", "PUT /groups/kids/switches", "404 "},
      {"a beginning", "GET /filter", "404 "},
      {"case counts", "GET /Filters", "404 "},
      {"other methods", "DELETE /filters/ads", "405 Allow: GET, HEAD, PUT\r\n"},
      {"methods are of the path", "PUT /filters", "405 Allow: GET, HEAD\r\n"},
      {"GET is not implied", "HEAD /check", "405 Allow: POST\r\n"},
      {"a method that nothing takes, nowhere", "DELETE /nothing", "405 Allow: GET, HEAD, PUT, POST\r\n"},
      {"no path at all", "OPTIONS *", "405 Allow: GET, HEAD, PUT, POST\r\n"},
  };
  for (const auto& row : rows) EXPECT_EQ(find_in(routes, row.request_line), row.found) << row.name;
}

TEST(HttpRoutes, ABodyIsBoundedByTheRoute) {
  const HttpRoutes routes = table();
  EXPECT_EQ(find_in(routes, "PUT /filters/ads", "Content-Length: 4\r\n"), "PUT /filters/{name} ads");
  EXPECT_EQ(find_in(routes, "PUT /filters/ads", "Content-Length: 5\r\n"), "413 ");
  EXPECT_EQ(find_in(routes, "POST /check", "Content-Length: 1\r\n"), "413 ");
  EXPECT_EQ(find_in(routes, "POST /check", "Content-Length: 0\r\n"), "POST /check");
  EXPECT_EQ(find_in(routes, "GET /filters", "Content-Length: 1\r\n"), "GET /filters") << "it is not read";
}

TEST(HttpRoutes, TheHostIsCheckedFirst) {
  const HttpRoutes routes = table(std::vector<std::string>{"b.test"});
  EXPECT_EQ(find_in(routes, "GET /filters"), "421 ");
  EXPECT_EQ(find_in(routes, "GET /nothing"), "421 ");
  EXPECT_EQ(find_in(routes, "POST /check"), "421 ") << "no Host is needed, but a foreign one is refused";
  EXPECT_EQ(find_in(routes, "GET http://B.test/filters"), "GET /filters");
}

TEST(HttpRoutes, ErrorsOfTheApiAreJson) {
  const HttpRoutes routes({{.method = "POST", .path = "/api/v1/reload", .handler = no_reply},
                           {.method = "GET", .path = "/metrics", .handler = no_reply}},
                          std::vector<std::string>{"a.test"});
  const struct {
    const char *request_line, *fields, *type;
    int status;
  } rows[] = {
      {"GET /api/v1/nothing", "", "application/problem+json", 404},
      {"GET /api/v1/reload?x", "", "application/problem+json", 405},
      {"GET http://b.test/api/v1/reload", "", "application/problem+json", 421},
      {"POST /api/v1/reload", "Content-Length: 1\r\n", "application/problem+json", 413},
      {"GET /nothing", "", "text/plain; charset=utf-8", 404},
      {"GET /apis", "", "text/plain; charset=utf-8", 404},
      {"POST /metrics", "", "text/plain; charset=utf-8", 405},
  };
  for (const auto& row : rows) {
    const HeadLimits limits;
    RequestReader reader(limits);
    const std::string request = std::string(row.request_line) + " HTTP/1.1\r\nHost: a.test\r\n" + row.fields + "\r\n";
    ASSERT_TRUE(reader.feed(request).has_value()) << row.request_line;
    const auto found = routes.find(reader.head());
    ASSERT_FALSE(found.has_value()) << row.request_line;
    EXPECT_EQ(found.error().status, row.status) << row.request_line;
    EXPECT_EQ(found.error().type, row.type) << row.request_line;
    EXPECT_EQ(found.error().more_fields.empty(), row.status != 405) << "Allow is kept";
    EXPECT_EQ(found.error().body.find("\\n"), std::string::npos) << found.error().body << ": a line is no detail";
  }
}

TEST(HttpRoutes, AReplyThatGoesOnIsChunkedWhereThatIsUnderstood) {
  const HttpReply reply{.body = "first\n", .goes_on = true};
  std::string chunked, plain, head;
  write_reply(chunked, reply, {}, kRoutesNow);
  EXPECT_NE(chunked.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos) << chunked;
  EXPECT_TRUE(chunked.ends_with("\r\n\r\n6\r\nfirst\n\r\n")) << chunked;
  write_reply(plain, reply, {.version = Version::http10}, kRoutesNow);
  EXPECT_EQ(plain.find("Transfer-Encoding"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("Content-Length"), std::string::npos) << plain;
  EXPECT_TRUE(plain.ends_with("\r\n\r\nfirst\n")) << plain;
  write_reply(head, reply, {.is_head = true}, kRoutesNow);
  EXPECT_TRUE(head.ends_with("Connection: close\r\n\r\n")) << head;
  EXPECT_EQ(as_chunk(""), "");
}

TEST(HttpRoutes, HostsThatNoNameServerCanRedirectAreKnown) {
  const std::vector<std::string> none;
  for (const char* host : {"127.0.0.1", "[::1]", "192.0.2.7", "localhost", "LocalHost"}) {
    EXPECT_TRUE(is_known_host(host, none)) << host;
  }
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.1", "0x7f.1",
                           "[", "[evil.example]", "localhost."}) {
    EXPECT_FALSE(is_known_host(host, none)) << host;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
