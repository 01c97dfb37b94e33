// SIGTERM under the real program: every request that has arrived is answered.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/end_to_end/servers.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr int kClients = 400;

const std::string kShutdownYaml =
    "workers: 2\naccess: {deny_destinations: []}\ndns: {hosts: {ok.test: 127.0.0.1}}\nlog: {access: {file: off}}\n";

// Answers with a status; "" where the connection was reset or closed without one.
std::string status_to(ScriptedPeer& client) {
  try {
    return std::to_string(status_of(client.read_head()));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

// While the process stands still, clients connect and ask, or ask again; SIGTERM is the first thing that it sees.
TEST(Shutdown, RequestsThatHaveArrivedAreAnswered) {
  const TempDir folder;
  Proxy proxy(folder, kShutdownYaml);
  const std::string request = get("ok.test:" + std::to_string(closed_port()));
  std::vector<ScriptedPeer> clients;
  for (int i = 0; i < kClients / 4; ++i) {
    clients.push_back(ScriptedPeer::connect(proxy.port()));  // accepted already, and silent so far
  }
  for (int i = 0; i < kClients / 4; ++i) {
    clients.push_back(ScriptedPeer::connect(proxy.port()));
    clients.back().send(request);
    const std::string head = clients.back().read_head();
    clients.back().read_exactly(std::stoul(field_of(head, "Content-Length")));
  }
  proxy.process().signal(SIGSTOP);
  for (ScriptedPeer& client : clients) client.send(request);
  for (int i = 0; i < kClients / 2; ++i) {
    clients.push_back(ScriptedPeer::connect(proxy.port()));
    clients.back().send(request);
  }
  proxy.process().signal(SIGTERM);
  proxy.process().signal(SIGCONT);
  int answered = 0;
  for (ScriptedPeer& client : clients) answered += status_to(client) == "502" ? 1 : 0;
  EXPECT_EQ(answered, kClients);
  EXPECT_EQ(proxy.process().wait(), 0) << proxy.process().output();
}

TEST(Shutdown, WhileItIsAnnouncedHealthChecksSaySoAndClientsAreServed) {
  const TempDir folder;
  Proxy proxy(folder, kShutdownYaml + "timeouts: {announce: 2s}\n", Proxy::Admin::on);
  proxy.process().signal(SIGTERM);
  ASSERT_TRUE(proxy.process().wait_for_line("announcing the shutdown")) << proxy.process().output();
  auto check = ScriptedPeer::connect(proxy.admin_port());
  check.send("GET /readyz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_of(check.read_head()), 503);
  auto client = ScriptedPeer::connect(proxy.port());
  client.send(get("ok.test:" + std::to_string(closed_port())));
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 502);
  EXPECT_EQ(field_of(head, "Connection"), "close");
  EXPECT_EQ(proxy.process().wait(), 0) << proxy.process().output();
}

}  // namespace
}  // namespace bloomwall::test
