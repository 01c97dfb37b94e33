// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/icap_reader.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>
#include <string>
#include <string_view>

#include "tests/proxy/answers/cuts.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

bool feed_icap(IcapReader& reader, std::span<const char> bytes, std::string& out) {
  for (;;) {
    const IcapReader::Step step = reader.feed(bytes);
    bytes = bytes.subspan(step.consumed);
    switch (step.event) {
      case IcapReader::Event::need_more:
        return true;
      case IcapReader::Event::question: {
        const IcapHead& head = reader.head();
        out += fmt::format("{}{}{}{}{} {}|", head.service, head.allows_204 ? " 204" : "",
                           head.preview ? fmt::format(" preview {}", *head.preview) : "",
                           head.keep_alive ? "" : " close", head.client ? " " + head.client->text() : "", head.user);
        out += reader.http_head();
        out += '|';
        continue;
      }
      case IcapReader::Event::body:
        out.append(step.body.begin(), step.body.end());
        continue;
      case IcapReader::Event::end:
        out += "|end\n";
        reader.next();
        continue;
      case IcapReader::Event::error:
        out += fmt::format("{} {}", reader.error().status, reader.error().detail);
        return false;
    }
  }
}

std::string outcome_of_icap(std::string_view octets, std::mt19937& random) {
  bool is_same = false;
  std::string out = answers_test::in_any_pieces(octets, [] { return IcapReader(); }, feed_icap, random, is_same);
  EXPECT_TRUE(is_same) << octets;
  return out;
}

constexpr std::string_view kHttp = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n";  // 45 octets

std::string reqmod(std::string_view fields, std::string_view behind = kHttp) {
  return fmt::format("REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\n{}\r\n{}", fields, behind);
}
constexpr std::string_view kNoBody = "Encapsulated: req-hdr=0, null-body=45\r\n";
constexpr std::string_view kBody = "Encapsulated: req-hdr=0, req-body=45\r\n";

TEST(IcapReader, ReadsTheExamplesOfTheRfc) {
  std::mt19937 random(test::test_seed());
  // Section 4.8.3, example 1.
  const std::string head =
      "GET / HTTP/1.1\r\nHost: www.origin-server.com\r\nAccept: text/html, text/plain\r\n"
      "Accept-Encoding: compress\r\nCookie: ff39fk3jur@4ii0e02i\r\nIf-None-Match: \"xyzzy\", \"r2d2xxxx\"\r\n\r\n";
  ASSERT_EQ(head.size(), 170U);
  EXPECT_EQ(outcome_of_icap("REQMOD icap://icap-server.net/server?arg=87 ICAP/1.0\r\nHost: icap-server.net\r\n"
                            "Encapsulated: req-hdr=0, null-body=170\r\n\r\n" +
                                head,
                            random),
            "server |" + head + "||end\n");
  // Example 2, whose body is chunked.
  const std::string post =
      "POST /origin-resource/form.pl HTTP/1.1\r\nHost: www.origin-server.com\r\nAccept: text/html, text/plain\r\n"
      "Accept-Encoding: compress\r\nPragma: no-cache\r\n\r\n";
  ASSERT_EQ(post.size(), 147U);
  EXPECT_EQ(outcome_of_icap("REQMOD icap://icap-server.net/server?arg=87 ICAP/1.0\r\nHost: icap-server.net\r\n"
                            "Encapsulated: req-hdr=0, req-body=147\r\n\r\n" +
                                post + "1e\r\nI am posting this information.\r\n0\r\n\r\n",
                            random),
            "server |" + post + "|I am posting this information.|end\n");
  // Section 4.10.3.
  EXPECT_EQ(outcome_of_icap("OPTIONS icap://icap.server.net/sample-service ICAP/1.0\r\nHost: icap.server.net\r\n"
                            "User-Agent: BazookaDotCom-ICAP-Client-Library/2.3\r\n\r\n",
                            random),
            "sample-service |||end\n");
}

struct IcapCase {
  std::string name, octets, want;
};

