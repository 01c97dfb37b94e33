// `bloomwall tls try` against a real origin, and `bloomwall tls refused` against a running proxy whose clients lack its
// authority.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/end_to_end/networks.h"
#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

class TlsTry : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"nginx", "openssl"}) {
      if (!have_program(program)) GTEST_SKIP() << "needs " << program;
    }
    origin_ = std::make_unique<Nginx>(folder_);
    configure();
  }
  void configure(const std::string& more = {}, const std::string& verify = {}) const {
    folder_.write("bloomwall.yaml",
                  "dns: {hosts: {www.example.test: 127.0.0.1, other.test: 127.0.0.1}}\n"
                  "access: {deny_destinations: []}\ntls_inspection: {verify: {ca_file: " +
                      (verify.empty() ? origin_->certificate() : verify) + "}}\n" + more);
  }
  Finished attempt(const std::string& host) const {
    return run({bloomwall_program(), "tls", "try", host, "--config", folder_.path("bloomwall.yaml")});
  }
  std::string at(const std::string& host) const { return host + ":" + std::to_string(origin_->tls_port()); }

  const TempDir folder_;
  std::unique_ptr<Nginx> origin_;
};

bool says(const Finished& done, const std::string& text) { return done.out.find(text) != std::string::npos; }

TEST_F(TlsTry, VerifiesAnOriginAndShowsItsCertificates) {
  const auto good = attempt(at("www.example.test"));
  EXPECT_EQ(good.status, 0) << good.out;
  EXPECT_TRUE(says(good, "verified: yes\n")) << good.out;
  EXPECT_TRUE(says(good, "TLS:      1.")) << good.out;
  EXPECT_TRUE(says(good, "ALPN http/1.1")) << good.out;
  EXPECT_TRUE(says(good, "  0  CN=example.test\n     names   example.test *.example.test\n")) << good.out;
  EXPECT_TRUE(says(good, "     key     EC P-256, ecdsa-with-SHA256\n")) << good.out;
  EXPECT_TRUE(says(good, "reached:  127.0.0.1:" + std::to_string(origin_->tls_port()) + ",")) << good.out;
}

TEST_F(TlsTry, SaysWhyAnOriginIsRefused) {
  const auto named = attempt(at("other.test"));
  EXPECT_EQ(named.status, 1) << named.out;
  EXPECT_TRUE(says(named, "verified: no, origin_certificate: wrong_name (")) << named.out;
  EXPECT_TRUE(says(named, "  0  CN=example.test\n")) << "of a refused one too: " << named.out;
  const auto plain = attempt("www.example.test:" + std::to_string(origin_->port()));
  EXPECT_EQ(plain.status, 1) << plain.out;
  EXPECT_TRUE(says(plain, "verified: no, origin_tls: ")) << plain.out;
  const TempDir elsewhere;
  const Nginx stranger(elsewhere);
  configure({}, stranger.certificate());
  const auto unknown = attempt(at("www.example.test"));
  EXPECT_EQ(unknown.status, 1) << unknown.out;
  EXPECT_TRUE(says(unknown, "verified: no, origin_certificate: self_signed (")) << unknown.out;
}

TEST_F(TlsTry, SaysWhyAnOriginIsNotReached) {
  const auto closed = attempt("www.example.test:" + std::to_string(closed_port()));
  EXPECT_EQ(closed.status, 2) << closed.out;
  EXPECT_TRUE(says(closed, "verified: no, connection_refused: ")) << closed.out;
  EXPECT_EQ(attempt("no host").status, 2);
  folder_.write("bloomwall.yaml", "dns: {hosts: {www.example.test: 127.0.0.1}}\n");
  const auto denied = attempt(at("www.example.test"));
  EXPECT_EQ(denied.status, 2) << denied.out;
  EXPECT_TRUE(says(denied, "verified: no, destination_denied: ")) << denied.out;
  configure({}, folder_.path("nowhere.pem"));
  const auto missing = attempt(at("www.example.test"));
  EXPECT_EQ(missing.status, 78) << missing.out;
  EXPECT_TRUE(says(missing, folder_.path("nowhere.pem"))) << missing.out;
}

