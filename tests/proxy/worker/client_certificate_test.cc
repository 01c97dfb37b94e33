// Clients that show certificates to a listener with TLS: who is let in, and in which group.
// SPDX-License-Identifier: Apache-2.0
#include <openssl/ssl.h>

#include <stdexcept>
#include <string>

#include "proxy/tls/client_certificates.h"
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/proxy/worker/tls_peer.h"
#include "tests/support/test_authority.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::test {
namespace {

using conf::Group;
using proxy::make_snapshot;
using proxy::TlsContext;
using proxy::TlsSession;
using Wanted = conf::ListenerTls::ClientCertificate;

// Both ends in memory, by OpenSSL alone.
class HandshakeInMemory {
 public:
  HandshakeInMemory(const TlsContext& server, SSL_SESSION* ticket, const Issued& certificate)
      : context_(SSL_CTX_new(TLS_client_method())), client_(nullptr), server_(SSL_new(server.get())) {
    SSL_CTX_use_certificate(context_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), certificate.key);
    client_.reset(SSL_new(context_.get()));
    BIO *near = nullptr, *far = nullptr;
    BIO_new_bio_pair(&near, 0, &far, 0);
    SSL_set_bio(client_.get(), near, near);
    SSL_set_bio(server_.get(), far, far);
    SSL_set_connect_state(client_.get());
    SSL_set_accept_state(server_.get());
    if (ticket != nullptr) SSL_set_session(client_.get(), ticket);
    for (int i = 0; i < 10; ++i) {
      char octet = 0;
      SSL_read(client_.get(), &octet, 1);  // tickets come behind the handshake
      SSL_read(server_.get(), &octet, 1);
    }
  }
  bool is_resumed() const { return SSL_is_init_finished(server_.get()) == 1 && SSL_session_reused(server_.get()) == 1; }
  proxy::SslSessionPtr ticket() const { return proxy::SslSessionPtr(SSL_get1_session(client_.get())); }

 private:
  proxy::SslContextPtr context_;
  proxy::SslPtr client_, server_;
};

class ClientCertificateTest : public ProxyTest {
 protected:
  ClientCertificateTest() {
    given.list = "blocked.test\n";
    given.logged = true;
    tls().certificate = files_.certificate;
    tls().key = files_.key;
    tls().client_ca = dir.write("clients.pem", pem_of({authority.get()}));
    tls().client_certificate = Wanted::required;
    given.settings.groups.resize(1);
    given.settings.groups[0].name = "kiosks";
    given.settings.groups[0].certificates = {"uri:https://id.test/3", "cn:desk 1"};
    given.settings.groups[0].filters["testlist"].otherwise = Group::Action::off;
  }
  conf::ListenerTls& tls() { return given.settings.listeners.front().tls; }
  static Issued client_of(const Issued& issuer, const std::string& name, const std::string& names = "",
                          const std::string& usage = "clientAuth") {
    CertificateSpec spec{.common_name = name, .extensions = {{"extendedKeyUsage", usage}}};
    if (!names.empty()) spec.extensions.emplace_back("subjectAltName", names);
    return issue(spec, &issuer);
  }
  void revoke(const Issued& certificate) {
    tls().crl = dir.write("clients.crl", revocation_list(authority, {certificate.get()}));
  }
  TlsPeer connect(const Issued* certificate) {
    const auto peers = TlsContext::for_peers(files_.certificate).value();
    if (certificate != nullptr) {
      SSL_CTX_use_certificate(peers->get(), certificate->get());
      SSL_CTX_use_PrivateKey(peers->get(), certificate->key);
    }
    TlsPeer peer(new_client(), TlsSession::connect(*peers, "proxy.test"));
    peer.shake_hands();
    return peer;
  }
  // 502: it was let through, to a port where nobody is. 0: the connection has ended.
  int status_of_get(Peer& client, const std::string& host = "blocked.test") {
    try {
      client.send(get(host + ":2"));
      return status_of(read_answer(client).head);
    } catch (const std::runtime_error&) {
      return 0;
    }
  }
  int status_with(const Issued* certificate, const std::string& host = "blocked.test") {
    try {
      TlsPeer client = connect(certificate);
      return status_of_get(client, host);
    } catch (const std::runtime_error&) {
      return 0;
    }
  }
  Issued authority = issue({.common_name = "clients", .is_ca = true});
  Issued kiosk = client_of(authority, "kiosk 3", "URI:https://id.test/3,DNS:Kiosk.Test,email:k@id.test");

 private:
  TestCertificate files_ = make_certificate(dir.path(), "proxy", "proxy.test");
};

TEST_F(ClientCertificateTest, HasNamesThatGroupsKnow) {
  EXPECT_EQ(proxy::client_certificate_names(kiosk.get()),
            (std::vector<std::string>{"cn:kiosk 3", "uri:https://id.test/3", "dns:kiosk.test", "email:k@id.test"}));
  const Issued odd =
      issue({.common_name = std::string("a\0b", 3), .dns = {std::string("a\nb"), std::string(256, 'x')}});
  EXPECT_EQ(proxy::client_certificate_names(odd.get()), std::vector<std::string>{});
}

TEST_F(ClientCertificateTest, TellsGroupsApart) {
  const Issued desk = client_of(authority, "desk 1"), other = client_of(authority, "desk 2");
  EXPECT_EQ(status_with(&kiosk), 502) << "by its URI";
  EXPECT_EQ(status_with(&desk), 502) << "by its name";
  EXPECT_EQ(status_with(&other), 403);
  wait_until([&] { return log_text().find("\"group\":\"default\"") != std::string::npos; });
  EXPECT_NE(log_text().find("\"group\":\"kiosks\""), std::string::npos);
  EXPECT_EQ(counter(&Counters::tls_handshake_failures_total), 0U);
}

