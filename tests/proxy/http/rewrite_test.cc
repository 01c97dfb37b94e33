// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/rewrite.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/proxy/http/transcript.h"

namespace bloomwall::proxy::http_test {
namespace {

using ForwardedFor = conf::Headers::ForwardedFor;
const HeadLimits kRewriteLimits;

std::string sent(std::string_view input, const RequestRewrite& how) {
  RequestReader reader(kRewriteLimits);
  const Transcript t = run(reader, {input});
  EXPECT_EQ(t.events.find("error"), std::string::npos) << t.events;
  std::string out;
  write_request_head(out, reader.head(), how);
  return out;
}

struct RequestCase {
  std::string_view name;
  std::string_view input;
  RequestRewrite how;
  std::string_view output;
};
void PrintTo(const RequestCase& c, std::ostream* out) { *out << c.name; }

class ForwardedRequest : public ::testing::TestWithParam<RequestCase> {};

// What is sent must be taken by our own reader and mean the same.
TEST_P(ForwardedRequest, IsWrittenAnewAndReadsBack) {
  const RequestCase& c = GetParam();
  const std::string output = sent(c.input, c.how);
  EXPECT_EQ(output, c.output);
  RequestReader first(kRewriteLimits), second(kRewriteLimits);
  run(first, {c.input});
  run(second, {output});
  EXPECT_EQ(second.head().framing, first.head().framing);
  EXPECT_EQ(second.head().content_length, first.head().content_length);
  EXPECT_EQ(second.head().method_name, first.head().method_name);
}

const RequestRewrite kPlain{.host = "a.test"};
const RequestRewrite kPort{.host = "a.test", .port = 81};
const RequestRewrite kVia{.host = "a.test", .via_name = "wall"};
const RequestRewrite kParent{.host = "a.test", .port = 81, .to_parent = true};

INSTANTIATE_TEST_SUITE_P(
    Rules, ForwardedRequest,
    ::testing::Values(
        RequestCase{"OriginFormAndHostOfTheTarget",
                    "GET http://u:secret@A.test:81/a%2Fb//c;p?d=%20 HTTP/1.1\r\nHost: other:99\r\n\r\n", kPort,
                    "GET /a%2Fb//c;p?d=%20 HTTP/1.1\r\nHost: a.test:81\r\n\r\n"},
        RequestCase{"OctetsThatNoUrlHasAreEscaped",
                    "GET http://a.test/caf\xc3\xa9%c3%a9/?q=\xff\x80%2 HTTP/1.1\r\nHost: a\r\n\r\n", kPlain,
                    "GET /caf%C3%A9%c3%a9/?q=%FF%80%2 HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"EmptyPath", "GET http://a.test HTTP/1.1\r\nHost: a\r\n\r\n", kPlain,
                    "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"EmptyPathWithQuery", "GET http://a.test?q HTTP/1.1\r\nHost: a\r\n\r\n", kPlain,
                    "GET /?q HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"OptionsWithEmptyPath", "OPTIONS http://a.test HTTP/1.1\r\nHost: a\r\n\r\n", kPlain,
                    "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"OptionsWithPath", "OPTIONS http://a.test/ HTTP/1.1\r\nHost: a\r\n\r\n", kPlain,
                    "OPTIONS / HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"OriginFormStays", "GET /x?y HTTP/1.1\r\nHost: a.test\r\n\r\n", kPlain,
                    "GET /x?y HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"Http10BecomesHttp11WithHost", "GET http://a.test/ HTTP/1.0\r\nExpect: 100-continue\r\n\r\n",
                    kPlain, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"HopByHopFieldsGo",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: "
                    "timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: websocket\r\nTrailer: "
                    "X\r\nProxy-Authorization: Basic eA==\r\nProxy-Foo: 1\r\nX-End: 2\r\n\r\n",
                    kPlain, "GET / HTTP/1.1\r\nHost: a.test\r\nX-End: 2\r\n\r\n"},
        RequestCase{"NominationCannotDropFraming",
                    "POST http://a/ HTTP/1.1\r\nConnection: close, Content-Length, Host, Via\r\nHost: a\r\n"
                    "Content-Length: 5\r\nVia: 1.0 fred\r\n\r\n",
                    kVia,
                    "POST / HTTP/1.1\r\nHost: a.test\r\nVia: 1.0 fred\r\nContent-Length: 5\r\nVia: 1.1 wall\r\n\r\n"},
        RequestCase{"NominationCannotDropChunking",
                    "POST http://a/ HTTP/1.1\r\nConnection: Transfer-Encoding\r\nHost: a\r\nTransfer-Encoding: "
                    "CHUNKED\r\nTrailer: X-T\r\n\r\n",
                    kPlain, "POST / HTTP/1.1\r\nHost: a.test\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n"},
        RequestCase{"SpacesAroundValuesBecomeOne",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nA:1\r\nB:  2\r\nC:\t3\r\nD: 4 \r\nE: 5\t\r\nF:\r\nG: \r\n"
                    "H: 6 7\r\nI: \t8\r\n\r\n",
                    kPlain,
                    "GET / HTTP/1.1\r\nHost: a.test\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: \r\nG: \r\nH: 6 7\r\n"
                    "I: 8\r\n\r\n"},
        RequestCase{"OrderOfSameNamesStays",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: 1\r\nY: z\r\nx: 2\r\nX: 3\r\n\r\n", kPlain,
                    "GET / HTTP/1.1\r\nHost: a.test\r\nX: 1\r\nY: z\r\nx: 2\r\nX: 3\r\n\r\n"},
        RequestCase{"ZeroLengthIsSaid", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 00\r\n\r\n", kPlain,
                    "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n"},
        RequestCase{"ViaNamesTheVersionReceived", "GET http://a/ HTTP/1.0\r\nVia: 1.1 x\r\n\r\n", kVia,
                    "GET / HTTP/1.1\r\nHost: a.test\r\nVia: 1.1 x\r\nVia: 1.0 wall\r\n\r\n"},
        RequestCase{"MaxForwardsCountsDown", "OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 5\r\n\r\n", kPlain,
                    "OPTIONS / HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 4\r\n\r\n"},
        RequestCase{"MaxForwardsOfGetIsJustAField", "GET http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: x\r\n\r\n",
                    kPlain, "GET / HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: x\r\n\r\n"},
        RequestCase{"UpgradeIsForwardedOnlyWhereItCanBeServed",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    "Sec-WebSocket-Key: k\r\n\r\n",
                    {.host = "a.test", .forward_upgrade = true},
                    "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n"
                    "Connection: upgrade\r\n\r\n"},
        RequestCase{"SettingsOfHttp2AreNeverForwarded",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nHTTP2-Settings: AAM\r\nX: 1\r\n\r\n", kPlain,
                    "GET / HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n\r\n"},
        RequestCase{"H2cIsNeverForwarded",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                    "HTTP2-Settings: AAM\r\n\r\n",
                    {.host = "a.test", .forward_upgrade = true},
                    "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"ExpectStays",
                    "PUT http://a/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", kPlain,
                    "PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"},
        RequestCase{"ForwardedForUntouched",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
                    {.host = "a.test", .client_address = "9.9.9.9"},
                    "GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"},
        RequestCase{"ForwardedForAppended",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
                    {.host = "a.test", .client_address = "9.9.9.9", .forwarded_for = ForwardedFor::append},
                    "GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n"},
        RequestCase{"ForwardedGoesWhereAnAddressIsAdded",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nForwarded: for=1.2.3.4\r\n\r\n",
                    {.host = "a.test", .client_address = "9.9.9.9", .forwarded_for = ForwardedFor::append},
                    "GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n"},
        RequestCase{"ForwardedForDeleted",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\n\r\n",
                    {.host = "a.test", .client_address = "9.9.9.9", .forwarded_for = ForwardedFor::delete_field},
                    "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"},
        RequestCase{"CloseIsSaid",
                    "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                    {.host = "a.test", .close = true},
                    "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"},
        RequestCase{"ParentGetsTheAbsoluteForm",
                    "GET http://a:81?q HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic eA==\r\n\r\n", kParent,
                    "GET http://a.test:81/?q HTTP/1.1\r\nHost: a.test:81\r\nProxy-Authorization: Basic eA==\r\n\r\n"},
        RequestCase{"ParentGetsOurCredentials",
                    "GET http://a:81/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic eA==\r\n\r\n",
                    {.host = "a.test", .to_parent = true, .parent_authorization = "Basic b3Vycw=="},
                    "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nProxy-Authorization: Basic b3Vycw==\r\n\r\n"},
        RequestCase{"ParentMakesTheAsterisk", "OPTIONS http://a:81 HTTP/1.1\r\nHost: a\r\n\r\n", kParent,
                    "OPTIONS http://a.test:81 HTTP/1.1\r\nHost: a.test:81\r\n\r\n"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(ConnectHead, NamesTheAuthorityTwice) {
  std::string out;
  write_connect_head(out, {.host = "a.test", .port = 443, .via_name = "wall", .parent_authorization = "Basic eA=="});
  EXPECT_EQ(
      out,
      "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Authorization: Basic eA==\r\nVia: 1.1 wall\r\n\r\n");
}

// ---- responses

struct ResponseCase {
  std::string_view name;
  ResponseTo to;
  std::string_view input;
  ResponseRewrite how;
  std::string_view output;
  BodyFraming framing = BodyFraming::none;
  bool close = false;
};
void PrintTo(const ResponseCase& c, std::ostream* out) { *out << c.name; }

class ForwardedResponse : public ::testing::TestWithParam<ResponseCase> {};

TEST_P(ForwardedResponse, IsWrittenAnewAndReadsBack) {
  const ResponseCase& c = GetParam();
  ResponseReader reader(kRewriteLimits);
  reader.start(c.to);
  run(reader, {c.input});
  std::string out;
  const ResponsePlan plan = write_response_head(out, reader.head(), c.how);
  EXPECT_EQ(out, c.output);
  EXPECT_EQ(plan.framing, c.framing);
  EXPECT_EQ(plan.close, c.close);
  EXPECT_EQ(plan_response(reader.head(), c.how).framing, plan.framing);
  ResponseReader again(kRewriteLimits);
  again.start(c.to);
  run(again, {out});
  EXPECT_EQ(again.head().framing, plan.framing) << "the client would read another framing";
}

const ResponseTo kGetFields{};
const ResponseTo kHeadFields{Method::head, false};
constexpr std::string_view kNowText = "Sun, 06 Nov 1994 08:49:37 GMT";
const ResponseRewrite kClient11{.date = kNowText};
const ResponseRewrite kClient10{.client = Version::http10, .date = kNowText};

INSTANTIATE_TEST_SUITE_P(
    Rules, ForwardedResponse,
    ::testing::Values(
        ResponseCase{
            "DateAndViaAreAdded",
            kGetFields,
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n",
            {.via_name = "wall", .date = kNowText},
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\nVia: 1.0 wall\r\n\r\n",
            BodyFraming::length},
        ResponseCase{"DateOfTheOriginStays", kGetFields, "HTTP/1.1 200 OK\r\nDate: then\r\nContent-Length: 0\r\n\r\n",
                     kClient11, "HTTP/1.1 200 OK\r\nDate: then\r\nContent-Length: 0\r\n\r\n"},
        ResponseCase{
            "HopByHopFieldsGo", kGetFields,
            "HTTP/1.1 200 OK\r\nDate: d\r\nConnection: X-Hop, Keep-Alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=77\r\n"
            "Proxy-Connection: x\r\nUpgrade: h2c\r\nProxy-Authenticate: Basic\r\nTrailer: X\r\nSet-Cookie: a\r\n"
            "Set-Cookie: b\r\nProxy-Status: up\r\nContent-Length: 0\r\n\r\n",
            kClient11,
            "HTTP/1.1 200 OK\r\nDate: d\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nProxy-Status: up\r\nContent-Length: "
            "0\r\n\r\n"},
        ResponseCase{
            "NoAlternativeIsNamedToARedirectedClient",
            kGetFields,
            "HTTP/1.1 200 OK\r\nDate: d\r\nALT-svc: h3=\":4433\"\r\nAlt-Svc: h2=\":8\"\r\nContent-Length: 0\r\n\r\n",
            {.date = kNowText, .hide_alternatives = true},
            "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 0\r\n\r\n"},
        ResponseCase{"AlternativesPassOtherwise", kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nAlt-Svc: h2=\":8\"\r\nContent-Length: 0\r\n\r\n", kClient11,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nAlt-Svc: h2=\":8\"\r\nContent-Length: 0\r\n\r\n"},
        ResponseCase{"ChallengeOfAParentStays",
                     kGetFields,
                     "HTTP/1.1 407 Auth\r\nDate: d\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
                     {.date = kNowText, .from_parent = true},
                     "HTTP/1.1 407 Auth\r\nDate: d\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"},
        ResponseCase{"ChunkedStaysChunked", kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\n\r\n", kClient11,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\n\r\n", BodyFraming::chunked},
        ResponseCase{"TrailersAreAnnouncedToWhoTakesThem",
                     kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n",
                     {.date = kNowText, .takes_trailers = true},
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n",
                     BodyFraming::chunked},
        ResponseCase{"TrailersAreNotAnnouncedToOthers", kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n", kClient11,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\n\r\n", BodyFraming::chunked},
        ResponseCase{"ChunkedIsTakenOffForHttp10", kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n", kClient10,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nConnection: close\r\n\r\n", BodyFraming::until_close, true},
        ResponseCase{"UntilCloseBecomesChunked", kGetFields, "HTTP/1.1 200 OK\r\nDate: d\r\n\r\n", kClient11,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\n\r\n", BodyFraming::chunked},
        ResponseCase{"UntilCloseStaysWhereItsEndMatters",
                     kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\n\r\n",
                     {.date = kNowText, .keeps_until_close = true},
                     "HTTP/1.1 200 OK\r\nDate: d\r\nConnection: close\r\n\r\n",
                     BodyFraming::until_close,
                     true},
        ResponseCase{"UntilCloseStaysForHttp10", kGetFields, "HTTP/1.1 200 OK\r\nDate: d\r\n\r\n", kClient10,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nConnection: close\r\n\r\n", BodyFraming::until_close, true},
        ResponseCase{"KeepAliveIsSaidToHttp10", kGetFields, "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\n\r\n",
                     kClient10, "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n",
                     BodyFraming::length},
        ResponseCase{"CloseIsSaid",
                     kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\n\r\n",
                     {.keep_alive = false, .date = kNowText},
                     "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
                     BodyFraming::length,
                     true},
        ResponseCase{"HeadKeepsItsLength",
                     kHeadFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 100\r\n\r\n",
                     {.method = Method::head, .date = kNowText},
                     "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 100\r\n\r\n"},
        ResponseCase{"HeadOfChunkedIsOpenEnded",
                     kHeadFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\n\r\n",
                     {.method = Method::head, .date = kNowText},
                     "HTTP/1.1 200 OK\r\nDate: d\r\n\r\n"},
        ResponseCase{"NoContentHasNoLength", kGetFields,
                     "HTTP/1.1 204 No Content\r\nDate: d\r\nContent-Length: 5\r\n\r\n", kClient11,
                     "HTTP/1.1 204 No Content\r\nDate: d\r\n\r\n"},
        ResponseCase{"NotModifiedKeepsItsLength", kGetFields,
                     "HTTP/1.1 304 Not Modified\r\nDate: d\r\nContent-Length: 5\r\n\r\n", kClient11,
                     "HTTP/1.1 304 Not Modified\r\nDate: d\r\nContent-Length: 5\r\n\r\n"},
        ResponseCase{"BothLengthFieldsBecomeChunked", kGetFields,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", kClient11,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nTransfer-Encoding: chunked\r\n\r\n", BodyFraming::chunked},
        ResponseCase{"RepairsReachTheClient", kGetFields,
                     "HTTP/1.1 200 OK\nDate : d\r\nX: a\r\n b\r\nContent-Length: 1, 1\r\n\r\n", kClient11,
                     "HTTP/1.1 200 OK\r\nDate: d\r\nX: a b\r\nContent-Length: 1\r\n\r\n", BodyFraming::length}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(InterimHead, GoesToHttp11ClientsOnly) {
  ResponseReader reader(kRewriteLimits);
  reader.start({});
  run(reader, {std::string_view("HTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: y\r\nY: z\r\n\r\n")});
  std::string out;
  write_interim_head(out, reader.head(), kClient11);
  EXPECT_EQ(out, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  out.clear();
  write_interim_head(out, reader.head(), kClient10);
  EXPECT_EQ(out, "");
}

TEST(SwitchHead, KeepsUpgradeAndItsOption) {
  ResponseReader reader(kRewriteLimits);
  reader.start({Method::get, true});
  run(reader, {std::string_view(
                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nA: b\r\n\r\n")});
  std::string out;
  write_switch_head(out, reader.head(), {.via_name = "wall", .date = kNowText});
  EXPECT_EQ(
      out,
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nA: b\r\nVia: 1.1 wall\r\nConnection: upgrade\r\n\r\n");
}

TEST(ConnectEstablished, HasNoLengthField) {
  std::string out;
  write_connect_established(out, "");
  EXPECT_EQ(out, "HTTP/1.1 200 Connection established\r\n\r\n");
}

TEST(ChunkHead, IsHexAndCrLf) {
  ChunkHead buffer;
  EXPECT_EQ(chunk_head(1, buffer), "1\r\n");
  EXPECT_EQ(chunk_head(0xabcdef, buffer), "abcdef\r\n");
  EXPECT_EQ(chunk_head(~std::uint64_t{0}, buffer), "ffffffffffffffff\r\n");
}

TEST(LastChunk, CarriesOnlyHarmlessTrailers) {
  RequestReader reader(kRewriteLimits);
  run(reader,
      {std::string_view("POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n"
                        "Content-Length: 99\r\nHost: smug\r\nSet-Cookie: a\r\nTE: x\r\nAuthorization: y\r\n"
                        "Content-Type: z\r\nConnection: close\r\nProxy-Foo: 1\r\nGrpc-Status: 0\r\n\r\n")});
  std::string out;
  write_last_chunk(out, reader.trailers(), reader.head().fields);
  EXPECT_EQ(out, "0\r\nX-Sum: 1\r\nGrpc-Status: 0\r\n\r\n");
  out.clear();
  write_last_chunk(out, {}, {});
  EXPECT_EQ(out, "0\r\n\r\n");
}

TEST(LastChunk, LeavesOutWhatConnectionNominates) {
  ResponseReader reader(kRewriteLimits);
  reader.start({});
  run(reader, {std::string_view("HTTP/1.1 200 OK\r\nConnection: x-FOO, y\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
                                "X-Foo: 1\r\nX-Bar: 2\r\n\r\n")});
  std::string out;
  write_last_chunk(out, reader.trailers(), reader.head().fields);
  EXPECT_EQ(out, "0\r\nX-Bar: 2\r\n\r\n");
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
