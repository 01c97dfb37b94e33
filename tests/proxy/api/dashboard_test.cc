// The files of the dashboard as a browser is served them.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/dashboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "proxy/http/http1_reader.h"

namespace bloomwall::proxy {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct DashboardStream final : HttpStream::Sink {
  void write(std::uint64_t, std::string_view) override {}
  void end(std::uint64_t) override {}
  void reply(std::uint64_t, const HttpReply&) override {}
  bool goes_on(std::uint64_t) const override { return false; }
};

std::string fetched(const std::string& target, const std::string& fields = "Accept-Encoding: gzip, br\r\n") {
  const HttpRoutes routes(dashboard_routes(), std::vector<std::string>());
  const HeadLimits limits;
  RequestReader reader(limits);
  const auto step = reader.feed("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + fields + "\r\n");
  EXPECT_TRUE(step && step->event == ReadEvent::head);
  const auto found = routes.find(reader.head());
  DashboardStream nobody;
  std::string out;
  write_reply(
      out, found ? found->route->handler({reader.head(), found->arguments, {}, HttpStream(nobody, 0)}) : found.error(),
      {}, TimePoint(std::chrono::seconds(1'700'000'000)));
  return out;
}

std::string source_of(const std::string& name) {
  std::ifstream file(std::string(BLOOMWALL_SOURCE_DIR "/dashboard/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string part(const std::string& name) { return "/page/" + std::string(dashboard_digest()) + "/" + name; }

TEST(Dashboard, ServesThePageUnderAStrictPolicy) {
  const std::string got = fetched("/");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nContent-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nVary: Accept-Encoding\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nCache-Control: no-cache\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nReferrer-Policy: no-referrer\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
                             "connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; "
                             "base-uri 'none'\r\n"));
  EXPECT_THAT(got.substr(got.find("\r\n\r\n") + 4), StartsWith("\x1f\x8b\x08"));
}

TEST(Dashboard, SendsThePageAgainOnlyWhereItHasChanged) {
  const std::string etag = "\"" + std::string(dashboard_page_digest()) + "\"", gzip = "Accept-Encoding: gzip\r\n";
  EXPECT_THAT(fetched("/"), HasSubstr("\r\nETag: " + etag + "\r\n"));
  for (const std::string& known : {etag, "W/" + etag, "\"a\", " + etag}) {
    const std::string got = fetched("/", gzip + "If-None-Match: " + known + "\r\n");
    EXPECT_THAT(got, StartsWith("HTTP/1.1 304 Not Modified\r\n")) << known;
    EXPECT_THAT(got, HasSubstr("\r\nETag: " + etag + "\r\n"));
    EXPECT_THAT(got, Not(HasSubstr("Content-Length")));
    EXPECT_TRUE(got.ends_with("\r\n\r\n"));
  }
  EXPECT_THAT(fetched("/", gzip + "If-None-Match: \"0123456789abcdef\"\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(Dashboard, ServesItsPartsForEver) {
  const struct {
    std::string target;
    const char* status;
    const char* has;
  } rows[] = {
      {part("app/main.js"), "200", "\r\nContent-Type: text/javascript; charset=utf-8\r\n"},
      {part("vendor/preact.mjs"), "200", "\r\nContent-Type: text/javascript; charset=utf-8\r\n"},
      {part("app/style.css"), "200", "\r\nContent-Type: text/css; charset=utf-8\r\n"},
      {part("app/icon.svg"), "200", "\r\nContent-Type: image/svg+xml\r\n"},
      {part("vendor/htm.txt"), "200", "\r\nCache-Control: public, max-age=31536000, immutable\r\n"},
      {part("app/main.js") + "?x", "200", "\r\nContent-Security-Policy: default-src 'none'; "},
      {part("app/nothing.js"), "404", "\r\nCache-Control: no-store\r\n"},
      {part("app/../index.html"), "404", "\r\n\r\n"},
      {part("vendor/fetch.py"), "404", "\r\n\r\n"},
      {part("vendor/SHA256SUMS"), "404", "\r\n\r\n"},
      {"/page/0123456789abcdef/app/main.js", "404", "open / again"},
      {"/index.html", "404", "\r\n\r\n"},
  };
  for (const auto& row : rows) {
    const std::string got = fetched(row.target);
    EXPECT_THAT(got, StartsWith(std::string("HTTP/1.1 ") + row.status)) << row.target;
    EXPECT_THAT(got, HasSubstr(row.has)) << row.target;
  }
}

TEST(Dashboard, IsSentAsWhoAsksTakesIt) {
  for (const char* fields :
       {"", "Accept-Encoding: identity\r\n", "Accept-Encoding: br, gzip;q=0\r\n", "Accept-Encoding: gzip;q=0.000\r\n",
        "Accept-Encoding: gzipped\r\n", "Accept-Encoding: \r\n", "Accept-Encoding: *;q=0, identity\r\n"}) {
    const std::string page = fetched("/", fields), script = fetched(part("app/main.js"), fields);
    EXPECT_THAT(page, AllOf(StartsWith("HTTP/1.1 200 "), Not(HasSubstr("Content-Encoding")),
                            HasSubstr("<!DOCTYPE html>"), HasSubstr("</html>")))
        << fields;
    EXPECT_THAT(script, AllOf(StartsWith("HTTP/1.1 200 "), Not(HasSubstr("Content-Encoding")), HasSubstr("import "),
                              HasSubstr("Vary: Accept-Encoding\r\n")))
        << fields;
    EXPECT_EQ(script.substr(script.find("\r\n\r\n") + 4), source_of("app/main.js")) << fields;
  }
  for (const char* fields :
       {"Accept-Encoding: GZIP\r\n", "Accept-Encoding: br;q=1.0, gzip;q=0.8\r\n", "Accept-Encoding: *\r\n"}) {
    EXPECT_THAT(fetched("/", fields), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Encoding: gzip\r\n")))
        << fields;
  }
  for (const char* fields : {"Accept-Encoding: br, identity;q=0\r\n", "Accept-Encoding: *;q=0\r\n"}) {
    EXPECT_THAT(fetched("/", fields), StartsWith("HTTP/1.1 406 ")) << fields;
  }
}

TEST(Dashboard, HasEveryFileOnce) {
  std::vector<std::string_view> names;
  for (const DashboardFile& file : dashboard_files()) {
    EXPECT_THAT(file.gzip, StartsWith("\x1f\x8b\x08")) << file.name;
    names.push_back(file.name);
  }
  EXPECT_GE(names.size(), 12U);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(dashboard_digest().size(), 16U);
}

}  // namespace
}  // namespace bloomwall::proxy
