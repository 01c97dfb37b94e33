// HTTP/2 inside TLS without sockets and without TLS.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/http2_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proxy/decision/recent_denials.h"
#include "tests/proxy/worker/http2_fixture.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST_F(Http2Sessions, ARequestGoesToTheOriginAndItsAnswerComesBack) {
  RecordedStream& get = ask("/a?b", false, {{"x-kept", "1"}, {"te", "trailers"}, {"cookie", "a=b"}});
  RecordedStream& at_origin = asked();
  EXPECT_THAT(
      at_origin.heads,
      ElementsAre(":method=GET;:scheme=https;:authority=origin.test;:path=/a?b;x-kept=1;te=trailers;cookie=a=b!;"));
  EXPECT_TRUE(at_origin.ended);
  EXPECT_FALSE(is_idle_);
  EXPECT_EQ(worker_.requests_in_flight.get(), 1U);
  answer(at_origin, {{":status", "200"}, {"x-back", "2"}, {"alt-svc", "h3=\":443\""}}, "hello");
  turn_until([&] { return get.closed; });
  ASSERT_THAT(get.heads, SizeIs(1));
  EXPECT_THAT(get.heads[0], HasSubstr(":status=200;x-back=2;"));
  EXPECT_EQ(get.heads[0].find("alt-svc"), std::string::npos);
  EXPECT_EQ(get.heads[0].find("via"), std::string::npos);
  EXPECT_EQ(get.body, "hello");
  EXPECT_TRUE(get.ended && at_origin.closed);
  EXPECT_EQ(at_origin.code, Http2Code::no_error);
  turn_until([&] { return is_idle_; });
  EXPECT_EQ(counters_.http2_streams_total.get(), 1U);
  EXPECT_EQ(counters_.upstream_connections_total.get(), 1U) << "a stream is no connection";
}

TEST_F(Http2Sessions, BodiesPassBothWaysWithAndWithoutALength) {
  for (const bool has_length : {true, false}) {
    const std::string length = std::to_string(3 * kMiB);
    RecordedStream& post = ask("/", true);
    say(post, std::string(kMiB, 'u'), true);
    RecordedStream& at_origin = asked(has_length ? 1 : 2);
    turn_until([&] { return at_origin.ended; });
    EXPECT_TRUE(at_origin.body == std::string(kMiB, 'u'));
    std::vector<Http2Field> head{{":status", "200"}};
    if (has_length) head.push_back({"content-length", length});
    answer(at_origin, head, std::string(3 * kMiB, 'd'));
    turn_until([&] { return post.closed; });
    EXPECT_TRUE(post.ended);
    EXPECT_TRUE(post.body == std::string(3 * kMiB, 'd'));
    EXPECT_EQ(post.heads[0].find("content-length") != std::string::npos, has_length);
  }
}

TEST_F(Http2Sessions, GrpcPassesWithItsTrailers) {
  RecordedStream& call = ask("/echo.Echo/Say", true, {{"content-type", "application/grpc"}, {"te", "trailers"}});
  say(call, "request", true);
  RecordedStream& at_origin = asked();
  turn_until([&] { return at_origin.ended; });
  at_origin.trailers_to_send = {{"grpc-status", "0"}, {"grpc-message", "fine"}, {"x-bin", "AA=="}};
  answer(at_origin, {{":status", "200"}, {"content-type", "application/grpc"}}, "answer");
  turn_until([&] { return call.closed; });
  EXPECT_EQ(call.body, "answer");
  EXPECT_EQ(call.trailers, "grpc-status=0;grpc-message=fine;x-bin=AA==;");
}

