// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/http2_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "tests/proxy/http2/http2_pair.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy::http2_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Http2Connection, CarriesARequestAndItsAnswer) {
  Pair pair;
  pair.server.answers = true;
  RecordedStream& asked = pair.client.ask("/a");
  pair.settle();
  RecordedStream& served = *pair.server.streams.at(1);
  EXPECT_THAT(served.heads, ElementsAre(":method=GET;:scheme=https;:authority=a.test;:path=/a;"));
  EXPECT_TRUE(served.ended && served.closed);
  EXPECT_THAT(asked.heads, ElementsAre(":status=200;"));
  EXPECT_TRUE(asked.ended && asked.closed);
  EXPECT_EQ(asked.code, Http2Code::no_error);
  EXPECT_EQ(pair.server.connection.streams(), 0U);
  EXPECT_FALSE(pair.server.connection.is_over());
}

TEST(Http2Connection, CarriesBodiesInterimAnswersAndTrailersBothWays) {
  Pair pair;
  RecordedStream& asked = pair.client.ask("/", true);
  asked.to_send = std::string(1 << 20, 'u');
  asked.is_last = true;
  asked.trailers_to_send = {{"x-sum", "1"}};
  pair.settle();
  RecordedStream& served = *pair.server.streams.at(1);
  EXPECT_TRUE(served.body == std::string(1 << 20, 'u'));
  EXPECT_EQ(served.trailers, "x-sum=1;");
  EXPECT_TRUE(served.ended);
  const std::vector<Http2Field> hints{{":status", "103"}, {"link", "</s>"}};
  pair.server.connection.submit_interim(1, hints);
  served.to_send = std::string(1 << 20, 'd');
  served.is_last = true;
  served.trailers_to_send = {{"grpc-status", "0"}};
  pair.server.answer(served);
  pair.settle();
  EXPECT_THAT(asked.heads, ElementsAre(":status=103;link=</s>;", ":status=200;"));
  EXPECT_TRUE(asked.body == std::string(1 << 20, 'd'));
  EXPECT_EQ(asked.trailers, "grpc-status=0;");
  EXPECT_TRUE(asked.ended && asked.closed);
}

TEST(Http2Connection, LetsInNoMoreThanTheWindowUntilItIsConsumed) {
  Pair pair;
  pair.server.memory.is_plenty = false;
  RecordedStream& asked = pair.client.ask("/", true);
  asked.to_send = std::string(1 << 20, 'u');
  pair.settle();
  RecordedStream& served = *pair.server.streams.at(1);
  served.consumes = false;
  served.body.clear();
  served.unconsumed = 0;
  asked.to_send = std::string(1 << 20, 'v');
  pair.client.connection.resume(asked.id);
  pair.settle();
  const Http2Connection::Limits limits;
  EXPECT_LE(served.body.size(), limits.stream_window);
  EXPECT_GT(served.body.size(), limits.stream_window / 2);
  served.consumes = true;
  served.give_back();
  pair.settle();
  EXPECT_EQ(served.body.size(), std::size_t{1} << 20);
}

// Octets of a body that get through while nobody reads them, after `read` have been read.
std::size_t window_after(Pair& pair, std::size_t read) {
  RecordedStream& asked = pair.client.ask("/", true);
  asked.to_send = std::string(read, 'r');
  pair.settle();
  RecordedStream& served = *pair.server.streams.at(asked.id);
  EXPECT_EQ(served.body.size(), read);
  served.consumes = false;
  asked.to_send = std::string(4 << 20, 'w');
  pair.client.connection.resume(asked.id);
  pair.settle();
  return served.body.size() - read;
}

