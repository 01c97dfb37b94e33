// Filters larger than memory: a verdict whose pages are on disk waits for them, and nobody else does.
// SPDX-License-Identifier: Apache-2.0
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

class PagedFilter : public ProxyTest {
 protected:
  PagedFilter() {
    given.paged = true;
    // The origin's host is 127.0.0.1: entries on it are asked for every request to it.
    given.list = "blocked.test\nhttp://127.0.0.1/listed\nhttp://other.test/x?y\n";
  }
  std::uint64_t waits() { return counter(&Counters::verdicts_waited_total); }
  // Of as many as are asked one request waits, for its page only comes once. A disk may be so quick that the page is
  // there before it is missed; then nobody waits, and another file is asked. And the kernel may take a page away again
  // for somebody who needs memory; that is granted twice.
  void expect_one_wait(const std::function<void()>& ask) {
    std::uint64_t before = 0;
    int files = 0, driven_out = 0;
    for (;;) {
      reload();  // to a file whose pages are on the disk
      if (!has_left_memory()) GTEST_SKIP() << "this file system keeps its pages in memory";
      before = waits();
      ask();
      if (waits() == before ? ++files == 100 : waits() == before + 1 || ++driven_out == 3) break;
    }
    EXPECT_EQ(waits(), before + 1);
  }
};

TEST_F(PagedFilter, AListedUrlIsBlockedOnceItsPageWasRead) {
  expect_one_wait([&] { EXPECT_EQ(status_of(reply_to(get("127.0.0.1:1", "/listed"))), 403); });
}

TEST_F(PagedFilter, ThePageStaysAndNobodyWaitsAgain) {
  expect_one_wait([&] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(reply_to(get("127.0.0.1:1", "/listed"))), 403);
  });
}

TEST_F(PagedFilter, ARequestThatWaitedGoesToItsOrigin) {
  expect_one_wait([&] {
    auto [client, server, asked] = exchange(get_origin("/plain"));
    EXPECT_TRUE(asked.starts_with("GET /plain HTTP/1.1\r\n"));
    answer(server, client, "hello");
  });
}

TEST_F(PagedFilter, ABodyThatCameWithTheHeadIsKept) {
  auto [client, server, asked] = exchange(post_origin(length_field(11), "hello world", "/upload"));
  EXPECT_TRUE(asked.starts_with("POST /upload HTTP/1.1\r\n"));
  server.expect("hello world");
  answer(server, client, "got it");
}

TEST_F(PagedFilter, PipelinedRequestsAreAnsweredInOrder) {
  auto client = new_client(get_origin("/1") + get_origin("/2"));
  for (const std::string number : {"1", "2"}) {
    auto server = origin.accept();
    EXPECT_TRUE(server.read_head().starts_with("GET /" + number + " "));
    answer(server, client, "body" + number);
  }
}

// Whether the reload comes before its request, while that waits, or when its tunnel is open.
TEST_F(PagedFilter, AClientThatAReloadDeniesKeepsNoTunnel) {
  the_proxy();
  given.settings.access.clients = {"192.0.2.0/24"};
  const proxy::Edition next = edition();
  auto client = new_client(get_origin("/socket",
                                      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  serve(next);
  std::optional<ScriptedPeer> server;
  if (!origin.speaks_first(client)) {
    server.emplace(origin.accept());
    server->read_head();
    server->send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  }
  client.read_to_end();
}

TEST_F(PagedFilter, APageThatIsNotWhatWasWrittenBlocks) {
  given.rotten = true;
  expect_one_wait([&] {
    EXPECT_EQ(status_of(reply_to(get("127.0.0.1:1", "/listed"))), 403);
    EXPECT_EQ(status_of(reply_to(get("127.0.0.1:1", "/unlisted"))), 403) << "the filter is lost, on_error is block";
  });
}

// tmpfs is such a file system; ZFS and NFS are others.
TEST_F(PagedFilter, OnAFileSystemThatCantSayWhatIsInMemoryAPageIsWaitedForOnce) {
  const std::filesystem::path memory = "/dev/shm";
  struct statfs kind{};
  if (::statfs(memory.c_str(), &kind) != 0 || kind.f_type != TMPFS_MAGIC) GTEST_SKIP() << "no tmpfs at " << memory;
  const TempDir folder(memory);
  given.filter_folder = folder.path();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(reply_to(get("127.0.0.1:1", "/listed"))), 403);
  auto [client, server, asked] = exchange(get_origin("/plain"));
  answer(server, client, "hello");
  EXPECT_LE(waits(), 2U) << "one page, or two where the two URLs have their bits in different ones";
}

TEST_F(PagedFilter, HostsAreNeverWaitedFor) {
  EXPECT_EQ(status_of(reply_to(connect_to("blocked.test:443"))), 403);
  EXPECT_EQ(waits(), 0U);
}

}  // namespace
}  // namespace bloomwall::test
