// SPDX-License-Identifier: Apache-2.0
#include "filter/url/canonical_url.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/filter/url/access.h"
#include "tests/filter/url/tsv.h"

namespace bloomwall::filter {
namespace {

struct CanonicalCase {
  std::string name, input, canonical, rule, action, alternatives;
  bool is_host() const { return rule.ends_with("/host"); }
};
std::ostream& operator<<(std::ostream& out, const CanonicalCase& c) { return out << c.name; }

std::vector<CanonicalCase> own_cases() {
  std::vector<CanonicalCase> cases;
  for (const auto& row : read_tsv(BLOOMWALL_SOURCE_DIR "/tests/data/canonical_urls.tsv", 6)) {
    cases.push_back({row[0], unescaped(row[1]), unescaped(row[2]), row[3], row[4], row[5]});
  }
  return cases;
}

std::string alternatives_of(const CanonicalUrl& url) {
  std::string out;
  for (std::size_t i = 1; i < url.forms.size(); ++i) out += (i > 1 ? " " : "") + url.text(i);
  return out;
}

void expect_answer(const CanonicalCase& c, const CanonicalUrl& got) {
  EXPECT_EQ(got.text(), c.canonical) << c.input;
  EXPECT_EQ(got.action == UrlAction::lookup ? "lookup" : "reject", c.action) << to_string(got.reason);
  EXPECT_EQ(alternatives_of(got), c.alternatives) << c.input;
  EXPECT_EQ(got.reason == UrlReason::none, got.action == UrlAction::lookup);
  EXPECT_EQ(got.has_canonical, !got.forms.empty());
  EXPECT_LE(got.forms.size(), kMaxForms);
}

// The exact size lets a sanitizer see a read beyond the end; the second call sees what the first left behind.
void check(const CanonicalCase& c) {
  const std::vector<char> exact(c.input.begin(), c.input.end());
  const std::string_view input(exact.data(), exact.size());
  Canonicaliser canonicaliser;
  const auto answer = [&]() -> const CanonicalUrl& {
    return c.is_host() ? canonicaliser.host(input) : canonicaliser.url(input);
  };
  expect_answer(c, answer());
  const std::string canonical = answer().text();
  if (!answer().has_canonical) return;
  EXPECT_EQ(Canonicaliser().url(canonical).text(), canonical) << "the canonical form must be a fixed point";
  EXPECT_EQ(CanonicaliserAccess::url_the_long_way(canonicaliser, canonical).text(), canonical);
}

class CanonicalUrlTest : public testing::TestWithParam<CanonicalCase> {};
TEST_P(CanonicalUrlTest, GivesTheFormsOrTheRejection) { check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rules, CanonicalUrlTest, testing::ValuesIn(own_cases()),
                         [](const auto& param) { return param.param.name; });

TEST(CanonicalUrlTableTest, HasEveryRow) {
  const std::vector<CanonicalCase> cases = own_cases();
  EXPECT_EQ(cases.size(), 282U);
  for (int line = 1; line <= 32; ++line) {  // one case or more for each known way around a URL filter
    const std::string prefix = (line < 10 ? "Bypass0" : "Bypass") + std::to_string(line);
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const CanonicalCase& c) {
      return c.name.starts_with(prefix);
    })) << prefix;
  }
}

TEST(CanonicalUrlTableTest, AgreesWithThePublishedVectors) {
  const std::string file = BLOOMWALL_SOURCE_DIR "/../shared/url/vectors.tsv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
  const auto rows = read_tsv(file, 5);
  for (const auto& row : rows) {
    SCOPED_TRACE(row[0]);
    check({row[0], unescaped(row[0]), unescaped(row[1]), row[2], row[3], row[4]});
  }
  EXPECT_EQ(rows.size(), 144U);
}

TEST(CanonicaliserTest, NamesTheFirstReason) {
  const std::vector<std::pair<std::string, UrlReason>> cases{
      {"http://example.test/", UrlReason::none},
      {" ", UrlReason::empty},
      {"http://exa\tmple.test/", UrlReason::control_octet},
      {"mailto:someone@example.test", UrlReason::unknown_scheme},
      {"http:\\\\example.test/", UrlReason::backslash},
      {"http://user@example.test/", UrlReason::userinfo},
      {"http://example.test:x/", UrlReason::bad_port},
      {"http:///", UrlReason::empty_host},
      {"http://%65xample.test/", UrlReason::escaped_host},
      {"http://a]/", UrlReason::separator_in_host},
      {"http://\xFF/", UrlReason::bad_idn},
      {"http://.example.test/", UrlReason::odd_dots},
      {"http://256.1.1.1/", UrlReason::bad_ipv4},
      {"http://[1]/", UrlReason::bad_ipv6},
      {"http://a!b/", UrlReason::bad_host_octet},
      {"http://" + std::string(64, 'a') + "/", UrlReason::host_too_long},
      {"http://user@exa\nmple.test/", UrlReason::control_octet},
      {"http://user@256.1.1.1/", UrlReason::userinfo},
  };
  Canonicaliser canonicaliser;
  std::set<std::string> texts;
  for (const auto& [input, reason] : cases) {
    EXPECT_EQ(canonicaliser.url(input).reason, reason) << input;
    texts.insert(to_string(reason));
  }
  EXPECT_EQ(texts.size(), 16U) << "each reason has a text of its own";
}