TEST(IcapReader, TakesWhatClientsSend) {
  std::mt19937 random(test::test_seed());
  const std::string http(kHttp);
  const IcapCase rows[] = {
      {"AllowAndPreviewOfNothing", reqmod("Allow: 204\r\nPreview: 0\r\nEncapsulated: req-hdr=0, null-body=45\r\n"),
       "reqmod 204 preview 0 |" + http + "||end\n"},
      {"PreviewThatIsAll", reqmod("Preview: 4\r\n" + std::string(kBody), http + "4\r\nabcd\r\n0; ieof\r\n\r\n"),
       "reqmod preview 4 |" + http + "|abcd|end\n"},
      {"PreviewOfNothingOfABody", reqmod("Preview: 0\r\n" + std::string(kBody), http + "0\r\n\r\n"),
       "reqmod preview 0 |" + http + "||end\n"},
      {"AllowAmongOthers", reqmod("Allow: 206, 204, trailers\r\n" + std::string(kNoBody)),
       "reqmod 204 |" + http + "||end\n"},
      {"Close", reqmod("Connection: close\r\n" + std::string(kNoBody)), "reqmod close |" + http + "||end\n"},
      {"ClientAndUser",
       reqmod("X-Client-IP: 192.0.2.7\r\nX-Authenticated-User: V2luTlQ6Ly9FWEFNUExFL2pvaG4=\r\n" +
              std::string(kNoBody)),
       "reqmod 192.0.2.7 john|" + http + "||end\n"},
      {"UserAsSquidSaysIt", reqmod("X-Client-Username: EXAMPLE/john\r\n" + std::string(kNoBody)),
       "reqmod EXAMPLE/john|" + http + "||end\n"},
      {"TwoOnOneConnection", reqmod(kNoBody) + reqmod(kBody, http + "1\r\nx\r\n0\r\n\r\n") + reqmod(kNoBody),
       "reqmod |" + http + "||end\nreqmod |" + http + "|x|end\nreqmod |" + http + "||end\n"},
      {"OptionsWithNullBody", "OPTIONS icap://p/reqmod ICAP/1.0\r\nHost: p\r\nEncapsulated: null-body=0\r\n\r\n",
       "reqmod |||end\n"},
  };
  for (const IcapCase& row : rows) EXPECT_EQ(outcome_of_icap(row.octets, random), row.want) << row.name;
}

