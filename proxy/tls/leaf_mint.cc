// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/leaf_mint.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/units.h"

namespace bloomwall::proxy {
namespace {

constexpr std::int64_t kOneDay = 86'400;
constexpr std::size_t kMostCommonName = 64;  // ub-common-name of RFC 5280
constexpr std::uint8_t kKeyIdentifierTag = 0x80;

constexpr std::string_view kNoCa("\x30\x00", 2);
constexpr std::string_view kDigitalSignature("\x03\x02\x07\x80", 4);
constexpr std::string_view kServerAuth("\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01", 12);

void made(bool done) {
  if (!done) throw std::bad_alloc();
}

// OpenSSL 3 encodes the public key of a certificate through an encoder, a decoder and a copy, 0.2 ms, unless the key is
// of the form that it had before providers: then it takes 5 us. This makes one of that form, without the deprecated
// EC_KEY functions: an empty key of a type given by number has it, takes the curve of another key, and the point. Where
// a later OpenSSL does not do so, the key itself serves, only slower.
EvpKeyPtr with_quick_encoding(EVP_PKEY* key) {
  unsigned char* point = nullptr;
  const std::size_t size = EVP_PKEY_get1_encoded_public_key(key, &point);
  const OctetsPtr owned(point);
  EvpKeyPtr encoded(EVP_PKEY_new());
  made(size > 0 && encoded != nullptr);
  const bool done =
      EVP_PKEY_set_type(encoded.get(), EVP_PKEY_EC) == 1 && EVP_PKEY_copy_parameters(encoded.get(), key) == 1 &&
      EVP_PKEY_set1_encoded_public_key(encoded.get(), point, size) == 1 && EVP_PKEY_eq(encoded.get(), key) == 1;
  ERR_clear_error();
  if (done) return encoded;
  made(EVP_PKEY_up_ref(key) == 1);
  return EvpKeyPtr(key);
}

std::shared_ptr<const LeafKey> new_leaf_key(std::int64_t now) {
  auto key = std::make_shared<LeafKey>();
  key->key.reset(EVP_EC_gen("P-256"));
  made(key->key != nullptr);
  key->encoded = with_quick_encoding(key->key.get());
  key->identifier =
      make_extension(NID_subject_key_identifier, false, der(kDerOctetString, key_identifier(key->key.get())));
  key->made = now;
  return key;
}

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// The GeneralName of the host; empty where a certificate cannot hold it.
std::string general_name(std::string_view host) {
  const std::string octets = address_octets(std::string(host));
  if (!octets.empty()) return der(kDerAddress, octets);
  return is_certificate_name(host) ? der(kDerDnsName, host) : std::string();
}

void set_algorithm(X509_ALGOR* algorithm, int nid) {
  // RSA's has NULL for parameters (RFC 4055), ECDSA's has none (RFC 5758).
  const int parameters = nid == NID_sha256WithRSAEncryption ? V_ASN1_NULL : V_ASN1_UNDEF;
  made(X509_ALGOR_set0(algorithm, OBJ_nid2obj(nid), parameters, nullptr) == 1);
}

}  // namespace

bool Leaf::is_fresh(std::int64_t now) const {
  return now < minted_ + kOneDay && now >= not_before_ && now < not_after_;
}

LeafMint::LeafMint(AuthorityPtr authority, int days)
    : authority_(std::move(authority)),
      days_(days),
      generation_(next_generation()),
      constraints_(make_extension(NID_basic_constraints, true, kNoCa)),
      usage_(make_extension(NID_key_usage, true, kDigitalSignature)),
      purpose_(make_extension(NID_ext_key_usage, false, kServerAuth)),
      authority_key_(make_extension(NID_authority_key_identifier, false,
                                    der(kDerSequence, der(kKeyIdentifierTag, authority_->key_identifier())))) {}

bool LeafMint::is_mintable(std::string_view host) { return !general_name(host).empty(); }

std::shared_ptr<const LeafKey> LeafMint::key_at(std::int64_t now) const {
  auto key = key_.load(std::memory_order_acquire);
  while (key == nullptr || now - key->made >= kOneDay) {
    auto next = new_leaf_key(now);
    if (key_.compare_exchange_strong(key, next)) return next;
  }
  return key;
}

tl::expected<LeafPtr, std::string> LeafMint::mint(std::string_view host, std::int64_t now) const {
  const std::string name = general_name(host);
  if (name.empty())
    return tl::unexpected(std::string("neither a host name nor an address: no certificate can hold it"));
  const std::int64_t today = now - now % kOneDay;
  std::shared_ptr<Leaf> leaf(new Leaf);
  leaf->minted_ = now;
  leaf->not_before_ = std::max(today - 2 * kOneDay, authority_->not_before());
  leaf->not_after_ = std::min(today + days_ * kOneDay, authority_->not_after());
  if (leaf->not_after_ <= now) {
    return tl::unexpected(
        fmt::format("the CA expired on {}", format_time(static_cast<std::uint64_t>(authority_->not_after()))));
  }
  leaf->authority_ = authority_;
  leaf->key_ = key_at(now);
  leaf->certificate_.reset(X509_new());
  X509* const certificate = leaf->certificate_.get();
  made(certificate != nullptr && X509_set_version(certificate, X509_VERSION_3) == 1);
  set_random_serial(certificate);
  // Verifiers that find no DNS name take the CN for one, and name constraints forbid it.
  const bool is_address = name.starts_with(static_cast<char>(kDerAddress));
  const bool is_named = host.size() <= kMostCommonName && !(is_address && authority_->has_name_constraints());
  if (is_named) add_name_part(X509_get_subject_name(certificate), NID_commonName, host);
  made(X509_set_issuer_name(certificate, X509_get_subject_name(authority_->certificate())) == 1);
  set_validity(certificate, leaf->not_before_, leaf->not_after_);
  made(X509_set_pubkey(certificate, leaf->key_->encoded.get()) == 1);
  add_extension(certificate, make_extension(NID_subject_alt_name, !is_named, der(kDerSequence, name)));
  for (const X509ExtensionPtr* extension :
       {&constraints_, &usage_, &purpose_, &authority_key_, &leaf->key_->identifier}) {
    add_extension(certificate, *extension);
  }
  if (auto done = sign(certificate); !done) return tl::unexpected(std::move(done.error()));
  return leaf;
}

tl::expected<void, std::string> LeafMint::sign(X509* certificate) const {
  // OpenSSL signs with keys of its own only; the places of a foreign signature are handed out as const.
  const ASN1_BIT_STRING* signature = nullptr;
  const X509_ALGOR* algorithm = nullptr;
  X509_get0_signature(&signature, &algorithm, certificate);
  const int nid = authority_->signer().algorithm();
  set_algorithm(const_cast<X509_ALGOR*>(algorithm), nid);
  set_algorithm(const_cast<X509_ALGOR*>(X509_get0_tbs_sigalg(certificate)), nid);
  unsigned char* octets = nullptr;
  const int size = i2d_re_X509_tbs(certificate, &octets);
  const OctetsPtr owned(octets);
  made(size > 0);
  const auto got = authority_->signer().sign({octets, static_cast<std::size_t>(size)});
  if (!got) return tl::unexpected(got.error());
  auto* const place = const_cast<ASN1_BIT_STRING*>(signature);
  made(ASN1_STRING_set(place, got->data(), static_cast<int>(got->size())) == 1);
  constexpr long kUnusedBits = 0x07;
  place->flags = (place->flags & ~kUnusedBits) | ASN1_STRING_FLAG_BITS_LEFT;  // none of the last octet is unused
  return {};
}

}  // namespace bloomwall::proxy