TEST(Http2Connection, OpensAWindowAsItsReaderTakesMore) {
  const Http2Connection::Limits limits;
  Pair pair;
  EXPECT_LE(window_after(pair, 0), limits.stream_window);
  const std::size_t grown = window_after(pair, 4 << 20);
  EXPECT_GT(grown, limits.most_window / 2);
  EXPECT_LE(grown, limits.most_window);
  Pair poor;
  poor.server.memory.is_plenty = false;
  EXPECT_LE(window_after(poor, 4 << 20), limits.stream_window);
  Pair many;
  std::size_t sum = 0;
  for (int i = 0; i < 20; ++i) sum += window_after(many, 4 << 20);
  EXPECT_LE(sum, 20 * limits.stream_window + (4U << 20U)) << "all of them together";
  many.client.connection.reset(1, Http2Code::cancel);
  many.settle();
  EXPECT_GT(window_after(many, 4 << 20), limits.stream_window) << "in the place of one that has ended";
}

TEST(Http2Connection, StreamsThatAreNotReadStopNoOther) {
  Pair pair;
  for (int i = 0; i < 99; ++i) EXPECT_GT(window_after(pair, 0), 0U) << i;
  RecordedStream& asked = pair.client.ask("/", true);
  asked.to_send = std::string(4 << 20, 'x');
  pair.settle();
  EXPECT_EQ(pair.server.streams.at(asked.id)->body.size(), std::size_t{4} << 20);
}

TEST(Http2Connection, KeepsTheConnectionsWindowWhileThereIsNoMemory) {
  Http2Connection::Limits limits;
  limits.window = 128U << 10U;
  Pair pair(limits);
  pair.server.memory.is_plenty = false;
  const std::size_t first = window_after(pair, 0);
  RecordedStream& read = pair.client.ask("/", true);
  read.to_send = std::string(1 << 20, 'x');
  pair.settle();
  EXPECT_LE(first + pair.server.streams.at(read.id)->body.size(), limits.window);
  const std::size_t second = window_after(pair, 0), third = window_after(pair, 0);
  EXPECT_EQ(second + third, 0U) << "there is none left";
  EXPECT_TRUE(pair.server.connection.owes_window());
  pair.server.memory.is_plenty = true;
  pair.server.connection.pay_window();
  pair.settle();
  EXPECT_FALSE(pair.server.connection.owes_window());
  std::size_t all = 0;
  for (const auto& [id, stream] : pair.server.streams) all += stream->unconsumed;
  EXPECT_EQ(all, 3 * limits.stream_window);
  EXPECT_EQ(pair.server.streams.at(read.id)->body.size(), std::size_t{1} << 20);
}

TEST(Http2Connection, GivesBackTheConnectionsWindowWhenAStreamEndsUnread) {
  Http2Connection::Limits limits;
  limits.streams = 1;
  limits.stream_window = 1 << 16;
  Pair pair(limits);
  for (int i = 0; i < 20; ++i) {
    RecordedStream& asked = pair.client.ask("/", true);
    asked.to_send = std::string(1 << 16, 'u');
    pair.settle();
    const auto id = asked.id;
    EXPECT_FALSE(pair.server.streams.at(id)->body.empty()) << i;
    if (i % 2 == 0) {
      pair.client.connection.reset(id, Http2Code::cancel);
    } else {
      pair.server.connection.reset(id, Http2Code::internal_error);
    }
    pair.settle();
  }
}

TEST(Http2Connection, AnswersMoreThanItWillServeWithRefusals) {
  Pair pair;
  pair.server.refuses = true;
  RecordedStream& asked = pair.client.ask();
  pair.settle();
  EXPECT_TRUE(asked.closed);
  EXPECT_EQ(asked.code, Http2Code::refused_stream);
}

TEST(Http2Connection, ResetsWhatIsLeftOfARequestAfterItsAnswer) {
  Pair pair;
  RecordedStream& asked = pair.client.ask("/", true);
  pair.settle();
  RecordedStream& served = *pair.server.streams.at(1);
  pair.server.connection.reset_after_answer(1);
  pair.settle();
  EXPECT_FALSE(asked.closed) << "not before the answer";
  served.to_send = "early";
  served.is_last = true;
  pair.server.answer(served);
  pair.settle();
  EXPECT_EQ(asked.body, "early");
  EXPECT_TRUE(asked.ended && asked.closed);
  EXPECT_EQ(asked.code, Http2Code::no_error);
}

