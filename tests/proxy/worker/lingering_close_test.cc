// What is dropped of a client that goes on sending behind its answer, and for how long.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/client/lingering_close.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/support/memory_transport.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using RefusedUploads = ProxyTest;

class LingeringCloseTest : public testing::Test {
 protected:
  void SetUp() override { MemoryTransport::join(client_, peer_); }
  std::optional<proxy::Milliseconds> wait() { return ending_.wait_for(client_, true, settings_); }

  struct Silent final : proxy::Transport::Handler {
    std::size_t on_data(std::span<const char> bytes) override { return bytes.size(); }
    void on_end() override {}
    void on_drained() override {}
    void on_write_failed(int) override {}
    void on_failed(int) override {}
  };
  proxy::EventLoop loop_;
  proxy::BufferPool pool_{1 << 20};
  std::vector<char> scratch_ = std::vector<char>(65536);
  proxy::IoContext io_{loop_, pool_, scratch_};
  Silent silent_;
  MemoryTransport client_{io_, silent_}, peer_{io_, silent_};
  conf::Config settings_;
  proxy::LingeringClose ending_;
};

TEST_F(LingeringCloseTest, GoesOnWhileOctetsCome) {
  ASSERT_TRUE(ending_.begin(client_, false));
  EXPECT_EQ(wait(), std::nullopt) << "nothing has come";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ending_.drop(100));
    const auto more = wait();
    ASSERT_TRUE(more.has_value());
    EXPECT_LE(*more, proxy::LingeringClose::kWait);
    EXPECT_EQ(wait(), std::nullopt) << "nothing has come since";
  }
}

TEST_F(LingeringCloseTest, EndsWithTheTimeForBodies) {
  settings_.timeouts.body = 0ms;
  ASSERT_TRUE(ending_.begin(client_, false));
  ASSERT_TRUE(ending_.drop(100));
  EXPECT_EQ(wait(), std::nullopt);
}

TEST_F(LingeringCloseTest, EndsWhereTooMuchComes) {
  ASSERT_TRUE(ending_.begin(client_, false));
  EXPECT_TRUE(ending_.drop(proxy::LingeringClose::kMostDropped));
  EXPECT_FALSE(ending_.drop(1));
}

// Many programs write all of an upload before they read; one whose write fails never reads the page.
TEST_F(RefusedUploads, AreReadToTheirEndSoThatThePageIsSeen) {
  given.list = "blocked.test\n";
  std::string body;
  body.resize(30'000'000, 'u');
  auto client =
      new_client("POST http://blocked.test/ HTTP/1.1\r\nHost: blocked.test\r\nContent-Length: 30000000\r\n\r\n");
  client.send(body);  // throws where it is not taken
  EXPECT_EQ(status_of(client.read_head()), 403);
  client.read_to_end();
}

}  // namespace
}  // namespace bloomwall::test
