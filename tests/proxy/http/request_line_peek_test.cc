// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/request_line_peek.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

namespace bloomwall::proxy::http_test {
namespace {

using namespace std::string_literals;
using PeekResult = RequestLinePeek::Result;

struct PeekCase {
  std::string_view name;
  std::string bytes;
  PeekResult result;
};
void PrintTo(const PeekCase& c, std::ostream* out) { *out << c.name; }

class RequestLineRules : public ::testing::TestWithParam<PeekCase> {};

TEST_P(RequestLineRules, HoldHoweverItIsCut) {
  const PeekCase& c = GetParam();
  RequestLinePeek whole, octets;
  EXPECT_EQ(whole.feed(c.bytes), c.result);
  PeekResult last = PeekResult::relay;
  for (const char& octet : c.bytes) last = octets.feed({&octet, 1});
  EXPECT_EQ(last, c.result);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RequestLineRules,
    ::testing::Values(
        PeekCase{"Get", "GET /x HTTP/1.1\r\n", PeekResult::http}, PeekCase{"PathAlone", "GET /", PeekResult::http},
        PeekCase{"AbsoluteUrl", "GET http://a.test/ HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"EmptyLinesFirst", "\r\n\n\r\nPOST /x HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"SeveralBlanks", "PUT   /x HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"TabForBlank", "GET\t/x\tHTTP/1.1\r\n", PeekResult::http},
        PeekCase{"FormFeedForBlank", "GET\f/x HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"LoneCarriageReturnForBlank", "GET\r/x HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"Http09", "GET /x\r\n", PeekResult::http},
        PeekCase{"Http09Url", "GET HTTP://a.test\n", PeekResult::http},
        PeekCase{"Http09RelativePath", "GET bad/evil.html\n", PeekResult::http},
        PeekCase{"Http09DotPath", "GET ./x\n", PeekResult::http},
        PeekCase{"Http09Query", "GET ?/../x\n", PeekResult::http},
        PeekCase{"Http09TwoWords", "GET x y\n", PeekResult::http},
        PeekCase{"Http09Nothing", "GET \n", PeekResult::http}, PeekCase{"RedisInline", "GET key\r\n", PeekResult::http},
        PeekCase{"Http09OfAnotherMethod", "POST bad/evil.html\r\n", PeekResult::http},
        PeekCase{"NoVersionOfAnything", "COPY from to\n", PeekResult::http},
        PeekCase{"NearlyAVersion", "COPY from to/1x\n", PeekResult::http},
        PeekCase{"VersionOfNothing", "COPY from /1\n", PeekResult::http},
        PeekCase{"VersionInTheMiddle", "COPY a/1 to\n", PeekResult::http},
        PeekCase{"Http09BehindABlank", " GET x\n", PeekResult::late},
        PeekCase{"Http09BehindATab", "\r\n\tGET /x", PeekResult::late},
        PeekCase{"Http09InSmallLetters", "get /x\n", PeekResult::late},
        PeekCase{"Http09InMixedLetters", "Get\t/x\n", PeekResult::late},
        PeekCase{"WordsInSmallLetters", "get key\r\n", PeekResult::other},
        PeekCase{"GetBehindABlank", "\v GE", PeekResult::hold},
        PeekCase{"Options", "OPTIONS * HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"Connect", "CONNECT a.test:443 HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"WebDav", "PROPFIND /x HTTP/1.1\r\n", PeekResult::http},
        PeekCase{"PrefaceOfHttp2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PeekResult::http},
        PeekCase{"LongTarget", "LOCK x" + std::string(20'000, 'x'), PeekResult::http},
        PeekCase{"OwnMethod", "foo /x HTTP/1.1\r\n", PeekResult::late},
        PeekCase{"MethodInSmallLetters", "get /x HTTP/1.1\r\n", PeekResult::late},
        PeekCase{"BlankBeforeTheMethod", " GET /x HTTP/1.1\r\n", PeekResult::late},
        PeekCase{"BeginningOfAMethod", "GE /x HTTP/1.1\r\n", PeekResult::late},
        PeekCase{"LongMethod", std::string(5000, 'm') + " /x HTTP/1.1\r\n", PeekResult::late},
        PeekCase{"VersionInSmallLetters", "foo /x http/1.1\r\n", PeekResult::late},
        PeekCase{"HalfAMethod", "GE", PeekResult::hold}, PeekCase{"MethodAlone", "LOCK ", PeekResult::hold},
        PeekCase{"LineUndecided", "LOCK key", PeekResult::hold}, PeekCase{"EmptyLines", "\r\n\r\n", PeekResult::relay},
        PeekCase{"Word", "question", PeekResult::relay}, PeekCase{"Ping", "PING", PeekResult::relay},
        PeekCase{"LineOfWords", "EHLO mail.test\r\n", PeekResult::other},
        PeekCase{"Ssh", "SSH-2.0-x\r\n", PeekResult::other},
        PeekCase{"Icap", "OPTIONS icap://a/ ICAP/1.0\r\n", PeekResult::other},
        PeekCase{"RedisBinary", "*2\r\n$3\r\n", PeekResult::other},
        PeekCase{"Rtsp", "OPTIONS rtsp://a/ RTSP/1.0\r\n", PeekResult::other},
        PeekCase{"StatusLine", "HTTP/1.1 200 OK\r\n", PeekResult::other},
        PeekCase{"Octets", "\x05\x01\x00"s, PeekResult::other}, PeekCase{"Nul", "\0"s, PeekResult::other}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace bloomwall::proxy::http_test
