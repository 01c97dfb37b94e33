// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/request_line_peek.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

namespace bloomwall::proxy::testing {
namespace {

using namespace std::string_literals;
using Result = RequestLinePeek::Result;

struct Case {
  std::string_view name;
  std::string bytes;
  Result result;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class RequestLineRules : public ::testing::TestWithParam<Case> {};

TEST_P(RequestLineRules, HoldHoweverItIsCut) {
  const Case& c = GetParam();
  RequestLinePeek whole, octets;
  EXPECT_EQ(whole.feed(c.bytes), c.result);
  Result last = Result::relay;
  for (const char& octet : c.bytes) last = octets.feed({&octet, 1});
  EXPECT_EQ(last, c.result);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RequestLineRules,
    ::testing::Values(
        Case{"Get", "GET /x HTTP/1.1\r\n", Result::http}, Case{"PathAlone", "GET /", Result::http},
        Case{"AbsoluteUrl", "GET http://a.test/ HTTP/1.1\r\n", Result::http},
        Case{"EmptyLinesFirst", "\r\n\n\r\nPOST /x HTTP/1.1\r\n", Result::http},
        Case{"SeveralBlanks", "PUT   /x HTTP/1.1\r\n", Result::http},
        Case{"TabForBlank", "GET\t/x\tHTTP/1.1\r\n", Result::http},
        Case{"FormFeedForBlank", "GET\f/x HTTP/1.1\r\n", Result::http},
        Case{"LoneCarriageReturnForBlank", "GET\r/x HTTP/1.1\r\n", Result::http},
        Case{"Http09", "GET /x\r\n", Result::http}, Case{"Http09Url", "GET HTTP://a.test\n", Result::http},
        Case{"Http09RelativePath", "GET bad/evil.html\n", Result::http},
        Case{"Http09DotPath", "GET ./x\n", Result::http}, Case{"Http09Query", "GET ?/../x\n", Result::http},
        Case{"Http09TwoWords", "GET x y\n", Result::http}, Case{"Http09Nothing", "GET \n", Result::http},
        Case{"RedisInline", "GET key\r\n", Result::http},
        Case{"Http09OfAnotherMethod", "POST bad/evil.html\r\n", Result::http},
        Case{"NoVersionOfAnything", "COPY from to\n", Result::http},
        Case{"NearlyAVersion", "COPY from to/1x\n", Result::http},
        Case{"VersionOfNothing", "COPY from /1\n", Result::http},
        Case{"VersionInTheMiddle", "COPY a/1 to\n", Result::http}, Case{"Http09BehindABlank", " GET x\n", Result::late},
        Case{"Http09BehindATab", "\r\n\tGET /x", Result::late}, Case{"Http09InSmallLetters", "get /x\n", Result::late},
        Case{"Http09InMixedLetters", "Get\t/x\n", Result::late},
        Case{"WordsInSmallLetters", "get key\r\n", Result::other}, Case{"GetBehindABlank", "\v GE", Result::hold},
        Case{"Options", "OPTIONS * HTTP/1.1\r\n", Result::http},
        Case{"Connect", "CONNECT a.test:443 HTTP/1.1\r\n", Result::http},
        Case{"WebDav", "PROPFIND /x HTTP/1.1\r\n", Result::http},
        Case{"PrefaceOfHttp2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Result::http},
        Case{"LongTarget", "LOCK x" + std::string(20'000, 'x'), Result::http},
        Case{"OwnMethod", "foo /x HTTP/1.1\r\n", Result::late},
        Case{"MethodInSmallLetters", "get /x HTTP/1.1\r\n", Result::late},
        Case{"BlankBeforeTheMethod", " GET /x HTTP/1.1\r\n", Result::late},
        Case{"BeginningOfAMethod", "GE /x HTTP/1.1\r\n", Result::late},
        Case{"LongMethod", std::string(5000, 'm') + " /x HTTP/1.1\r\n", Result::late},
        Case{"VersionInSmallLetters", "foo /x http/1.1\r\n", Result::late}, Case{"HalfAMethod", "GE", Result::hold},
        Case{"MethodAlone", "LOCK ", Result::hold}, Case{"LineUndecided", "LOCK key", Result::hold},
        Case{"EmptyLines", "\r\n\r\n", Result::relay}, Case{"Word", "question", Result::relay},
        Case{"Ping", "PING", Result::relay}, Case{"LineOfWords", "EHLO mail.test\r\n", Result::other},
        Case{"Ssh", "SSH-2.0-x\r\n", Result::other}, Case{"Icap", "OPTIONS icap://a/ ICAP/1.0\r\n", Result::other},
        Case{"RedisBinary", "*2\r\n$3\r\n", Result::other},
        Case{"Rtsp", "OPTIONS rtsp://a/ RTSP/1.0\r\n", Result::other},
        Case{"StatusLine", "HTTP/1.1 200 OK\r\n", Result::other}, Case{"Octets", "\x05\x01\x00"s, Result::other},
        Case{"Nul", "\0"s, Result::other}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace bloomwall::proxy::testing