TEST(Http2Connection, LeavesAStreamToItsEndAfterAWholeAnswer) {
  Pair pair;
  RecordedStream& asked = pair.client.ask();
  pair.settle();
  RecordedStream& served = *pair.server.streams.at(1);
  served.to_send = "whole";
  pair.server.answer(served);
  pair.settle();
  EXPECT_EQ(asked.body, "whole");
  pair.client.connection.release(1);
  served.is_last = true;
  pair.server.connection.resume(1);
  pair.settle();
  EXPECT_TRUE(served.closed);
  EXPECT_EQ(served.code, Http2Code::no_error);
}

TEST(Http2Connection, KeepsABoundedNumberOfStreamsThatNeverEnd) {
  Pair pair;
  for (int i = 0; i < 50; ++i) {
    RecordedStream& asked = pair.client.ask();
    pair.settle();
    RecordedStream& served = *pair.server.streams.at(asked.id);
    served.to_send = "x";
    pair.server.answer(served);
    pair.settle();
    pair.client.connection.release(asked.id);
  }
  pair.settle();
  std::size_t open = 0;
  for (const auto& [id, stream] : pair.server.streams) open += !stream->closed;
  EXPECT_EQ(open, 32U);
}

TEST(Http2Connection, EndsAfterGoawayOnceItsStreamsHave) {
  Pair pair;
  RecordedStream& asked = pair.client.ask();
  pair.settle();
  pair.server.connection.announce_end();
  pair.settle();
  EXPECT_TRUE(pair.client.goaways > 0);
  EXPECT_FALSE(asked.closed);
  EXPECT_FALSE(pair.server.connection.is_over());
  pair.server.answer(*pair.server.streams.at(1));
  pair.settle();
  EXPECT_TRUE(asked.ended);
  pair.server.connection.finish();
  pair.settle();
  EXPECT_TRUE(pair.server.connection.is_over());
  EXPECT_TRUE(pair.client.connection.is_over());
  EXPECT_EQ(pair.client.connection.submit_request({}, false, asked), 0) << "no more requests";
}

TEST(Http2Connection, RefusesStreamsThatGoawayLeavesOut) {
  Pair pair;
  RecordedStream& first = pair.client.ask();
  pair.settle();
  RecordedStream& second = pair.client.ask();
  const std::string late = pair.client.written();
  pair.server.connection.finish();
  pair.client.connection.feed(pair.server.written(), pair.now);
  EXPECT_FALSE(first.closed);
  EXPECT_TRUE(second.closed);
  EXPECT_EQ(second.code, Http2Code::refused_stream);
}

TEST(Http2Connection, RequestsBeyondThePeersLimitWaitAndCanBeGivenUp) {
  Http2Connection::Limits limits;
  limits.streams = 2;
  Pair pair(limits);
  pair.settle();
  RecordedStream& first = pair.client.ask();
  pair.client.ask();
  RecordedStream& third = pair.client.ask();
  RecordedStream& fourth = pair.client.ask();
  pair.settle();
  EXPECT_EQ(pair.server.requests, 2U);
  pair.client.connection.reset(third.id, Http2Code::cancel);
  pair.server.answer(*pair.server.streams.at(first.id));
  pair.settle();
  EXPECT_EQ(pair.server.requests, 3U);
  EXPECT_EQ(pair.server.streams.count(third.id), 0U);
  EXPECT_EQ(pair.server.streams.count(fourth.id), 1U);
}

TEST(Http2Connection, ReadsANeverIndexedFieldAsSuch) {
  End server(Http2Connection::Role::server, {});
  server.connection.feed(kPreface + kSettings + raw_get(1, 5, raw_field("x", "secret", 0x10)), milliseconds(1));
  EXPECT_NE(server.streams.at(1)->heads.at(0).find("x=secret!;"), std::string::npos);
}

