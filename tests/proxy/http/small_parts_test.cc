// The small pieces other parts of proxy/http are made of: fields, framing numbers, escapes, dates, errors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/body_reader.h"
#include "proxy/http/escape.h"
#include "proxy/http/fields.h"
#include "proxy/http/octets.h"
#include "proxy/http/request.h"
#include "proxy/http/serialise.h"

namespace bloomwall::proxy::http_test {
namespace {

using namespace std::string_literals;

// ---- fields.h

TEST(FieldId, KnowsNamesInAnyCase) {
  EXPECT_EQ(field_id("Transfer-Encoding"), FieldId::transfer_encoding);
  EXPECT_EQ(field_id("TRANSFER-ENCODING"), FieldId::transfer_encoding);
  EXPECT_EQ(field_id("te"), FieldId::te);
  EXPECT_EQ(field_id("X-Forwarded-For"), FieldId::x_forwarded_for);
  EXPECT_EQ(field_id("proxy-authentication-info"), FieldId::proxy_authentication_info);
  EXPECT_EQ(field_id("Proxy-Whatever"), FieldId::proxy_other);
}

// Names are compared a word at a time: each octet in each place, of names of each length.
TEST(FieldId, TakesUpperCaseForLettersAlone) {
  for (const std::string name :
       {"te", "via", "date", "accept", "trailer", "keep-alive", "content-length", "http2-settings", "x-forwarded-for",
        "proxy-connection", "transfer-encoding", "proxy-authorization", "proxy-authentication-info"}) {
    const FieldId id = field_id(name);
    ASSERT_NE(id, FieldId::other) << name;
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::string changed = name;
      for (int octet = 0; octet < 256; ++octet) {
        changed[i] = static_cast<char>(octet);
        EXPECT_EQ(field_id(changed) == id, lower(changed[i]) == name[i]) << name << " " << i << " " << octet;
      }
    }
  }
}

TEST(FieldId, LeavesNeighboursAlone) {
  for (const std::string_view name : {"", "t", "Transfer_Encoding", "Content-Lengthy", "Content-Lengt", "Hosts",
                                      "Proxy", "Proxy-", "X-Proxy-Foo", "!", "Cookie", "Tf"}) {
    EXPECT_EQ(field_id(name), FieldId::other) << name;
  }
}

std::vector<std::string> elements(std::string_view list) {
  std::vector<std::string> found;
  for (std::string_view element; next_element(list, element);) found.emplace_back(element);
  return found;
}

TEST(FieldLists, AreTakenApart) {
  using List = std::vector<std::string>;
  EXPECT_EQ(elements("a, b ,\tc"), (List{"a", "b", "c"}));
  EXPECT_EQ(elements(", ,a,, ,"), (List{"a"}));
  EXPECT_EQ(elements(""), List{});
  EXPECT_EQ(elements("a=\"x, y\", b"), (List{"a=\"x, y\"", "b"}));
  EXPECT_EQ(elements("\"a\\\", b\", c"), (List{"\"a\\\", b\"", "c"}));
  EXPECT_EQ(elements("\"open, b"), (List{"\"open, b"}));
  EXPECT_EQ(elements("\"a\\"), (List{"\"a\\"}));
  EXPECT_TRUE(has_element("x, Close", "close"));
  EXPECT_FALSE(has_element("x-close", "close"));
}

TEST(FindField, ByIdAndByName) {
  const std::vector<Field> fields{{"A", "1", FieldId::other, false}, {"Host", "2", FieldId::host, false}, {"a", "3"}};
  EXPECT_EQ(find_field(fields, FieldId::host)->value, "2");
  EXPECT_EQ(find_field(fields, "A")->value, "1");
  EXPECT_EQ(find_field(fields, "b"), nullptr);
  EXPECT_EQ(find_field(fields, FieldId::te), nullptr);
}

// ---- octets.h

TEST(FieldText, HoldsNoControlOctetButTab) {
  for (int c = 0; c < 256; ++c) {
    const bool want = c == '\t' || (c >= 0x20 && c != 0x7f);
    for (const std::size_t at : {std::size_t{0}, std::size_t{31}, std::size_t{63}}) {
      std::string text(64, 'x');
      text[at] = static_cast<char>(c);
      EXPECT_EQ(is_field_text(text), want) << c;
    }
    EXPECT_EQ(is(octets::field_text, static_cast<char>(c)), want) << c;
  }
}

TEST(TargetText, HoldsVisibleOctetsAndThoseBeyondAscii) {
  for (int c = 0; c < 256; ++c) {
    const bool want = c > 0x20 && c != 0x7f && c != '#' && c != '\\';
    for (const std::size_t at : {std::size_t{0}, std::size_t{31}, std::size_t{63}}) {
      std::string text(64, 'x');
      text[at] = static_cast<char>(c);
      EXPECT_EQ(is_target_text(text), want) << c;
    }
  }
}

// ---- body_reader.h

TEST(ParseLength, TakesDigitsBelow63Bits) {
  EXPECT_EQ(parse_length("0"), 0U);
  EXPECT_EQ(parse_length("00012"), 12U);
  EXPECT_EQ(parse_length("9223372036854775807"), 9223372036854775807U);
  for (const std::string_view text :
       {"", "9223372036854775808", "99999999999999999999", "+1", "-1", "1 ", "0x1", "1.0", "1e3"}) {
    EXPECT_FALSE(parse_length(text)) << text;
  }
}

// ---- request.h

TEST(Methods, AreCaseSensitiveAndKnowIdempotence) {
  EXPECT_EQ(method_of("GET"), Method::get);
  EXPECT_EQ(method_of("get"), Method::other);
  EXPECT_EQ(method_of("DELETE"), Method::delete_resource);
  for (const Method method :
       {Method::get, Method::head, Method::put, Method::delete_resource, Method::options, Method::trace}) {
    EXPECT_TRUE(is_idempotent(method));
  }
  for (const Method method : {Method::post, Method::patch, Method::connect, Method::other})
    EXPECT_FALSE(is_idempotent(method));
}

TEST(Authorities, HaveHostAndPort) {
  const auto text = [](const tl::expected<Authority, HttpError>& a) {
    return a ? std::string(a->host) + " " + std::to_string(a->port) : "none";
  };
  EXPECT_EQ(text(parse_authority("a.test")), "a.test 0");
  EXPECT_EQ(text(parse_authority("a.test:")), "a.test 0");
  EXPECT_EQ(text(parse_authority("a_b.test:08080")), "a_b.test 8080");
  EXPECT_EQ(text(parse_authority("[::1]:81")), "[::1] 81");
  EXPECT_EQ(text(parse_authority("%62.test")), "%62.test 0");
  for (const std::string_view bad : {"", ":80", "[]", "[::1", "::1", "[a.test]", "[::1]x", "a:b", "a:1:2", "u@a",
                                     "a:65536", "a/b", "a b", "[::1%25eth0]", "a?b"}) {
    EXPECT_EQ(text(parse_authority(bad)), "none") << bad;
  }
  EXPECT_EQ(text(parse_connect_authority("a.test:443")), "a.test 443");
  EXPECT_EQ(text(parse_connect_authority("a.test")), "none");
}

// ---- body_reader.h

TEST(HeadBuffer, CountsLinesAndStopsAtTheEmptyOne) {
  HeadBuffer buffer;
  buffer.begin({.limit = 100});
  std::size_t consumed = 0;
  EXPECT_EQ(buffer.feed(std::string_view("a\r\nb: c\r\n\r\nrest"), consumed), HeadState::complete);
  EXPECT_EQ(consumed, 11U);
  EXPECT_EQ(buffer.text(), "a\r\nb: c\r\n\r\n");
  EXPECT_EQ(buffer.lines(), 2U);
  EXPECT_FALSE(buffer.needs_repair());
}

TEST(HeadBuffer, HasStatesForEachFault) {
  struct Row {
    std::string_view text;
    HeadBuffer::Rules rules;
    HeadState want;
  };
  const Row rows[] = {
      {"abcdef", {.limit = 5}, HeadState::first_line_too_large},
      {"a\r\nbcdef", {.limit = 5}, HeadState::too_large},
      {"abcdef", {.limit = 5, .has_start_line = false}, HeadState::too_large},
      {"a\n", {.limit = 99}, HeadState::bare_lf},
      {"a\nb: c\n\n", {.limit = 99, .take_bare_lf = true}, HeadState::complete},
      {"a\rb\r\n", {.limit = 99}, HeadState::bare_cr},
      {"a\r\r\n", {.limit = 99}, HeadState::bare_cr},
      {"a\r\nb: c\r\n d\r\n\r\n", {.limit = 99}, HeadState::folded},
      {"a\r\nb: c\r\n d\r\n\r\n", {.limit = 99, .take_folds = true}, HeadState::complete},
      {"a\r\n b\r\n\r\n", {.limit = 99, .take_folds = true}, HeadState::folded},
      {"\r\n", {.limit = 99}, HeadState::empty_start},
      {"\r\na\r\n\r\n", {.limit = 99, .empty_lines = 1}, HeadState::complete},
      {"\r\n", {.limit = 99, .has_start_line = false}, HeadState::complete},
      {"a", {.limit = 99}, HeadState::need_more},
  };
  for (const Row& row : rows) {
    HeadBuffer buffer;
    buffer.begin(row.rules);
    std::size_t consumed = 0;
    EXPECT_EQ(buffer.feed(row.text, consumed), row.want) << row.text;
  }
}

// ---- escape.h

template <typename Append>
std::string escaped(Append append, std::string_view text) {
  std::string out;
  append(out, text);
  return out;
}

TEST(Escape, EachContextHasItsOwn) {
  const std::string_view nasty = "a&<>\"'`\\%/ \n\x7f\xc3\xa9";
  EXPECT_EQ(escaped(append_html, nasty), "a&amp;&lt;&gt;&quot;&#39;&#96;\\%/ \xEF\xBF\xBD\xEF\xBF\xBD\xc3\xa9");
  EXPECT_EQ(escaped(append_percent_encoded, nasty), "a%26%3C%3E%22%27%60%5C%25%2F%20%0A%7F%C3%A9");
  EXPECT_EQ(escaped(append_url, "http://x/?a=%20&b=<\" \n"), "http://x/?a=%20&b=%3C%22%20%0A");
  EXPECT_EQ(escaped(append_json, nasty), "a&<>\\\"'`\\\\%/ \\u000A\\u007F\\u00E9");
  EXPECT_EQ(escaped(append_json, "\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"),
            "\\u20AC\\uD83D\\uDE00\\uDBFF\\uDFFF");
  EXPECT_EQ(escaped(append_json, "\xe9t\xe9 \xc0\xaf \xed\xa0\x80 \xf0\x9f\x98"),
            "\\u00E9t\\u00E9 \\u00C0\\u00AF \\u00ED\\u00A0\\u0080 \\u00F0\\u009F\\u0098")
      << "no UTF-8: octet by octet";
  EXPECT_EQ(escaped(append_sf_string, nasty), "\"a&<>\\\"'`\\\\%/ ????\"");
  EXPECT_EQ(escaped(append_log_quoted, nasty), "a&<>\\x22'`\\x5C%/ \\x0A\\x7F\\xC3\\xA9");
  EXPECT_EQ(escaped(append_log_bare, nasty), "a&<>%22'`%5C%/%20%0A%7F%C3%A9");
  EXPECT_EQ(escaped(append_log_bare, ""), "-");
}

TEST(SafeLink, IsAUrlThatNeedsNoEscaping) {
  EXPECT_EQ(safe_link("https://a/?b#c"), "https://a/?b#c");
  EXPECT_EQ(safe_link("HTTP://a"), "HTTP://a");
  EXPECT_EQ(safe_link("mailto:a@b"), "mailto:a@b");
  for (const std::string_view bad : {"", "https://", "javascript:x", "data:x", "//a", "https://a b", "https://a\"",
                                     "https://a>", "https://a\r\nX: y", "https://\xc3\xa9", " https://a"}) {
    EXPECT_EQ(safe_link(bad), "") << bad;
  }
}

// ---- serialise.h

TEST(Dates, AreWrittenInEachForm) {
  const TimePoint time = TimePoint(std::chrono::milliseconds(784'111'777'042));
  EXPECT_EQ(http_date(time), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(TimePoint{}), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date(TimePoint(std::chrono::seconds(1'709'164'800))), "Thu, 29 Feb 2024 00:00:00 GMT");
  std::string iso, common;
  append_iso8601(iso, time);
  append_common_log(common, time);
  EXPECT_EQ(iso, "1994-11-06T08:49:37.042Z");
  EXPECT_EQ(common, "06/Nov/1994:08:49:37 +0000");
}

// ---- http_error.h

TEST(ErrorKinds, HaveDistinctNamesAndFittingStatuses) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kErrorKinds; ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    EXPECT_TRUE(names.insert(to_string(kind)).second);
    EXPECT_GE(facts(kind).status, 400);
    EXPECT_LT(facts(kind).status, 600);
    EXPECT_FALSE(facts(kind).proxy_error.empty());
  }
  EXPECT_EQ(reason_phrase(999), "");
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
