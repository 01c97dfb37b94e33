// What a reload makes of tunnels whose TLS passed, and whose client a certificate is counted for.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>

#include "proxy/decision/tls_inspection.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/inspection_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using proxy::http_test::client_hello;
using proxy::http_test::handshake;
using proxy::http_test::records;
using proxy::http_test::server_name;
using Mode = conf::TlsInspection::Mode;

class InspectionReload : public InspectionTest {
 protected:
  InspectionReload() {
    given.list = "ok.test/listed/\n";
    given.settings.timeouts.drain = 0ms;
  }
  void change_mode(Mode mode) {
    given.settings.tls_inspection.mode = mode;
    reload();
  }
  static void say_hello(Tunnel& open, const std::string& hello) {
    open.client.send(hello);
    open.server.expect(hello);
  }
  // Both hellos have passed, and from here on anything does.
  static void shake_hands(Tunnel& open, const std::string& hello) {
    say_hello(open, hello);
    const std::string answer = records(handshake("\x03\x03" + std::string(32, 'r') + "rest", 2));
    open.server.send(answer);
    open.client.expect(answer);
  }
};

TEST_F(InspectionReload, EndsTunnelsOfHostsThatTheNextModeDecrypts) {
  for (const Mode before : {Mode::off, Mode::blocked}) {
    for (const std::string& hello : {client_hello(server_name("ok.test")), client_hello({})}) {
      given.settings.tls_inspection.mode = before;
      reload();
      auto marked = tunnel("ok.test"), begun = tunnel("ok.test");
      auto plain = tunnel("mixed.test");
      auto text = tunnel("ok.test");
      shake_hands(marked, hello);
      say_hello(begun, hello);
      shake_hands(plain, client_hello(server_name("mixed.test")));
      text.client.send("SSH-2.0-x\r\n");
      text.server.expect("SSH-2.0-x\r\n");
      const auto cut = counter(&Counters::tunnels_cut_by_reload_total);
      change_mode(Mode::urls);
      marked.client.expect_end();
      marked.server.expect_end();
      begun.client.expect_end();
      EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), cut + 2);
      plain.client.send("goes on");
      plain.server.expect("goes on");
      text.client.send("goes on");
      text.server.expect("goes on");
    }
  }
}

// Its ClientHello is still to come, and decided by what is so by then.
TEST_F(InspectionReload, DecryptsATunnelThatWasSilentMeanwhile) {
  for (const Mode before : {Mode::off, Mode::blocked}) {
    given.settings.tls_inspection.mode = before;
    reload();
    auto open = tunnel("ok.test");
    change_mode(Mode::urls);
    TlsPeer client = hello(std::move(open.client));
    TlsPeer server(std::move(open.server), proxy::TlsSession::accept(**serving_));
    server.shake_hands();
    client.shake_hands();
    client.send(inner(at("ok.test"), "/listed/x"));
    EXPECT_EQ(status_of(read_answer(client).head), 403) << static_cast<int>(before);
  }
}

TEST_F(InspectionReload, LeavesATunnelAloneThatWasSilentUntilItWasOff) {
  given.settings.tls_inspection.mode = Mode::all;
  auto open = tunnel("ok.test");
  change_mode(Mode::off);
  say_hello(open, client_hello(server_name("ok.test")));
}

// Exceptions and switches make another policy under the same settings.
TEST_F(InspectionReload, ForgetsWhoRefusesCertificatesAndNothingElseDoes) {
  conf::AutoPass& rules = given.settings.tls_inspection.auto_pass;
  rules.hosts = conf::AutoPass::Hosts::unmarked;
  rules.after = 1;
  rules.devices = true;
  given.settings.tls_inspection.mode = Mode::all;
  const proxy::Edition first = edition();
  serve(first);
  auto open = tunnel("mixed.test");
  const auto stranger = *proxy::TlsContext::for_peers(files_.certificate);
  TlsPeer client(std::move(open.client), proxy::TlsSession::connect(*stranger, "mixed.test"));
  TlsPeer server(std::move(open.server), proxy::TlsSession::accept(**serving_));
  EXPECT_THROW(server.shake_hands(), std::runtime_error) << "its certificate is for ok.test";
  EXPECT_THROW(client.shake_hands(), std::runtime_error);
  wait_for_counter(&Counters::auto_pass_entries, 1);
  serve(first);
  EXPECT_EQ(counter(&Counters::auto_pass_entries), 1U);
  reload();
  EXPECT_EQ(counter(&Counters::auto_pass_entries), 0U);
}