TEST(IcapReader, RefusesWhatHasTwoReadings) {
  std::mt19937 random(test::test_seed());
  const std::string http(kHttp), body(kBody), none(kNoBody);
  const std::string in_head = "reqmod |" + http + "|";
  const IcapCase rows[] = {
      {"NoRequestLine", "GET / HTTP/1.1\r\nHost: p\r\n\r\n", "400 a request line is METHOD URI ICAP/1.0"},
      {"TwoBlanks", "REQMOD  icap://p/r ICAP/1.0\r\nHost: p\r\n\r\n", "400 the URI is icap://HOST/SERVICE"},
      {"OtherVersion", "REQMOD icap://p/r ICAP/1.1\r\nHost: p\r\n\r\n", "505 only ICAP/1.0 is spoken"},
      {"Respmod", "RESPMOD icap://p/r ICAP/1.0\r\nHost: p\r\n\r\n", "405 only requests are judged: OPTIONS and REQMOD"},
      {"OtherMethod", "LOG icap://p/r ICAP/1.0\r\nHost: p\r\n\r\n", "501 only OPTIONS and REQMOD are known"},
      {"PathAlone", "REQMOD /r ICAP/1.0\r\nHost: p\r\n\r\n", "400 the URI is icap://HOST/SERVICE"},
      {"BareLineFeed", "REQMOD icap://p/r ICAP/1.0\nHost: p\r\n\r\n", "400 a line does not end with CRLF"},
      {"Folded", reqmod("X: a\r\n b\r\n" + none), "400 a line is folded"},
      {"NoHost", "REQMOD icap://p/r ICAP/1.0\r\n" + none + "\r\n" + http, "400 Host is missing"},
      {"TwoHosts", reqmod("Host: q\r\n" + none), "400 a field that counts comes twice"},
      {"TwoEncapsulated", reqmod(none + none), "400 a field that counts comes twice"},
      {"NoEncapsulated", reqmod(""), "400 Encapsulated is missing"},
      {"NoRequest", reqmod("Encapsulated: req-body=0\r\n"), "400 Encapsulated is req-hdr=0 and req-body or null-body"},
      {"NullBodyAlone", reqmod("Encapsulated: null-body=0\r\n"),
       "400 Encapsulated is req-hdr=0 and req-body or null-body"},
      {"OfAResponse", reqmod("Encapsulated: req-hdr=0, res-hdr=45, res-body=50\r\n"),
       "400 Encapsulated is req-hdr=0 and req-body or null-body"},
      {"NotAtZero", reqmod("Encapsulated: req-hdr=1, null-body=45\r\n"),
       "400 Encapsulated does not begin with a section at 0"},
      {"OutOfOrder", reqmod("Encapsulated: req-body=45, req-hdr=0\r\n"),
       "400 Encapsulated does not begin with a section at 0"},
      {"NoNumber", reqmod("Encapsulated: req-hdr=0, null-body=+45\r\n"),
       "400 Encapsulated is req-hdr=0 and req-body or null-body"},
      {"TooLongRequest", reqmod("Encapsulated: req-hdr=0, null-body=262145\r\n"),
       "413 the head of the HTTP request is too long"},
      {"OffsetTooSmall", reqmod("Encapsulated: req-hdr=0, null-body=44\r\n"),
       "400 the HTTP head does not end where Encapsulated says"},
      {"OffsetTooLarge", reqmod("Encapsulated: req-hdr=0, null-body=46\r\n"),
       "400 the HTTP head does not end where Encapsulated says"},
      {"LengthOfItsOwn", reqmod("Content-Length: 0\r\n" + none),
       "400 ICAP has no Content-Length and no Transfer-Encoding of its own"},
      {"CodingOfItsOwn", reqmod("Transfer-Encoding: chunked\r\n" + none),
       "400 ICAP has no Content-Length and no Transfer-Encoding of its own"},
      {"PreviewIsNoNumber", reqmod("Preview: -1\r\n" + none), "400 Preview is not a number of octets"},
      {"PreviewTooLong", reqmod("Preview: 3\r\n" + body, http + "4\r\nabcd\r\n0\r\n\r\n"),
       "reqmod preview 3 |" + http + "|abc400 the preview is too long"},
      {"BadChunk", reqmod(body, http + "x\r\n"), in_head + "400 the chunks of the body break the grammar"},
      {"Trailers", reqmod(body, http + "0\r\nX: y\r\n\r\n"), in_head + "400 trailer fields are not taken"},
      {"ClientIsNoAddress", reqmod("X-Client-IP: 1.2.3\r\n" + none), "400 X-Client-IP is not an address"},
      {"TwoClients", reqmod("X-Client-IP: 1.2.3.4\r\nX-Client-IP: 1.2.3.5\r\n" + none),
       "400 a field that counts comes twice"},
      {"UserIsNoBase64", reqmod("X-Authenticated-User: john!\r\n" + none), "400 X-Authenticated-User is not base64"},
      {"TwoUsers", reqmod("X-Authenticated-User: am9obg==\r\nX-Client-Username: jack\r\n" + none),
       "400 X-Authenticated-User and X-Client-Username name two users"},
      {"UserOfControls", reqmod("X-Authenticated-User: YQpi\r\n" + none), "400 the name of the user is none"},
      {"EmptyLineFirst", "\r\n" + reqmod(none), "400 a head begins with an empty line"},
  };
  for (const IcapCase& row : rows) EXPECT_EQ(outcome_of_icap(row.octets, random), row.want) << row.name;
}

TEST(IcapReader, HeadsHaveLimits) {
  std::mt19937 random(test::test_seed());
  EXPECT_EQ(outcome_of_icap(reqmod("X: " + std::string(kMostIcapHead, 'x') + "\r\n"), random),
            "400 a head is too long");
  std::string many;
  for (std::size_t field = 0; field <= kMostIcapFields; ++field) many += "X: y\r\n";
  EXPECT_EQ(outcome_of_icap(reqmod(many + std::string(kNoBody)), random),
            "400 the fields of the head break the grammar");
}

TEST(IcapReader, KeepsNoLongHeadWhileIdle) {
  IcapReader reader;
  const std::string octets = reqmod("X: " + std::string(8000, 'x') + "\r\n" + std::string(kNoBody));
  EXPECT_EQ(reader.feed(octets).event, IcapReader::Event::question);
  EXPECT_EQ(reader.feed({}).event, IcapReader::Event::end);
  reader.next();
  EXPECT_TRUE(reader.at_start());
  EXPECT_LT(reader.memory(), 4096U);
}

}  // namespace
}  // namespace bloomwall::proxy
