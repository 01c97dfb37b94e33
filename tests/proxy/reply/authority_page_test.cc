// The page that gives the CA's certificate to users, and the files beside it.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/authority_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace bloomwall::proxy {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

AuthorityPage sample_page() {
  AuthorityPage page;
  page.authorities = {{"in use", "CN=bloomwall <gw>, O=A&B", "AB:CD", "2036-01-31T12:00:00Z"},
                      {"next", "CN=next", "12:34", "2046-01-31T12:00:00Z"}};
  page.reads = AuthorityPage::Reads::listed_hosts;
  page.contact = "it@example.test";
  page.kept_for = "6 months";
  return page;
}

std::string rendered(const AuthorityPage& page, std::string_view accept) {
  std::string out;
  write_authority_page(out, page, {.accept = accept});
  return out;
}

TEST(AuthorityPage, HtmlSaysWhatIsReadAndEscapesWhatItShows) {
  const std::string html = rendered(sample_page(), "text/html");
  EXPECT_THAT(html, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(html, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(html, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("CN=bloomwall &lt;gw&gt;, O=A&amp;B"));
  EXPECT_THAT(html, Not(HasSubstr("<gw>")));
  for (const char* text : {"AB:CD", "12:34", "sites of which single pages are listed", "it@example.test", "6 months",
                           "href=\"/ca.crt\"", "href=\"/ca.der\"", "href=\"/ca.mobileconfig\"", "bloomwall ca show"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
}

TEST(AuthorityPage, HasALineForEachSystem) {
  const std::string text = rendered(sample_page(), "*/*");
  for (const char* system :
       {"Windows", "macOS", "iOS", "Android", "Firefox", "Chromium on Linux", "Debian", "Fedora", "Java", "Node.js",
        "Python", "Git", "curl", "Cargo", "Go, OpenSSL", "Deno", "AWS", "Docker"}) {
    EXPECT_THAT(text, HasSubstr(system));
  }
  EXPECT_EQ(install_lines().size(), 18U);
}

TEST(AuthorityPage, JsonCanBeRead) {
  const std::string answer = rendered(sample_page(), "application/json");
  const auto json = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  EXPECT_EQ(json["authorities"].size(), 2U);
  EXPECT_EQ(json["authorities"][0]["sha256"], "AB:CD");
  EXPECT_EQ(json["authorities"][0]["subject"], "CN=bloomwall <gw>, O=A&B");
  EXPECT_EQ(json["pem"], "/ca.crt");
}

TEST(AuthorityPage, SaysInEveryModeWhatIsRead) {
  AuthorityPage page = sample_page();
  page.reads = AuthorityPage::Reads::nothing;
  EXPECT_THAT(rendered(page, "*/*"), HasSubstr("inspection is off"));
  page.reads = AuthorityPage::Reads::blocked_hosts;
  EXPECT_THAT(rendered(page, "*/*"), HasSubstr("blocked sites only"));
  page.reads = AuthorityPage::Reads::all_hosts;
  page.logs_all_urls = true;
  EXPECT_THAT(rendered(page, "*/*"), HasSubstr("connections to all sites"));
  EXPECT_THAT(rendered(page, "*/*"), HasSubstr("addresses of all pages"));
}

TEST(AuthorityPage, PathsNameItsFiles) {
  EXPECT_EQ(authority_resource("/ca"), AuthorityResource::page);
  EXPECT_EQ(authority_resource("/ca?x"), AuthorityResource::page);
  EXPECT_EQ(authority_resource("/ca.crt"), AuthorityResource::pem);
  EXPECT_EQ(authority_resource("/ca.der"), AuthorityResource::der);
  EXPECT_EQ(authority_resource("/ca.mobileconfig"), AuthorityResource::profile);
  for (const char* path : {"/", "/ca/", "/ca.key", "/CA", "", "/cat"}) EXPECT_FALSE(authority_resource(path)) << path;
}

TEST(AuthorityPage, FilesHaveTheirTypes) {
  std::string out;
  write_authority_file(out, AuthorityResource::der, std::string_view("\x30\x00", 2), {});
  EXPECT_THAT(out, HasSubstr("Content-Type: application/x-x509-ca-cert\r\n"));
  EXPECT_THAT(out, HasSubstr("Content-Length: 2\r\n"));
  EXPECT_THAT(out, HasSubstr("filename=\"ca.der\""));
  out.clear();
  write_authority_file(out, AuthorityResource::profile, "<plist/>", {});
  EXPECT_THAT(out, HasSubstr("Content-Type: application/x-apple-aspen-config\r\n"));
}

}  // namespace
}  // namespace bloomwall::proxy