TEST(Http2Connection, TellsItsStreamsOfItsEnd) {
  Pair pair;
  RecordedStream& asked = pair.client.ask();
  pair.settle();
  pair.client.connection.close_streams();
  EXPECT_TRUE(asked.closed);
  EXPECT_EQ(pair.client.connection.streams(), 0U);
}

TEST(Http2Connection, HoldsItsMemoryOfWhoeverCountsIt) {
  Pair pair;
  pair.server.answers = true;
  pair.client.ask();
  pair.settle();
  EXPECT_GT(pair.server.memory.used, 1000U);
  EXPECT_LT(pair.server.memory.used, 64U << 10U) << "of an idle connection";
  bool has_failed = false, has_answered = false;
  for (std::size_t most = 0; most < (64U << 10U); most += 64) {
    End poor(Http2Connection::Role::server, {});
    poor.memory.most = most;
    poor.answers = true;
    poor.connection.feed(kPreface + kSettings + raw_get(1) + raw_get(3), milliseconds(1));
    poor.written();
    poor.connection.close_streams();
    has_failed = has_failed || poor.connection.why() == std::string_view("limits.buffer_memory");
    has_answered = has_answered || poor.connection.why() == nullptr;
  }
  EXPECT_TRUE(has_failed) << "where it is spent";
  EXPECT_TRUE(has_answered) << "where there is enough";
}

// --- peers that keep no rules

struct Attack {
  const char* name;
  std::string bytes;
  std::string says;      // the reset or GOAWAY that it gets; empty: none
  std::size_t requests;  // that are seen
};
std::ostream& operator<<(std::ostream& out, const Attack& row) { return out << row.name; }

std::string repeated(const std::string& text, int times) {
  std::string made;
  for (int i = 0; i < times; ++i) made += text;
  return made;
}
std::string rapid_resets(int count, char code) {
  std::string made;
  for (int i = 0; i < count; ++i) {
    const auto id = static_cast<std::uint32_t>(2 * i + 1);
    made += raw_get(id) + raw_frame(3, 0, id, std::string(3, '\0') + code);
  }
  return made;
}
// The server is made to reset: each request is followed by a frame that breaks a rule on its stream.
std::string provoked_resets(int count) {
  std::string made;
  for (int i = 0; i < count; ++i) {
    const auto id = static_cast<std::uint32_t>(2 * i + 1);
    made += raw_get(id, 4, raw_field("content-length", "0")) + raw_frame(0, 0, id, "x");
  }
  return made;
}
std::string many_requests(int count) {
  std::string made;
  for (int i = 0; i < count; ++i) made += raw_get(static_cast<std::uint32_t>(2 * i + 1));
  return made;
}
// An entry of 4000 octets is put into the table once, and named by one octet each.
std::string hpack_bomb(int times) {
  std::string literal("\x40\x01", 2);
  literal += "x";
  literal += std::string("\x7f\xa1\x1e", 3) + std::string(4000, 'b');  // 127 + 33 + 30 * 128 = 4000
  const std::string head = raw_field(":method", "GET") + raw_field(":scheme", "https") + raw_field(":authority", "a") +
                           raw_field(":path", "/") + literal + std::string(static_cast<std::size_t>(times), '\xbe');
  return raw_frame(1, 5, 1, head);
}

