// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/response_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/proxy/http/transcript.h"

namespace bloomwall::proxy::testing {
namespace {

using namespace std::string_literals;

const HeadLimits kLimits;
const std::string kOk = "HTTP/1.1 200 OK\r\n";

struct Case {
  std::string_view name;
  ResponseTo to;
  std::string input;  // after which the origin closes
  std::string events;
  std::string body = {};
  std::string rest = {};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ResponseRules : public ::testing::TestWithParam<Case> {};

TEST_P(ResponseRules, HoldHoweverItIsCut) {
  const Case& c = GetParam();
  const Transcript want{c.events, c.body, c.rest};
  ResponseReader whole(kLimits);
  whole.start(c.to);
  const Transcript got = run(whole, {c.input}, true);
  EXPECT_EQ(got.events, want.events);
  EXPECT_EQ(got.body, want.body);
  EXPECT_EQ(got.rest, want.rest);
  for (const auto& pieces : all_cuts(c.input)) {
    ResponseReader reader(kLimits);
    reader.start(c.to);
    Transcript cut = run(reader, pieces, true);
    if (cut.events.find("error ") != std::string::npos) cut.rest = want.rest;  // nobody asks what follows an error
    ASSERT_EQ(cut, want) << "first piece of " << pieces.front().size() << " octets";
  }
}

const ResponseTo kGet{};
const ResponseTo kHead{Method::head, false};
const ResponseTo kConnect{Method::connect, false};
const ResponseTo kUpgrade{Method::get, true};
const std::string kProtocol = "error upstream_protocol 502\n";

INSTANTIATE_TEST_SUITE_P(
    Taken, ResponseRules,
    ::testing::Values(
        Case{"CountedBody", kGet, kOk + "Content-Length: 2\r\n\r\nok",
             "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        Case{"EmptyBody", kGet, kOk + "Content-Length: 0\r\n\r\n",
             "head 200 [OK] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        Case{"Chunked", kGet,
             kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-T: 1\r\n\r\n",
             "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n[X-T]=[1]\n", "hello world"},
        Case{"PaddedChunkSizes", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n5   \r\nhello\r\n0  \r\n\r\n",
             "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "hello"},
        Case{"UntilClose", kGet, kOk + "\r\nall of it", "head 200 [OK] 1.1 until_close keep\nend\n", "all of it"},
        Case{"Http10", kGet, "HTTP/1.0 200 OK\r\n\r\nten", "head 200 [OK] 1.0 until_close close\nend\n", "ten"},
        Case{"Http10KeepAlive", kGet, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
             "head 200 [OK] 1.0 length 1 keep\n[Connection]=[keep-alive]*\n[Content-Length]=[1]\nend\n", "x"},
        Case{"NoReason", kGet, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
             "head 200 [] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        Case{"OddStatus", kGet, "HTTP/1.1 599 Str\xc3\xa4nge\r\nContent-Length: 0\r\n\r\n",
             "head 599 [Str\xc3\xa4nge] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        Case{"HeadHasNoBody", kHead, kOk + "Content-Length: 100\r\n\r\n",
             "head 200 [OK] 1.1 none keep\n[Content-Length]=[100]\nend\n"},
        Case{"HeadWithoutLength", kHead, kOk + "\r\n", "head 200 [OK] 1.1 none keep\nend\n"},
        Case{"StrayOctetsAfterHeadStay", kHead, kOk + "Content-Length: 4\r\n\r\nbody",
             "head 200 [OK] 1.1 none keep\n[Content-Length]=[4]\nend\n", "", "body"},
        Case{"NoContentHasNoBody", kGet, "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody",
             "head 204 [No Content] 1.1 none keep\n[Content-Length]=[4]\nend\n", "", "body"},
        Case{"NotModifiedHasNoBody", kGet, "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
             "head 304 [Not Modified] 1.1 none keep\n[Transfer-Encoding]=[chunked]\nend\n"},
        Case{"SurplusStays", kGet, kOk + "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK",
             "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok", "HTTP/1.1 200 OK"},
        Case{"InterimResponses", kGet,
             "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOk +
                 "Content-Length: 0\r\n\r\n",
             "head 100 [Continue] 1.1 none keep\nhead 103 [Early Hints] 1.1 none keep\n[Link]=[x]\n"
             "head 200 [OK] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        Case{"SwitchThatWasAskedFor", kUpgrade,
             "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello",
             "head 101 [Switching Protocols] 1.1 none keep\n[Connection]=[Upgrade]*\n[Upgrade]=[x]*\nend\n", "",
             "hello"},
        Case{"ConnectHasNoBody", kConnect, kOk + "Content-Length: 5\r\n\r\nhello",
             "head 200 [OK] 1.1 none keep\n[Content-Length]=[5]\nend\n", "", "hello"},
        Case{"RefusedConnectHasOne", kConnect, "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno",
             "head 403 [No] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "no"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Repaired, ResponseRules,
    ::testing::Values(
        Case{"Fold", kGet, kOk + "X: a\r\n  b \r\n\tc\r\nContent-Length: 2\r\n\r\nok",
             "head 200 [OK] 1.1 length 2 keep\n[X]=[a b c]\n[Content-Length]=[2]\nend\n", "ok"},
        Case{"SpaceBeforeColon", kGet, kOk + "X : v\r\nContent-Length\t: 2\r\n\r\nok",
             "head 200 [OK] 1.1 length 2 keep\n[X]=[v]\n[Content-Length]=[2]\nend\n", "ok"},
        Case{"BareLfLineEnds", kGet, "HTTP/1.1 200 OK\nX: v\nContent-Length: 2\n\nok",
             "head 200 [OK] 1.1 length 2 keep\n[X]=[v]\n[Content-Length]=[2]\nend\n", "ok"},
        Case{"SameLengthTwice", kGet, kOk + "Content-Length: 2\r\nA: b\r\nContent-Length: 2\r\n\r\nok",
             "head 200 [OK] 1.1 length 2 keep\n[A]=[b]\n[Content-Length]=[2]\nend\n", "ok"},
        Case{"LengthList", kGet, kOk + "Content-Length: 2, 2\r\n\r\nok",
             "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        Case{"LengthBesideChunked", kGet,
             kOk + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
             "head 200 [OK] 1.1 chunked close\n[Transfer-Encoding]=[chunked]\nend\n", "hello"},
        Case{"ChunkedOfHttp10", kGet,
             "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
             "1\r\nx\r\n0\r\n\r\n",
             "head 200 [OK] 1.0 chunked close\n[Connection]=[keep-alive]*\n[Transfer-Encoding]=[chunked]\nend\n", "x"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Refused, ResponseRules,
    ::testing::Values(
        Case{"Http09", kGet, "HELLO WORLD THIS IS NO HTTP\r\nX: y\r\n\r\nbody", kProtocol},
        Case{"Version2", kGet, "HTTP/2.0 200 OK\r\n\r\n", kProtocol},
        Case{"TwoDigitStatus", kGet, "HTTP/1.1 20 OK\r\n\r\n", kProtocol},
        Case{"FourDigitStatus", kGet, "HTTP/1.1 2000 OK\r\n\r\n", kProtocol},
        Case{"StatusBelow100", kGet, "HTTP/1.1 099 X\r\n\r\n", kProtocol},
        Case{"NulInReason", kGet, "HTTP/1.1 200 O\0K\r\n\r\n"s, kProtocol},
        Case{"DifferentLengths", kGet, kOk + "Content-Length: 5\r\nContent-Length: 3\r\n\r\nhello", kProtocol},
        Case{"DifferentLengthsInOneLine", kGet, kOk + "Content-Length: 5, 3\r\n\r\nhello", kProtocol},
        Case{"NegativeLength", kGet, kOk + "Content-Length: -5\r\n\r\nhello", kProtocol},
        Case{"EmptyLength", kGet, kOk + "Content-Length:\r\n\r\nhello", kProtocol},
        Case{"HugeLength", kGet, kOk + "Content-Length: 99999999999999999999\r\n\r\nhello", kProtocol},
        Case{"GzipCoding", kGet, kOk + "Transfer-Encoding: gzip\r\n\r\nhello", kProtocol},
        Case{"GzipAndChunked", kGet, kOk + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", kProtocol},
        Case{"ChunkedTwice", kGet, kOk + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
             kProtocol},
        Case{"NulInField", kGet, kOk + "X: a\0b\r\n\r\n"s, kProtocol},
        Case{"BareCr", kGet, kOk + "X: a\rSet-Cookie: b=1\r\nContent-Length: 2\r\n\r\nok", kProtocol},
        Case{"NoColon", kGet, kOk + "Just a line\r\n\r\n", kProtocol},
        Case{"FoldBeforeAnyField", kGet, kOk + " X: a\r\n\r\n", kProtocol},
        Case{"SwitchNobodyAskedFor", kGet, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", kProtocol}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    CutShort, ResponseRules,
    ::testing::Values(
        Case{"NoAnswer", kGet, "", "error connection_terminated 502\n"},
        Case{"HalfAHead", kGet, "HTTP/1.1 200 OK\r\nContent-", "error connection_terminated 502\n"},
        Case{"OnlyInterim", kGet, "HTTP/1.1 100 Continue\r\n\r\n",
             "head 100 [Continue] 1.1 none keep\nerror connection_terminated 502\n"},
        Case{"CountedBody", kGet, kOk + "Content-Length: 50\r\n\r\nonly this",
             "head 200 [OK] 1.1 length 50 keep\n[Content-Length]=[50]\nerror response_incomplete 502\n", "only this"},
        Case{"Chunks", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
             "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nerror response_incomplete 502\n", "hello"},
        Case{"Trailers", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n",
             "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nerror response_incomplete 502\n"},
        Case{"BadChunk", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\nmore\r\n0\r\n\r\n",
             "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\n" + kProtocol, "hello"}),
    [](const auto& param) { return std::string(param.param.name); });

std::string error_of(std::string_view input, const HeadLimits& limits) {
  ResponseReader reader(limits);
  reader.start({});
  const Transcript t = run(reader, {input});
  const std::size_t at = t.events.rfind("error ");
  return at == std::string::npos ? "none" : t.events.substr(at);
}

TEST(ResponseLimits, EndlessHeadsFieldsAndInterimsAreCutOff) {
  HeadLimits limits;
  limits.head_bytes = 1024;
  limits.fields = 2;
  limits.interim_responses = 3;
  EXPECT_EQ(error_of(kOk + "X: " + std::string(1100, 'x'), limits), "error upstream_head_too_large 502\n");
  EXPECT_EQ(error_of("HTTP/1.1 200 " + std::string(1100, 'x'), limits), "error upstream_head_too_large 502\n");
  EXPECT_EQ(error_of(kOk + "A: 1\r\nB: 2\r\n\r\n", limits), "none");
  EXPECT_EQ(error_of(kOk + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits), "error upstream_head_too_large 502\n");
  std::string flood;
  for (int i = 0; i < 3; ++i) flood += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(error_of(flood + kOk + "\r\n", limits), "none");
  EXPECT_EQ(error_of(flood + "HTTP/1.1 100 Continue\r\n\r\n", limits), "error upstream_protocol 502\n");
}

TEST(ResponseLimits, WhatIsNoResponseIsToldBeforeItsSizeHoweverItIsCut) {
  HeadLimits limits;
  limits.head_bytes = 64;
  for (const std::string& input :
       {std::string(100, 'x'), "HTTP/1.1 200 " + std::string(100, 'x'),
        "HTTP/1.1 200 OK\r\nX: " + std::string(100, 'x'), "HTTP/1.x" + std::string(100, 'x')}) {
    const std::string whole = error_of(input, limits);
    EXPECT_NE(whole, "none");
    for (const auto& pieces : all_cuts(input)) {
      ResponseReader reader(limits);
      reader.start({});
      ASSERT_EQ(run(reader, pieces).events, whole) << input;
    }
  }
  EXPECT_EQ(error_of(std::string(100, 'x'), limits), kProtocol);
}

TEST(ResponseReader, GarbageIsKnownByItsFirstOctet) {
  ResponseReader reader(kLimits);
  reader.start({});
  const std::string_view one = "S";
  EXPECT_FALSE(reader.feed(one));
}

TEST(ResponseReader, OnlyAnExactEndOfAKeptConnectionIsReusable) {
  struct Row {
    std::string_view input;
    ResponseTo to;
    bool reusable;
  };
  const Row rows[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", {}, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", {}, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", {}, false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", {}, false},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {}, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\n\r\n", {Method::head, false}, true},
      {"HTTP/1.1 200 OK\r\n\r\n", {Method::connect, false}, false},
      {"HTTP/1.1 101 X\r\n\r\n", {Method::get, true}, false},
      {"HTTP/1.1 100 Continue\r\n\r\n", {}, false},
  };
  for (const Row& row : rows) {
    ResponseReader reader(kLimits);
    reader.start(row.to);
    run(reader, {row.input});
    EXPECT_EQ(reader.reusable(), row.reusable) << row.input;
  }
}

TEST(ResponseReader, KnowsWhenNothingHasCome) {
  ResponseReader reader(kLimits);
  reader.start({});
  EXPECT_TRUE(reader.untouched());
  ASSERT_TRUE(reader.feed(std::string_view("H")));
  EXPECT_FALSE(reader.untouched());
  reader.start({});
  EXPECT_TRUE(reader.untouched());
  ASSERT_TRUE(reader.feed(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")));
  EXPECT_FALSE(reader.untouched());
}

TEST(ResponseReader, ServesOneAfterAnother) {
  ResponseReader reader(kLimits);
  for (int i = 0; i < 3; ++i) {
    reader.start({});
    const Transcript t = run(reader, {kOk + "Content-Length: 1\r\n\r\n" + std::to_string(i)});
    EXPECT_EQ(t.body, std::to_string(i));
    EXPECT_TRUE(reader.reusable());
  }
}

TEST(ResponseReader, SaysThatTheConnectionHasSwitched) {
  ResponseReader reader(kLimits);
  reader.start({Method::get, true});
  run(reader, {std::string_view("HTTP/1.1 101 X\r\nUpgrade: y\r\n\r\n")});
  EXPECT_TRUE(reader.switched());
  reader.start({});
  EXPECT_FALSE(reader.switched());
}

}  // namespace
}  // namespace bloomwall::proxy::testing
