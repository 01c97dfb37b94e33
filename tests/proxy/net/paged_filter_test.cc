// Filters larger than memory: a verdict whose pages are on disk waits for them, and nobody else does.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

HarnessOptions paged(const std::string& list) {
  HarnessOptions options;
  options.list = list;
  options.paged = true;
  return options;
}

// The host of a ScriptedListener is 127.0.0.1: entries on it are asked for every request to it.
const std::string kList = "http://127.0.0.1/listed\nhttp://other.test/x?y\n";

TEST(PagedFilter, AListedUrlIsBlockedOnceItsPageWasRead) {
  ProxyHarness proxy(paged(kList));
  auto client = proxy.client();
  client.send(get("127.0.0.1:1", "/listed"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  EXPECT_EQ(proxy.counter(&Counters::verdicts_waited_total), 1U) << "the file system kept the page in memory";
}

TEST(PagedFilter, ThePageStaysAndNobodyWaitsAgain) {
  ProxyHarness proxy(paged(kList));
  for (int i = 0; i < 3; ++i) {
    auto client = proxy.client();
    client.send(get("127.0.0.1:1", "/listed"));
    EXPECT_EQ(status_of(client.read_head()), 403);
  }
  EXPECT_EQ(proxy.counter(&Counters::verdicts_waited_total), 1U);
}

TEST(PagedFilter, ARequestThatWaitedGoesToItsOrigin) {
  ProxyHarness proxy(paged(kList));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/plain"));
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("GET /plain HTTP/1.1\r\n"));
  server.send(ok("hello"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("hello");
  EXPECT_EQ(proxy.counter(&Counters::verdicts_waited_total), 1U);
}

TEST(PagedFilter, ABodyThatCameWithTheHeadIsKept) {
  ProxyHarness proxy(paged(kList));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("POST", origin.authority(), "/upload", "Content-Length: 11\r\n", "hello world"));
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("POST /upload HTTP/1.1\r\n"));
  server.expect("hello world");
  server.send(ok("got it"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("got it");
}

TEST(PagedFilter, PipelinedRequestsAreAnsweredInOrder) {
  ProxyHarness proxy(paged(kList));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/1") + get(origin.authority(), "/2"));
  auto server = origin.accept();
  for (const std::string number : {"1", "2"}) {
    EXPECT_TRUE(server.read_head().starts_with("GET /" + number + " "));
    server.send(ok("body" + number));
    EXPECT_EQ(status_of(client.read_head()), 200);
    client.expect("body" + number);
  }
}

TEST(PagedFilter, HostsAreNeverWaitedFor) {
  ProxyHarness proxy(paged("blocked.test\n" + kList));
  auto client = proxy.client();
  client.send(connect_to("blocked.test:443"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  EXPECT_EQ(proxy.counter(&Counters::verdicts_waited_total), 0U);
}

}  // namespace
}  // namespace bloomwall::test
