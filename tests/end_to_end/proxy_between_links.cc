// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/proxy_between_links.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace bloomwall::test {
namespace {

constexpr std::uint16_t kPort = 3128, kAdminPort = 9128;

}  // namespace

std::string request_head(std::string_view method, const std::string& authority, std::string_view path,
                         std::string_view fields, std::string_view version) {
  const std::string target = method == "CONNECT" ? authority : "http://" + authority + std::string(path);
  return fmt::format("{} {} {}\r\nHost: {}\r\n{}\r\n", method, target, version, authority, fields);
}

std::string answer(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

bool Pair::begin_to_serve(std::string_view head_begins) {
  const bool stays = origin && listener->speaks_first(*origin);
  if (!stays) origin.emplace(listener->accept());
  EXPECT_TRUE(origin->read_head().starts_with(head_begins)) << head_begins;
  return stays;
}

void Pair::open_tunnel() {
  client.send(request_head("CONNECT", listener->authority(), {}));
  EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 200 "));
  origin.emplace(listener->accept());
}

bool Pair::exchange(int number) {
  const std::string name = "/" + std::to_string(number), body = "this is " + name;
  client.send(request_head("GET", listener->authority(), name));
  const bool stays = begin_to_serve("GET " + name + " ");
  origin->send(answer(body));
  EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 200 "));
  client.expect(body);
  return stays;
}

void ProxyBetweenLinks::SetUp() {
  if (const auto why = no_networks_here(); !why.empty()) GTEST_SKIP() << why;
  hub_.emplace();
  client_.emplace(*hub_, "client", 7);
  origin_.emplace(*hub_, "origin", 8);
  beside_.emplace(*hub_, "beside", 9);
  if (!client_->lose_percent(5)) GTEST_SKIP() << "the kernel's nft drops nothing at random";
  client_->heal();
}

void ProxyBetweenLinks::start_proxy(const std::string& timeouts) {
  names_ = hub_->within([] { return std::make_unique<ScriptedDns>(); });
  const std::string config =
      folder_.write("bloomwall.yaml", fmt::format(R"(
listeners: [{{address: ":{}"}}]
workers: 1
access: {{clients: [10.0.0.0/8], connect_ports: [], deny_destinations: []}}
dns: {{servers: ["{}"]}}
timeouts: {{{}}}
admin: {{address: "127.0.0.1:{}", control_socket: null}}
state_dir: null
)",
                                                  kPort, names_->address(), timeouts, kAdminPort));
  proxy_ = std::make_unique<Process>(hub_->inside({bloomwall_program(), "run", "--config", config}));
  ASSERT_TRUE(proxy_->wait_for_line("is served:")) << proxy_->output();
}

void ProxyBetweenLinks::TearDown() {
  if (proxy_ == nullptr) return;
  proxy_->signal(SIGINT);
  EXPECT_EQ(proxy_->wait(), 0) << proxy_->output();
  if (HasFailure()) std::printf("%s", proxy_->output().c_str());
}

ScriptedPeer ProxyBetweenLinks::call_from(const Link& link) {
  return link.place().within([&] { return ScriptedPeer::connect(kPort, link.hub_address()); });
}

std::unique_ptr<ScriptedListener> ProxyBetweenLinks::listen_at(const Link& link, const std::string& address) {
  return link.place().within(
      [&] { return std::make_unique<ScriptedListener>(address.empty() ? link.address() : address); });
}

int ProxyBetweenLinks::counter(const std::string& name) const {
  ScriptedPeer page = hub_->within([] { return ScriptedPeer::connect(kAdminPort); });
  page.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string text = page.read_to_end(), row = "\nbloomwall_" + name + " ";
  const auto at = text.find(row);
  if (at == std::string::npos) throw std::runtime_error("not counted: " + name);
  return std::stoi(text.substr(at + row.size()));
}

}  // namespace bloomwall::test
