// Any octets as the host of a leaf: refused, or a certificate that OpenSSL parses, verifies, and reads exactly this one
// name from.
// SPDX-License-Identifier: Apache-2.0
#include <openssl/pem.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "proxy/tls/authority_maker.h"
#include "proxy/tls/leaf_cache.h"
#include "proxy/tls/pem_files.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::proxy;

constexpr std::int64_t kNow = 1'800'000'000;

using bloomwall::fuzz::require;

const AuthorityPtr& authority() {
  static const AuthorityPtr made = [] {
    const auto parts = make_authority({.host = "fuzz", .now = kNow});
    const BioPtr memory(BIO_new_mem_buf(parts->key.text().data(), static_cast<int>(parts->key.text().size())));
    EvpKeyPtr key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
    return *CertificateAuthority::make(*certificates_of(parts->certificate), *make_signer(std::move(key)),
                                       {.now = kNow, .roots = {.bundle = "/nonexistent", .added = {}}}, "fuzz");
  }();
  return made;
}

// The one name that the certificate holds, or nothing.
std::string only_name(X509* certificate) {
  struct FreeNames {
    void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  };
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  require(names != nullptr && sk_GENERAL_NAME_num(names.get()) == 1);
  const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), 0);
  require(name->type == GEN_DNS || name->type == GEN_IPADD);
  const ASN1_STRING* const value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
  const std::string octets(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                           static_cast<std::size_t>(ASN1_STRING_length(value)));
  return (name->type == GEN_DNS ? "D" : "A") + octets;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const LeafMint mint(authority());
  const std::string host(reinterpret_cast<const char*>(data), size);
  const auto leaf = mint.mint(host, kNow);
  require(leaf.has_value() == LeafMint::is_mintable(host));
  if (!leaf) return 0;
  const std::string octets = der_of((*leaf)->certificate());
  const auto* at = reinterpret_cast<const unsigned char*>(octets.data());
  const X509Ptr read(d2i_X509(nullptr, &at, static_cast<long>(octets.size())));
  require(read != nullptr && at == reinterpret_cast<const unsigned char*>(octets.data()) + octets.size());
  require(X509_verify(read.get(), X509_get0_pubkey(authority()->certificate())) == 1);
  const std::string address = address_octets(host);
  require(only_name(read.get()) == (address.empty() ? "D" + host : "A" + address));
  require(X509_NAME_entry_count(X509_get_subject_name(read.get())) == (size <= 64 ? 1 : 0));
  require((X509_get_extension_flags(read.get()) & (EXFLAG_CA | EXFLAG_INVALID)) == 0);
  return 0;
}
