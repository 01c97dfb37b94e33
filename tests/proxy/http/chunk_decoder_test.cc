// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/chunk_decoder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "tests/proxy/http/llhttp_oracle.h"
#include "tests/proxy/http/transcript.h"

namespace bloomwall::proxy::http_test {
namespace {

const HeadLimits kChunkLimits;

TEST(ChunkDecoder, LeavesWhatFollowsTheLastChunkLine) {
  ChunkDecoder decoder;
  decoder.begin(false);
  std::string_view bytes = "3;x\r\nabc\r\n0\r\nX: y\r\n\r\n";
  auto step = decoder.feed(bytes, kChunkLimits);
  EXPECT_EQ(step.event, ChunkEvent::data);
  EXPECT_EQ(std::string(step.data.begin(), step.data.end()), "abc");
  bytes.remove_prefix(step.consumed);
  step = decoder.feed(bytes, kChunkLimits);
  EXPECT_EQ(step.event, ChunkEvent::last);
  EXPECT_EQ(bytes.substr(step.consumed), "X: y\r\n\r\n");
}

TEST(ChunkDecoder, DataIsHandedOutWithoutCopying) {
  ChunkDecoder decoder;
  decoder.begin(false);
  const std::string_view bytes = "5\r\nhello";
  const auto step = decoder.feed(bytes, kChunkLimits);
  EXPECT_EQ(step.data.data(), bytes.data() + 3);
}

TEST(ChunkDecoder, FaultsAreFinal) {
  ChunkDecoder decoder;
  decoder.begin(false);
  EXPECT_EQ(decoder.feed(std::string_view("x"), kChunkLimits).event, ChunkEvent::malformed);
  EXPECT_EQ(decoder.feed(std::string_view("0\r\n"), kChunkLimits).event, ChunkEvent::malformed);
  decoder.begin(false);
  EXPECT_EQ(decoder.feed(std::string_view("0\r\n"), kChunkLimits).event, ChunkEvent::last);
}

std::string random_chunked(std::mt19937_64& random) {
  static constexpr std::string_view kParts[] = {"0\r\n",
                                                "1\r\nx\r\n",
                                                "00a\r\n0123456789\r\n",
                                                "\r\n",
                                                "2;a=b\r\nhi\r\n",
                                                "0;last\r\n",
                                                "F",
                                                ";",
                                                "=",
                                                "\"q\"",
                                                "\r",
                                                "\n",
                                                " ",
                                                "\t",
                                                "\\",
                                                "x: y",
                                                "5\r\nhello",
                                                "3\r\n\r\n\r\r\n",
                                                "Ab\r\n",
                                                "1;x;y=\"z\"\r\n!\r\n"};
  std::string out;
  const std::size_t parts = 1 + random() % 6;
  for (std::size_t i = 0; i < parts; ++i) out.append(kParts[random() % std::size(kParts)]);
  return random() % 2 == 0 ? out + "0\r\n\r\n" : out;
}

// Wherever llhttp, which is stricter about extensions, takes a body, ours takes it too and reads the same octets.
TEST(ChunkDecoder, ReadsWhatLlhttpTakesTheSameWay) {
  constexpr std::uint64_t kSeed = 20240501;
  std::mt19937_64 random(kSeed);
  std::size_t taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string message =
        "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + random_chunked(random);
    const SecondOpinion second = LlhttpOracle::read(HTTP_REQUEST, message);
    if (!second.complete) continue;
    RequestReader reader(kChunkLimits);
    const Transcript t = run(reader, {message});
    // The one thing llhttp 8.1 takes and must not: a CR alone as the end of a trailer line (CVE-2023-30589).
    const auto fault = reader.feed({});
    if (!fault && fault.error().detail == "malformed line end in trailers") continue;
    ++taken;
    ASSERT_TRUE(reader.at_end()) << message << t.events << " seed " << kSeed;
    ASSERT_EQ(t.body, second.body) << message << " seed " << kSeed;
    ASSERT_EQ(t.rest, "") << message << " seed " << kSeed;
  }
  EXPECT_GT(taken, 1000U) << "the generator makes too few good bodies to mean anything";
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