// As nghttpd sends them with files.
TEST_F(Http2Sessions, TrailersFollowBodiesWhoseLengthIsSaid) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{10}, 3 * kMiB}) {
    const std::string body(size, 'b'), length = std::to_string(size);
    RecordedStream& post = ask("/", true, {{"content-length", length}, {"trailer", "x-sum"}});
    post.trailers_to_send = {{"x-sum", "up"}, {"authorization", "Basic eDp5"}};
    say(post, body, true);
    RecordedStream& at_origin = asked(origin_.end.requests + 1);
    turn_until([&] { return at_origin.ended; });
    EXPECT_TRUE(at_origin.body == body);
    EXPECT_EQ(at_origin.trailers, "x-sum=up;");
    at_origin.trailers_to_send = {{"x-sum", "down"}, {"set-cookie", "a=b"}};
    answer(at_origin, {{":status", "200"}, {"content-length", length}, {"trailer", "x-sum"}}, body);
    turn_until([&] { return post.closed; });
    EXPECT_THAT(post.heads[0], HasSubstr("content-length=" + length + ";"));
    EXPECT_THAT(post.heads[0], HasSubstr("trailer=x-sum;"));
    EXPECT_TRUE(post.ended && post.body == body);
    EXPECT_EQ(post.trailers, "x-sum=down;");
  }
}

TEST_F(Http2Sessions, ABodyOfTheRightLengthThatIsCutDoesNotLookWhole) {
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  at_origin.to_send = "five!";
  origin_.end.connection.submit_answer(at_origin.id,
                                       std::vector<Http2Field>{{":status", "200"}, {"content-length", "5"}}, true);
  turn();
  origin_.end.connection.reset(at_origin.id, Http2Code::internal_error);
  turn_until([&] { return get.closed; });
  EXPECT_FALSE(get.ended);
}

TEST_F(Http2Sessions, AnAnswerThatIsNothingButHeadersStaysOne) {
  RecordedStream& call = ask("/echo.Echo/Say", true);
  say(call, "", true);
  RecordedStream& at_origin = asked();
  turn_until([&] { return at_origin.ended; });
  answer(at_origin, {{":status", "200"}, {"grpc-status", "12"}});
  turn_until([&] { return !call.heads.empty(); });
  EXPECT_TRUE(call.ended) << "with the HEADERS, not behind them";
}

TEST_F(Http2Sessions, MessagesStreamBothWaysAtOnce) {
  RecordedStream& call = ask("/", true);
  say(call, "one", false);
  RecordedStream& at_origin = asked();
  turn_until([&] { return at_origin.body == "one"; });
  at_origin.to_send = "eno";
  origin_.end.answer(at_origin);
  turn_until([&] { return call.body == "eno"; });
  say(call, "two", false);
  turn_until([&] { return at_origin.body == "onetwo"; });
  at_origin.to_send = "owt";
  origin_.end.connection.resume(at_origin.id);
  turn_until([&] { return call.body == "enoowt"; });
  say(call, "", true);
  turn_until([&] { return at_origin.ended; });
  at_origin.is_last = true;
  origin_.end.connection.resume(at_origin.id);
  turn_until([&] { return call.closed; });
  EXPECT_TRUE(call.ended);
  EXPECT_EQ(call.code, Http2Code::no_error);
}

TEST_F(Http2Sessions, HeadAndAnswersWithoutABodyEndWithTheirHead) {
  RecordedStream& head =
      ask_with({{":method", "HEAD"}, {":scheme", "https"}, {":authority", "origin.test"}, {":path", "/"}});
  answer(asked(1), {{":status", "200"}, {"content-length", "1000"}});
  RecordedStream& unchanged = ask();
  answer(asked(2), {{":status", "304"}, {"etag", "x"}});
  RecordedStream& empty = ask();
  answer(asked(3), {{":status", "204"}});
  for (RecordedStream* const stream : {&head, &unchanged, &empty}) {
    turn_until([&] { return stream->closed; });
    EXPECT_TRUE(stream->ended);
    EXPECT_EQ(stream->body, "");
  }
  EXPECT_THAT(head.heads[0], HasSubstr("content-length=1000;"));
}

TEST_F(Http2Sessions, InterimAnswersPass) {
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  const std::vector<Http2Field> hints{{":status", "103"}, {"link", "</s>"}};
  origin_.end.connection.submit_interim(at_origin.id, hints);
  origin_.talk();
  turn_until([&] { return get.heads.size() == 1; });
  EXPECT_EQ(get.heads[0], ":status=103;link=</s>;");
  answer(at_origin, {{":status", "200"}}, "x");
  turn_until([&] { return get.closed; });
  EXPECT_THAT(get.heads, SizeIs(2));
}

