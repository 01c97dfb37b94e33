// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/http1_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/proxy/http/transcript.h"

namespace bloomwall::proxy::http_test {
namespace {

using namespace std::string_literals;

const HeadLimits kLimits;

// ---- messages that are taken: what is reported, and what is left for the next one

struct Good {
  std::string_view name;
  std::string input;
  std::string events;
  std::string body;
  std::string rest;
};
void PrintTo(const Good& c, std::ostream* out) { *out << c.name; }

class TakenRequest : public ::testing::TestWithParam<Good> {};

TEST_P(TakenRequest, GivesTheSameHoweverItIsCut) {
  const Good& c = GetParam();
  const Transcript want{c.events, c.body, c.rest};
  RequestReader whole(kLimits);
  const Transcript got = run(whole, {c.input});
  EXPECT_EQ(got.events, want.events);
  EXPECT_EQ(got.body, want.body);
  EXPECT_EQ(got.rest, want.rest);
  for (const auto& pieces : all_cuts(c.input)) {
    RequestReader reader(kLimits);
    ASSERT_EQ(run(reader, pieces), want) << "first piece of " << pieces.front().size() << " octets";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, TakenRequest,
    ::testing::Values(
        Good{"AbsoluteForm", "GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\n\r\n",
             "head GET http://a.test/x?y 1.1 none keep\n[Host]=[a.test]\nend\n", "", ""},
        Good{"BackslashesInTheQuery", "GET http://a.test/x?q=\\site:b\\?\\ HTTP/1.1\r\nHost: a.test\r\n\r\n",
             "head GET http://a.test/x?q=\\site:b\\?\\ 1.1 none keep\n[Host]=[a.test]\nend\n", "", ""},
        Good{"EmptyLinesBeforeAreSkipped", "\r\n\r\nGET http://a/ HTTP/1.0\r\n\r\n",
             "head GET http://a/ 1.0 none close\nend\n", "", ""},
        Good{"WhatFollowsIsTheNextMessage", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\nGET http://b/",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\nend\n", "", "GET http://b/"},
        Good{"CountedBody", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET",
             "head POST http://a/ 1.1 length 5 keep\n[Host]=[a]\n[Content-Length]=[5]\nend\n", "hello", "GET"},
        Good{"ZeroLength", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nx",
             "head POST http://a/ 1.1 none keep\n[Host]=[a]\n[Content-Length]=[0]\nend\n", "", "x"},
        Good{"ChunkedBodyWithExtensionsAndTrailers",
             "PUT http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
             "5;a=b;c=\"d \\\" e\"\r\nhello\r\n0001 ; x = y\r\n!\r\n000;last\r\nX-T: 1\r\nContent-Length: "
             "99\r\n\r\nrest",
             "head PUT http://a/ 1.1 chunked keep\n[Host]=[a]\n[Transfer-Encoding]=[Chunked]\nend\n"
             "[X-T]=[1]\n[Content-Length]=[99]\n",
             "hello!", "rest"},
        Good{"UnknownMethodsPass", "VERSION-CONTROL http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
             "head VERSION-CONTROL http://a/ 1.1 none keep\n[Host]=[a]\nend\n", "", ""},
        Good{"ConnectLeavesTheTunnelAlone", "CONNECT a.test:443 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01",
             "head CONNECT a.test:443 1.1 none keep\n[Host]=[x]\nend\n", "", "\x16\x03\x01"},
        Good{"ConnectOfHttp10", "CONNECT [::1]:443 HTTP/1.0\r\n\r\n", "head CONNECT [::1]:443 1.0 none close\nend\n",
             "", ""},
        Good{"ValuesAreTrimmed", "GET / HTTP/1.1\r\nHost: \t a \t\r\nX:\r\nY: \t\r\n\r\n",
             "head GET / 1.1 none keep\n[Host]=[a]\n[X]=[]\n[Y]=[]\nend\n", "", ""},
        Good{"ControlOctetsOfTextsAreBlanks",
             "GET / HTTP/1.1\r\nHost: a\r\nCookie: a\x01=\tb\x1b\r\nUser-Agent: \x7f\r\nX:\x0b\x0c y:\x1f\r\n\r\n",
             "head GET / 1.1 none keep\n[Host]=[a]\n[Cookie]=[a =\tb]\n[User-Agent]=[]\n[X]=[y:]\nend\n", "", ""},
        Good{"EmptyChunkExtensions",
             "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;\r\nok\r\n0 ; \r\n\r\n",
             "head PUT / 1.1 chunked keep\n[Host]=[a]\n[Transfer-Encoding]=[chunked]\nend\n", "ok", ""},
        Good{"ConnectionOptionsNominate",
             "GET / HTTP/1.1\r\nHost: a\r\nConnection: , x-one,,\"y,z\" ,X-Two\r\nX-One: 1\r\nx-two: 2\r\nX-End: "
             "3\r\n\r\n",
             "head GET / 1.1 none keep\n[Host]=[a]\n[Connection]=[, x-one,,\"y,z\" "
             ",X-Two]*\n[X-One]=[1]*\n[x-two]=[2]*\n"
             "[X-End]=[3]\nend\n",
             "", ""},
        Good{"CloseWinsOverKeepAlive",
             "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: CLOSE\r\n\r\n",
             "head GET / 1.1 none close\n[Host]=[a]\n[Connection]=[keep-alive]*\n[Connection]=[CLOSE]*\nend\n", "", ""},
        Good{"Http10StaysOpenWhenAsked", "GET http://a/ HTTP/1.0\r\nProxy-Connection: Keep-Alive\r\n\r\n",
             "head GET http://a/ 1.0 none keep\n[Proxy-Connection]=[Keep-Alive]\nend\n", "", ""},
        Good{"ExpectationOfHttp11",
             "PUT http://a/ HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nz",
             "head PUT http://a/ 1.1 length 1 keep "
             "expect\n[Host]=[a]\n[Expect]=[100-Continue]\n[Content-Length]=[1]\nend\n",
             "z", ""},
        Good{"ExpectationOfHttp10IsIgnored",
             "PUT http://a/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nz",
             "head PUT http://a/ 1.0 length 1 close\n[Expect]=[100-continue]\n[Content-Length]=[1]\nend\n", "z", ""},
        Good{"UpgradeToWebSocket",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
             "k\r\n\r\n",
             "head GET http://a/ 1.1 none keep "
             "upgrade\n[Host]=[a]\n[Upgrade]=[WebSocket]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]=[k]\nend\n",
             "", ""},
        Good{"UpgradeNeedsItsConnectionOption",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\n[Upgrade]=[websocket]\n[Sec-WebSocket-Key]=[k]\nend\n", "",
             ""},
        Good{"UpgradeNeedsItsKey",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\n[Upgrade]=[websocket]*\n[Connection]=[Upgrade]*\nend\n", "",
             ""},
        Good{"UpgradeNeedsGet",
             "DELETE http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
             "k\r\n\r\n",
             "head DELETE http://a/ 1.1 none "
             "keep\n[Host]=[a]\n[Upgrade]=[websocket]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]=[k]\nend\n",
             "", ""},
        Good{"UpgradeToH2cIsNone",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n",
             "head GET http://a/ 1.1 none "
             "keep\n[Host]=[a]\n[Upgrade]=[h2c]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]=[k]\nend\n",
             "", ""},
        Good{"UpgradeToSeveralIsNone",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket, H2C\r\nConnection: "
             "Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\n[Upgrade]=[websocket, "
             "H2C]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]=[k]\nend\n",
             "", ""},
        Good{"UpgradeInSeveralLinesIsNone",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nUpgrade: h2c\r\nConnection: "
             "Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n",
             "head GET http://a/ 1.1 none "
             "keep\n[Host]=[a]\n[Upgrade]=[websocket]*\n[Upgrade]=[h2c]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]="
             "[k]\nend\n",
             "", ""},
        Good{"UpgradeBehindAnOpenQuoteIsNone",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: \", h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
             "k\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\n[Upgrade]=[\", "
             "h2c]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]=[k]\nend\n",
             "", ""},
        Good{"UpgradeToAVersionIsNone",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket/13\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
             "k\r\n\r\n",
             "head GET http://a/ 1.1 none "
             "keep\n[Host]=[a]\n[Upgrade]=[websocket/13]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]=[k]\nend\n",
             "", ""},
        Good{"UpgradeToAnyWordIsNone",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: TLS/1.0\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
             "k\r\n\r\n",
             "head GET http://a/ 1.1 none "
             "keep\n[Host]=[a]\n[Upgrade]=[TLS/1.0]*\n[Connection]=[Upgrade]*\n[Sec-WebSocket-Key]=[k]\nend\n",
             "", ""},
        Good{"UpgradeWithAKeyThatIsNominatedAwayIsNone",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade, "
             "Sec-WebSocket-Key\r\nSec-WebSocket-Key: k\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\n[Upgrade]=[websocket]*\n[Connection]=[Upgrade, "
             "Sec-WebSocket-Key]*\n[Sec-WebSocket-Key]=[k]*\nend\n",
             "", ""},
        Good{"LaterMinorVersionsAreSpokenToAs11", "GET http://a/ HTTP/1.7\r\nHost: a\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\nend\n", "", ""},
        Good{"OctetsAboveAsciiPassInValues", "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: caf\xe9 \xc3\xa9\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a]\n[X]=[caf\xe9 \xc3\xa9]\nend\n", "", ""},
        Good{"OctetsAboveAsciiPassInPathAndQuery", "GET http://a/\xc3\xa9?\xff HTTP/1.1\r\nHost: a\r\n\r\n",
             "head GET http://a/\xc3\xa9?\xff 1.1 none keep\n[Host]=[a]\nend\n", "", ""},
        Good{"EmptyHost", "GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[]\nend\n", "", ""},
        Good{"HostWithEmptyPort", "GET http://a/ HTTP/1.1\r\nHost: a:\r\n\r\n",
             "head GET http://a/ 1.1 none keep\n[Host]=[a:]\nend\n", "", ""},
        Good{"OptionsOfTheServer", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
             "head OPTIONS * 1.1 none keep\n[Host]=[a]\nend\n", "", ""}),
    [](const auto& param) { return std::string(param.param.name); });

// ---- messages that are refused, next to nothing of them consumed afterwards

struct Bad {
  std::string_view name;
  std::string input;
  std::string_view error;  // kind and status
};
void PrintTo(const Bad& c, std::ostream* out) { *out << c.name; }

class RefusedRequest : public ::testing::TestWithParam<Bad> {};

TEST_P(RefusedRequest, GivesTheSameErrorHoweverItIsCut) {
  const Bad& c = GetParam();
  RequestReader whole(kLimits);
  const Transcript got = run(whole, {c.input});
  const std::string last = got.events.substr(got.events.rfind("error "));
  EXPECT_EQ(last, "error " + std::string(c.error) + "\n") << got.events;
  EXPECT_FALSE(whole.feed({})) << "an error must be final";
  for (const auto& pieces : all_cuts(c.input)) {
    RequestReader reader(kLimits);
    const Transcript cut = run(reader, pieces);
    ASSERT_EQ(cut.events, got.events) << "first piece of " << pieces.front().size() << " octets";
    ASSERT_EQ(cut.body, got.body);
  }
}

std::string with(std::string_view field) {
  return "POST http://a/ HTTP/1.1\r\nHost: a\r\n" + std::string(field) + "\r\n\r\n";
}
std::string line(std::string_view request_line) { return std::string(request_line) + "\r\nHost: a\r\n\r\n"; }
std::string chunks(std::string_view body) { return with("Transfer-Encoding: chunked") + std::string(body); }

constexpr std::string_view kBad = "bad_request 400";
constexpr std::string_view kTarget = "bad_target 400";

INSTANTIATE_TEST_SUITE_P(
    Framing, RefusedRequest,
    ::testing::Values(
        Bad{"LengthOfLetters", with("Content-Length: abc"), kBad},
        Bad{"LengthWithPlus", with("Content-Length: +5"), kBad},
        Bad{"NegativeLength", with("Content-Length: -1"), kBad}, Bad{"EmptyLength", with("Content-Length:"), kBad},
        Bad{"TwoLengths", with("Content-Length: 5\r\nContent-Length: 0"), kBad},
        Bad{"SameLengthTwice", with("Content-Length: 5\r\nContent-Length: 5"), kBad},
        Bad{"LengthList", with("Content-Length: 5, 5"), kBad}, Bad{"HexLength", with("Content-Length: 0x5"), kBad},
        Bad{"LengthWithInnerSpace", with("Content-Length: 5 6"), kBad},
        Bad{"LengthOver64Bits", with("Content-Length: 18446744073709551621"), kBad},
        Bad{"LengthOver63Bits", with("Content-Length: 9223372036854775808"), kBad},
        Bad{"LengthAndChunked", with("Content-Length: 5\r\nTransfer-Encoding: chunked"), kBad},
        Bad{"ChunkedAndLength", with("Transfer-Encoding: chunked\r\nContent-Length: 5"), kBad},
        Bad{"OtherCodingAndLength", with("Transfer-Encoding: xchunked\r\nContent-Length: 5"), kBad},
        Bad{"UnknownCoding", with("Transfer-Encoding: gzip"), "not_implemented 501"},
        Bad{"UnknownCodingThenChunked", with("Transfer-Encoding: gzip, chunked"), "not_implemented 501"},
        Bad{"QuotedChunked", with("Transfer-Encoding: \"chunked\""), "not_implemented 501"},
        Bad{"ChunkedWithParameter", with("Transfer-Encoding: chunked;q=1"), "not_implemented 501"},
        Bad{"ChunkedNotLast", with("Transfer-Encoding: chunked, gzip"), kBad},
        Bad{"ChunkedTwice", with("Transfer-Encoding: chunked, chunked"), kBad},
        Bad{"ChunkedOnTwoLines", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), kBad},
        Bad{"EmptyCoding", with("Transfer-Encoding:"), kBad},
        Bad{"EmptyCodingAndChunked", with("Transfer-Encoding:\r\nTransfer-Encoding: chunked"), kBad},
        Bad{"VerticalTabBeforeChunked", with("Transfer-Encoding: \x0b"s + "chunked"), kBad},
        Bad{"NulAfterChunked", with("Transfer-Encoding: chunked"s + '\0'), kBad},
        Bad{"CodingInHttp10", "POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", kBad},
        Bad{"ConnectWithLength", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n", kBad},
        Bad{"ConnectWithChunks", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", kBad}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Chunks, RefusedRequest,
    ::testing::Values(Bad{"HexPrefix", chunks("0x5\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"Sign", chunks("+5\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"LeadingSpace", chunks(" 5\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"TrailingSpace", chunks("5 \r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"Underscore", chunks("0_2e\r\n\r\n"), kBad}, Bad{"NoSize", chunks("\r\n\r\n"), kBad},
                      Bad{"OnlyAnExtension", chunks(";a\r\n\r\n"), kBad},
                      Bad{"Over64Bits", chunks("10000000000000005\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"Over63Bits", chunks("8000000000000000\r\nhello"), kBad},
                      Bad{"NoLineEndAfterData", chunks("5\r\nhelloXX0\r\n\r\n"), kBad},
                      Bad{"BareLfAfterSize", chunks("5\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"BareLfAfterData", chunks("5\r\nhello\n0\r\n\r\n"), kBad},
                      Bad{"BareLfInExtension", chunks("5;a\nbb\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"BareLfInQuotedExtension", chunks("5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"UnclosedQuoteInExtension", chunks("5;a=\"x\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"BareCrBeforeExtension", chunks("2\r\r;a\r\n02\r\n45\r\n0\r\n\r\n"), kBad},
                      Bad{"ExtensionOfOtherOctets", chunks("5;a@b\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"EmptyExtensionBeforeAnother", chunks("5;;a\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"BareLfBehindSemicolon", chunks("5;\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"ExtensionWithoutName", chunks("5;=b\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"ControlInExtension", chunks("5;a=\"\x01\"\r\nhello\r\n0\r\n\r\n"), kBad},
                      Bad{"BareLfInTrailers", chunks("0\r\nX: y\n\r\n"), kBad},
                      Bad{"SpaceBeforeColonInTrailers", chunks("0\r\nX : y\r\n\r\n"), kBad},
                      Bad{"FoldInTrailers", chunks("0\r\nX: y\r\n z\r\n\r\n"), kBad},
                      Bad{"TrailerWithoutColon", chunks("0\r\nGET / HTTP/1.1\r\n\r\n"), kBad}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Syntax, RefusedRequest,
    ::testing::Values(
        Bad{"BareCrInValue", with("X: a\rb"), kBad}, Bad{"BareCrBeforeLineEnd", with("X: a\r"), kBad},
        Bad{"NulInValue", with("X: a\0b"s), kBad}, Bad{"NulBesideAnother", with("X: \x01\0"s), kBad},
        Bad{"ControlInName", with("X\x01: a"), kBad}, Bad{"ControlInConnection", with("Connection: a\x01"), kBad},
        Bad{"ControlInLength", with("Content-Length: 1\x0b"), kBad},
        Bad{"ControlInCoding",
            with("Transfer-Encoding: \x0b"
                 "chunked"),
            kBad},
        Bad{"ControlInExpect", with("Expect: \x7f"), kBad}, Bad{"ControlInVia", with("Via: 1.1 a\x01"), kBad},
        Bad{"ControlInHost", "GET http://a/ HTTP/1.1\r\nHost: a\x7f\r\n\r\n", kBad},
        Bad{"SpaceBeforeColon", with("X : b"), kBad}, Bad{"TabBeforeColon", with("X\t: b"), kBad},
        Bad{"NoColon", with("JustAName"), kBad}, Bad{"EmptyName", with(": b"), kBad},
        Bad{"Fold", with("X: a\r\n b"), kBad},
        Bad{"FoldedFraming", with("X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 5"), kBad},
        Bad{"SpaceBeforeTheFirstField", "GET http://a/ HTTP/1.1\r\n X: b\r\nHost: a\r\n\r\n", kBad},
        Bad{"ParenthesesInName", with("X(A) B: c"), kBad}, Bad{"NameAboveAscii", with("X\xc3\xa9: c"), kBad},
        Bad{"BareLfLineEnds", "GET http://a/ HTTP/1.1\nHost: a\n\n", kBad},
        Bad{"BareLfAfterOneField", "GET http://a/ HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", kBad},
        Bad{"CrLfCrIsNoEnd", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\rZ: y\r\n\r\n", kBad},
        Bad{"NoHost", "GET http://a/ HTTP/1.1\r\n\r\n", kBad}, Bad{"TwoHosts", with("Host: b"), kBad},
        Bad{"HostWithUserinfo", "GET http://a/ HTTP/1.1\r\nHost: u@a\r\n\r\n", kBad},
        Bad{"HostWithPath", "GET http://a/ HTTP/1.1\r\nHost: a/b\r\n\r\n", kBad},
        Bad{"HostWithSpace", "GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", kBad},
        Bad{"HostList", "GET http://a/ HTTP/1.1\r\nHost: a, b\r\n\r\n", kBad},
        Bad{"HostWithBadPort", "GET http://a/ HTTP/1.1\r\nHost: a:b\r\n\r\n", kBad},
        Bad{"HostWithHugePort", "GET http://a/ HTTP/1.1\r\nHost: a:65536\r\n\r\n", kBad},
        Bad{"HostWithOpenBracket", "GET http://a/ HTTP/1.1\r\nHost: [::1\r\n\r\n", kBad},
        Bad{"MethodWithSeparators", line("G(E)T http://a/ HTTP/1.1"), kBad},
        Bad{"NoVersion", line("GET http://a/"), kBad}, Bad{"JunkAfterVersion", line("GET http://a/ HTTP/1.1 x"), kBad},
        Bad{"TwoSpaces", line("GET  http://a/ HTTP/1.1"), kTarget},
        Bad{"LowerCaseVersion", line("GET / http/1.1"), kBad}, Bad{"ThreeDigitVersion", line("GET / HTTP/1.10"), kBad},
        Bad{"MajorVersion2", line("GET / HTTP/2.0"), "version_unsupported 505"},
        Bad{"MajorVersion0", line("GET / HTTP/0.9"), "version_unsupported 505"},
        Bad{"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2_preface 505"},
        Bad{"TlsHello", "\x16\x03\x01\x02"s, kBad},
        Bad{"ProxyProtocol", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nX: y\r\n\r\n", kBad},
        Bad{"LeadingSpace", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", kBad},
        Bad{"LeadingCr", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", kBad},
        Bad{"LeadingLf", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", kBad},
        Bad{"EndlessEmptyLines", "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", kBad},
        Bad{"MalformedMaxForwards", "TRACE http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: x\r\n\r\n", kBad},
        Bad{"TwoMaxForwards", "TRACE http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\nMax-Forwards: 1\r\n\r\n",
            kBad}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(Targets, RefusedRequest,
                         ::testing::Values(Bad{"Space", line("GET http://a/b c HTTP/1.1"), kTarget},
                                           Bad{"Tab", line("GET http://a/b\tc HTTP/1.1"), kTarget},
                                           Bad{"Control", line("GET http://a/b\x01 HTTP/1.1"), kTarget},
                                           Bad{"Nul", line("GET http://a/b\0 HTTP/1.1"s), kTarget},
                                           Bad{"Backslash", line("GET http://a\\b/ HTTP/1.1"), kTarget},
                                           Bad{"BackslashInPath", line("GET http://a/b\\c?d HTTP/1.1"), kTarget},
                                           Bad{"BackslashBehindHost", line("GET http://a\\?d HTTP/1.1"), kTarget},
                                           Bad{"BackslashInOrigin", line("GET /\\b?d HTTP/1.1"), kTarget},
                                           Bad{"Fragment", line("GET http://a/b#c HTTP/1.1"), kTarget},
                                           Bad{"HostAboveAscii", line("GET http://\xc3\xa9/ HTTP/1.1"), kTarget},
                                           Bad{"SchemeAboveAscii", line("GET \xc3\xa9://a/ HTTP/1.1"), kTarget},
                                           Bad{"ConnectAboveAscii", line("CONNECT \xc3\xa9:443 HTTP/1.1"), kTarget},
                                           Bad{"Delete", line("GET http://a/\x7f HTTP/1.1"), kTarget},
                                           Bad{"NoAuthority", line("GET http:///x HTTP/1.1"), kTarget},
                                           Bad{"EmptyHostWithPort", line("GET http://:80/ HTTP/1.1"), kTarget},
                                           Bad{"NoSlashes", line("GET http:a/ HTTP/1.1"), kTarget},
                                           Bad{"Urn", line("GET urn:a:b HTTP/1.1"), kTarget},
                                           Bad{"Relative", line("GET a/b HTTP/1.1"), kTarget},
                                           Bad{"AsteriskForGet", line("GET * HTTP/1.1"), kTarget},
                                           Bad{"HugePort", line("GET http://a:70000/ HTTP/1.1"), kTarget},
                                           Bad{"PortZero", line("GET http://a:0/ HTTP/1.1"), kTarget},
                                           Bad{"NameInBrackets", line("GET http://[blocked.test]/ HTTP/1.1"), kTarget},
                                           Bad{"ConnectWithoutPort", line("CONNECT a HTTP/1.1"), kTarget},
                                           Bad{"ConnectWithEmptyPort", line("CONNECT a: HTTP/1.1"), kTarget},
                                           Bad{"ConnectToPortZero", line("CONNECT a:0 HTTP/1.1"), kTarget},
                                           Bad{"ConnectToHugePort", line("CONNECT a:65979 HTTP/1.1"), kTarget},
                                           Bad{"ConnectToNamedPort", line("CONNECT a:https HTTP/1.1"), kTarget},
                                           Bad{"ConnectToAbsoluteForm", line("CONNECT http://a:80/ HTTP/1.1"), kTarget},
                                           Bad{"ConnectToPath", line("CONNECT / HTTP/1.1"), kTarget},
                                           Bad{"ConnectWithPath", line("CONNECT a:443/x HTTP/1.1"), kTarget},
                                           Bad{"ConnectWithUserinfo", line("CONNECT u@a:443 HTTP/1.1"), kTarget},
                                           Bad{"ConnectWithTwoPorts", line("CONNECT a:1:443 HTTP/1.1"), kTarget},
                                           Bad{"ConnectToBareIpv6", line("CONNECT ::1:443 HTTP/1.1"), kTarget}),
                         [](const auto& param) { return std::string(param.param.name); });

// ---- limits

std::string error_of(std::string_view input, const HeadLimits& limits) {
  RequestReader reader(limits);
  const Transcript t = run(reader, {input});
  const std::size_t at = t.events.rfind("error ");
  return at == std::string::npos ? "none" : t.events.substr(at);
}

TEST(RequestLimits, HeadOfExactlyTheLimitPassesAndOneMoreOctetDoesNot) {
  const std::string input = with("X: " + std::string(100, 'x'));
  HeadLimits limits;
  limits.head_bytes = input.size();
  EXPECT_EQ(error_of(input, limits), "none");
  limits.head_bytes = input.size() - 1;
  EXPECT_EQ(error_of(input, limits), "error head_too_large 431\n");
}

TEST(RequestLimits, RequestLineAloneOverTheLimitIs414) {
  HeadLimits limits;
  limits.head_bytes = 1024;
  EXPECT_EQ(error_of("GET http://a/" + std::string(1100, 'q'), limits), "error uri_too_long 414\n");
}

TEST(RequestLimits, WhatIsNoRequestIsToldBeforeItsSizeHoweverItIsCut) {
  HeadLimits limits;
  limits.head_bytes = 64;
  for (const std::string& input : {"\x16" + std::string(100, 'x'), std::string(100, ' '),
                                   "GET /" + std::string(100, 'x'), "GET / HTTP/1.1\r\nX: " + std::string(100, 'x')}) {
    const std::string whole = error_of(input, limits);
    EXPECT_NE(whole, "none");
    for (const auto& pieces : all_cuts(input)) {
      RequestReader reader(limits);
      ASSERT_EQ(run(reader, pieces).events, whole) << input;
    }
  }
  EXPECT_EQ(error_of("\x16" + std::string(100, 'x'), limits), "error bad_request 400\n");
}

TEST(RequestLimits, FieldsAreCounted) {
  HeadLimits limits;
  limits.fields = 3;
  EXPECT_EQ(error_of(with("A: 1\r\nB: 2"), limits), "none");
  EXPECT_EQ(error_of(with("A: 1\r\nB: 2\r\nC: 3"), limits), "error head_too_large 431\n");
}

TEST(RequestLimits, ConnectionOptionsAreCounted) {
  std::string options = "Connection: a";
  for (int i = 1; i < 128; ++i) options += ",a";
  EXPECT_EQ(error_of(with(options), kLimits), "none");
  EXPECT_EQ(error_of(with(options + ",a"), kLimits), "error head_too_large 431\n");
}

TEST(RequestLimits, ChunkLinesExtensionsAndTrailersAreBounded) {
  HeadLimits limits;
  limits.chunk_line_bytes = 64;
  limits.extension_bytes = 100;
  limits.trailer_bytes = 64;
  limits.trailer_fields = 2;
  EXPECT_EQ(error_of(chunks("5;a=" + std::string(50, 'x') + "\r\nhello\r\n0\r\n\r\n"), limits), "none");
  EXPECT_EQ(error_of(chunks("5;a=" + std::string(70, 'x')), limits), "error bad_request 400\n");
  std::string many;
  for (int i = 0; i < 20; ++i) many += "1;abcdefgh\r\nx\r\n";
  EXPECT_EQ(error_of(chunks(many), limits), "error bad_request 400\n");
  EXPECT_EQ(error_of(chunks("0\r\nA: " + std::string(70, 'x')), limits), "error bad_request 400\n");
  EXPECT_EQ(error_of(chunks("0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n"), limits), "error bad_request 400\n");
  EXPECT_EQ(error_of(chunks("0\r\nA: 1\r\nB: 2\r\n\r\n"), limits), "none");
}

TEST(RequestLimits, ExtensionsMayGrowWithTheBody) {
  HeadLimits limits;
  limits.extension_bytes = 32;
  std::string body;
  for (int i = 0; i < 100; ++i) body += "10;sig=0123\r\n0123456789abcdef\r\n";
  EXPECT_EQ(error_of(chunks(body + "0\r\n\r\n"), limits), "none");
}

// ---- life of a connection

TEST(RequestReader, ReadsPipelinedMessagesOneByOne) {
  const std::string input =
      "GET http://a/1 HTTP/1.1\r\nHost: a\r\n\r\nPOST http://a/2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
      "\r\nGET http://a/3 HTTP/1.1\r\nHost: a\r\n\r\n";
  RequestReader reader(kLimits);
  std::string rest = input;
  std::vector<std::string> targets;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(reader.at_start());
    const Transcript t = run(reader, {rest});
    EXPECT_TRUE(reader.at_end()) << t.events;
    targets.emplace_back(reader.head().target.raw);
    rest = t.rest;
    reader.next();
  }
  EXPECT_EQ(targets, (std::vector<std::string>{"http://a/1", "http://a/2", "http://a/3"}));
  EXPECT_EQ(rest, "");
}

TEST(RequestReader, EmptyLinesBetweenMessagesAreStillTheStart) {
  RequestReader reader(kLimits);
  const std::string_view crlf = "\r\n\r";
  ASSERT_TRUE(reader.feed(crlf));
  EXPECT_TRUE(reader.at_start());
  ASSERT_TRUE(reader.feed(std::string_view("\nG")));
  EXPECT_FALSE(reader.at_start());
}

TEST(RequestReader, SaysHowMuchOfABodyIsStillToCome) {
  RequestReader reader(kLimits);
  const std::string input = with("Content-Length: 10");
  run(reader, {input, "abc"});
  EXPECT_EQ(reader.body_left(), 7U);
  EXPECT_FALSE(reader.at_end());
  const Transcript t = run(reader, {"1234567GET"});
  EXPECT_EQ(t.body, "1234567");
  EXPECT_EQ(t.rest, "GET");
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(reader.body_left(), 0U);
}

TEST(RequestReader, NothingOfOneMessageReachesTheNext) {
  RequestReader reader(kLimits);
  run(reader, {chunks("0\r\nX-T: 1\r\n\r\n")});
  EXPECT_EQ(reader.trailers().size(), 1U);
  reader.next();
  const Transcript t = run(reader, {std::string_view("GET http://b/ HTTP/1.0\r\n\r\n")});
  EXPECT_EQ(t.events, "head GET http://b/ 1.0 none close\nend\n");
  EXPECT_FALSE(reader.head().host);
}

TEST(RequestReader, FindsTheHostAndMaxForwards) {
  RequestReader reader(kLimits);
  run(reader,
      {std::string_view("OPTIONS http://a/ HTTP/1.1\r\nHost: [::1]:81\r\nMax-Forwards: 99999999999999999999\r\n\r\n")});
  ASSERT_TRUE(reader.head().host);
  EXPECT_EQ(reader.head().host->host, "[::1]");
  EXPECT_EQ(reader.head().host->port, 81);
  EXPECT_EQ(reader.head().max_forwards, 4294967295U);
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
