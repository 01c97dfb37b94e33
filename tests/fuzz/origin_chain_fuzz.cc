// An origin's chain (certificate_list of a TLS 1.2 Certificate message: 3 octets of length, DER, and again) and a
// stapled answer behind it, from anywhere: nothing is accepted, since the root's key is not in the fuzzer's hands.
// SPDX-License-Identifier: Apache-2.0
#include <openssl/err.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "proxy/tls/origin_verifier.h"
#include "proxy/tls/staple.h"

namespace {

using namespace bloomwall::proxy;

// A public root (ISRG Root X2).
constexpr const char* kRoot =
    "-----BEGIN CERTIFICATE-----\n"
    "MIICGzCCAaGgAwIBAgIQQdKd0XLq7qeAwSxs6S+HUjAKBggqhkjOPQQDAzBPMQsw\n"
    "CQYDVQQGEwJVUzEpMCcGA1UEChMgSW50ZXJuZXQgU2VjdXJpdHkgUmVzZWFyY2gg\n"
    "R3JvdXAxFTATBgNVBAMTDElTUkcgUm9vdCBYMjAeFw0yMDA5MDQwMDAwMDBaFw00\n"
    "MDA5MTcxNjAwMDBaME8xCzAJBgNVBAYTAlVTMSkwJwYDVQQKEyBJbnRlcm5ldCBT\n"
    "ZWN1cml0eSBSZXNlYXJjaCBHcm91cDEVMBMGA1UEAxMMSVNSRyBSb290IFgyMHYw\n"
    "EAYHKoZIzj0CAQYFK4EEACIDYgAEzZvVn4CDCuwJSvMWSj5cz3es3mcFDR0HttwW\n"
    "+1qLFNvicWDEukWVEYmO6gbf9yoWHKS5xcUy4APgHoIYOIvXRdgKam7mAHf7AlF9\n"
    "ItgKbppbd9/w+kHsOdx1ymgHDB/qo0IwQDAOBgNVHQ8BAf8EBAMCAQYwDwYDVR0T\n"
    "AQH/BAUwAwEB/zAdBgNVHQ4EFgQUfEKWrt5LSDv6kviejM9ti6lyN5UwCgYIKoZI\n"
    "zj0EAwMDaAAwZQIwe3lORlCEwkSHRhtFcP9Ymd70/aTSVaYgLXTWNLxBo1BfASdW\n"
    "tL4ndQavEi51mI38AjEAi/V3bNTIZargCyzuFJ0nN6T5U6VR5CmD1/iQMVtCnwr1\n"
    "/q4AaOeMSQ+2b1tbFfLn\n"
    "-----END CERTIFICATE-----\n";

constexpr std::int64_t kNow = 1'800'000'000;

OriginVerifier& verifier() {
  static const std::shared_ptr<OriginVerifier> made = [] {
    std::string folder = (std::filesystem::temp_directory_path() / "bloomwall-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::abort();
    OriginTrust trust;
    trust.ca_file = std::filesystem::path(folder) / "root.pem";
    trust.intermediates_file = trust.ca_file;
    std::ofstream(trust.ca_file) << kRoot;
    auto loaded = OriginVerifier::load(trust, [] { return kNow; });
    std::filesystem::remove_all(folder);
    if (!loaded) std::abort();
    return *loaded;
  }();
  return *made;
}

X509StackPtr read_chain(std::span<const std::uint8_t>& rest) {
  X509StackPtr chain(sk_X509_new_null());
  while (rest.size() > 3) {
    const std::size_t size = std::size_t{rest[0]} << 16U | std::size_t{rest[1]} << 8U | std::size_t{rest[2]};
    if (size == 0 || size > rest.size() - 3) break;
    const unsigned char* at = rest.data() + 3;
    X509Ptr certificate(d2i_X509(nullptr, &at, static_cast<long>(size)));
    if (certificate == nullptr) break;
    sk_X509_push(chain.get(), certificate.release());
    rest = rest.subspan(3 + size);
  }
  return chain;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const X509StorePtr store = verifier().new_store();
  std::span<const std::uint8_t> rest(data, size);
  const X509StackPtr chain = read_chain(rest);
  for (const char* const name : {"good.example.test", "192.0.2.7", "a.co.uk"}) {
    const auto verified = verifier().verify(store.get(), chain.get(), name);
    if (verified.error == CertificateError::none) std::abort();
    if (verified.why.empty() || verified.x509_error == X509_V_OK) std::abort();
  }
  for (int i = 0; i + 1 < sk_X509_num(chain.get()); ++i) {
    X509* const certificate = sk_X509_value(chain.get(), i);
    (void)read_staple(certificate, sk_X509_value(chain.get(), i + 1), rest, kNow);
    (void)must_staple(certificate);
    (void)has_scts(certificate);
    (void)has_strong_key(certificate);
  }
  ERR_clear_error();
  return 0;
}