TEST_F(ClientCertificateTest, WithoutOneNobodyIsServedWhereItIsRequired) {
  EXPECT_EQ(status_with(nullptr), 0);
  wait_for_counter(&Counters::tls_handshake_failures_total, 1);
  tls().client_certificate = Wanted::optional;
  reload();
  EXPECT_EQ(status_with(nullptr), 403);
  EXPECT_EQ(status_with(&kiosk), 502);
  tls().client_certificate = Wanted::off;
  reload();
  EXPECT_EQ(status_with(&kiosk), 403) << "it is not asked for";
}

TEST_F(ClientCertificateTest, ThatIsNotValidIsRefusedEvenWhereNoneIsRequired) {
  tls().client_certificate = Wanted::optional;
  const Issued stranger = issue({.common_name = "strangers", .is_ca = true});
  const Issued foreign = client_of(stranger, "kiosk 3"), server = client_of(authority, "kiosk 3", "", "serverAuth");
  const Issued ended =
      issue({.common_name = "kiosk 3", .to = -3600, .extensions = {{"extendedKeyUsage", "clientAuth"}}}, &authority);
  const Issued* const wrong[] = {&foreign, &server, &ended};
  for (const Issued* certificate : wrong) EXPECT_EQ(status_with(certificate), 0);
  EXPECT_EQ(status_with(&kiosk), 502);
}

TEST_F(ClientCertificateTest, ThatIsRevokedIsRefused) {
  const Issued desk = client_of(authority, "desk 1");
  revoke(kiosk);
  EXPECT_EQ(status_with(&kiosk), 0);
  EXPECT_EQ(status_with(&desk), 502);
}

TEST_F(ClientCertificateTest, ThatIsRevokedByAReloadIsRefusedFromThenOn) {
  const Issued desk = client_of(authority, "desk 1");
  TlsPeer revoked = connect(&kiosk), other = connect(&desk);
  EXPECT_EQ(status_of_get(revoked), 502);
  EXPECT_EQ(status_of_get(other), 502);
  reload();
  EXPECT_EQ(status_of_get(revoked), 502) << "nothing has changed";
  revoke(kiosk);
  reload();
  EXPECT_EQ(status_of_get(revoked), 0) << "on a connection of before, too";
  EXPECT_EQ(status_of_get(other), 502);
  EXPECT_EQ(status_with(&kiosk), 0);
}

TEST_F(ClientCertificateTest, ThatIsRevokedByAReloadLosesItsTunnels) {
  const Issued desk = client_of(authority, "desk 1");
  const auto open = [this](const Issued& certificate) {
    TlsPeer client = connect(&certificate);
    client.send(connect_to(at("ok.test")));
    ScriptedPeer server = origin.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    return std::pair(std::move(client), std::move(server));
  };
  auto [revoked, revoked_server] = open(kiosk);
  auto [asking, asking_server] = open(kiosk);
  auto [other, other_server] = open(desk);
  asking.send(inner("ok.test"));
  asking_server.read_head();
  answer(asking_server, asking, "x");
  reload();
  revoked_server.send("nothing has changed");
  revoked.expect("nothing has changed");
  revoke(kiosk);
  reload();
  revoked.expect_end();
  revoked_server.expect_end();
  asking.send(inner("ok.test", "/again"));
  EXPECT_EQ(asking.read_to_end(), "");
  asking_server.expect_end();
  other_server.send("still here");
  other.expect("still here");
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 1U);
  EXPECT_NE(log_text().find("its certificate is not valid any more"), std::string::npos) << log_text();
}

// A ticket holds the certificate, which is not verified again.
TEST_F(ClientCertificateTest, ATicketOfBeforeARevocationIsNotTaken) {
  const auto listener = [this] {
    return TlsContext::for_listener(tls().certificate, tls().key,
                                    {.authorities = tls().client_ca, .revoked = tls().crl, .required = true})
        .value();
  };
  const auto is_resumed = [&](const TlsContext& server, SSL_SESSION* ticket) {
    return HandshakeInMemory(server, ticket, kiosk).is_resumed();
  };
  const auto before = listener(), same = listener();
  revoke(kiosk);
  const auto after = listener();
  HandshakeInMemory first(*before, nullptr, kiosk);
  const auto ticket = first.ticket();
  ASSERT_NE(ticket, nullptr);
  EXPECT_TRUE(is_resumed(*same, ticket.get()));
  EXPECT_FALSE(is_resumed(*after, ticket.get()));
}

TEST_F(ClientCertificateTest, FilesThatAreWrongAreNamed) {
  tls().client_ca = dir.write("clients.pem", "no certificate\n");
  const auto made = make_snapshot(given.settings, 1);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().front().find("listeners[0].tls: " + tls().client_ca.string()), std::string::npos)
      << made.error().front();
  tls().client_ca = dir.write("clients.pem", pem_of({authority.get()}));
  tls().crl = dir.path() / "gone.crl";
  EXPECT_NE(make_snapshot(given.settings, 1).error().front().find("gone.crl"), std::string::npos);
  tls().crl = dir.write("old.crl", revocation_list(authority, {}, true));
  const auto old = make_snapshot(given.settings, 1);
  ASSERT_TRUE(old.has_value()) << old.error().front();
  EXPECT_GT((*old)->listeners.front().tls->revocations_end(), 0);
}

}  // namespace
}  // namespace bloomwall::test