TEST_F(Http2Sessions, ASlowClientSlowsItsOwnStreamAlone) {
  RecordedStream& slow = ask("/slow");
  slow.consumes = false;
  RecordedStream& at_origin = asked();
  answer(at_origin, {{":status", "200"}}, std::string(8 * kMiB, 's'));
  turn(300);
  EXPECT_LT(slow.body.size(), kMiB);
  EXPECT_GT(at_origin.to_send.size(), 6 * kMiB) << "the origin keeps it";
  EXPECT_LT(pool_.in_use(), kMiB);
  RecordedStream& quick = ask("/quick");
  answer(asked(2), {{":status", "200"}}, std::string(2 * kMiB, 'q'));
  turn_until([&] { return quick.closed; });
  EXPECT_EQ(quick.body.size(), 2 * kMiB);
  slow.consumes = true;
  slow.give_back();
  turn_until([&] { return slow.closed; });
  EXPECT_TRUE(slow.body == std::string(8 * kMiB, 's'));
}

TEST_F(Http2Sessions, ASlowOriginSlowsTheUpload) {
  RecordedStream& post = ask("/", true);
  RecordedStream& at_origin = asked();
  at_origin.consumes = false;
  say(post, std::string(8 * kMiB, 'u'), true);
  turn(300);
  EXPECT_GT(post.to_send.size(), 6 * kMiB);
  EXPECT_LT(pool_.in_use(), kMiB);
  at_origin.consumes = true;
  at_origin.give_back();
  turn_until([&] { return at_origin.ended; });
  EXPECT_TRUE(at_origin.body == std::string(8 * kMiB, 'u'));
  answer(at_origin, {{":status", "200"}});
  turn_until([&] { return post.closed; });
}

TEST_F(Http2Sessions, AClientsResetReachesTheOrigin) {
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  client_.end.connection.reset(get.id, Http2Code::cancel);
  turn_until([&] { return at_origin.closed; });
  EXPECT_EQ(at_origin.code, Http2Code::cancel);
  EXPECT_EQ(errors(ErrorKind::client_gone), 1U);
  EXPECT_FALSE(is_over_);
}

TEST_F(Http2Sessions, ACutAnswerDoesNotLookWhole) {
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  at_origin.to_send = "half";
  origin_.end.answer(at_origin);
  turn_until([&] { return get.body == "half"; });
  origin_.end.connection.reset(at_origin.id, Http2Code::internal_error);
  turn_until([&] { return get.closed; });
  EXPECT_EQ(get.code, Http2Code::internal_error);
  EXPECT_FALSE(get.ended);
}

TEST_F(Http2Sessions, AnAnswerShorterThanItsLengthDoesNotLookWhole) {
  RecordedStream& get = ask();
  answer(asked(), {{":status", "200"}, {"content-length", "10"}}, "five!");
  turn_until([&] { return get.closed; });
  EXPECT_NE(get.code, Http2Code::no_error);
  EXPECT_FALSE(get.ended);
}

TEST_F(Http2Sessions, AnAnswerIsReadAlthoughItsOriginTakesNoMore) {
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  answer(at_origin, {{":status", "200"}}, "hello");  // it is on the way
  near_origin_->fail_write(EPIPE);
  turn_until([&] { return get.closed; });
  EXPECT_TRUE(get.ended);
  EXPECT_EQ(get.body, "hello");
  origin_.transport->close();
  turn_until([&] { return is_origin_lost_; });
}

TEST_F(Http2Sessions, AnAnswerIsNotWaitedForWhereTheRequestFoundNoMemory) {
  RecordedStream& get = ask();
  asked();
  near_origin_->fail_write(ENOBUFS);
  turn_until([&] { return get.closed; });
  EXPECT_THAT(get.heads[0], HasSubstr(":status=502;"));
}

TEST_F(Http2Sessions, AResetBeforeAnAnswerIsAnError) {
  RecordedStream& get = ask();
  origin_.end.connection.reset(asked().id, Http2Code::internal_error);
  turn_until([&] { return get.closed; });
  EXPECT_THAT(get.heads[0], HasSubstr(":status=502;"));
  EXPECT_TRUE(get.ended);
  EXPECT_EQ(errors(ErrorKind::connection_terminated), 1U);
}

