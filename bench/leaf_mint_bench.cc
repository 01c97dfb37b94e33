// What a leaf costs beside the bare signature of its CA's key, by kind of key, and what a session takes to present it.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <array>
#include <ctime>
#include <stdexcept>
#include <string>
#include <utility>

#include "proxy/tls/leaf_cache.h"

namespace {

using namespace bloomwall::proxy;

enum Kind : std::int64_t { p256, p384, rsa2048, rsa4096 };

EvpKeyPtr key_of(std::int64_t kind) {
  switch (kind) {
    case p384:
      return EvpKeyPtr(EVP_EC_gen("P-384"));
    case rsa2048:
      return EvpKeyPtr(EVP_RSA_gen(2048));
    case rsa4096:
      return EvpKeyPtr(EVP_RSA_gen(4096));
    default:
      return EvpKeyPtr(EVP_EC_gen("P-256"));
  }
}

AuthorityPtr authority_of(std::int64_t kind) {
  EvpKeyPtr key = key_of(kind);
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  set_random_serial(certificate.get());
  set_validity(certificate.get(), std::time(nullptr) - 86'400, std::time(nullptr) + 30 * 86'400);
  add_name_part(X509_get_subject_name(certificate.get()), NID_commonName, "bench CA");
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  X509_set_pubkey(certificate.get(), key.get());
  constexpr std::string_view kIsCa("\x30\x03\x01\x01\xff", 5);
  add_extension(certificate.get(), make_extension(NID_basic_constraints, true, kIsCa));
  add_extension(certificate.get(),
                make_extension(NID_subject_key_identifier, false, der(kDerOctetString, key_identifier(key.get()))));
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  std::vector<X509Ptr> certificates;
  certificates.push_back(std::move(certificate));
  auto made = CertificateAuthority::make(std::move(certificates), *make_signer(std::move(key)),
                                         {.now = std::time(nullptr), .roots = {.bundle = "/nonexistent", .added = {}}},
                                         "bench");
  if (!made) throw std::runtime_error(made.error());
  return *made;
}

void Signature(benchmark::State& state) {
  const AuthorityPtr authority = authority_of(state.range(0));
  constexpr std::array<unsigned char, 400> kOctets{};
  for (auto _ : state) benchmark::DoNotOptimize(authority->signer().sign(kOctets)->size());
}

void Mint(benchmark::State& state) {
  const LeafMint mint(authority_of(state.range(0)));
  const std::int64_t now = std::time(nullptr);
  for (auto _ : state) benchmark::DoNotOptimize((*mint.mint("www.example.test", now))->certificate());
}

// A new leaf each time, as the first connection to a host: the extensions are read then.
void MintAndPresent(benchmark::State& state) {
  const LeafMint mint(authority_of(p256));
  const std::int64_t now = std::time(nullptr);
  const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  const SslPtr session(SSL_new(context.get()));
  for (auto _ : state) {
    const auto leaf = *mint.mint("www.example.test", now);
    if (SSL_use_cert_and_key(session.get(), leaf->certificate(), leaf->key(), leaf->chain(), 1) != 1) std::abort();
  }
}

void Present(benchmark::State& state) {
  const auto leaf = *LeafMint(authority_of(p256)).mint("www.example.test", std::time(nullptr));
  const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  const SslPtr session(SSL_new(context.get()));
  for (auto _ : state) {
    if (SSL_use_cert_and_key(session.get(), leaf->certificate(), leaf->key(), leaf->chain(), 1) != 1) std::abort();
  }
}

void CachedLeaf(benchmark::State& state) {
  const auto mint = std::make_shared<LeafMint>(authority_of(p256));
  LeafCache cache({.mints_a_second = 0});
  const auto now = LeafCache::Clock::now();
  constexpr int kHosts = 1'000;
  for (int i = 0; i < kHosts; ++i) cache.ask(mint, "h" + std::to_string(i) + ".example.test", "c", now, {});
  int at = 0;
  for (auto _ : state) {
    const std::string host = "h" + std::to_string(at++ % kHosts) + ".example.test";
    benchmark::DoNotOptimize(cache.ask(mint, host, "c", now, {})->has_value());
  }
}

BENCHMARK(Signature)->ArgName("key")->Arg(p256)->Arg(p384)->Arg(rsa2048)->Arg(rsa4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(Mint)->ArgName("key")->Arg(p256)->Arg(p384)->Arg(rsa2048)->Arg(rsa4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(MintAndPresent)->Unit(benchmark::kMicrosecond);
BENCHMARK(Present)->Unit(benchmark::kMicrosecond);
BENCHMARK(CachedLeaf);

}  // namespace

BENCHMARK_MAIN();