TEST_F(TlsTry, GoesThroughTheParentProxy) {
  const TempDir elsewhere;
  const Proxy parent(elsewhere, "access: {connect_ports: [" + std::to_string(origin_->tls_port()) +
                                    "], deny_destinations: []}\nlog: {access: {file: access.log}}\n"
                                    "dns: {hosts: {www.example.test: 127.0.0.1, other.test: 127.0.0.1}}\n");
  configure("upstream: {parent: \"" + parent.address() + "\"}\n");
  const auto good = attempt(at("www.example.test"));
  EXPECT_EQ(good.status, 0) << good.out;
  EXPECT_TRUE(says(good, "reached:  through the parent proxy " + parent.address())) << good.out;
  const auto refused = attempt("www.example.test:4444");
  EXPECT_EQ(refused.status, 2) << refused.out;
  EXPECT_TRUE(says(refused, "verified: no, parent_refused: ")) << refused.out;
}

class TlsRefused : public TlsTry {
 protected:
  Finished refused(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv{bloomwall_program(), "tls", "refused", "--config", proxy_->config()};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv);
  }
  void serve(const std::string& mode) {
    ASSERT_EQ(run({bloomwall_program(), "ca", "init", "--out", folder_.path("ca")}).status, 0);
    proxy_ = std::make_unique<Proxy>(
        folder_, "workers: 2\naccess: {connect_ports: [" + std::to_string(origin_->tls_port()) +
                     "], deny_destinations: []}\ndns: {hosts: {www.example.test: 127.0.0.1}}\n"
                     "log: {access: {file: access.log}}\n"
                     "tls_inspection: {mode: " +
                     mode + ", never: [], ca: {certificate: " + folder_.path("ca/ca.crt") +
                     ", key: " + folder_.path("ca/ca.key") + "}, verify: {ca_file: " + origin_->certificate() + "}}\n");
  }
  Finished fetch(const std::string& authority) const {
    return run({"curl", "-s", "-m", "10", "--cacert", authority, "-x", proxy_->url(),
                "https://" + at("www.example.test") + "/"});
  }

  std::unique_ptr<Proxy> proxy_;
};

TEST_F(TlsRefused, ListsWhoRefusesOurCertificates) {
  if (!have_program("curl")) GTEST_SKIP() << "needs curl";
  serve("all");
  EXPECT_EQ(refused().out, "");
  // Two on the same worker make it certain; which one takes a connection is the kernel's choice.
  std::string listed;
  for (int i = 0; i < 20 && listed.empty(); ++i) {
    EXPECT_NE(fetch(origin_->certificate()).status, 0);
    listed = refused().out;
  }
  EXPECT_TRUE(listed.starts_with("127.0.0.1\twww.example.test\t20")) << listed;
  EXPECT_TRUE(listed.ends_with("\tno_ca: it lacks the authority\talert\n")) << listed;
  const auto json = nlohmann::json::parse(refused({"--json"}).out);
  ASSERT_EQ(json["items"].size(), 1U);
  EXPECT_EQ(json["items"][0]["how"], "no_ca");
  EXPECT_EQ(json["items"][0]["signal"], "alert");
  EXPECT_EQ(fetch(folder_.path("ca/ca.crt")).status, 0) << "with the authority it is served";
}

TEST_F(TlsRefused, NeedARunningProxy) {
  serve("off");
  EXPECT_EQ(refused().out, "") << "mode off";
  proxy_->process().signal(2);
  ASSERT_EQ(proxy_->process().wait(), 0);
  EXPECT_EQ(refused().status, 2);
}

}  // namespace
}  // namespace bloomwall::test
