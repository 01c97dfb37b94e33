// Each rule for field lists of HTTP/2 is a row; what is taken means the same as the text that was made of it.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/http2_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "proxy/http/http1_reader.h"

namespace bloomwall::proxy {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Http2FieldList list_of(const Lines& lines, const Http2FieldList::Limits& limits = {}) {
  Http2FieldList list;
  list.begin(limits);
  for (const auto& [name, value] : lines) list.add({name, value});
  return list;
}

// A request that is well-formed, with other lines in place of some of its own, and more behind.
Lines request(const Lines& changed, const Lines& more = {}, const std::vector<std::string>& without = {}) {
  Lines lines{{":method", "GET"}, {":scheme", "https"}, {":authority", "a.test"}, {":path", "/p?q"}};
  for (const auto& [name, value] : changed) {
    for (auto& line : lines) {
      if (line.first == name) line.second = value;
    }
  }
  std::erase_if(lines, [&](const auto& line) { return std::ranges::find(without, line.first) != without.end(); });
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

struct Read {
  std::optional<HttpError> error;
  std::string text;
  RequestHead head;
};
void read_into(Read& read, const Lines& lines, bool is_end, std::size_t most_fields = 256) {
  read.error = read_request(list_of(lines), is_end, most_fields, read.text, read.head);
}

struct Refused {
  const char* name;
  Lines lines;
  bool is_end = true;
  ErrorKind kind = ErrorKind::bad_request;
};
std::ostream& operator<<(std::ostream& out, const Refused& row) { return out << row.name; }

const std::string kNul("a\0b", 3);
const Refused kRefused[] = {
    {"NoMethod", request({}, {}, {":method"})},
    {"NoScheme", request({}, {}, {":scheme"})},
    {"NoPath", request({}, {}, {":path"})},
    {"NeitherAuthorityNorHost", request({}, {}, {":authority"})},
    {"EmptyAuthority", request({{":authority", ""}})},
    {"UserinfoInAuthority", request({{":authority", "u:p@a.test"}})},
    {"SpaceInAuthority", request({{":authority", "a.test b.test"}})},
    {"LineEndInAuthority", request({{":authority", "a.test\r\nx: y"}})},
    {"EmptyPath", request({{":path", ""}})},
    {"PathThatIsAUrl", request({{":path", "https://a.test/"}})},
    {"AsteriskOfAGet", request({{":path", "*"}})},
    {"SpaceInPath", request({{":path", "/a b"}}), true, ErrorKind::bad_target},
    {"RequestLineInPath", request({{":path", "/ HTTP/1.1\r\nHost: b.test\r\n\r\nGET /"}})},
    {"TabInPath", request({{":path", "/a\tb"}}), true, ErrorKind::bad_target},
    {"BackslashInPath", request({{":path", "/a\\b"}}), true, ErrorKind::bad_target},
    {"FragmentInPath", request({{":path", "/a#b"}}), true, ErrorKind::bad_target},
    {"SpaceInMethod", request({{":method", "GET /evil"}})},
    {"EmptyMethod", request({{":method", ""}})},
    {"LineEndInMethod", request({{":method", "GET / HTTP/1.1\r\nHost: b\r\n\r\nGET"}})},
    {"SchemeHttp", request({{":scheme", "http"}}), true, ErrorKind::misdirected},
    {"SchemeOfAnotherKind", request({{":scheme", "ftp"}}), true, ErrorKind::misdirected},
    {"PseudoFieldTwice",
     Lines{{":method", "GET"}, {":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}}},
    {"PseudoFieldBehindOthers",
     Lines{{":method", "GET"}, {":scheme", "https"}, {"x", "y"}, {":path", "/"}, {":authority", "a"}}},
    {"UnknownPseudoField",
     Lines{{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}, {":x", "y"}}},
    {"StatusInARequest",
     Lines{{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}, {":status", "200"}}},
    {"ProtocolOfExtendedConnect", Lines{{":method", "CONNECT"},
                                        {":protocol", "websocket"},
                                        {":scheme", "https"},
                                        {":authority", "a"},
                                        {":path", "/"}}},
    {"UpperCaseName", request({}, {{"X-Custom", "y"}})},
    {"EmptyName", request({}, {{"", "y"}})},
    {"SpaceInName", request({}, {{"x y", "z"}})},
    {"ColonInName", request({}, {{"x:", "z"}})},
    {"LineEndInName", request({}, {{"x: y\r\nz", "a"}})},
    {"LineFeedInValue", request({}, {{"x", "y\nz: a"}})},
    {"CarriageReturnInValue", request({}, {{"x", "y\rz"}})},
    {"NulInValue", request({}, {{"x", kNul}})},
    {"SpaceBeforeValue", request({}, {{"x", " y"}})},
    {"TabBehindValue", request({}, {{"x", "y\t"}})},
    {"Connection", request({}, {{"connection", "close"}})},
    {"ProxyConnection", request({}, {{"proxy-connection", "keep-alive"}})},
    {"KeepAlive", request({}, {{"keep-alive", "timeout=5"}})},
    {"TransferEncoding", request({}, {{"transfer-encoding", "chunked"}}), false},
    {"Upgrade", request({}, {{"upgrade", "websocket"}})},
    {"TeOtherThanTrailers", request({}, {{"te", "gzip"}})},
    {"TeWithMore", request({}, {{"te", "trailers, gzip"}})},
    {"HostThatIsNotAuthority", request({}, {{"host", "b.test"}})},
    {"HostWithAnotherPort", request({}, {{"host", "a.test:444"}})},
    {"SeveralHosts", request({}, {{"host", "a.test"}, {"host", "a.test"}})},
    {"SeveralHostsWithoutAuthority", request({}, {{"host", "a.test"}, {"host", "b.test"}}, {":authority"})},
    {"LengthWithoutABody", request({}, {{"content-length", "5"}}), true},
    {"LengthThatIsNoNumber", request({}, {{"content-length", "+5"}}), false},
    {"SeveralLengths", request({}, {{"content-length", "5"}, {"content-length", "5"}}), false},
    {"LengthsInAList", request({}, {{"content-length", "5, 5"}}), false},
    {"ConnectWithAPath", Lines{{":method", "CONNECT"}, {":authority", "a.test:443"}, {":path", "/"}}},
    {"ConnectWithAScheme", Lines{{":method", "CONNECT"}, {":authority", "a.test:443"}, {":scheme", "https"}}},
    {"ConnectWithoutAPort", Lines{{":method", "CONNECT"}, {":authority", "a.test"}}, true, ErrorKind::bad_target},
};

class Http2RequestRefused : public ::testing::TestWithParam<Refused> {};

TEST_P(Http2RequestRefused, IsMalformed) {
  Read read;
  read_into(read, GetParam().lines, GetParam().is_end);
  ASSERT_TRUE(read.error) << read.text;
  EXPECT_EQ(read.error->kind, GetParam().kind) << read.error->detail;
}
INSTANTIATE_TEST_SUITE_P(Rules, Http2RequestRefused, ::testing::ValuesIn(kRefused),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Http2Request, BecomesTheHeadThatHttp1WouldHaveGiven) {
  Read read;
  read_into(read, request({{":method", "POST"}}, {{"cookie", "a=b"}, {"cookie", "c=d"}, {"te", "trailers"}, {"x", ""}}),
            false);
  ASSERT_FALSE(read.error) << read.error->detail;
  EXPECT_EQ(read.text,
            "POST /p?q HTTP/1.1\r\nhost: a.test\r\ncookie: a=b\r\ncookie: c=d\r\nte: trailers\r\nx: \r\n"
            "transfer-encoding: chunked\r\n\r\n");
  EXPECT_EQ(read.head.method, Method::post);
  EXPECT_EQ(read.head.version, Version::http2);
  EXPECT_EQ(read.head.target.path_and_query, "/p?q");
  EXPECT_EQ(read.head.host->host, "a.test");
  EXPECT_EQ(read.head.framing, BodyFraming::chunked);
  EXPECT_TRUE(read.head.takes_trailers && read.head.keep_alive && !read.head.wants_upgrade);
  const HeadLimits limits;
  RequestReader reader(limits);
  const auto step = reader.feed(read.text);
  ASSERT_TRUE(step && step->event == ReadEvent::head);
  EXPECT_EQ(reader.head().fields.size(), read.head.fields.size());
}

TEST(Http2Request, FramesItsBodyByItsLengthAndItsEnd) {
  struct Row {
    Lines more;
    bool is_end;
    BodyFraming framing;
    std::uint64_t length;
  };
  const Row rows[] = {{{}, true, BodyFraming::none, 0},
                      {{}, false, BodyFraming::chunked, 0},
                      {{{"content-length", "7"}}, false, BodyFraming::length, 7},
                      {{{"content-length", "0"}}, true, BodyFraming::none, 0},
                      {{{"content-length", "0"}}, false, BodyFraming::none, 0}};
  for (const Row& row : rows) {
    Read read;
    read_into(read, request({{":method", "PUT"}}, row.more), row.is_end);
    ASSERT_FALSE(read.error) << read.error->detail;
    EXPECT_EQ(read.head.framing, row.framing) << read.text;
    EXPECT_EQ(read.head.content_length, row.length) << read.text;
    EXPECT_EQ(read.head.has_content_length, !row.more.empty()) << read.text;
  }
}

TEST(Http2Request, TakesEveryKindOfTarget) {
  Read read;
  read_into(read, request({{":method", "OPTIONS"}, {":path", "*"}}), true);
  ASSERT_FALSE(read.error);
  EXPECT_EQ(read.head.target.form, TargetForm::asterisk);
  read_into(read, Lines{{":method", "CONNECT"}, {":authority", "a.test:443"}}, false);
  ASSERT_FALSE(read.error) << read.error->detail;
  EXPECT_EQ(read.head.target.form, TargetForm::authority);
  read_into(read, request({}, {{"host", "A.test"}}), true);
  ASSERT_FALSE(read.error) << "the same host, as spelt otherwise";
  EXPECT_EQ(read.head.fields.size(), 1U) << "one of them goes on";
  read_into(read, request({}, {{"host", "a.test"}}, {":authority"}), true);
  ASSERT_FALSE(read.error) << "as a gateway from HTTP/1 sends it";
  EXPECT_EQ(read.head.host->host, "a.test");
}

TEST(Http2FieldListLimits, BoundsWhatIsKeptAndTellsARequestFromAnAttack) {
  const Http2FieldList::Limits limits{.bytes = 1000, .fields = 10};
  Http2FieldList list;
  list.begin(limits);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(list.add({"name", "value"}));
  EXPECT_FALSE(list.is_too_large());
  EXPECT_TRUE(list.add({"name", "value"}));
  EXPECT_TRUE(list.is_too_large()) << "too many fields";
  EXPECT_EQ(list.size(), 10U);
  int more = 0;
  while (list.add({"name", "value"})) ++more;
  EXPECT_LE(more, 40);
  list.begin(limits);
  EXPECT_TRUE(list.add({"name", std::string(964, 'x')}));
  EXPECT_FALSE(list.is_too_large()) << "964 + 4 + 32";
  list.begin(limits);
  EXPECT_TRUE(list.add({"name", std::string(965, 'x')}));
  EXPECT_TRUE(list.is_too_large());
  EXPECT_FALSE(list.add({"name", std::string(4000, 'x')}));
  std::string text;
  RequestHead head;
  EXPECT_EQ(read_request(list, true, 10, text, head)->kind, ErrorKind::head_too_large);
}

TEST(Http2Answer, BecomesAMessageWhoseEndIsKnown) {
  struct Row {
    Lines lines;
    Method method;
    bool is_end;
    const char* text;
    bool is_chunked;
  };
  const Row rows[] = {
      {{{":status", "200"}, {"x", "y"}},
       Method::get,
       false,
       "HTTP/1.1 200 \r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n",
       true},
      {{{":status", "200"}}, Method::get, true, "HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n", true},
      {{{":status", "200"}, {"content-length", "3"}},
       Method::get,
       false,
       "HTTP/1.1 200 \r\ncontent-length: 3\r\n\r\n",
       false},
      {{{":status", "200"}}, Method::head, true, "HTTP/1.1 200 \r\n\r\n", false},
      {{{":status", "204"}}, Method::get, true, "HTTP/1.1 204 \r\n\r\n", false},
      {{{":status", "304"}, {"content-length", "9"}},
       Method::get,
       true,
       "HTTP/1.1 304 \r\ncontent-length: 9\r\n\r\n",
       false},
      {{{":status", "103"}, {"link", "</a>"}}, Method::get, false, "HTTP/1.1 103 \r\nlink: </a>\r\n\r\n", false},
  };
  for (const Row& row : rows) {
    std::string text;
    Http2Answer answer;
    const auto error = write_answer_text(list_of(row.lines), {row.method, row.is_end}, text, answer);
    ASSERT_FALSE(error) << error->detail;
    EXPECT_EQ(text, row.text);
    EXPECT_EQ(answer.is_chunked, row.is_chunked) << text;
    const HeadLimits limits;
    ResponseReader reader(limits);
    reader.start({.method = row.method});
    const auto step = reader.feed(text);
    ASSERT_TRUE(step) << step.error().detail;
    EXPECT_EQ(reader.head().status, answer.status);
    EXPECT_EQ(step->event == ReadEvent::interim, answer.status < 200);
  }
}

TEST(Http2Answer, ThatIsMalformedIsRefused) {
  const Lines rows[] = {{},
                        {{"x", "y"}},
                        {{":status", "20"}},
                        {{":status", "2000"}},
                        {{":status", "099"}},
                        {{":status", "2 0"}},
                        {{":status", "101"}},
                        {{":status", "200"}, {":status", "200"}},
                        {{":status", "200"}, {":path", "/"}},
                        {{"x", "y"}, {":status", "200"}},
                        {{":status", "200"}, {"Server", "x"}},
                        {{":status", "200"}, {"x", "a\r\nset-cookie: b"}},
                        {{":status", "200"}, {"connection", "close"}},
                        {{":status", "200"}, {"transfer-encoding", "chunked"}},
                        {{":status", "200"}, {"upgrade", "h2c"}}};
  for (const Lines& row : rows) {
    std::string text;
    Http2Answer answer;
    const auto error = write_answer_text(list_of(row), {Method::get, true}, text, answer);
    ASSERT_TRUE(error) << text;
    EXPECT_EQ(error->kind, ErrorKind::upstream_protocol);
  }
  std::string text;
  Http2Answer answer;
  EXPECT_TRUE(write_answer_text(list_of({{":status", "100"}}), {Method::get, true}, text, answer)) << "nothing follows";
}

TEST(Http2Trailers, HaveNoPseudoFieldsAndNoneOfTheConnection) {
  std::string text = "0\r\n";
  ASSERT_FALSE(write_trailer_lines(list_of({{"grpc-status", "0"}, {"grpc-message", ""}}), Http2Sender::client, text));
  EXPECT_EQ(text, "0\r\ngrpc-status: 0\r\ngrpc-message: \r\n\r\n");
  for (const auto& line : Lines{{":status", "200"}, {":path", "/"}, {"connection", "x"}, {"X", "y"}, {"x", "a\nb"}}) {
    std::string out;
    EXPECT_TRUE(write_trailer_lines(list_of({line}), Http2Sender::client, out)) << line.first;
  }
}

TEST(Http2Trailers, OfOriginsMayHaveWhiteSpaceAroundValues) {
  std::string text;
  ASSERT_FALSE(write_trailer_lines(list_of({{"x", " y\t"}}), Http2Sender::origin, text));
  EXPECT_EQ(text, "x: y\r\n\r\n");
  EXPECT_TRUE(write_trailer_lines(list_of({{"x", " y\t"}}), Http2Sender::client, text));
  Http2Answer answer;
  ASSERT_FALSE(write_answer_text(list_of({{":status", "204"}, {"x", " y z "}}), {Method::get, true}, text, answer));
  EXPECT_EQ(text, "HTTP/1.1 204 \r\nx: y z\r\n\r\n");
  EXPECT_TRUE(write_answer_text(list_of({{":status", "204"}, {"x", " \n "}}), {Method::get, true}, text, answer));
}

std::vector<std::string> shown(const std::vector<Http2Field>& list) {
  std::vector<std::string> lines;
  for (const Http2Field& field : list) {
    lines.push_back(std::string(field.name) + "=" + std::string(field.value) + (field.never_indexed ? "!" : ""));
  }
  return lines;
}

TEST(Http2Lists, LeaveOutWhatIsOfTheConnection) {
  const HeadLimits limits;
  RequestReader request(limits);
  ASSERT_TRUE(
      request.feed(std::string_view("POST /p HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nX-Y: z\r\n"
                                    "Transfer-Encoding: chunked\r\nConnection: close\r\nKeep-Alive: 1\r\n\r\n")));
  std::vector<Http2Field> list;
  list_request(list, request.head());
  EXPECT_THAT(shown(list), ::testing::ElementsAre(":method=POST", ":scheme=https", ":authority=a.test", ":path=/p",
                                                  "TE=trailers", "X-Y=z"));
  ResponseReader response(limits);
  response.start({});
  ASSERT_TRUE(
      response.feed(std::string_view("HTTP/1.1 403 No Way\r\nContent-Length: 3\r\nConnection: close\r\nX: y\r\n\r\n")));
  StatusText status;
  list_answer(list, response.head(), status);
  EXPECT_THAT(shown(list), ::testing::ElementsAre(":status=403", "Content-Length=3", "X=y"));
}

TEST(Http2Lists, KeepWhatMustNotBeIndexed) {
  Http2FieldList received;
  received.begin({});
  received.add({"authorization", "secret", true});
  received.add({"x", "y", false});
  NeverIndexed names;
  note_never_indexed(names, received);
  std::vector<Http2Field> list{{"Authorization", "secret"}, {"x", "y"}};
  mark_never_indexed(list, names);
  EXPECT_THAT(shown(list), ::testing::ElementsAre("Authorization=secret!", "x=y"));
}

}  // namespace
}  // namespace bloomwall::proxy