TEST_F(Http2Sessions, WhatTheOriginRefusesTheClientMaySendAgain) {
  RecordedStream& get = ask();
  origin_.end.connection.reset(asked().id, Http2Code::refused_stream);
  turn_until([&] { return get.closed; });
  EXPECT_EQ(get.code, Http2Code::refused_stream);
  EXPECT_THAT(get.heads, IsEmpty());
  EXPECT_EQ(errors(ErrorKind::origin_refused), 1U);
}

TEST_F(Http2Sessions, AnOriginThatLeavesTakesTheClientWithItOnceAllIsAnswered) {
  RecordedStream& running = ask("/running");
  RecordedStream& at_origin = asked();
  origin_.end.connection.announce_end();
  turn_until([&] { return client_.end.goaways > 0; });
  EXPECT_FALSE(running.closed);
  answer(at_origin, {{":status", "200"}}, "last words");
  turn_until([&] { return running.closed; });
  EXPECT_EQ(running.body, "last words");
  turn_until([&] { return is_over_; });
  EXPECT_TRUE(client_.end.connection.is_over());
}

TEST_F(Http2Sessions, RequestsThatCrossTheOriginsGoawayMayBeSentAgain) {
  RecordedStream& running = ask("/running");
  RecordedStream& at_origin = asked();
  client_.transport->pause(PauseReason::busy);  // it does not hear of it yet
  origin_.end.connection.announce_end();
  origin_.talk();
  turn();
  RecordedStream& late = ask("/late");
  turn();
  client_.transport->resume(PauseReason::busy);
  turn_until([&] { return late.closed; });
  EXPECT_EQ(late.code, Http2Code::refused_stream);
  EXPECT_EQ(counters_.http2_streams_refused_total.get(), 1U);
  EXPECT_EQ(origin_.end.requests, 1U);
  answer(at_origin, {{":status", "200"}}, "x");
  turn_until([&] { return running.closed; });
  EXPECT_EQ(running.body, "x");
}

TEST_F(Http2Sessions, AnOriginThatIsLostFailsWhatRuns) {
  RecordedStream& waiting = ask("/waiting");
  RecordedStream& cut = ask("/cut");
  RecordedStream& at_origin = asked(2);
  at_origin.to_send = "half";
  origin_.end.answer(at_origin);
  turn_until([&] { return cut.body == "half"; });
  origin_.transport->close_with_reset();
  turn_until([&] { return waiting.closed && cut.closed; });
  EXPECT_THAT(waiting.heads[0], HasSubstr(":status=502;"));
  EXPECT_NE(cut.code, Http2Code::no_error);
  EXPECT_TRUE(is_origin_lost_);
  turn_until([&] { return is_over_; });
}

TEST_F(Http2Sessions, WithoutAnOriginEveryRequestIsToldWhy) {
  name_origin(HttpError{ErrorKind::origin_certificate, "expired"});
  start(false);
  RecordedStream& get = ask();
  turn_until([&] { return get.closed; });
  EXPECT_THAT(get.heads[0], HasSubstr(":status=502;"));
  EXPECT_THAT(get.heads[0], HasSubstr("tls_certificate_error"));
  EXPECT_FALSE(get.body.empty());
  RecordedStream& next = ask();
  turn_until([&] { return next.closed; });
  EXPECT_THAT(next.heads, SizeIs(1));
}

TEST_F(Http2Sessions, RequestsAreJudgedAsInHttp1) {
  struct Row {
    std::vector<Http2Field> list;
    const char* status;
  };
  const Row rows[] = {
      {{{":method", "GET"}, {":scheme", "https"}, {":authority", "other.test"}, {":path", "/"}}, "421"},
      {{{":method", "GET"}, {":scheme", "http"}, {":authority", "origin.test"}, {":path", "/"}}, "421"},
      {{{":method", "CONNECT"}, {":authority", "origin.test:443"}}, "405"},
      {{{":method", "GET"}, {":scheme", "https"}, {":authority", "origin.test"}, {":path", "/a\\b"}}, "400"},
      {{{":method", "TRACE"},
        {":scheme", "https"},
        {":authority", "origin.test"},
        {":path", "/"},
        {"max-forwards", "0"}},
       "200"},
  };
  for (const Row& row : rows) {
    RecordedStream& stream = ask_with(row.list);
    turn_until([&] { return stream.closed; });
    ASSERT_THAT(stream.heads, SizeIs(1));
    EXPECT_THAT(stream.heads[0], HasSubstr(std::string(":status=") + row.status)) << row.list.back().value;
  }
  EXPECT_EQ(origin_.end.requests, 0U);
}

