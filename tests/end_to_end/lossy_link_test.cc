// The real program between links that lose packets, and between peers that are slow. Which packets are lost is random,
// and the kernel takes no seed; what is carried is the same in every run.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>

#include "tests/end_to_end/load.h"
#include "tests/end_to_end/proxy_between_links.h"

namespace bloomwall::test {
namespace {

using std::chrono::milliseconds;

std::string octets(std::size_t size, std::uint64_t from = 0) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(pattern(from + i));
  return out;
}

// Chunks of many sizes, from one octet on.
std::string chunked(std::string_view body) {
  std::string out;
  for (std::size_t i = 1; !body.empty(); ++i) {
    const std::string_view piece = body.substr(0, i * 7919 % 20011 + 1);
    out += fmt::format("{:x}\r\n", piece.size()).append(piece).append("\r\n");
    body.remove_prefix(piece.size());
  }
  return out + "0\r\n\r\n";
}

testing::AssertionResult same(std::string_view came, std::string_view sent) {
  if (came == sent) return testing::AssertionSuccess();
  const auto at = std::ranges::mismatch(came, sent).in1 - came.begin();
  return testing::AssertionFailure() << came.size() << " octets of " << sent.size() << ", other from " << at << " on";
}

using LossyLink = ProxyBetweenLinks;

struct Transfer {
  const char* name;
  std::size_t up, down;
  bool in_chunks;
};

// Each on a connection of its own: a kept one is used for a body or not by how long ago it was used last.
void carry(Pair& pair, const Transfer& row, std::uint64_t from) {
  const std::string up = octets(row.up, from), down = octets(row.down, from + row.up);
  const auto framing = [&](std::size_t size) {
    return row.in_chunks ? std::string("Transfer-Encoding: chunked\r\n") : fmt::format("Content-Length: {}\r\n", size);
  };
  const bool has_body = row.up > 0;
  const std::string path = fmt::format("/{}", from), method = has_body ? "POST" : "GET";
  auto asked = std::async(std::launch::async, [&] {
    pair.client.send(request_head(method, pair.listener->authority(), path, has_body ? framing(row.up) : ""));
    if (has_body) pair.client.send(row.in_chunks ? chunked(up) : up);
  });
  pair.begin_to_serve(method + " " + path + " ");
  if (has_body) {
    EXPECT_TRUE(same(row.in_chunks ? pair.origin->read_chunked() : pair.origin->read_exactly(up.size()), up));
  }
  asked.get();
  auto answered = std::async(std::launch::async, [&] {
    pair.origin->send("HTTP/1.1 200 OK\r\n" + framing(row.down) + "Connection: close\r\n\r\n" +
                      (row.in_chunks ? chunked(down) : down));
  });
  EXPECT_TRUE(pair.client.read_head().starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(same(row.in_chunks ? pair.client.read_chunked() : pair.client.read_exactly(down.size()), down));
  answered.get();
  pair.origin->expect_end();
  pair.origin.reset();
}

TEST_F(LossyLink, RequestsArriveOnceAndWholeWhereEveryTwentiethPacketIsLost) {
  start_proxy("");
  ASSERT_TRUE(client_->lose_percent(5) && origin_->lose_percent(5));
  Pair pair{call_from(*client_), listen_at(*origin_)};
  constexpr Transfer kRows[] = {
      {"little", 0, 100, false},   {"download", 0, 2 * kMiB, false},     {"download in chunks", 0, kMiB, true},
      {"upload", kMiB, 10, false}, {"upload in chunks", kMiB, 10, true}, {"both", kMiB / 2, kMiB / 2, false},
  };
  std::uint64_t from = 0;
  for (const Transfer& row : kRows) {
    SCOPED_TRACE(row.name);
    carry(pair, row, from);
    from += row.up + row.down;
  }
  constexpr int kPipelined = 30;
  std::string together;
  for (int i = 0; i < kPipelined; ++i)
    together += request_head("GET", pair.listener->authority(), fmt::format("/p{}", i));
  pair.client.send(together);
  for (int i = 0; i < kPipelined; ++i) {
    pair.begin_to_serve(fmt::format("GET /p{} ", i));
    pair.origin->send(answer(fmt::format("answer {}", i)));
  }
  for (int i = 0; i < kPipelined; ++i) {
    EXPECT_TRUE(pair.client.read_head().starts_with("HTTP/1.1 200 "));
    pair.client.expect(fmt::format("answer {}", i));
  }
  EXPECT_TRUE(pair.client.is_quiet_for(milliseconds(50))) << "answered twice, or hung up on";
  EXPECT_TRUE(pair.origin->is_quiet_for(milliseconds(50))) << "asked twice, or hung up on";
  EXPECT_TRUE(pair.listener->nobody_comes_for(milliseconds(0))) << "connected once too often";
  EXPECT_GT(client_->lost(), 50U);
  EXPECT_GT(origin_->lost(), 50U);
}

TEST_F(LossyLink, ATunnelCarriesBothWaysWhereEveryTwentiethPacketIsLost) {
  start_proxy("");
  ASSERT_TRUE(client_->lose_percent(5) && origin_->lose_percent(5));
  Pair pair{call_from(*client_), listen_at(*origin_)};
  pair.open_tunnel();
  ScriptedPeer &client = pair.client, &origin = *pair.origin;
  const std::string up = octets(kMiB), down = octets(kMiB, kMiB);
  auto sent_up = std::async(std::launch::async, [&] { client.send(up); });
  auto sent_down = std::async(std::launch::async, [&] { origin.send(down); });
  auto came_down = std::async(std::launch::async, [&] { return client.read_exactly(down.size()); });
  EXPECT_TRUE(same(origin.read_exactly(up.size()), up));
  EXPECT_TRUE(same(came_down.get(), down));
  sent_up.get();
  sent_down.get();
  client.shut_write();
  origin.expect_end();
  origin.send("the last word");
  origin.close();
  client.expect("the last word");
  client.expect_end();
  EXPECT_GT(client_->lost(), 50U);
  EXPECT_GT(origin_->lost(), 50U);
}

// Time passes, and the other side neither says anything nor hangs up.
void pause(ScriptedPeer& peer) { EXPECT_TRUE(peer.is_quiet_for(milliseconds(100))) << "not left in peace"; }

class SlowPeers : public ProxyBetweenLinks {
 protected:
  static constexpr milliseconds kLimit{1000};
  static constexpr std::size_t kPieces = 12;  // each within the limit, together far beyond it
  void SetUp() override {
    ProxyBetweenLinks::SetUp();
    if (IsSkipped()) return;
    start_proxy("body: 1s, response_header: 1s");
    pair_.emplace(Pair{call_from(*client_), listen_at(*origin_)});
  }
  std::optional<Pair> pair_;
};

TEST_F(SlowPeers, BodiesThatDripPassWhole) {
  constexpr std::size_t kPiece = 1000;
  const std::string body = octets(kPieces * kPiece);
  Pair &down = *pair_, up{call_from(*client_), listen_at(*origin_)};
  const Stopwatch since;
  down.client.send(request_head("GET", down.listener->authority(), "/down"));
  down.begin_to_serve("GET /down ");
  down.origin->send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.size()));
  up.client.send(request_head("POST", up.listener->authority(), "/up", "Transfer-Encoding: chunked\r\n"));
  up.begin_to_serve("POST /up ");
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::string piece = body.substr(i * kPiece, kPiece);
    down.origin->send(piece);
    up.client.send("3e8\r\n" + piece + "\r\n");
    pause(*down.origin);
  }
  up.client.send("0\r\n\r\n");
  EXPECT_GT(since.elapsed(), kLimit) << "or nothing was shown";
  EXPECT_TRUE(down.client.read_head().starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(same(down.client.read_exactly(body.size()), body));
  EXPECT_TRUE(same(up.origin->read_chunked(), body));
  up.origin->send(answer("whole"));
  EXPECT_TRUE(up.client.read_head().starts_with("HTTP/1.1 200 "));
  up.client.expect("whole");
}

