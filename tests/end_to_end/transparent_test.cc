// The real program behind a firewall that redirects: a router and a client, each a network namespace of its own, joined
// by a veth pair. The origin (nginx) listens on addresses of the router's loopback, so nothing leaves the machine.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "tests/end_to_end/networks.h"
#include "tests/end_to_end/servers.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

constexpr const char* kFirewall =
    "table inet bloomwall {\n  chain inward {\n    type nat hook prerouting priority dstnat;\n"
    "    iifname \"inside\" tcp dport { 80, 443, 6000, 8080 } redirect to :3129\n  }\n}\n";

class Transparent : public testing::Test {
 protected:
  static constexpr const char* kOrigin = "192.0.2.10";
  static constexpr const char* kListedAddress = "192.0.2.66";
  static constexpr const char* kInListedNetwork = "192.0.2.131";
  static constexpr const char* kWithListedUrl = "192.0.2.67";

  void SetUp() override {
    if (const auto why = no_networks_here({"nginx", "openssl", "curl"}); !why.empty()) GTEST_SKIP() << why;
    router_ = std::make_unique<Namespace>();
    client_ = std::make_unique<Namespace>();
    join_networks();
    const auto rules = router_->run({"nft", "-f", "-"}, kFirewall);
    if (rules.out.find("Error: Could not process rule") != std::string::npos) {
      GTEST_SKIP() << "the kernel takes no nat rules: " << rules.out;
    }
    ASSERT_EQ(rules.status, 0) << rules.out;
    start_origin();
    start_proxy();
  }
  void join_networks() const {
    router_->ip("link add inside type veth peer name outside netns " + client_->pid() + R"(
link set lo up
addr add 192.0.2.10/32 dev lo
addr add 192.0.2.66/32 dev lo
addr add 192.0.2.67/32 dev lo
addr add 192.0.2.131/32 dev lo
addr add 2001:db8::10/128 dev lo nodad
addr add 10.9.0.1/24 dev inside
addr add fd09::1/64 dev inside nodad
link set inside up
)");
    client_->ip(R"(addr add 10.9.0.2/24 dev outside
addr add fd09::2/64 dev outside nodad
link set outside up
route add default via 10.9.0.1
route add default via fd09::1
)");
  }
  void start_origin() {
    const auto made =
        run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", folder_.path("key.pem"), "-out", folder_.path("cert.pem"), "-days", "2", "-subj",
             "/CN=example.test", "-addext", "subjectAltName=DNS:example.test,DNS:*.example.test"});
    ASSERT_EQ(made.status, 0) << made.out;
    const std::string config = folder_.write(
        "nginx.conf", "daemon off; worker_processes 1; user root; pid " + folder_.path("nginx.pid") +
                          ";\nevents {}\nhttp {\n access_log off;\n server {\n  listen 192.0.2.10:80;"
                          " listen 192.0.2.10:8080; listen 192.0.2.66:80; listen [2001:db8::10]:80;\n"
                          "  listen 192.0.2.10:443 ssl; listen 192.0.2.66:443 ssl; listen [2001:db8::10]:443 ssl;\n"
                          "  listen 192.0.2.131:80; listen 192.0.2.131:443 ssl;\n"
                          "  listen 192.0.2.67:80; listen 192.0.2.67:443 ssl;\n"
                          "  ssl_certificate " +
                          folder_.path("cert.pem") + "; ssl_certificate_key " + folder_.path("key.pem") +
                          ";\n  add_header X-Connection $connection; add_header Alt-Svc 'h3=\":4433\"; ma=86400';\n  "
                          "return 200 \"$scheme $http_host "
                          "$request_uri via=$http_via\\n\";\n }\n}\n");
    origin_ = std::make_unique<Process>(
        router_->inside({"nginx", "-p", folder_.path(), "-c", config, "-e", folder_.path("error.log")}));
    ASSERT_TRUE(wait_until([&] {
      return router_->run({"curl", "-s", "-o", "/dev/null", "http://192.0.2.10/"}).status == 0;
    })) << origin_->output();
  }
  void start_proxy(const std::string& more = {}) {
    build_filter(folder_.path("lists.bwf"), "blocked.example.test\nhttp://mixed.example.test/bad/\n" +
                                                std::string(kListedAddress) +
                                                "\n192.0.2.128/29\nhttp://192.0.2.67/bad/\n");
    const std::string config = folder_.write("bloomwall.yaml", R"(
listeners: [{address: ":3129", mode: transparent}]
workers: 2
filters: [{name: lists, file: lists.bwf}]
access: {clients: [10.9.0.0/24, "fd09::/64", 192.0.2.10], allow_destinations: [192.0.2.0/24, "2001:db8::/32"]}
admin: {address: null, control_socket: null}
state_dir: null
timeouts: {announce: 0}
log: {level: debug, access: {file: access.log}}
)" + more);
    proxy_ = std::make_unique<Process>(router_->inside({bloomwall_program(), "run", "--config", config}));
    ASSERT_TRUE(proxy_->wait_for_line("is served:")) << proxy_->output();
  }
  // What curl in the client's network gets; `host` is taken to be at `address`.
  Finished fetch(const std::string& url, const std::vector<std::string>& options = {},
                 const std::string& address = kOrigin) const {
    const std::string host = url.substr(url.find("//") + 2, url.find('/', url.find("//") + 2) - url.find("//") - 2);
    std::vector<std::string> argv{"curl", "-sk", "-m", "10", "-w", "%{http_code}", "-H", "Accept: text/plain"};
    for (const char* port : {"80", "443", "8080"}) {
      argv.insert(argv.end(), {"--resolve", host.substr(0, host.find(':')) + ":" + port + ":" + address});
    }
    argv.insert(argv.end(), options.begin(), options.end());
    argv.push_back(url);
    return client_->run(argv);
  }
  // With an authority of ours, in this mode.
  void restart_inspecting(const std::string& mode) {
    const std::string folder = folder_.path("ca");
    if (!std::filesystem::exists(folder)) {
      ASSERT_EQ(run({bloomwall_program(), "ca", "init", "--out", folder}).status, 0);
    }
    proxy_->signal(SIGINT);
    ASSERT_EQ(proxy_->wait(), 0);
    start_proxy("tls_inspection: {mode: " + mode + ", never: [], ca: {certificate: ca/ca.crt, key: ca/ca.key}, " +
                "verify: {ca_file: cert.pem}}\n");
  }
  // Likewise fetched by a client that trusts this authority alone: "ca/ca.crt" or "cert.pem".
  Finished fetch_trusting(const std::string& authority, const std::string& url,
                          const std::string& address = kOrigin) const {
    const std::string host = url.substr(url.find("//") + 2, url.find('/', url.find("//") + 2) - url.find("//") - 2);
    return client_->run({"curl", "-s", "-m", "10", "-w", "%{http_code}", "-H", "Accept: text/plain", "--cacert",
                         folder_.path(authority), "--resolve", host + ":443:" + address, url});
  }
  // What comes back when a client says just this, in the escapes of printf(1), to port 443.
  Finished said(const std::string& text) const {
    return client_->run(
        {"bash", "-c", "exec 3<>/dev/tcp/192.0.2.10/443; printf '" + text + "' >&3; timeout 10 cat <&3; exit 0"});
  }
  std::string access_log() {
    proxy_->signal(SIGTERM);
    EXPECT_EQ(proxy_->wait(), 0) << proxy_->output();
    std::ifstream in(folder_.path("access.log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TempDir folder_;
  std::unique_ptr<Namespace> router_, client_;
  std::unique_ptr<Process> origin_, proxy_;
};

bool has(const Finished& done, const std::string& text) { return done.out.find(text) != std::string::npos; }

TEST_F(Transparent, PlainHttpIsJudgedByHostAndPath) {
  const auto plain = fetch("http://good.example.test/x?y");
  EXPECT_TRUE(has(plain, "http good.example.test /x?y via=1.1 bloomwall")) << plain.out << proxy_->output();
  EXPECT_FALSE(has(fetch("http://good.example.test/", {"-i"}), "lt-Svc")) << "would lead past the proxy";
  EXPECT_TRUE(has(fetch("http://good.example.test:8080/"), "http good.example.test:8080 /")) << "the port it went to";
  EXPECT_TRUE(has(fetch("http://192.0.2.10:6000/", {"-H", "Host: good.example.test"}), "403"))
      << "one of access.deny_ports, whatever Host says";
  EXPECT_TRUE(has(fetch("http://blocked.example.test/"), "403"));
  EXPECT_TRUE(has(fetch("http://mixed.example.test/ok"), "200"));
  EXPECT_TRUE(has(fetch("http://mixed.example.test/x/../bad/y", {"--path-as-is"}), "403"));
  EXPECT_TRUE(has(fetch("http://good.example.test/6", {}, "[2001:db8::10]"), "http good.example.test /6 via="));
  const std::string log = access_log();
  EXPECT_NE(log.find("\"http://good.example.test/x?y\""), std::string::npos) << log;
  EXPECT_NE(log.find("\"192.0.2.10:80\""), std::string::npos) << "the address it meant: " << log;
  EXPECT_NE(log.find("[2001:db8::10]:80"), std::string::npos) << log;
}

TEST_F(Transparent, TlsIsJudgedByServerName) {
  EXPECT_TRUE(has(fetch("https://good.example.test/x"), "https good.example.test /x via=\n")) << proxy_->output();
  EXPECT_TRUE(has(fetch("https://good.example.test/6", {}, "[2001:db8::10]"), "https good.example.test /6"));
  const auto blocked = fetch("https://blocked.example.test/");
  EXPECT_NE(blocked.status, 0) << "ended without an answer, which TLS could not read: " << blocked.out;
  EXPECT_TRUE(has(fetch("https://192.0.2.10/unnamed"), "https 192.0.2.10 /unnamed")) << "no server name";
  const std::string log = access_log();
  EXPECT_NE(log.find("\"good.example.test:443\""), std::string::npos) << log;
  EXPECT_NE(log.find("\"blocked.example.test:443\""), std::string::npos) << log;
  EXPECT_NE(log.find("\"sni\":\"blocked.example.test\""), std::string::npos) << log;
  EXPECT_NE(log.find("\"192.0.2.10:443\""), std::string::npos) << log;
}

// Nobody is at 192.0.2.99.
TEST_F(Transparent, SafeSearchIsDialledWhateverAddressTheClientWentTo) {
  proxy_->signal(SIGINT);
  ASSERT_EQ(proxy_->wait(), 0);
  folder_.write("map.txt", "find safe.find.test www.find.test\n");
  start_proxy(
      "safe_search_map: map.txt\ngroups: [{name: pupils, clients: [10.9.0.0/24], safe_search: [find]}]\n"
      "dns: {hosts: {safe.find.test: 192.0.2.10}}\n");
  EXPECT_TRUE(has(fetch("http://www.find.test/x", {}, "192.0.2.99"), "http www.find.test /x")) << proxy_->output();
  EXPECT_TRUE(has(fetch("https://www.find.test/x", {}, "192.0.2.99"), "https www.find.test /x")) << proxy_->output();
  EXPECT_FALSE(has(fetch("http://good.example.test/", {"-m", "2"}, "192.0.2.99"), "good.example.test /"));
}

// Speaks TLS by hand to send each octet of the ClientHello by itself; prints what comes of a request.
constexpr const char* kInPieces = R"(
import socket, ssl, sys
context = ssl._create_unverified_context()
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = context.wrap_bio(incoming, outgoing, server_hostname=sys.argv[1])
peer = socket.create_connection(("192.0.2.10", 443), timeout=10)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def pump(step):
    while True:
        try:
            return step()
        except ssl.SSLWantReadError:
            for octet in outgoing.read(): peer.sendall(bytes([octet]))
            got = peer.recv(65536)
            if not got: sys.exit("ended")
            incoming.write(got)
pump(tls.do_handshake)
tls.write(b"GET /pieces HTTP/1.0\r\nHost: " + sys.argv[1].encode() + b"\r\n\r\n")
print(pump(lambda: tls.read(4096)).decode())
)";

TEST_F(Transparent, AClientHelloMayComeInPieces) {
  if (!have_program("python3")) GTEST_SKIP() << "needs python3";
  const auto good = client_->run({"python3", "-c", kInPieces, "good.example.test"});
  EXPECT_TRUE(has(good, "https good.example.test /pieces")) << good.out << proxy_->output();
  EXPECT_EQ(client_->run({"python3", "-c", kInPieces, "blocked.example.test"}).out, "ended\n");
}

// A client may say of any address that it is an innocent host.
TEST_F(Transparent, TheAddressIsJudgedWhateverTheHostIsCalled) {
  for (const std::string listed : {kListedAddress, kInListedNetwork}) {
    EXPECT_TRUE(has(fetch("http://good.example.test/", {}, listed), "403")) << listed << proxy_->output();
    EXPECT_NE(fetch("https://good.example.test/", {}, listed).status, 0) << listed;
    EXPECT_NE(fetch("https://" + listed + "/", {}, listed).status, 0) << "no server name: " << listed;
  }
  // 10.9.0.1 is private, and not redirected away from: what is dialled is what access.deny_destinations is asked about.
  EXPECT_TRUE(has(fetch("http://good.example.test/", {}, "10.9.0.1"), "403")) << "a private address";
}

// So is what it carries for a NAT64: an allow entry for the host is one for what the client says alone.
TEST_F(Transparent, WhatTheAddressCarriesIsJudgedWhateverTheHostIsCalled) {
  folder_.write("allow.txt", "good.example.test\n");
  proxy_->signal(SIGINT);
  ASSERT_EQ(proxy_->wait(), 0);
  start_proxy("allow_lists: [allow.txt]\ndns: {nat64_prefixes: [\"2001:db8:64::/96\"]}\n");
  EXPECT_TRUE(has(fetch("http://good.example.test/"), "200")) << proxy_->output();
  for (const std::string& address : {std::string(kInListedNetwork), std::string("[2001:db8:64::c000:283]")}) {
    EXPECT_TRUE(has(fetch("http://good.example.test/", {}, address), "403")) << address << proxy_->output();
    EXPECT_NE(fetch("https://good.example.test/", {}, address).status, 0) << address;
  }
  const std::string log = access_log();
  EXPECT_EQ(log.find("\"error\""), std::string::npos) << "all by the filter: " << log;
  EXPECT_NE(log.find("\"expression\":\"192.0.2.128/29\""), std::string::npos) << log;
}

// Lists are full of URLs by address; Host may say anything.
TEST_F(Transparent, AUrlOfTheAddressIsJudgedWhateverTheHostIsCalled) {
  EXPECT_TRUE(has(fetch("http://good.example.test/bad/x", {}, kWithListedUrl), "403")) << proxy_->output();
  EXPECT_TRUE(has(fetch("http://good.example.test/fine", {}, kWithListedUrl), "http good.example.test /fine"));
  EXPECT_TRUE(has(fetch("http://good.example.test/bad/x"), "http good.example.test /bad/x")) << "not of another one";
  restart_inspecting("urls");
  for (const char* const version : {"--http1.1", "--http2"}) {
    const std::vector<std::string> options{version};
    EXPECT_TRUE(has(fetch("https://good.example.test/bad/x", options, kWithListedUrl), "403")) << proxy_->output();
    EXPECT_TRUE(has(fetch("https://good.example.test/fine", options, kWithListedUrl), "https good.example.test /fine"));
  }
  const std::string log = access_log();
  EXPECT_NE(log.find(R"("expression":"192.0.2.67/bad/","asked_as":"address")"), std::string::npos) << log;
}

TEST_F(Transparent, OnlyRedirectedConnectionsAreTaken) {
  const auto direct = client_->run({"curl", "-s", "-m", "10", "-w", "%{http_code}", "http://10.9.0.1:3129/"});
  EXPECT_TRUE(has(direct, "421")) << direct.out;
  EXPECT_TRUE(has(said("CONNECT a.test:443 HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"), "HTTP/1.1 405"))
      << "for those who know that there is a proxy";
  EXPECT_TRUE(has(said("SSH-2.0-x\\r\\n\\r\\n"), "400 Bad Request"));
  EXPECT_EQ(said("\\026\\003\\001\\000\\005hello").out, "") << "no ClientHello, although it begins like one";
  EXPECT_EQ(said("\\025\\003\\001\\000\\002\\001\\132").out, "") << "an alert, which some servers pass over";
  EXPECT_TRUE(has(fetch("http://good.example.test/after"), "200"));
  const std::string log = access_log();
  const std::string refused = "\"allow\":false,\"decision\":\"refused\",\"decision_reason\":\"bad_request\"";
  std::size_t lines = 0;
  for (std::size_t at = log.find("\"status\":0," + refused); at != std::string::npos;
       at = log.find("\"status\":0," + refused, at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 2U) << "what begins like TLS and is none has its line: " << log;
}

// What one host behind an address sends too much must not reach those who ask another.
TEST_F(Transparent, HostsOfOneAddressShareNoConnection) {
  const auto connections = [&](const std::string& host) {
    std::set<std::string> numbers;
    for (int i = 0; i < 10; ++i) {
      const std::string answer = fetch("http://" + host + "/", {"-i"}).out;
      const std::size_t at = answer.find("X-Connection: ");
      if (at != std::string::npos) numbers.insert(answer.substr(at, answer.find('\r', at) - at));
    }
    return numbers;
  };
  const auto shared = [](const std::set<std::string>& some, const std::set<std::string>& others) {
    return std::any_of(some.begin(), some.end(), [&](const std::string& one) { return others.contains(one); });
  };
  const std::set<std::string> first = connections("good.example.test");
  ASSERT_FALSE(first.empty()) << proxy_->output();
  ScriptedListener nothing;
  ASSERT_TRUE(nothing.nobody_comes_for(std::chrono::milliseconds(1050))) << "they rest";
  const std::set<std::string> other = connections("other.example.test");
  EXPECT_FALSE(other.empty());
  EXPECT_FALSE(shared(other, first));
  EXPECT_TRUE(shared(connections("good.example.test"), first)) << "its own are used again";
}

// In the escapes of printf(1), one for each octet.
std::string escaped(const std::string& octets) {
  std::string out;
  for (const char c : octets) {
    const auto octet = static_cast<unsigned char>(c);
    out.push_back('\\');
    for (const unsigned shift : {6U, 3U, 0U}) out.push_back(static_cast<char>('0' + ((octet >> shift) & 7U)));
  }
  return out;
}

TEST_F(Transparent, ASecondHelloMustNameTheSameHost) {
  const auto hello = [](const char* name) {
    return proxy::http_test::client_hello(proxy::http_test::server_name(name));
  };
  EXPECT_EQ(said(escaped(hello("good.example.test") + hello("blocked.example.test"))).out, "") << proxy_->output();
  const std::string log = access_log();
  EXPECT_NE(log.find("\"sni\":\"good.example.test\""), std::string::npos) << log;
  EXPECT_NE(log.find("\"decision\":\"refused\",\"decision_reason\":\"bad_request\""), std::string::npos) << log;
}

// A rule that also catches what the proxy itself sends would send it round for ever.
TEST_F(Transparent, ItsOwnConnectionsAreNotTakenForClients) {
  const auto rule = router_->run({"nft", "add chain inet bloomwall out { type nat hook output priority -100; }"});
  ASSERT_EQ(rule.status, 0) << rule.out;
  ASSERT_EQ(router_->run({"nft", "add rule inet bloomwall out tcp dport { 80, 443 } redirect to :3129"}).status, 0);
  EXPECT_TRUE(has(fetch("http://good.example.test/"), "502")) << proxy_->output();
  EXPECT_NE(fetch("https://good.example.test/").status, 0);
  EXPECT_TRUE(proxy_->wait_for_line("a connection of this proxy's own to 192.0.2.10:443 was redirected"))
      << proxy_->output();
  const std::string log = access_log();
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 6) << "no circle: " << log;
}

// The parent is asked by name, and dials where it finds that.
TEST_F(Transparent, AParentProxyIsAskedForWhatTheClientNamed) {
  const std::string config = folder_.write("parent.yaml", R"(
listeners: [{address: "127.0.0.1:3128"}]
access: {allow_destinations: [192.0.2.10]}
dns: {hosts: {good.example.test: 192.0.2.10, refused.example.test: 127.0.0.1}}
headers: {via_name: parent}
admin: {address: null, control_socket: null}
state_dir: null
log: {access: {file: off}}
)");
  Process parent(router_->inside({bloomwall_program(), "run", "--config", config}));
  ASSERT_TRUE(parent.wait_for_line("is served:")) << parent.output();
  proxy_->signal(SIGINT);
  ASSERT_EQ(proxy_->wait(), 0);
  start_proxy("upstream: {parent: \"127.0.0.1:3128\"}\n");
  EXPECT_TRUE(has(fetch("http://good.example.test/x"), "http good.example.test /x via=1.1 bloomwall"));
  EXPECT_TRUE(has(fetch("http://good.example.test:8080/y", {"-H", "Host: good.example.test"}),
                  "http good.example.test:8080 /y"))
      << "the port it went to";
  EXPECT_TRUE(has(fetch("https://good.example.test/x"), "https good.example.test /x")) << proxy_->output();
  EXPECT_TRUE(has(fetch("http://refused.example.test/"), "403"));
  const auto refused = fetch("https://refused.example.test/", {"-v"});
  EXPECT_NE(refused.status, 0);
  EXPECT_FALSE(has(refused, "wrong version number")) << "nothing but TLS is said to it: " << refused.out;
}

TEST_F(Transparent, UrlsInsideTlsAreJudgedWhereTheServerNameHasEntries) {
  restart_inspecting("urls");
  const auto allowed = fetch_trusting("ca/ca.crt", "https://mixed.example.test/ok");
  EXPECT_TRUE(has(allowed, "https mixed.example.test /ok via=\n200")) << allowed.out << proxy_->output();
  const auto listed = fetch_trusting("ca/ca.crt", "https://mixed.example.test/x/%2e./bad/y");
  EXPECT_TRUE(has(listed, "403")) << listed.out;
  EXPECT_TRUE(has(listed, "https://mixed.example.test/")) << "the page: " << listed.out;
  const auto plain = fetch_trusting("cert.pem", "https://good.example.test/x");
  EXPECT_TRUE(has(plain, "https good.example.test /x")) << "not decrypted: " << plain.out;
  EXPECT_NE(fetch_trusting("ca/ca.crt", "https://good.example.test/x").status, 0);
  EXPECT_TRUE(has(fetch_trusting("ca/ca.crt", "https://blocked.example.test/"), "403"));
  EXPECT_TRUE(has(fetch_trusting("ca/ca.crt", "https://good.example.test/", kListedAddress), "403"))
      << "what the client was about to reach";
  const std::string log = access_log();
  EXPECT_NE(log.find("\"tls_action\":\"intercepted\",\"tls_reason\":\"mark\",\"tls_client\":\"1.3\""),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("\"tls_action\":\"tunnelled\",\"tls_reason\":\"mode\""), std::string::npos) << log;
  EXPECT_NE(log.find("\"tls_action\":\"page\",\"tls_reason\":\"blocked\""), std::string::npos) << log;
}

TEST_F(Transparent, ABlockedHostShowsItsPageInsideTls) {
  restart_inspecting("blocked");
  const auto page = fetch_trusting("ca/ca.crt", "https://blocked.example.test/where");
  EXPECT_TRUE(has(page, "403")) << page.out << proxy_->output();
  EXPECT_TRUE(has(page, "https://blocked.example.test/where")) << page.out;
  const auto listed = fetch_trusting("cert.pem", "https://mixed.example.test/bad/y");
  EXPECT_TRUE(has(listed, "https mixed.example.test /bad/y")) << "not decrypted: " << listed.out;
  EXPECT_NE(fetch_trusting("cert.pem", "https://blocked.example.test/").status, 0) << "a client without the authority";
}

}  // namespace
}  // namespace bloomwall::test