TEST_F(Http2Sessions, ADenialIsNotedBeforeItsAnswerLeaves) {
  otherwise_ = filter::Otherwise::deny;
  for (const bool has_body : {false, true}) {
    RecentDenials denials;
    worker_.recent_denials = &denials;
    if (session_ == nullptr) start();
    std::size_t noted = 0;
    near_client_->on_send = [&] { noted = denials.of("address 127.0.0.1").size(); };
    RecordedStream& stream = ask("/denied", has_body);
    turn_until([&] { return !stream.heads.empty(); });
    EXPECT_THAT(stream.heads[0], HasSubstr(":status=403"));
    EXPECT_EQ(noted, 1U) << "the request is " << (has_body ? "still to end" : "whole");
    near_client_->on_send = [] {};
    worker_.recent_denials = nullptr;
  }
}

TEST_F(Http2Sessions, LimitsOfHeadsAndBodiesHold) {
  settings_.limits.request_header = 4096;
  settings_.limits.request_body = 10'000;
  start();
  const std::string large(5000, 'x');
  RecordedStream& head = ask("/", false, {{"x", large}});
  turn_until([&] { return head.closed; });
  EXPECT_THAT(head.heads[0], HasSubstr(":status=431;"));
  RecordedStream& body = ask("/", true);
  say(body, std::string(20'000, 'b'), false);
  turn_until([&] { return body.closed; });
  EXPECT_THAT(body.heads[0], HasSubstr(":status=413;"));
  EXPECT_EQ(body.code, Http2Code::no_error) << "the rest of it is not wanted";
  RecordedStream& said = ask("/", true, {{"content-length", "20000"}});
  turn_until([&] { return !said.heads.empty(); });
  EXPECT_THAT(said.heads[0], HasSubstr(":status=413;"));
}

TEST_F(Http2Sessions, DrainsWithoutCuttingWhatRuns) {
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  session_->drain();
  turn_until([&] { return client_.end.goaways > 0; });
  EXPECT_FALSE(is_over_);
  answer(at_origin, {{":status", "200"}}, "whole");
  turn_until([&] { return is_over_; });
  turn_until([&] { return get.closed; });
  EXPECT_EQ(get.body, "whole");
}

TEST_F(Http2Sessions, EveryAnswerSaysSoWhileTheEndIsAnnounced) {
  RecordedStream& first = ask("/1");
  RecordedStream& second = ask("/2");
  asked(2);
  worker_.draining = true;
  answer(origin_.stream(1), {{":status", "200"}}, "x");
  turn_until([&] { return first.closed && client_.end.goaways > 0; });
  answer(origin_.stream(3), {{":status", "200"}}, "whole");
  turn_until([&] { return is_over_; });
  turn_until([&] { return second.closed; });
  EXPECT_EQ(second.body, "whole");
}

TEST_F(Http2Sessions, AConversationMayBeSilentAsLongAsATunnel) {
  settings_.timeouts.body = settings_.timeouts.response_header = Milliseconds(200);
  settings_.timeouts.tunnel_idle = Milliseconds(1000);
  RecordedStream& call = ask("/talk", true);
  RecordedStream& at_origin = asked();
  at_origin.to_send = "hello";
  origin_.end.answer(at_origin);
  turn_until([&] { return call.body == "hello"; });
  const Milliseconds began = monotonic_now();
  turn_until([&] { return call.closed; });
  EXPECT_GT(monotonic_now() - began, Milliseconds(700));
  EXPECT_NE(call.code, Http2Code::no_error);
}

TEST_F(Http2Sessions, AnIdleConnectionEndsInItsTime) {
  settings_.timeouts.idle = Milliseconds(100);
  RecordedStream& get = ask();
  answer(asked(), {{":status", "200"}}, "x");
  turn_until([&] { return get.closed; });
  turn_until([&] { return is_over_; });
  EXPECT_TRUE(client_.end.goaways > 0);
  EXPECT_EQ(counters_.client_idle_timeouts_total.get(), 1U);
}

TEST_F(Http2Sessions, AnAnswerThatIsNotTakenIsGivenUp) {
  settings_.timeouts.idle = Milliseconds(200);
  RecordedStream& get = ask();
  get.consumes = false;
  answer(asked(), {{":status", "200"}}, std::string(100'000, 'x'));
  turn_until([&] { return get.closed; });
  EXPECT_NE(get.code, Http2Code::no_error);
  EXPECT_FALSE(get.ended);
}

TEST_F(Http2Sessions, AnOriginThatDoesNotAnswerIsGivenUp) {
  settings_.timeouts.response_header = Milliseconds(200);
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  turn_until([&] { return get.closed; });
  EXPECT_THAT(get.heads[0], HasSubstr(":status=504;"));
  turn_until([&] { return at_origin.closed; });
}

TEST_F(Http2Sessions, AClientThatLeavesIsLetGo) {
  ask();
  RecordedStream& at_origin = asked();
  client_.transport->close_with_reset();
  turn_until([&] { return is_over_; });
  turn_until([&] { return at_origin.closed || origin_.ended; });
}

TEST_F(Http2Sessions, AFloodEndsTheConnectionAndIsCounted) {
  start();
  std::string pings;
  for (int i = 0; i < 1500; ++i) pings += http2_test::raw_frame(6, 0, 0, "12345678");
  client_.transport->send(pings);
  turn_until([&] { return is_over_; });
  EXPECT_EQ(counters_.http2_floods_total.get(), 1U);
}

TEST_F(Http2Sessions, AnOriginThatFloodsIsLost) {
  RecordedStream& get = ask();
  asked();
  std::string pings;
  for (int i = 0; i < 1500; ++i) pings += http2_test::raw_frame(6, 0, 0, "12345678");
  origin_.transport->send(pings);
  turn_until([&] { return get.closed; });
  EXPECT_EQ(counters_.http2_floods_total.get(), 1U);
  turn_until([&] { return is_over_; });
}

TEST_F(Http2Sessions, ManyStreamsInAnyOrderKeepTheirBodiesApart) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto any = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
  start();
  std::map<RecordedStream*, std::string> wanted;
  std::size_t served = 0, begun = 0;
  std::map<Http2StreamId, bool> is_answered;
  for (int step = 0; step < 3000; ++step) {
    near_client_->room = any(3) == 0 ? 1 + any(5000) : SIZE_MAX;
    if (begun < 300 && any(4) == 0 && session_->requests() < 60) {
      ++begun;
      RecordedStream& stream = ask("/" + std::to_string(begun), true);
      wanted[&stream] = std::string(any(5) == 0 ? any(200'000) : any(100), static_cast<char>('a' + any(26)));
      say(stream, wanted[&stream], true);
    }
    for (auto& [id, stream] : origin_.end.streams) {
      if (!stream->ended || stream->closed || std::exchange(is_answered[id], true)) continue;
      ++served;
      answer(*stream, {{":status", "200"}}, stream->body + "!");
    }
    if (any(40) == 0 && !client_.end.streams.empty()) {
      auto at = client_.end.streams.begin();
      std::advance(at, any(client_.end.streams.size()));
      RecordedStream& stream = *at->second;
      if (!stream.closed) {
        client_.end.connection.reset(stream.id, Http2Code::cancel);
        stream.closed = true;
      }
    }
    turn(1);
  }
  near_client_->room = SIZE_MAX;
  turn_until([&] {
    for (auto& [id, stream] : origin_.end.streams) {
      if (stream->ended && !stream->closed && !std::exchange(is_answered[id], true)) {
        answer(*stream, {{":status", "200"}}, stream->body + "!");
      }
    }
    return std::ranges::all_of(client_.end.streams, [](const auto& one) { return one.second->closed; });
  });
  ASSERT_GT(served, 50U);
  for (const auto& [id, stream] : client_.end.streams) {
    const std::string whole = wanted[stream.get()] + "!";
    EXPECT_TRUE(whole.starts_with(stream->body)) << id;
    if (stream->ended) {
      EXPECT_EQ(stream->body, whole) << id;
    }
  }
  EXPECT_FALSE(is_over_);
}

}  // namespace
}  // namespace bloomwall::proxy