TEST(CanonicaliserTest, TellsKindSchemeAndPort) {
  Canonicaliser canonicaliser;
  const CanonicalUrl& name = canonicaliser.url("HTTPS://Example.test:8443/a?b");
  EXPECT_EQ(name.host_kind, HostKind::name);
  EXPECT_EQ(name.scheme, "https");
  EXPECT_EQ(name.port, 8443);
  EXPECT_EQ(name.host, "example.test");
  EXPECT_EQ(name.forms[0].path, "/a");
  EXPECT_EQ(name.forms[0].query, "b");
  EXPECT_EQ(name.expression(), "example.test/a?b");
  EXPECT_EQ(canonicaliser.url("http://0x7f.1/").host_kind, HostKind::ipv4);
  EXPECT_EQ(canonicaliser.url("http://[::1]/").host_kind, HostKind::ipv6);
  EXPECT_EQ(canonicaliser.url("http://[::ffff:1.2.3.4]/").host_kind, HostKind::ipv4);
  EXPECT_EQ(canonicaliser.url("http://example.test/").port, 0);
}

TEST(CanonicaliserTest, ALoneQuestionMarkIsNoQuery) {
  Canonicaliser canonicaliser;
  for (const char* const input : {"http://example.test/a?", "http://example.test:80/a?"}) {
    const UrlForm form = canonicaliser.url(input).forms[0];
    EXPECT_TRUE(form.has_query_mark);
    EXPECT_EQ(form.query, "");
    EXPECT_EQ(form.path, "/a");
  }
  EXPECT_FALSE(canonicaliser.url("http://example.test/a").forms[0].has_query_mark);
}

TEST(CanonicaliserTest, DoesNotCopyACanonicalUrl) {
  const std::string input = "https://www.example.test/a/b.html?q=1";
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url(input);
  const auto inside = [&](std::string_view view) {
    return view.data() >= input.data() && view.data() + view.size() <= input.data() + input.size();
  };
  EXPECT_TRUE(inside(url.scheme) && inside(url.host) && inside(url.forms[0].path) && inside(url.forms[0].query));
  const std::string host = "www.example.test";
  EXPECT_EQ(canonicaliser.host(host).host.data(), host.data());
}

TEST(CanonicaliserTest, DoesNotCopyACanonicalPathWhateverTheHost) {
  Canonicaliser canonicaliser;
  for (const std::string input :
       {"http://192.0.2.1:8080/a/b%C3%A9c.html?q=1", "HTTPS://Example.test/a/b%C3%A9c.html?q=1"}) {
    const UrlForm form = canonicaliser.url(input).forms[0];
    EXPECT_EQ(form.path.data(), input.data() + input.find("/a/")) << input;
    EXPECT_EQ(form.query.data(), input.data() + input.find("q=1")) << input;
    EXPECT_EQ(form.path, "/a/b%C3%A9c.html");
    EXPECT_EQ(form.query, "q=1");
  }
}

TEST(CanonicaliserTest, AQueryBehindACanonicalPathIsDecoded) {
  Canonicaliser canonicaliser;
  EXPECT_EQ(canonicaliser.url("http://a.test/b?u=http%3A%2F%2Fc.test%2f..%3f%c3%a9%2520").text(),
            "http://a.test/b?u=http://c.test/..?%C3%A9%20");
  EXPECT_EQ(canonicaliser.url("http://a.test?%41%%34%31").text(), "http://a.test/?AA");
}

TEST(CanonicaliserTest, EscapesInAPathAreWrittenInUpperCase) {
  Canonicaliser canonicaliser;
  EXPECT_EQ(canonicaliser.url("http://a.test/caf%c3%a9/%E3%81%82?%c3%a9").text(),
            "http://a.test/caf%C3%A9/%E3%81%82?%C3%A9");
}

TEST(CanonicaliserTest, HostAloneHasTheRootAsItsOnlyForm) {
  Canonicaliser canonicaliser;
  for (const char* const input : {"example.test", "EXAMPLE.test.", "192.0.2.1", "[::1]"}) {
    const CanonicalUrl& host = canonicaliser.host(input);
    ASSERT_EQ(host.action, UrlAction::lookup) << input;
    ASSERT_EQ(host.forms.size(), 1U);
    EXPECT_EQ(host.forms[0].path, "/");
    EXPECT_FALSE(host.forms[0].has_query_mark);
  }
  EXPECT_FALSE(canonicaliser.host("").has_canonical);
  EXPECT_EQ(canonicaliser.host("").reason, UrlReason::empty_host);
}

TEST(CanonicaliserTest, ReusedObjectForgetsTheUrlBefore) {
  Canonicaliser canonicaliser;
  canonicaliser.url("ftp://user@192.0.2.1:21/a%2f..%252fb//../c?d");
  const CanonicalUrl& url = canonicaliser.url("http://EXAMPLE.test/");
  EXPECT_EQ(url.text(), "http://example.test/");
  EXPECT_EQ(url.action, UrlAction::lookup);
  EXPECT_EQ(url.port, 0);
  EXPECT_EQ(url.host_kind, HostKind::name);
  EXPECT_EQ(url.forms.size(), 1U);
  EXPECT_FALSE(canonicaliser.url("http://").has_canonical);
  EXPECT_TRUE(canonicaliser.url("http://").forms.empty());
}

TEST(CanonicaliserTest, CanBeMoved) {
  Canonicaliser first;
  first.url("http://A/");
  Canonicaliser second(std::move(first));
  EXPECT_EQ(second.url("http://B/a%2Fb").text(1), "http://b/a%2Fb");
  Canonicaliser third;
  third = std::move(second);
  EXPECT_EQ(third.url("http://C/").text(), "http://c/");
}

}  // namespace
}  // namespace bloomwall::filter
