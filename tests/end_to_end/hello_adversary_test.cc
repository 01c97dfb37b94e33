// Clients that try to take a listed server name past the proxy: TLS records before the ClientHello, a second hello
// behind the first, everything cut anywhere. The real program stands between; the origin notes every octet that it
// gets. BLOOMWALL_SEED repeats a run, BLOOMWALL_ROUNDS makes it longer.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "proxy/tls/client_hello.h"
#include "tests/end_to_end/servers.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/seed.h"

namespace bloomwall::test {
namespace {

using proxy::http_test::client_hello;
using proxy::http_test::extension;
using proxy::http_test::handshake;
using proxy::http_test::records;
using proxy::http_test::server_name;
using proxy::http_test::vector_of;

constexpr const char* kHelloYaml = R"(
workers: 2
filters: [{name: sample, file: test.bwf}]
access: {connect_ports: [], deny_destinations: []}
log: {access: {file: off}}
dns: {hosts: {open.example.test: 127.0.0.1}}
)";
constexpr std::string_view kListedHost = "listed.example.test";
constexpr std::string_view kOpen = "open.example.test";

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What a client says, and how much of it may reach the origin.
struct Script {
  std::string said, permitted;
  std::string story;
  std::size_t answered_at = std::string::npos;  // the server says hello once so much has reached it
};

const std::string kServerHello = records(handshake("\x03\x03" + std::string(32, 'r') + "rest", 2));

class HelloAdversary : public testing::Test {
 protected:
  void SetUp() override {
    build_filter(folder_.path("test.bwf"), std::string(kListedHost) + "\n", {"--format", "domains"});
    proxy_ = std::make_unique<Proxy>(folder_, kHelloYaml);
  }
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }
  bool chance(unsigned percent) { return below(100) < percent; }
  std::string octets(std::size_t size) {
    std::string out(size, '\0');
    for (char& c : out) c = static_cast<char>(below(256));
    return out;
  }
  std::string record(char type, std::string_view body) {
    const char minor = static_cast<char>(below(5));
    return std::string{type, '\x03', minor} + vector_of(2, body);
  }
  std::string hello(std::string_view name, bool early) {
    std::string extensions = extension(0x1a1a, "") + server_name(name);
    if (early) extensions += extension(42, "");
    if (chance(50)) extensions += extension(51, octets(below(1200)));
    const std::size_t sizes[] = {1, 2, 5, 40, 300, 16384};
    return client_hello(extensions, sizes[below(6)]);
  }
  // Something that TLS servers pass over, or might.
  std::string before() {
    switch (below(8)) {
      case 0:
        return record('\x14', "\x01");
      case 1:
        return record('\x15', std::string_view("\x01\x5a", 2));
      case 2:
        return record('\x17', octets(below(64)));
      case 3:
        return record('\x18', octets(3 + below(32)));
      case 4:
        return record(static_cast<char>(0x14 + below(5)), "");
      case 5:
        return records(handshake("", static_cast<char>(below(2) == 0 ? 0 : 2 + below(20))));
      case 6:
        return record(unknown_type(), octets(below(64)));
      default:
        return std::string("\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10", 11) + octets(37);
    }
  }
  // 0x16 alone would be the hello's own; 5 begins a greeting of SOCKS5.
  char unknown_type() {
    const auto type = static_cast<unsigned char>(below(256));
    return static_cast<char>((type >= 0x14 && type <= 0x18) || type == 5 ? 0x63 : type);
  }
  // What no client sends before the server has said hello.
  std::string unexpected() {
    switch (below(4)) {
      case 0:
        return record('\x17', octets(below(64)));
      case 1:
        return record(unknown_type(), octets(below(64)));
      case 2:
        return records(handshake("", static_cast<char>(below(2) == 0 ? 0 : 2 + below(30))));
      default:
        return std::string{'\x16', '\x03', '\x01', '\0', '\0'};
    }
  }
  std::string between(bool early) {
    std::string out;
    for (std::size_t i = below(3); i > 0; --i) {
      out += chance(60) ? record('\x14', "\x01") : record('\x15', std::string_view("\x01\x5a", 2));
      if (early && chance(50)) out += record('\x17', octets(below(400)));
    }
    return out;
  }
  Script script() {
    Script made;
    if (chance(35)) {
      for (std::size_t i = 1 + below(3); i > 0; --i) made.said += before();
      made.said += hello(chance(80) ? kListedHost : kOpen, false);
      made.story = "records before the hello";
      // One octet of another protocol is not kept waiting.
      if (!proxy::is_tls_record(made.said.front())) made.permitted = made.said.substr(0, 1);
      return made;
    }
    const bool listed = chance(20), early = chance(30);
    made.said = hello(listed ? kListedHost : kOpen, early);
    made.story = listed ? "a listed name" : "an open name";
    if (listed) return made;
    made.said += between(early);
    made.permitted = made.said;
    if (!early && chance(30)) {
      made.said += unexpected() + hello(kListedHost, false);
      made.story += ", then what no client sends and a listed one";
      return made;
    }
    if (chance(70)) {
      const bool second_listed = chance(60);
      made.said += hello(second_listed ? kListedHost : kOpen, false);
      made.story += second_listed ? ", then a listed one" : ", then the same again";
      if (second_listed) return made;
      made.permitted = made.said;
    }
    made.answered_at = made.said.size();
    made.said += record('\x17', octets(below(5000)));
    made.permitted = made.said;
    return made;
  }
  void play(const Script& script) {
    auto client = ScriptedPeer::connect(proxy_->port());
    client.send(connect_to(std::string(kOpen) + ":" + std::to_string(origin_.port())));
    auto server = origin_.accept();
    ASSERT_EQ(status_of(client.read_head()), 200);
    const auto say = [&](std::size_t at, std::size_t end) {
      while (at < end) {
        const std::size_t piece = std::min(end - at, chance(50) ? 1 + below(8) : 1 + below(4000));
        client.send(script.said.substr(at, piece));
        at += piece;
      }
    };
    std::string got;
    const std::size_t answered_at = std::min(script.answered_at, script.said.size());
    try {
      say(0, answered_at);
      if (script.answered_at != std::string::npos) {
        got = server.read_exactly(answered_at);
        server.send(kServerHello);
        client.expect(kServerHello);
      }
      say(answered_at, script.said.size());
      client.shut_write();
    } catch (const std::runtime_error&) {  // cut meanwhile, as it may be
    }
    try {
      got += server.read_to_end();
    } catch (const std::runtime_error& error) {
      FAIL() << script.story << ": " << error.what();
    }
    EXPECT_EQ(got.find(kListedHost), std::string::npos) << script.story;
    if (script.permitted == script.said) {
      EXPECT_TRUE(got == script.said) << script.story << ": " << got.size() << " of " << script.said.size();
    } else {
      EXPECT_TRUE(script.permitted.starts_with(got)) << script.story << ": " << got.size();
    }
  }

