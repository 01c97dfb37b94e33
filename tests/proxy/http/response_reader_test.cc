// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/http1_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/proxy/http/transcript.h"

namespace bloomwall::proxy::http_test {
namespace {

using namespace std::string_literals;

const HeadLimits kAnswerLimits;
const std::string kOk = "HTTP/1.1 200 OK\r\n";

struct AnswerCase {
  std::string_view name;
  ResponseTo to;
  std::string input;  // after which the origin closes
  std::string events;
  std::string body = {};
  std::string rest = {};
};
void PrintTo(const AnswerCase& c, std::ostream* out) { *out << c.name; }

class ResponseRules : public ::testing::TestWithParam<AnswerCase> {};

TEST_P(ResponseRules, HoldHoweverItIsCut) {
  const AnswerCase& c = GetParam();
  const Transcript want{c.events, c.body, c.rest};
  ResponseReader whole(kAnswerLimits);
  whole.start(c.to);
  const Transcript got = run(whole, {c.input}, true);
  EXPECT_EQ(got.events, want.events);
  EXPECT_EQ(got.body, want.body);
  EXPECT_EQ(got.rest, want.rest);
  for (const auto& pieces : all_cuts(c.input)) {
    ResponseReader reader(kAnswerLimits);
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
        AnswerCase{"CountedBody", kGet, kOk + "Content-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"EmptyBody", kGet, kOk + "Content-Length: 0\r\n\r\n",
                   "head 200 [OK] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        AnswerCase{"Chunked", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-T: 1\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n[X-T]=[1]\n", "hello world"},
        AnswerCase{"PaddedChunkSizes", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n5   \r\nhello\r\n0  \r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "hello"},
        AnswerCase{"UntilClose", kGet, kOk + "\r\nall of it", "head 200 [OK] 1.1 until_close keep\nend\n", "all of it"},
        AnswerCase{"Http10", kGet, "HTTP/1.0 200 OK\r\n\r\nten", "head 200 [OK] 1.0 until_close close\nend\n", "ten"},
        AnswerCase{"Http10KeepAlive", kGet, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
                   "head 200 [OK] 1.0 length 1 keep\n[Connection]=[keep-alive]*\n[Content-Length]=[1]\nend\n", "x"},
        AnswerCase{"NoReason", kGet, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
                   "head 200 [] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        AnswerCase{"OddStatus", kGet, "HTTP/1.1 599 Str\xc3\xa4nge\r\nContent-Length: 0\r\n\r\n",
                   "head 599 [Str\xc3\xa4nge] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        AnswerCase{"HeadHasNoBody", kHead, kOk + "Content-Length: 100\r\n\r\n",
                   "head 200 [OK] 1.1 none keep\n[Content-Length]=[100]\nend\n"},
        AnswerCase{"HeadWithoutLength", kHead, kOk + "\r\n", "head 200 [OK] 1.1 none keep\nend\n"},
        AnswerCase{"StrayOctetsAfterHeadStay", kHead, kOk + "Content-Length: 4\r\n\r\nbody",
                   "head 200 [OK] 1.1 none keep\n[Content-Length]=[4]\nend\n", "", "body"},
        AnswerCase{"NoContentHasNoBody", kGet, "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody",
                   "head 204 [No Content] 1.1 none keep\n[Content-Length]=[4]\nend\n", "", "body"},
        AnswerCase{"NotModifiedHasNoBody", kGet, "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
                   "head 304 [Not Modified] 1.1 none keep\n[Transfer-Encoding]=[chunked]\nend\n"},
        AnswerCase{"SurplusStays", kGet, kOk + "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK",
                   "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok", "HTTP/1.1 200 OK"},
        AnswerCase{"InterimResponses", kGet,
                   "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOk +
                       "Content-Length: 0\r\n\r\n",
                   "head 100 [Continue] 1.1 none keep\nhead 103 [Early Hints] 1.1 none keep\n[Link]=[x]\n"
                   "head 200 [OK] 1.1 none keep\n[Content-Length]=[0]\nend\n"},
        AnswerCase{"SwitchThatWasAskedFor", kUpgrade,
                   "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello",
                   "head 101 [Switching Protocols] 1.1 none keep\n[Connection]=[Upgrade]*\n[Upgrade]=[x]*\nend\n", "",
                   "hello"},
        AnswerCase{"ConnectHasNoBody", kConnect, kOk + "Content-Length: 5\r\n\r\nhello",
                   "head 200 [OK] 1.1 none keep\n[Content-Length]=[5]\nend\n", "", "hello"},
        AnswerCase{"RefusedConnectHasOne", kConnect, "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno",
                   "head 403 [No] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "no"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Repaired, ResponseRules,
    ::testing::Values(
        AnswerCase{"Fold", kGet, kOk + "X: a\r\n  b \r\n\tc\r\nContent-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[X]=[a b c]\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"SpaceBeforeColon", kGet, kOk + "X : v\r\nContent-Length\t: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[X]=[v]\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"BareLfLineEnds", kGet, "HTTP/1.1 200 OK\nX: v\nContent-Length: 2\n\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[X]=[v]\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"SameLengthTwice", kGet, kOk + "Content-Length: 2\r\nA: b\r\nContent-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[A]=[b]\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"LengthList", kGet, kOk + "Content-Length: 2, 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"LengthBesideChunked", kGet,
                   kOk + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                   "head 200 [OK] 1.1 chunked close\n[Transfer-Encoding]=[chunked]\nend\n", "hello"},
        AnswerCase{"ControlOctetsInValues", kGet,
                   kOk + "A: a\x01"
                         "b\r\nB: \x7f\r\nC:\x0b c \x1f\r\nContent-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[A]=[a b]\n[B]=[]\n[C]=[c]\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"ControlOctetInReason", kGet, "HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok",
                   "head 200 [O K] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"Identity", kGet, kOk + "Transfer-Encoding: Identity\r\nContent-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"IdentityUntilClose", kGet, kOk + "Transfer-Encoding: identity\r\n\r\nall of it",
                   "head 200 [OK] 1.1 until_close keep\nend\n", "all of it"},
        AnswerCase{"Icy", kGet, "ICY 200 OK\r\nicy-name: radio\r\n\r\nsound",
                   "head 200 [OK] 1.0 until_close close\n[icy-name]=[radio]\nend\n", "sound"},
        AnswerCase{"BlanksAroundStatus", kGet, "HTTP/1.1 \t 200\tOK\r\nContent-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"Version2", kGet, "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 close\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"EmptyLinesBeforeStatusLine", kGet, "\r\n\n" + kOk + "Content-Length: 2\r\n\r\nok",
                   "head 200 [OK] 1.1 length 2 keep\n[Content-Length]=[2]\nend\n", "ok"},
        AnswerCase{"EmptyElementsBesideChunked", kGet,
                   kOk + "Transfer-Encoding: ,chunked, ,\r\n\r\n2\r\nok\r\n0\r\n\r\n",
                   "head 200 [OK] 1.1 chunked close\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"EmptyChunkExtension", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2;\r\nok\r\n0; \r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"OtherChunkExtension", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n2;\xe4@/(a b\r\nok\r\n0;;=\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"BareLfInChunks", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2\nok\n0\nX: y\n\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n[X]=[y]\n", "ok"},
        AnswerCase{"TrailerFolded", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n z\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"TrailerFoldedFirst", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n X: y\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"TrailerOfBlanks", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n \t\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"TrailerWithControlOctet", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: \x01"
                         "y\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"TrailerWithBlankBeforeColon", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX : y\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"TrailerWithoutColon", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nGET / HTTP/1.1\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"TrailerWithBareCr", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\rZ: z\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"TrailersBesideAnOddOne", kGet,
                   kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: a\r\nX : y\r\nB: b\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nend\n", "ok"},
        AnswerCase{"ChunkedOfHttp10", kGet,
                   "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "1\r\nx\r\n0\r\n\r\n",
                   "head 200 [OK] 1.0 chunked close\n[Connection]=[keep-alive]*\n[Transfer-Encoding]=[chunked]\nend\n",
                   "x"}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Refused, ResponseRules,
    ::testing::Values(
        AnswerCase{"Http09", kGet, "HELLO WORLD THIS IS NO HTTP\r\nX: y\r\n\r\nbody", kProtocol},
        AnswerCase{"Version2WithoutMinor", kGet, "HTTP/2 200 OK\r\n\r\n", kProtocol},
        AnswerCase{"Version3", kGet, "HTTP/3.0 200 OK\r\n\r\n", kProtocol},
        AnswerCase{"NoBlankBeforeStatus", kGet, "HTTP/1.1200 OK\r\n\r\n", kProtocol},
        AnswerCase{"NoStatus", kGet, "HTTP/1.1    \r\n\r\n", kProtocol},
        AnswerCase{"EmptyElementsBetweenCodings", kGet, kOk + "Transfer-Encoding: chunked,, chunked\r\n\r\n0\r\n\r\n",
                   kProtocol},
        AnswerCase{"EndlessEmptyLines", kGet, "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" + kOk + "\r\n", kProtocol},
        AnswerCase{"CrBeforeStatusLine", kGet, "\r" + kOk + "\r\n", kProtocol},
        AnswerCase{"TwoDigitStatus", kGet, "HTTP/1.1 20 OK\r\n\r\n", kProtocol},
        AnswerCase{"FourDigitStatus", kGet, "HTTP/1.1 2000 OK\r\n\r\n", kProtocol},
        AnswerCase{"StatusBelow100", kGet, "HTTP/1.1 099 X\r\n\r\n", kProtocol},
        AnswerCase{"NulInReason", kGet, "HTTP/1.1 200 O\0K\r\n\r\n"s, kProtocol},
        AnswerCase{"DifferentLengths", kGet, kOk + "Content-Length: 5\r\nContent-Length: 3\r\n\r\nhello", kProtocol},
        AnswerCase{"DifferentLengthsInOneLine", kGet, kOk + "Content-Length: 5, 3\r\n\r\nhello", kProtocol},
        AnswerCase{"NegativeLength", kGet, kOk + "Content-Length: -5\r\n\r\nhello", kProtocol},
        AnswerCase{"EmptyLength", kGet, kOk + "Content-Length:\r\n\r\nhello", kProtocol},
        AnswerCase{"HugeLength", kGet, kOk + "Content-Length: 99999999999999999999\r\n\r\nhello", kProtocol},
        AnswerCase{"GzipCoding", kGet, kOk + "Transfer-Encoding: gzip\r\n\r\nhello", kProtocol},
        AnswerCase{"GzipAndChunked", kGet, kOk + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", kProtocol},
        AnswerCase{"ChunkedTwice", kGet,
                   kOk + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", kProtocol},
        AnswerCase{"ControlOctetInLength", kGet, kOk + "Content-Length: 2\x01\r\n\r\nok", kProtocol},
        AnswerCase{"ControlOctetInCoding", kGet,
                   kOk + "Transfer-Encoding: \x0b"
                         "chunked\r\n\r\n0\r\n\r\n",
                   kProtocol},
        AnswerCase{"ControlOctetInConnection", kGet,
                   kOk + "Connection: a\x01"
                         "b\r\nContent-Length: 0\r\n\r\n",
                   kProtocol},
        AnswerCase{"ControlOctetInName", kGet, kOk + "A\x01: b\r\nContent-Length: 0\r\n\r\n", kProtocol},
        AnswerCase{"ControlOctetBeforeReason", kGet, "HTTP/1.1 200\x01OK\r\nContent-Length: 0\r\n\r\n", kProtocol},
        AnswerCase{"IdentityTwice", kGet, kOk + "Transfer-Encoding: identity\r\nTransfer-Encoding: identity\r\n\r\nok",
                   kProtocol},
        AnswerCase{"ChunkedAndIdentity", kGet, kOk + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
                   kProtocol},
        AnswerCase{"IcyWithoutBlank", kGet, "ICYX 200 OK\r\n\r\n", kProtocol},
        AnswerCase{"NulInField", kGet, kOk + "X: a\0b\r\n\r\n"s, kProtocol},
        AnswerCase{"BareCr", kGet, kOk + "X: a\rSet-Cookie: b=1\r\nContent-Length: 2\r\n\r\nok", kProtocol},
        AnswerCase{"NoColon", kGet, kOk + "Just a line\r\n\r\n", kProtocol},
        AnswerCase{"FoldBeforeAnyField", kGet, kOk + " X: a\r\n\r\n", kProtocol},
        AnswerCase{"SwitchNobodyAskedFor", kGet, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", kProtocol}),
    [](const auto& param) { return std::string(param.param.name); });

INSTANTIATE_TEST_SUITE_P(
    CutShort, ResponseRules,
    ::testing::Values(
        AnswerCase{"NoAnswer", kGet, "", "error connection_terminated 502\n"},
        AnswerCase{"HalfAHead", kGet, "HTTP/1.1 200 OK\r\nContent-", "error connection_terminated 502\n"},
        AnswerCase{"OnlyInterim", kGet, "HTTP/1.1 100 Continue\r\n\r\n",
                   "head 100 [Continue] 1.1 none keep\nerror connection_terminated 502\n"},
        AnswerCase{"CountedBody", kGet, kOk + "Content-Length: 50\r\n\r\nonly this",
                   "head 200 [OK] 1.1 length 50 keep\n[Content-Length]=[50]\nerror response_incomplete 502\n",
                   "only this"},
        AnswerCase{"Chunks", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nerror response_incomplete 502\n",
                   "hello"},
        AnswerCase{"Trailers", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\nerror response_incomplete 502\n"},
        AnswerCase{"BareLfInExtension", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2;a\nok\r\n0\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\n" + kProtocol},
        AnswerCase{"BareLfBehindPadding", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2 \nok\r\n0\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\n" + kProtocol},
        AnswerCase{"OpenQuoteInExtension", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2;a=\"\r\nok\r\n0\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\n" + kProtocol},
        AnswerCase{"QuoteInOtherExtension", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n2;@\"\r\nok\r\n0\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\n" + kProtocol},
        AnswerCase{"BadChunk", kGet, kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\nmore\r\n0\r\n\r\n",
                   "head 200 [OK] 1.1 chunked keep\n[Transfer-Encoding]=[chunked]\n" + kProtocol, "hello"}),
    [](const auto& param) { return std::string(param.param.name); });

std::string answer_error_of(std::string_view input, const HeadLimits& limits) {
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
  EXPECT_EQ(answer_error_of(kOk + "X: " + std::string(1100, 'x'), limits), "error upstream_head_too_large 502\n");
  EXPECT_EQ(answer_error_of("HTTP/1.1 200 " + std::string(1100, 'x'), limits), "error upstream_head_too_large 502\n");
  EXPECT_EQ(answer_error_of(kOk + "A: 1\r\nB: 2\r\n\r\n", limits), "none");
  EXPECT_EQ(answer_error_of(kOk + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits), "error upstream_head_too_large 502\n");
  std::string flood;
  for (int i = 0; i < 3; ++i) flood += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(answer_error_of(flood + kOk + "\r\n", limits), "none");
  EXPECT_EQ(answer_error_of(flood + "HTTP/1.1 100 Continue\r\n\r\n", limits), "error upstream_protocol 502\n");
}

TEST(ResponseLimits, WhatIsNoResponseIsToldBeforeItsSizeHoweverItIsCut) {
  HeadLimits limits;
  limits.head_bytes = 64;
  for (const std::string& input :
       {std::string(100, 'x'), "HTTP/1.1 200 " + std::string(100, 'x'),
        "HTTP/1.1 200 OK\r\nX: " + std::string(100, 'x'), "HTTP/1.x" + std::string(100, 'x')}) {
    const std::string whole = answer_error_of(input, limits);
    EXPECT_NE(whole, "none");
    for (const auto& pieces : all_cuts(input)) {
      ResponseReader reader(limits);
      reader.start({});
      ASSERT_EQ(run(reader, pieces).events, whole) << input;
    }
  }
  EXPECT_EQ(answer_error_of(std::string(100, 'x'), limits), kProtocol);
}

TEST(ResponseReader, GarbageIsKnownByItsFirstOctet) {
  ResponseReader reader(kAnswerLimits);
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
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0;\r\n\r\n", {}, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n", {}, false},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", {}, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n z\r\n\r\n", {}, false},
      {"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", {}, false},
      {"\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\n\r\n", {}, false},
      {"HTTP/1.1 200 OK\r\n\r\n", {Method::head, false}, true},
      {"HTTP/1.1 200 OK\r\n\r\n", {Method::connect, false}, false},
      {"HTTP/1.1 101 X\r\n\r\n", {Method::get, true}, false},
      {"HTTP/1.1 100 Continue\r\n\r\n", {}, false},
  };
  for (const Row& row : rows) {
    ResponseReader reader(kAnswerLimits);
    reader.start(row.to);
    run(reader, {row.input});
    EXPECT_EQ(reader.reusable(), row.reusable) << row.input;
  }
}

TEST(ResponseReader, KnowsWhenNothingHasCome) {
  ResponseReader reader(kAnswerLimits);
  reader.start({});
  EXPECT_TRUE(reader.untouched());
  ASSERT_TRUE(reader.feed(std::string_view("H")));
  EXPECT_FALSE(reader.untouched());
  reader.start({});
  EXPECT_TRUE(reader.untouched());
  ASSERT_TRUE(reader.feed(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")));
  EXPECT_FALSE(reader.untouched());
  reader.start({});
  ASSERT_TRUE(reader.feed(std::string_view("\r\n")));
  EXPECT_FALSE(reader.untouched());
}

TEST(ResponseReader, ServesOneAfterAnother) {
  ResponseReader reader(kAnswerLimits);
  for (int i = 0; i < 3; ++i) {
    reader.start({});
    const Transcript t = run(reader, {kOk + "Content-Length: 1\r\n\r\n" + std::to_string(i)});
    EXPECT_EQ(t.body, std::to_string(i));
    EXPECT_TRUE(reader.reusable());
  }
}

TEST(ResponseReader, SaysThatTheConnectionHasSwitched) {
  ResponseReader reader(kAnswerLimits);
  reader.start({Method::get, true});
  run(reader, {std::string_view("HTTP/1.1 101 X\r\nUpgrade: y\r\n\r\n")});
  EXPECT_TRUE(reader.switched());
  reader.start({});
  EXPECT_FALSE(reader.switched());
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