const std::string kBegin = kPreface + kSettings;
const std::string kFour(4, '\0'), kEight(8, 'p');
const Attack kAttacks[] = {
    {"PingFlood", kBegin + repeated(raw_frame(6, 0, 0, kEight), 1500), "goaway 11", 0},
    {"SettingsFlood", kBegin + repeated(kSettings, 1500), "goaway 11", 0},
    {"PriorityFlood", kBegin + repeated(raw_frame(2, 0, 1, std::string(5, '\0')), 1500), "goaway 11", 0},
    {"EmptyDataFlood", kBegin + raw_get(1, 4) + repeated(raw_frame(0, 0, 1, ""), 1500), "goaway 11", 0},
    {"WindowUpdateFlood", kBegin + repeated(raw_frame(8, 0, 0, std::string("\0\0\0\1", 4)), 1500), "goaway 11", 0},
    {"UnknownFrameFlood", kBegin + repeated(raw_frame(0xfe, 0, 0, "x"), 1500), "goaway 11", 0},
    {"ContinuationFlood",
     kBegin + raw_frame(1, 0, 1, raw_field("x", "y")) +
         repeated(raw_frame(9, 0, 1, raw_field("x", std::string(100, 'y'))), 3000),
     "goaway 11", 0},
    {"EmptyContinuationFlood",
     kBegin + raw_frame(1, 0, 1, raw_field("x", "y")) + repeated(raw_frame(9, 0, 1, ""), 1500), "goaway 11", 0},
    {"RapidReset", kBegin + rapid_resets(900, 8), "goaway 11", 201},
    {"RapidResetWithoutAnError", kBegin + rapid_resets(900, 0), "goaway 11", 201},
    {"ProvokedResets", kBegin + provoked_resets(300), "goaway 11", 100},
    {"HpackBomb", kBegin + hpack_bomb(10'000), "goaway 11", 0},
    {"LargeHeadThatIsNoAttack", kBegin + hpack_bomb(20), "", 1},
    {"BadPreface", std::string("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "", 0},
    {"RequestOnAnEvenStream", kBegin + raw_get(2), "goaway 1", 0},
    {"StreamNumbersThatFall", kBegin + raw_get(5) + raw_get(3), "", 1},
    {"PushPromise", kBegin + raw_frame(5, 4, 1, kFour), "goaway 1", 0},
    {"DataOnStreamZero", kBegin + raw_frame(0, 0, 0, "x"), "goaway 1", 0},
    {"DataOnAnIdleStream", kBegin + raw_frame(0, 0, 7, "x"), "goaway 1", 0},
    {"FrameBeyondItsLimit", kBegin + raw_frame(0, 0, 1, std::string(20'000, 'x')), "goaway 6", 0},
    {"UpperCaseName", kBegin + raw_get(1, 5, raw_field("X", "y")), "rst 1 1", 0},
    {"Connection", kBegin + raw_get(1, 5, raw_field("connection", "close")), "rst 1 1", 0},
    {"TransferEncoding", kBegin + raw_get(1, 5, raw_field("transfer-encoding", "chunked")), "rst 1 1", 0},
    {"TeGzip", kBegin + raw_get(1, 5, raw_field("te", "gzip")), "rst 1 1", 0},
    {"LineEndInValue", kBegin + raw_get(1, 5, raw_field("x", "a\r\nb: c")), "rst 1 1", 0},
    {"LengthWithoutBody", kBegin + raw_get(1, 5, raw_field("content-length", "5")), "rst 1 1", 0},
    {"BodyLongerThanItsLength", kBegin + raw_get(1, 4, raw_field("content-length", "1")) + raw_frame(0, 1, 1, "four"),
     "rst 1 1", 1},
    {"BodyShorterThanItsLength", kBegin + raw_get(1, 4, raw_field("content-length", "9")) + raw_frame(0, 1, 1, "four"),
     "rst 1 1", 1},
    {"PseudoFieldInTrailers", kBegin + raw_get(1, 4) + raw_frame(1, 5, 1, raw_field(":path", "/other")), "rst 1 1", 1},
    {"ExtendedConnect",
     kBegin + raw_frame(1, 4, 1,
                        raw_field(":method", "CONNECT") + raw_field(":protocol", "websocket") +
                            raw_field(":scheme", "https") + raw_field(":authority", "a") + raw_field(":path", "/")),
     "rst 1 1", 0},
    {"WindowBeyondItsLimit", kBegin + raw_frame(8, 0, 0, std::string("\x7f\xff\xff\xff", 4)), "goaway 3", 0},
    {"BrokenHpack", kBegin + raw_frame(1, 5, 1, std::string("\xff\xff\xff\xff\xff\xff", 6)), "goaway 9", 0},
};

class Http2Attacked : public ::testing::TestWithParam<Attack> {};

TEST_P(Http2Attacked, EndsTheStreamOrTheConnection) {
  const Attack& attack = GetParam();
  End server(Http2Connection::Role::server, {});
  server.connection.feed(attack.bytes, milliseconds(1000));
  const auto resets = resets_in(server.written());
  if (attack.says.empty()) {
    EXPECT_THAT(resets, IsEmpty());
  } else {
    EXPECT_THAT(resets, Contains(attack.says)) << (server.connection.why() == nullptr ? "" : server.connection.why());
  }
  EXPECT_LE(server.requests, attack.requests);
  if (attack.requests < 10) {
    EXPECT_EQ(server.requests, attack.requests);
  }
  const bool is_flood = attack.says == "goaway 11";
  EXPECT_EQ(server.connection.flood() != FrameBudget::Verdict::fine, is_flood);
  const bool must_end = attack.says.starts_with("goaway") || std::string(attack.name) == "BadPreface";
  EXPECT_EQ(server.connection.is_over(), must_end);
  EXPECT_LT(server.memory.used, 1U << 20U);
}
INSTANTIATE_TEST_SUITE_P(Rows, Http2Attacked, ::testing::ValuesIn(kAttacks),
                         [](const auto& row) { return std::string(row.param.name); });

// Ours and the peer's cross, and ours is sent when there is no stream any more.
TEST(Http2Connection, CountsAResetThatCrossesThePeersOnce) {
  End server(Http2Connection::Role::server, {});
  server.connection.feed(kBegin, milliseconds(1000));
  for (std::uint32_t id = 1; id < 300; id += 2) {
    server.connection.feed(raw_get(id), milliseconds(1000));
    server.connection.reset(static_cast<Http2StreamId>(id), Http2Code::cancel);
    server.connection.feed(raw_frame(3, 0, id, std::string("\0\0\0\x08", 4)), milliseconds(1000));
    server.written();
  }
  EXPECT_EQ(server.requests, 150U);
  EXPECT_EQ(server.connection.flood(), FrameBudget::Verdict::fine);
}

TEST(Http2Connection, KnowsThatAHeaderSectionIsComing) {
  End server(Http2Connection::Role::server, {});
  const std::string get = raw_get(1, 1);  // and not its end
  server.connection.feed(kBegin, milliseconds(1000));
  EXPECT_FALSE(server.connection.is_in_head());
  server.connection.feed(get.substr(0, 12), milliseconds(1000));
  EXPECT_TRUE(server.connection.is_in_head());
  server.connection.feed(get.substr(12), milliseconds(1000));
  EXPECT_TRUE(server.connection.is_in_head());
  server.connection.feed(raw_frame(9, 4, 1, ""), milliseconds(1000));
  EXPECT_FALSE(server.connection.is_in_head());
  EXPECT_EQ(server.requests, 1U);
  server.connection.feed(raw_get(3, 1), milliseconds(1000));
  server.connection.end_slow_head();
  EXPECT_THAT(resets_in(server.written()), Contains("goaway 11"));
  EXPECT_TRUE(server.connection.is_over());
  EXPECT_EQ(server.requests, 1U);
}

TEST(Http2Connection, CountsTheHeaderSectionThatIsRead) {
  End server(Http2Connection::Role::server, {});
  server.connection.feed(kBegin + raw_get(1), milliseconds(1000));
  const std::size_t before = server.memory.used;
  const std::string half = raw_field("x", std::string(100, 'y'));
  server.connection.feed(raw_frame(1, 1, 3, repeated(half, 150)), milliseconds(1000));
  EXPECT_GT(server.memory.used, before + 15'000);
  server.connection.feed(raw_frame(9, 4, 3, ""), milliseconds(1000));
  server.written();
  server.connection.feed(raw_get(5), milliseconds(1000));
  EXPECT_LT(server.memory.used, before + 15'000);
}

TEST(Http2Connection, ServesNoMoreStreamsAtOnceThanItSaid) {
  End server(Http2Connection::Role::server, {});
  server.connection.feed(kBegin + many_requests(250), milliseconds(1000));
  EXPECT_EQ(server.requests, 100U);
  EXPECT_EQ(resets_in(server.written()).size(), 150U) << "each of the others is refused";
}

TEST(Http2Connection, BearsFloodsFromOriginsNoMore) {
  Pair pair;
  pair.client.ask();
  pair.settle();
  pair.client.connection.feed(repeated(raw_frame(6, 0, 0, kEight), 1500), pair.now);
  EXPECT_THAT(resets_in(pair.client.written()), Contains("goaway 11"));
  EXPECT_TRUE(pair.client.connection.is_over());
}

TEST(Http2Connection, TakesNoPush) {
  Pair pair;
  pair.client.ask();
  pair.settle();
  std::string promise("\0\0\0\2", 4);
  promise += raw_field(":method", "GET") + raw_field(":scheme", "https") + raw_field(":authority", "a") +
             raw_field(":path", "/");
  pair.client.connection.feed(raw_frame(5, 4, 1, promise), pair.now);
  EXPECT_THAT(resets_in(pair.client.written()), Contains("goaway 1"));
}

// Whatever is done in whatever order: nothing is lost, and what is whole at one end is whole at the other.
TEST(Http2Connection, KeepsItsStreamsApartWhateverTheOrder) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto any = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
  for (int round = 0; round < 30; ++round) {
    Pair pair;
    std::string up, down;
    std::map<Http2StreamId, std::string> sent, answered;
    const auto move = [&](std::string& wire, Http2Connection& to) {
      const std::size_t size = std::min(wire.size(), any(2) == 0 ? any(20) : any(60'000));
      to.feed(std::string_view(wire).substr(0, size), pair.now);
      wire.erase(0, size);
    };
    for (int step = 0; step < 600; ++step) {
      pair.now += milliseconds(20);
      if (any(5) == 0 && pair.client.streams.size() < 40) {
        RecordedStream& stream = pair.client.ask("/", true);
        stream.to_send = std::string(any(3) == 0 ? any(300'000) : any(50), static_cast<char>('a' + any(26)));
        sent[stream.id] = stream.to_send;
        stream.is_last = any(4) != 0;
      }
      for (auto& [id, stream] : pair.server.streams) {
        if (stream->closed || answered.contains(id) || any(8) != 0) continue;
        stream->to_send = std::string(any(100'000), static_cast<char>('A' + any(26)));
        answered[id] = stream->to_send;
        stream->is_last = true;
        pair.server.answer(*stream);
      }
      if (any(30) == 0 && !pair.client.streams.empty()) {
        auto at = pair.client.streams.begin();
        std::advance(at, any(pair.client.streams.size()));
        End& end = any(2) == 0 ? pair.client : pair.server;
        const auto found = end.streams.find(at->first);
        if (found != end.streams.end() && !found->second->closed) {
          end.connection.reset(at->first, Http2Code::cancel);
          found->second->closed = true;
          found->second->code = Http2Code::cancel;
        }
      }
      up += pair.client.written();
      down += pair.server.written();
      move(up, pair.server.connection);
      move(down, pair.client.connection);
    }
    pair.server.connection.feed(up, pair.now);
    pair.client.connection.feed(down, pair.now);
    pair.settle();
    ASSERT_FALSE(pair.server.connection.is_over()) << pair.server.connection.why();
    ASSERT_FALSE(pair.client.connection.is_over()) << pair.client.connection.why();
    for (const auto& [id, stream] : pair.server.streams) {
      ASSERT_TRUE(sent[id].starts_with(stream->body)) << id;
      if (stream->ended) {
        ASSERT_EQ(stream->body.size(), sent[id].size()) << id;
      }
    }
    for (const auto& [id, stream] : pair.client.streams) {
      ASSERT_TRUE(answered[id].starts_with(stream->body)) << id;
      if (stream->ended) {
        ASSERT_EQ(stream->body.size(), answered[id].size()) << id;
      }
    }
  }
}

}  // namespace
}  // namespace bloomwall::proxy::http2_test