  const TempDir folder_;
  ScriptedListener origin_;
  std::unique_ptr<Proxy> proxy_;
  std::mt19937_64 random_;
};

TEST_F(HelloAdversary, NoListedNameReachesTheOrigin) {
  const std::uint32_t seed = test_seed();
  const std::uint64_t rounds = from_environment("BLOOMWALL_ROUNDS", 150);
  random_.seed(seed);
  for (std::uint64_t i = 0; i < rounds && !HasFailure(); ++i) play(script());
}

// A client opens as many tunnels as it likes, and each could write a line.
TEST_F(HelloAdversary, OtherNamesAreLoggedOnceASecond) {
  std::string yaml = kHelloYaml;
  yaml.replace(yaml.find("access: {"), 9, "access: {sni_mismatch: log, ");
  proxy_->configure(folder_, yaml);
  ASSERT_EQ(proxy_->reload().status, 0);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 40; ++i) {
    const std::string said = client_hello(server_name("another.example.test"));
    play({.said = said, .permitted = said, .story = "another name"});
  }
  const auto seconds = std::chrono::duration_cast<Seconds>(std::chrono::steady_clock::now() - begin).count() + 1;
  ASSERT_TRUE(proxy_->process().wait_for_line("the ClientHello names another.example.test"));
  const std::string output = proxy_->process().output();
  long lines = 0;
  for (std::size_t at = 0; (at = output.find("the ClientHello names", at)) != std::string::npos; ++at) ++lines;
  EXPECT_LE(lines, 2 * seconds) << "each of two workers once a second";
}

// A server that wants another group asks for the hello again, and a client that is honest gets through.
TEST_F(HelloAdversary, AnHonestSecondHelloPasses) {
  if (!have_program("openssl")) GTEST_SKIP() << "needs openssl";
  const auto made =
      run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1", "-nodes", "-keyout",
           folder_.path("key.pem"), "-out", folder_.path("cert.pem"), "-days", "2", "-subj", "/CN=open.example.test"});
  ASSERT_EQ(made.status, 0) << made.out;
  const std::string port = std::to_string(free_port());
  Process server({"openssl", "s_server", "-accept", "127.0.0.1:" + port, "-cert", folder_.path("cert.pem"), "-key",
                  folder_.path("key.pem"), "-groups", "P-384", "-www"});
  ASSERT_TRUE(server.wait_for_line("ACCEPT")) << server.output();
  for (const std::string groups : {"X25519:P-384", "P-384"}) {
    for (const std::string version : {"-tls1_3", "-tls1_2"}) {
      const auto got =
          run({"openssl", "s_client", "-proxy", proxy_->address(), "-connect", std::string(kOpen) + ":" + port,
               "-servername", std::string(kOpen), "-groups", groups, version, "-ign_eof"},
              "GET / HTTP/1.0\r\n\r\n", Seconds(20));
      EXPECT_NE(got.out.find("HTTP/1.0 200 ok"), std::string::npos) << groups << version << ": " << got.out;
    }
  }
}

}  // namespace
}  // namespace bloomwall::test
