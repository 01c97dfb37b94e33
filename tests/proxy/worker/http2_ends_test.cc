// How requests and connections of HTTP/2 end other than by a whole answer to a whole request.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/proxy/worker/http2_fixture.h"

namespace bloomwall::proxy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Http2Ends : public Http2Sessions {
 protected:
  static constexpr std::size_t kBody = 180'000;  // more than the origin's window and what is sent ahead

  struct Post {
    RecordedStream& stream;
    RecordedStream& at_origin;
  };
  // One of kBody octets, whose stream has ended while the origin has not read all of it.
  Post post_that_is_answered_early() {
    RecordedStream& post = ask("/", true, {{"content-length", std::to_string(kBody)}});
    RecordedStream& at_origin = asked();
    at_origin.consumes = false;
    say(post, std::string(kBody, 'u'), true);
    turn();
    answer(at_origin, {{":status", "200"}}, "early");
    turn_until([&] { return post.closed; });
    return {post, at_origin};
  }
};

TEST_F(Http2Ends, AnOriginThatWantsHttp11IsRemembered) {
  RecordedStream& get = ask();
  RecordedStream& other = ask("/other");
  origin_.end.connection.reset(asked(2).id, Http2Code::http_1_1_required);
  turn_until([&] { return other.closed; });
  EXPECT_EQ(other.code, Http2Code::http_1_1_required);
  EXPECT_THAT(other.heads, IsEmpty());
  EXPECT_TRUE(worker_.origin_facts.wants_http11("origin.test", 443));
  EXPECT_FALSE(worker_.origin_facts.wants_http11("origin.test", 444));
  turn();
  EXPECT_EQ(client_.end.goaways, 0U);
  RecordedStream& again = ask("/other");
  turn_until([&] { return again.closed && client_.end.goaways > 0; });
  EXPECT_EQ(again.code, Http2Code::refused_stream);
  EXPECT_FALSE(get.closed) << "it may still be answered";
  answer(origin_.stream(1), {{":status", "204"}});
  turn_until([&] { return is_over_; });
  EXPECT_TRUE(get.ended);
}

// An answer that breaks a rule is the origin's fault, although it is reset here; a reset of the origin's is just that.
TEST_F(Http2Ends, ABrokenAnswerIsTheOriginsFault) {
  RecordedStream& broken = ask("/broken");
  answer(asked(1), {{":status", "200"}, {"connection", "close"}});
  turn_until([&] { return broken.closed; });
  EXPECT_THAT(broken.heads.at(0), HasSubstr("error=http_protocol_error"));
  RecordedStream& reset = ask("/reset");
  origin_.end.connection.reset(asked(2).id, Http2Code::protocol_error);
  turn_until([&] { return reset.closed; });
  EXPECT_THAT(reset.heads.at(0), HasSubstr("error=connection_terminated"));
}

TEST_F(Http2Ends, AnOriginThatWantsHttp11ForEverythingIsRemembered) {
  RecordedStream& get = ask();
  asked();
  origin_.transport->send(http2_test::raw_frame(7, 0, 0, std::string("\0\0\0\0\0\0\0\x0d", 8)));
  turn_until([&] { return get.closed; });
  EXPECT_EQ(get.code, Http2Code::http_1_1_required);
  EXPECT_TRUE(worker_.origin_facts.wants_http11("origin.test", 443));
  turn_until([&] { return is_over_; });
}

