// Verification of origins beside bare OpenSSL: the chain alone, and whole handshakes, both ends of them, in memory. The
// origin: a P-256 leaf under an RSA-2048 intermediate and an RSA-2048 root. Ratios within one run are what to trust:
//   chain:     ours/new over bare is what own CAs, distrusted keys and the memory cost; ours/remembered what it saves
//   handshake: ours/new over bare/full; ours/resumed over bare/resumed
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdlib>
#include <string>

#include "proxy/tls/origin_verifier.h"
#include "proxy/tls/tls_session.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_authority.h"

namespace bloomwall::test {
namespace {

constexpr const char* kName = "a.example.test";

// Everything that the benchmarks share; made once.
struct Origin {
  Origin() {
    const auto ca = [](const char* name) {
      CertificateSpec spec;
      spec.common_name = name;
      spec.key = "RSA-2048";
      spec.is_ca = true;
      return spec;
    };
    root = issue(ca("Root"));
    intermediate = issue(ca("Intermediate"), &root);
    CertificateSpec spec;
    spec.dns = {"*.example.test"};
    leaf = issue(spec, &intermediate);
    for (const Issued* const one : {&leaf, &intermediate}) sk_X509_push(sent.get(), proxy::share(one->get()).release());
    proxy::OriginTrust trust;
    trust.ca_file = dir.write("root.pem", pem_of({root.get()}));
    verifier = *proxy::OriginVerifier::load(trust);
    ours = *proxy::TlsContext::for_origins(verifier);
    store = verifier->new_store();
    SSL_CTX_use_cert_and_key(server.get(), leaf.get(), leaf.key, nullptr, 1);
    SSL_CTX_add1_chain_cert(server.get(), intermediate.get());
    SSL_CTX_set_session_id_context(server.get(), reinterpret_cast<const unsigned char*>("b"), 1);
    SSL_CTX_set_cert_store(bare.get(), verifier->new_store().release());
    SSL_CTX_set_verify(bare.get(), SSL_VERIFY_PEER, nullptr);
  }
  TempDir dir;
  Issued root, intermediate, leaf;
  proxy::X509StackPtr sent{sk_X509_new_null()};
  std::shared_ptr<proxy::OriginVerifier> verifier;
  proxy::TlsContextPtr ours;
  proxy::X509StorePtr store;
  proxy::SslContextPtr server{SSL_CTX_new(TLS_server_method())}, bare{SSL_CTX_new(TLS_client_method())};
};

Origin& origin() {
  static Origin made;
  return made;
}

void check(bool ok) {
  if (!ok) std::abort();
}

proxy::SslPtr new_end(SSL_CTX* context) {
  proxy::SslPtr ssl(SSL_new(context));
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  BIO_set_mem_eof_return(SSL_get_rbio(ssl.get()), -1);
  return ssl;
}

void carry(SSL* from, SSL* to) {
  std::array<char, 16'384> room;  // NOLINT: filled as far as it is used
  for (int got = 0; (got = BIO_read(SSL_get_wbio(from), room.data(), room.size())) > 0;) {
    BIO_write(SSL_get_rbio(to), room.data(), got);
  }
}

void BM_ChainBare(benchmark::State& state) {
  Origin& o = origin();
  for (auto _ : state) {
    const proxy::X509StoreContextPtr context(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context.get(), o.store.get(), o.leaf.get(), o.sent.get());
    X509_STORE_CTX_set_default(context.get(), "ssl_server");
    X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(context.get()), kName, 0);
    check(X509_verify_cert(context.get()) == 1);
  }
}
BENCHMARK(BM_ChainBare)->Name("chain/bare");

void BM_ChainOurs(benchmark::State& state) {
  Origin& o = origin();
  const bool is_new = state.range(0) == 1;
  static std::uint64_t number = 0;
  for (auto _ : state) {
    const std::string name = is_new ? "n" + std::to_string(++number) + ".example.test" : kName;
    check(o.verifier->verify(o.store.get(), o.sent.get(), name).error == proxy::CertificateError::none);
  }
}
BENCHMARK(BM_ChainOurs)->Name("chain/ours_new")->Arg(1);
BENCHMARK(BM_ChainOurs)->Name("chain/ours_remembered")->Arg(0);

proxy::SslPtr bare_handshake(SSL_SESSION* resumed) {
  const proxy::SslPtr server = new_end(origin().server.get());
  proxy::SslPtr client = new_end(origin().bare.get());
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  SSL_set1_host(client.get(), kName);
  if (resumed != nullptr) SSL_set_session(client.get(), resumed);
  std::array<char, 16> room{};
  for (int i = 0; i < 3; ++i) {
    SSL_read(client.get(), room.data(), room.size());
    carry(client.get(), server.get());
    SSL_read(server.get(), room.data(), room.size());
    carry(server.get(), client.get());
  }
  SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  check(SSL_is_init_finished(client.get()) == 1);
  return client;
}

void BM_HandshakeBare(benchmark::State& state) {
  const bool is_resumed = state.range(0) == 1;
  proxy::SslPtr last = bare_handshake(nullptr);
  for (auto _ : state) {
    const proxy::SslSessionPtr session(is_resumed ? SSL_get1_session(last.get()) : nullptr);
    last = bare_handshake(session.get());
    check((SSL_session_reused(last.get()) == 1) == is_resumed);
  }
}
BENCHMARK(BM_HandshakeBare)->Name("handshake/bare_full")->Arg(0);
BENCHMARK(BM_HandshakeBare)->Name("handshake/bare_resumed")->Arg(1);

std::unique_ptr<proxy::TlsSession> our_handshake(const proxy::TlsTarget& target) {
  const proxy::SslPtr server = new_end(origin().server.get());
  auto client = proxy::TlsSession::connect(*origin().ours, target);
  SSL_set_accept_state(server.get());
  std::array<char, 16'384> room;  // NOLINT: filled as far as it is used
  for (int i = 0; i < 3; ++i) {
    const auto up = client->pending();
    if (!up.empty()) BIO_write(SSL_get_rbio(server.get()), up.data(), static_cast<int>(up.size()));
    client->sent();
    SSL_read(server.get(), room.data(), room.size());
    for (int got = 0; (got = BIO_read(SSL_get_wbio(server.get()), room.data(), room.size())) > 0;) {
      client->feed(std::span<const char>(room.data(), static_cast<std::size_t>(got)));
    }
    (void)client->read(room);
  }
  check(client->is_established());
  return client;
}

enum Kind : std::int64_t { kNew, kRemembered, kResumed };
void BM_HandshakeOurs(benchmark::State& state) {
  const std::int64_t kind = state.range(0);
  static std::uint64_t number = 0;
  const std::string at = kind == kResumed ? "origin:443" : "";
  (void)our_handshake({kName, at});
  for (auto _ : state) {
    const std::string name = kind == kNew ? "h" + std::to_string(++number) + ".example.test" : kName;
    const auto client = our_handshake({name, at});
    check(client->resumed() == (kind == kResumed) && client->chain_remembered() == (kind == kRemembered));
  }
}
BENCHMARK(BM_HandshakeOurs)->Name("handshake/ours_new")->Arg(kNew);
BENCHMARK(BM_HandshakeOurs)->Name("handshake/ours_remembered")->Arg(kRemembered);
BENCHMARK(BM_HandshakeOurs)->Name("handshake/ours_resumed")->Arg(kResumed);

}  // namespace
}  // namespace bloomwall::test

BENCHMARK_MAIN();
