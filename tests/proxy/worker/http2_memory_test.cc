// limits.buffer_memory is spent by HTTP/2: senders are paused until their receivers read, and nobody who reads is cut.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/proxy/worker/http2_fixture.h"

namespace bloomwall::proxy {
namespace {

class ScarceHttp2Memory : public Http2Sessions {
 protected:
  static constexpr std::size_t kStreams = 80, kBody = std::size_t{256} << 10;

  ScarceHttp2Memory() { settings_.limits.buffer_memory = std::uint64_t{8} << 20; }
  // Before there is a shortage; the answers are not read yet.
  std::vector<RecordedStream*> ask_all(std::size_t count, bool has_body) {
    std::vector<RecordedStream*> streams;
    while (streams.size() < count) {
      streams.push_back(&ask("/", has_body));
      streams.back()->consumes = false;
    }
    turn_until([&] { return origin_.end.requests == count; });
    return streams;
  }
  // Until it is as much as it will be.
  void await_shortage() {
    turn_until([&] { return !pool_.has_room(std::size_t{64} << 10); });
    turn(500);
    expect_no_refusal();
  }
  void expect_no_refusal() {
    EXPECT_EQ(pool_.refusals(), 0U);
    EXPECT_LE(pool_.in_use(), pool_.limit());
  }
  static void expect_whole(const RecordedStream& stream) {
    EXPECT_TRUE(stream.ended);
    EXPECT_TRUE(stream.body == std::string(kBody, 'b'));
  }
};

TEST_F(ScarceHttp2Memory, SlowReadersGetTheirWholeAnswers) {
  const std::vector<RecordedStream*> slow = ask_all(kStreams, false);
  for (std::size_t i = 1; i <= kStreams; ++i) answer(asked(i), {{":status", "200"}}, std::string(kBody, 'b'));
  await_shortage();
  for (RecordedStream* const stream : slow) {
    stream->consumes = true;
    stream->give_back();
  }
  turn_until([&] { return std::ranges::all_of(slow, [](const auto* stream) { return stream->closed; }); });
  for (const RecordedStream* const stream : slow) expect_whole(*stream);
  expect_no_refusal();
}

TEST_F(ScarceHttp2Memory, SlowOriginsGetTheirWholeRequests) {
  const std::vector<RecordedStream*> sent = ask_all(kStreams, true);
  std::vector<RecordedStream*> taken;
  for (std::size_t i = 1; i <= kStreams; ++i) taken.push_back(&asked(i));
  for (RecordedStream* const stream : taken) stream->consumes = false;
  for (RecordedStream* const stream : sent) say(*stream, std::string(kBody, 'b'), true);
  await_shortage();
  for (RecordedStream* const stream : taken) {
    stream->consumes = true;
    stream->give_back();
  }
  turn_until([&] { return std::ranges::all_of(taken, [](const auto* stream) { return stream->ended; }); });
  for (const RecordedStream* const stream : taken) expect_whole(*stream);
  for (RecordedStream* const stream : taken) answer(*stream, {{":status", "204"}});
  turn_until([&] { return std::ranges::all_of(sent, [](const auto* stream) { return stream->closed; }); });
  expect_no_refusal();
}

// Both directions wait for each other's windows: no deadlock.
TEST_F(ScarceHttp2Memory, BothDirectionsAtOnceComeToTheirEnd) {
  const std::vector<RecordedStream*> calls = ask_all(kStreams, true);
  std::vector<RecordedStream*> served;
  for (std::size_t i = 1; i <= calls.size(); ++i) served.push_back(&asked(i));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    served[i]->consumes = false;
    say(*calls[i], std::string(kBody, 'b'), true);
    served[i]->to_send = std::string(kBody, 'b');  // and its end when the request has come: else that is not wanted
    origin_.end.answer(*served[i]);
  }
  await_shortage();
  for (const auto& streams : {calls, served}) {
    for (RecordedStream* const stream : streams) {
      stream->consumes = true;
      stream->give_back();
    }
  }
  const auto is_done = [](const RecordedStream* stream) { return stream->ended; };
  turn_until([&] { return std::ranges::all_of(served, is_done); });
  for (RecordedStream* const stream : served) {
    stream->is_last = true;
    origin_.end.connection.resume(stream->id);
  }
  turn_until([&] { return std::ranges::all_of(calls, is_done); });
  for (const RecordedStream* const stream : calls) expect_whole(*stream);
  for (const RecordedStream* const stream : served) expect_whole(*stream);
  expect_no_refusal();
}

// Over its share a connection has no further requests served; those that it has go on.
TEST_F(ScarceHttp2Memory, WhoHoldsTooMuchIsRefusedMoreRequests) {
  const std::vector<RecordedStream*> slow = ask_all(kStreams, false);
  for (std::size_t i = 1; i <= kStreams; ++i) answer(asked(i), {{":status", "200"}}, std::string(kBody, 'b'));
  await_shortage();
  RecordedStream& refused = ask("/more");
  turn_until([&] { return refused.closed; });
  EXPECT_EQ(refused.code, Http2Code::refused_stream);
  EXPECT_EQ(counters_.http2_streams_refused_total.get(), 1U);
  for (RecordedStream* const stream : slow) {
    stream->consumes = true;
    stream->give_back();
  }
  turn_until([&] { return std::ranges::all_of(slow, [](const auto* stream) { return stream->closed; }); });
  RecordedStream& served = ask("/again");
  answer(asked(kStreams + 1), {{":status", "204"}});
  turn_until([&] { return served.ended; });
}

}  // namespace
}  // namespace bloomwall::proxy