// An upload of known length whose answer came first.
TEST_F(Http2Ends, AnEarlyAnswerLetsTheRestOfTheRequestArrive) {
  RecordedStream& post = ask("/", true, {{"content-length", "20000"}});
  say(post, std::string(10'000, 'u'), false);
  RecordedStream& at_origin = asked();
  turn_until([&] { return at_origin.body.size() == 10'000; });
  answer(at_origin, {{":status", "200"}}, "early");
  turn_until([&] { return post.ended; });
  EXPECT_EQ(post.body, "early");
  turn();
  EXPECT_FALSE(post.closed || at_origin.closed);
  say(post, std::string(10'000, 'u'), true);
  turn_until([&] { return post.closed && at_origin.closed; });
  EXPECT_EQ(at_origin.body.size(), 20'000U);
  EXPECT_TRUE(at_origin.ended);
  EXPECT_EQ(at_origin.code, Http2Code::no_error);
  EXPECT_EQ(post.code, Http2Code::no_error);
}

// The client has said and got everything, and its stream is closed; the origin still takes what waits here.
TEST_F(Http2Ends, ARequestReachesTheOriginAlthoughItsStreamHasEnded) {
  const auto [post, at_origin] = post_that_is_answered_early();
  EXPECT_TRUE(post.ended);
  EXPECT_EQ(post.code, Http2Code::no_error);
  turn();
  EXPECT_LT(at_origin.body.size(), kBody);
  EXPECT_FALSE(at_origin.closed);
  at_origin.consumes = true;
  at_origin.give_back();
  turn_until([&] { return at_origin.closed; });
  EXPECT_EQ(at_origin.body.size(), kBody);
  EXPECT_TRUE(at_origin.ended);
  EXPECT_EQ(at_origin.code, Http2Code::no_error);
  turn_until([&] { return is_idle_; });
}

TEST_F(Http2Ends, ARequestWhoseStreamHasEndedGoesWithItsConnection) {
  post_that_is_answered_early();
  client_.transport->close_with_reset();
  turn_until([&] { return is_over_; });
  EXPECT_EQ(worker_.requests_in_flight.get(), 0U);
}

// TLS 1.3: the origin says only after the handshake why it takes no request.
TEST_F(Http2Ends, AFailureOfTheOriginIsToldToAClientThatIsIdle) {
  failure_at_loss_ = HttpError{ErrorKind::origin_alert, "a client certificate is required"};
  start();
  turn();
  origin_.transport->close_with_reset();
  turn_until([&] { return is_origin_lost_; });
  turn();
  EXPECT_EQ(client_.end.goaways, 0U);
  RecordedStream& get = ask();
  turn_until([&] { return get.closed; });
  EXPECT_THAT(get.heads.at(0), HasSubstr(":status=502;"));
  EXPECT_THAT(get.heads.at(0), HasSubstr("a client certificate is required"));
}

// The first GOAWAY leaves room for requests that cross it, the second says which those are.
TEST_F(Http2Ends, TheEndIsAnnouncedTwiceWhileSomethingRuns) {
  RecordedStream& get = ask();
  RecordedStream& at_origin = asked();
  session_->drain();
  turn_until([&] { return client_.end.goaways == 1; });
  const Milliseconds began = monotonic_now();
  turn_until([&] { return client_.end.goaways == 2; });
  EXPECT_GE(monotonic_now() - began, Http2Session::kCrossing / 2);
  EXPECT_FALSE(get.closed);
  answer(at_origin, {{":status", "200"}}, "whole");
  turn_until([&] { return is_over_; });
  turn_until([&] { return get.closed; });
  EXPECT_EQ(get.body, "whole");
  EXPECT_EQ(client_.end.goaways, 2U);
}

TEST_F(Http2Ends, AFaultOfThePeersIsCounted) {
  start();
  client_.transport->send(http2_test::raw_frame(1, 5, 1, "\xff\xff\xff\xff\xff\xff"));
  turn_until([&] { return is_over_; });
  EXPECT_EQ(counters_.http2_errors_total.get(), 1U);
  EXPECT_EQ(counters_.http2_floods_total.get(), 0U);
}

TEST_F(Http2Ends, AConnectionThatEndsWellIsNoFault) {
  RecordedStream& get = ask();
  answer(asked(), {{":status", "204"}});
  turn_until([&] { return get.closed; });
  session_->drain();
  turn_until([&] { return is_over_; });
  EXPECT_EQ(counters_.http2_errors_total.get(), 0U);
}

TEST_F(Http2Ends, AHeaderSectionMustEndInItsTime) {
  settings_.timeouts.request_header = Milliseconds(200);
  ask();  // which does not help
  asked();
  client_.transport->send(http2_test::raw_frame(1, 1, 3, http2_test::raw_field("x", "y")));
  const Milliseconds began = monotonic_now();
  turn_until([&] { return is_over_; });
  EXPECT_GE(monotonic_now() - began, Milliseconds(100));
  EXPECT_EQ(counters_.http2_floods_total.get(), 1U);
  EXPECT_EQ(client_.end.goaway_code, Http2Code::enhance_your_calm);
}

TEST_F(Http2Ends, AHeaderSectionOfAnOriginMustEndInItsTime) {
  settings_.timeouts.response_header = Milliseconds(200);
  RecordedStream& get = ask("/", true);
  asked();
  origin_.transport->send(http2_test::raw_frame(1, 0, 1, std::string(1, '\x88')));
  turn_until([&] { return get.closed && is_origin_lost_; });
  EXPECT_EQ(counters_.http2_floods_total.get(), 1U);
}

TEST_F(Http2Ends, AMalformedHeadIsAnsweredWithoutABody) {
  RecordedStream& head =
      ask_with({{":method", "HEAD"}, {":scheme", "https"}, {":authority", "origin.test"}, {":path", "/a\\b"}});
  turn_until([&] { return head.closed; });
  EXPECT_THAT(head.heads.at(0), HasSubstr(":status=400;"));
  EXPECT_EQ(head.code, Http2Code::no_error);
  EXPECT_TRUE(head.ended);
  EXPECT_EQ(head.body, "");
}

// As of gRPC: the origin says nothing before it has something to say.
TEST_F(Http2Ends, AConversationMayBeginLate) {
  settings_.timeouts.body = settings_.timeouts.response_header = Milliseconds(200);
  settings_.timeouts.tunnel_idle = Milliseconds(60'000);
  RecordedStream& call = ask("/talk", true);
  RecordedStream& upload = ask("/upload", true, {{"content-length", "10"}});
  say(call, "hello", false);
  RecordedStream& at_origin = asked(1);
  turn_until([&] { return upload.closed; });
  EXPECT_THAT(upload.heads.at(0), HasSubstr(":status=408;"));
  EXPECT_FALSE(call.closed);
  answer(at_origin, {{":status", "200"}}, "at last");
  turn_until([&] { return call.ended; });
  EXPECT_EQ(call.body, "at last");
}

// SETTINGS of an origin that come late, or allow less, make requests wait; limits.http2_streams of them find room.
TEST_F(Http2Ends, AsManyRequestsAsTheLimitAllowsMayWaitForTheOrigin) {
  settings_.limits.http2_streams = 600;
  start();
  turn();
  std::size_t answered = 0;
  std::vector<RecordedStream*> gets;
  for (int i = 0; i < 600; ++i) gets.push_back(&ask());  // all of them in one turn
  turn_until([&] {
    for (; answered < origin_.end.requests; ++answered) {
      answer(origin_.stream(static_cast<Http2StreamId>(2 * answered + 1)), {{":status", "204"}});
    }
    return std::ranges::all_of(gets, [](const auto* get) { return get->closed; });
  });
  EXPECT_EQ(std::ranges::count_if(gets, [](const auto* get) { return get->ended; }), 600);
}

}  // namespace
}  // namespace bloomwall::proxy