TEST_F(SlowPeers, AHeadMayTakeUntilItsTimeIsUpAndNoLonger) {
  const std::string head = "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\nContent-Length: 0\r\n\r\n";
  pair_->client.send(request_head("GET", pair_->listener->authority(), "/slow"));
  pair_->begin_to_serve("GET /slow ");
  for (std::size_t at = 0; at < head.size(); at += 20) {
    pair_->origin->send(head.substr(at, 20));
    if (at + 20 < head.size()) pause(*pair_->origin);
  }
  EXPECT_TRUE(pair_->client.read_head().starts_with("HTTP/1.1 200 "));

  const int counted = errors_of("upstream_timeout");
  for (const bool drips : {false, true}) {
    SCOPED_TRACE(drips ? "an octet at a time" : "nothing at all");
    if (!pair_->origin) pair_->client = call_from(*client_);
    pair_->client.send(request_head("GET", pair_->listener->authority(), "/late"));
    pair_->begin_to_serve("GET /late ");
    const Stopwatch since;
    std::size_t at = 0;
    for (; since.elapsed() < kPatience && pair_->client.is_quiet_for(milliseconds(100)) && at < head.size(); ++at) {
      if (drips) pair_->origin->send(head.substr(at, 1));
    }
    EXPECT_GT(since.elapsed(), kLimit / 2);
    EXPECT_TRUE(pair_->client.read_head().starts_with("HTTP/1.1 504 "));
    EXPECT_EQ(errors_of("upstream_timeout"), counted + (drips ? 2 : 1));
    pair_->origin.reset();  // the proxy has left it
  }
}

}  // namespace
}  // namespace bloomwall::test