TEST_F(InspectionReload, MakesNewCertificatesWhereTheChainIsAnother) {
  const auto made = proxy::make_authority({.host = "test", .with_intermediate = true, .now = std::time(nullptr)});
  ASSERT_TRUE(made.has_value()) << made.error();
  const auto compile = [&](const std::string& chain, const proxy::TlsInspection* before) {
    dir.write("chain.crt", chain);
    return *proxy::TlsInspection::compile(given.settings, before);
  };
  dir.write("chain.key", made->key.text());
  std::filesystem::permissions(dir.path() / "chain.key", std::filesystem::perms::owner_read);
  given.settings.tls_inspection.ca = {
      .certificate = dir.path() / "chain.crt", .key = dir.path() / "chain.key", .passphrase_file = {}, .next = {}};
  const std::string issuing = made->certificate.substr(0, made->certificate.find("-----BEGIN", 1));
  const auto whole = compile(issuing + made->root_certificate, nullptr);
  const auto same = compile(issuing + made->root_certificate, whole.get());
  const auto without_root = compile(issuing, same.get());
  EXPECT_EQ(same->mint().generation(), whole->mint().generation());
  EXPECT_NE(without_root->mint().generation(), whole->mint().generation());
}

TEST_F(InspectionReload, LeavesSuchATunnelTheTimeOfADrain) {
  // As long as it lasts the tunnel goes on; the machine may be slow.
  given.settings.tls_inspection.mode = Mode::blocked;
  given.settings.timeouts.drain = 1h;
  auto open = tunnel("ok.test");
  shake_hands(open, client_hello(server_name("ok.test")));
  change_mode(Mode::urls);
  open.client.send("the rest");
  open.server.expect("the rest");
  // And then it ends, not before.
  given.settings.tls_inspection.mode = Mode::blocked;
  given.settings.timeouts.drain = 400ms;
  reload();
  auto ending = tunnel("ok.test");
  shake_hands(ending, client_hello(server_name("ok.test")));
  const auto begin = std::chrono::steady_clock::now();
  change_mode(Mode::urls);
  ending.client.expect_end();
  constexpr auto kGranularity = 50ms;  // of timers
  EXPECT_GE(std::chrono::steady_clock::now() - begin, given.settings.timeouts.drain - kGranularity);
}

TEST_F(InspectionReload, LeavesItAltogetherWhereTheNextReloadTakesTheEntriesBack) {
  // A machine that takes longer for both reloads than the drain is tried again with a longer one.
  for (given.settings.timeouts.drain = 500ms;; given.settings.timeouts.drain *= 4) {
    given.list = "ok.test/listed/\nmixed.test/listed/\n";
    given.settings.tls_inspection.mode = Mode::blocked;
    reload();
    auto open = tunnel("ok.test"), other = tunnel("mixed.test");
    shake_hands(open, client_hello(server_name("ok.test")));
    shake_hands(other, client_hello(server_name("mixed.test")));
    const auto begin = std::chrono::steady_clock::now();
    change_mode(Mode::urls);
    given.list = "mixed.test/listed/\n";
    reload();
    if (std::chrono::steady_clock::now() - begin >= given.settings.timeouts.drain) continue;
    other.client.expect_end();  // both would have ended at this time
    open.client.send("goes on");
    open.server.expect("goes on");
    return;
  }
}

TEST_F(InspectionReload, CountsCertificatesOfAnIpv6ClientByItsNetwork) {
  given.settings.limits.leaves_per_client = 1;
  const auto inspection = proxy::TlsInspection::compile(given.settings, nullptr);
  ASSERT_TRUE(inspection.has_value()) << inspection.error().front();
  const auto is_served = [&](const std::string& host, const char* client) {
    const auto answer = (*inspection)->ask_leaf(host, *proxy::Endpoint::parse_ip(client), {});
    return answer && answer->has_value();
  };
  EXPECT_TRUE(is_served("a.test", "2001:db8::1"));
  EXPECT_FALSE(is_served("b.test", "2001:db8::2")) << "the same /64";
  EXPECT_TRUE(is_served("a.test", "2001:db8::2")) << "what is there already costs nothing";
  EXPECT_TRUE(is_served("c.test", "2001:db8:0:1::2"));
  EXPECT_TRUE(is_served("d.test", "192.0.2.1"));
  EXPECT_FALSE(is_served("e.test", "::ffff:192.0.2.1"));
  EXPECT_TRUE(is_served("e.test", "192.0.2.2"));
}

}  // namespace
}  // namespace bloomwall::test
