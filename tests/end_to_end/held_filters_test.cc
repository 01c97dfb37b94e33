// What lives long must not keep what a reload has replaced: tunnels, downloads and uploads under way over several
// reloads, and afterwards there is one policy and no mapping of a filter that is gone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "tests/end_to_end/servers.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr const char* kHeldYaml = R"(
workers: 2
filters: [{name: sample, file: test.bwf}]
access: {connect_ports: [], deny_destinations: []}
log: {access: {file: off}}
dns: {hosts: {open.example.test: 127.0.0.1}}
)";

constexpr const char* kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
constexpr const char* kSwitched =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

class HeldFilters : public testing::Test {
 protected:
  void SetUp() override {
    build();
    proxy_ = std::make_unique<Proxy>(folder_, kHeldYaml, Proxy::Admin::on);
  }
  void build() {
    build_filter(folder_.path("test.bwf"), "listed" + std::to_string(++built_) + ".example.test\n",
                 {"--format", "domains"});
  }
  ScriptedPeer client() const { return ScriptedPeer::connect(proxy_->port()); }
  // Inodes of what is mapped of filters, by name or without one.
  std::size_t mapped() const {
    std::ifstream maps("/proc/" + std::to_string(proxy_->process().pid()) + "/maps");
    std::set<std::string> inodes;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(".bwf") == std::string::npos && line.find("(deleted)") == std::string::npos) continue;
      std::istringstream words(line);
      std::string range, rights, offset, device, inode;
      words >> range >> rights >> offset >> device >> inode;
      inodes.insert(inode);
    }
    return inodes.size();
  }
  std::string metric(const std::string& name) const {
    auto admin = ScriptedPeer::connect(proxy_->admin_port());
    admin.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    const std::string text = admin.read_to_end();
    const std::size_t at = text.find("\n" + name + " ");
    if (at == std::string::npos) return "none in " + text;
    const std::size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  }

  const TempDir folder_;
  ScriptedListener origin_;
  std::unique_ptr<Proxy> proxy_;
  int built_ = 0;
};

TEST_F(HeldFilters, NobodyHoldsThoseThatWereReplaced) {
  const std::size_t at_first = mapped();
  const std::string authority = "open.example.test:" + std::to_string(origin_.port());
  const std::string hello = proxy::http_test::client_hello(proxy::http_test::server_name("open.example.test"));
  std::vector<ScriptedPeer> clients, servers;
  const auto begin = [&](const std::string& request) {
    clients.push_back(client());
    clients.back().send(request);
    servers.push_back(origin_.accept());
  };
  for (int i = 0; i < 4; ++i) {
    begin(connect_to(authority));
    clients.back().read_head();
    begin(connect_to(authority));
    clients.back().read_head();
    clients.back().send("opaque");
    servers.back().expect("opaque");
    begin(connect_to(authority));
    clients.back().read_head();
    clients.back().send("GET /inside HTTP/1.1\r\nHost: open.example.test\r\n\r\n");
    servers.back().read_head();
    servers.back().send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\npart");
    clients.back().read_head();
    begin(connect_to(authority));
    clients.back().read_head();
    clients.back().send(hello);
    servers.back().expect(hello);
    begin(get(authority, "/socket", kUpgrade));
    servers.back().read_head();
    servers.back().send(kSwitched);
    EXPECT_EQ(status_of(clients.back().read_head()), 101);
    begin(get(authority, "/waiting"));
    servers.back().read_head();
    begin(get(authority, "/answered"));
    servers.back().read_head();
    servers.back().send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    clients.back().read_head();  // and is idle from here on
    begin(get(authority, "/download"));
    servers.back().read_head();
    servers.back().send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\npart");
    clients.back().read_head();
    begin(request("POST", authority, "/upload", "Content-Length: 1000000\r\n", "part"));
    servers.back().read_head();
    build();
    ASSERT_EQ(proxy_->reload().status, 0);
  }
  comes_true([&] { return mapped() <= at_first && metric("bloomwall_generations_alive") == "1"; });
  EXPECT_LE(mapped(), at_first);
  EXPECT_EQ(metric("bloomwall_generations_alive"), "1");
  EXPECT_EQ(metric("bloomwall_generation"), "5");
  clients.front().send("all of them live");
  servers.front().expect("all of them live");
}

}  // namespace
}  // namespace bloomwall::test
