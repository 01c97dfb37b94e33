// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/certificate_authority.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/names.h"
#include "base/units.h"
#include "proxy/tls/authority_faults.h"
#include "proxy/tls/leaf_cache.h"
#include "proxy/tls/pem_files.h"
#include "proxy/tls/tls_context.h"

namespace bloomwall::proxy {
namespace {

struct SigningKind {
  int algorithm;
  const EVP_MD* digest;
};

class KeySigner final : public Signer {
 public:
  KeySigner(EvpKeyPtr key, SigningKind kind) : key_(std::move(key)), kind_(kind) {}
  int algorithm() const override { return kind_.algorithm; }
  bool is_fast() const override { return kind_.algorithm == NID_ecdsa_with_SHA256; }

  tl::expected<std::string, std::string> sign(std::span<const unsigned char> octets) const override {
    ERR_clear_error();
    const DigestContextPtr context(EVP_MD_CTX_new());
    std::string out(static_cast<std::size_t>(EVP_PKEY_get_size(key_.get())), '\0');
    std::size_t size = out.size();
    if (context == nullptr || EVP_DigestSignInit(context.get(), nullptr, kind_.digest, nullptr, key_.get()) != 1 ||
        EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, octets.data(),
                       octets.size()) != 1) {
      return tl::unexpected(fmt::format("the CA's key does not sign: {}", tls_error("no reason given")));
    }
    out.resize(size);
    return out;
  }

 private:
  const EvpKeyPtr key_;
  const SigningKind kind_;
};

// The name of the key's curve; empty where it has none.
std::string curve_of(const EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  return EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) == 1 ? std::string(name.data(), size) : "";
}

}  // namespace

tl::expected<SignerPtr, std::string> make_signer(EvpKeyPtr key) {
  constexpr int kFewestRsaBits = 2048;
  const auto with = [&](SigningKind kind) { return std::make_shared<const KeySigner>(std::move(key), kind); };
  if (EVP_PKEY_is_a(key.get(), "RSA") == 1) {
    if (EVP_PKEY_get_bits(key.get()) >= kFewestRsaBits) return with({NID_sha256WithRSAEncryption, EVP_sha256()});
    return tl::unexpected(std::string("an RSA key of fewer than 2,048 bits; clients refuse what it signs"));
  }
  if (EVP_PKEY_is_a(key.get(), "EC") == 1) {
    const std::string curve = curve_of(key.get());
    if (curve == SN_X9_62_prime256v1 || curve == "P-256") return with({NID_ecdsa_with_SHA256, EVP_sha256()});
    if (curve == SN_secp384r1 || curve == "P-384") return with({NID_ecdsa_with_SHA384, EVP_sha384()});
    if (curve == SN_secp521r1 || curve == "P-521") return with({NID_ecdsa_with_SHA512, EVP_sha512()});
  }
  ERR_clear_error();
  return tl::unexpected(std::string("a kind of key that clients do not verify; take EC P-256, or RSA of 2,048 bits"));
}

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondsOfDay = 86'400;

tl::unexpected<std::string> about(const fs::path& file, std::string_view what) {
  return tl::unexpected(fmt::format("{}: {}", file.string(), what));
}

// The file of the CA in use.
tl::expected<std::vector<X509Ptr>, std::string> read_in_use(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return about(file, "there is no such file; `bloomwall ca init` makes a CA");
  return read_authority_file(file);
}

struct Passphrase {
  std::string_view text;
  bool was_asked = false;
};

// Instead of a terminal, which a daemon does not have.
int give_passphrase(char* room, int size, int /*writing*/, void* of) {
  auto& passphrase = *static_cast<Passphrase*>(of);
  passphrase.was_asked = true;
  if (passphrase.text.empty() || passphrase.text.size() > static_cast<std::size_t>(size)) return -1;
  std::memcpy(room, passphrase.text.data(), passphrase.text.size());
  return static_cast<int>(passphrase.text.size());
}

tl::expected<EvpKeyPtr, std::string> read_key(const AuthorityFiles& files) {
  const auto text = read_private_file(files.key);
  if (!text) return tl::unexpected(text.error());
  Secret secret;
  if (!files.passphrase_file.empty()) {
    auto read = read_passphrase(files.passphrase_file);
    if (!read) return tl::unexpected(read.error());
    secret = *std::move(read);
  }
  Passphrase passphrase{secret.text()};
  ERR_clear_error();
  const BioPtr memory(BIO_new_mem_buf(text->text().data(), static_cast<int>(text->text().size())));
  if (memory == nullptr) throw std::bad_alloc();
  EvpKeyPtr key(PEM_read_bio_PrivateKey(memory.get(), nullptr, give_passphrase, &passphrase));
  const std::string reason = tls_error("not a private key in PEM");
  if (key != nullptr) return key;
  if (!passphrase.was_asked) return about(files.key, fmt::format("no private key in PEM ({})", reason));
  if (files.passphrase_file.empty()) {
    return about(files.key, "is encrypted: name the file of its passphrase (tls_inspection.ca.passphrase_file)");
  }
  return about(files.key, fmt::format("the passphrase in {} does not open it", files.passphrase_file.string()));
}

// Whether what the signer signs is verified by the certificate's key.
bool holds_key_of(const Signer& signer, X509* certificate) {
  constexpr std::array<unsigned char, 16> kProbe{"bloomwall probe"};
  const auto signature = signer.sign(kProbe);
  int digest = NID_undef;
  if (!signature || OBJ_find_sigid_algs(signer.algorithm(), &digest, nullptr) != 1) return false;
  const DigestContextPtr context(EVP_MD_CTX_new());
  if (context == nullptr) throw std::bad_alloc();
  const EVP_MD* const how = digest == NID_undef ? nullptr : EVP_get_digestbynid(digest);
  const bool good = EVP_DigestVerifyInit(context.get(), nullptr, how, nullptr, X509_get0_pubkey(certificate)) == 1 &&
                    EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature->data()),
                                     signature->size(), kProbe.data(), kProbe.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

CertificateAuthority::CertificateAuthority(std::vector<X509Ptr> certificates, SignerPtr signer)
    : certificates_(std::move(certificates)), signer_(std::move(signer)), chain_(sk_X509_new_null()) {
  if (chain_ == nullptr) throw std::bad_alloc();
  key_identifier_ = issuer_key_octets(certificate());
  not_after_ = INT64_MAX;
  for (const X509Ptr& one : certificates_) {
    not_before_ = std::max(not_before_, unix_time_of(X509_get0_notBefore(one.get())));
    not_after_ = std::min(not_after_, unix_time_of(X509_get0_notAfter(one.get())));
    if (X509_get_ext_by_NID(one.get(), NID_name_constraints, -1) >= 0) has_name_constraints_ = true;
    if (is_self_signed(one.get())) continue;
    if (X509_add_cert(chain_.get(), one.get(), X509_ADD_FLAG_UP_REF) != 1) throw std::bad_alloc();
  }
}

CertificateAuthority::Loaded CertificateAuthority::load(const AuthorityFiles& files, const AuthorityTerms& terms) {
  auto certificates = read_in_use(files.certificate);
  if (!certificates) return tl::unexpected(certificates.error());
  if (const auto fault = authority_fault(*certificates, terms)) return about(files.certificate, *fault);
  auto key = read_key(files);
  if (!key) return tl::unexpected(key.error());
  if (X509_check_private_key(certificates->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return about(files.key, fmt::format("the key of another certificate than {}", files.certificate.string()));
  }
  auto signer = make_signer(*std::move(key));
  if (!signer) return about(files.key, signer.error());
  return make(*std::move(certificates), *std::move(signer), terms, files.certificate.string());
}

CertificateAuthority::Loaded CertificateAuthority::make(std::vector<X509Ptr> certificates, SignerPtr signer,
                                                        const AuthorityTerms& terms, const std::string& where) {
  if (certificates.empty()) return about(where, "no certificate");
  if (const auto fault = authority_fault(certificates, terms)) return about(where, *fault);
  if (!holds_key_of(*signer, certificates.front().get())) {
    return about(where, "what signs does not have this certificate's key");
  }
  return AuthorityPtr(new CertificateAuthority(std::move(certificates), std::move(signer)));
}

std::optional<std::string> permitted_domain(const CertificateAuthority& authority) {
  for (const X509Ptr& certificate : authority.certificates()) {
    const NameConstraintsPtr constraints(
        static_cast<NAME_CONSTRAINTS*>(X509_get_ext_d2i(certificate.get(), NID_name_constraints, nullptr, nullptr)));
    if (constraints == nullptr || constraints->permittedSubtrees == nullptr) continue;
    for (int i = 0; i < sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees); ++i) {
      const GENERAL_NAME* const base = sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, i)->base;
      if (base->type != GEN_DNS) continue;
      std::string_view name(reinterpret_cast<const char*>(ASN1_STRING_get0_data(base->d.dNSName)),
                            static_cast<std::size_t>(ASN1_STRING_length(base->d.dNSName)));
      if (name.starts_with('.')) name.remove_prefix(1);
      return std::string(name);
    }
  }
  return std::nullopt;
}

tl::expected<void, std::string> check_strictly(const AuthorityPtr& authority, std::int64_t now) {
  const std::string name = "strict-check." + permitted_domain(*authority).value_or("bloomwall.invalid");
  const auto leaf = LeafMint(authority).mint(name, now);
  if (!leaf) return tl::unexpected(leaf.error());
  const X509StorePtr store(X509_STORE_new());
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  if (store == nullptr || context == nullptr || X509_STORE_add_cert(store.get(), authority->anchor()) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), (*leaf)->certificate(), authority->chain()) != 1) {
    throw std::bad_alloc();
  }
  X509_VERIFY_PARAM* const terms = X509_STORE_CTX_get0_param(context.get());
  unsigned long flags = X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE;
  if (!is_self_signed(authority->anchor())) flags |= X509_V_FLAG_PARTIAL_CHAIN;  // as clients that have its root do
  X509_VERIFY_PARAM_set_flags(terms, flags);
  X509_VERIFY_PARAM_set_time(terms, now);
  X509_VERIFY_PARAM_set_purpose(terms, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_auth_level(terms, 2);
  if (X509_VERIFY_PARAM_set1_host(terms, name.c_str(), name.size()) != 1) throw std::bad_alloc();
  if (X509_verify_cert(context.get()) == 1) return {};
  const int error = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  return tl::unexpected(fmt::format("strict clients refuse its leaves: {} (error {} at depth {})",
                                    X509_verify_cert_error_string(error), error,
                                    X509_STORE_CTX_get_error_depth(context.get())));
}

std::optional<ExpiryWarning> expiry_warning(const CertificateAuthority& authority, std::int64_t now) {
  constexpr std::int64_t kEarly = 60, kLate = 14;
  const std::int64_t days = (authority.not_after() - now) / kSecondsOfDay;
  if (days >= kEarly) return std::nullopt;
  return ExpiryWarning{fmt::format("the CA expires in {} days, on {}: make the next one with `bloomwall ca next`", days,
                                   format_time(static_cast<std::uint64_t>(authority.not_after()))),
                       days < kLate};
}

fs::path previous_file(const fs::path& certificate) {
  fs::path file = certificate;
  return file.replace_extension().concat(".previous").concat(certificate.extension().string());
}

const char* to_string(PublishedAuthority::Role role) {
  static constexpr auto kWords =
      name_table<PublishedAuthority::Role>({{PublishedAuthority::Role::in_use, "in use"},
                                            {PublishedAuthority::Role::next, "next"},
                                            {PublishedAuthority::Role::previous, "previous"}});
  return kWords.text(role);
}

tl::expected<std::vector<PublishedAuthority>, std::string> published_authorities(const AuthorityFiles& files,
                                                                                 const AuthorityTerms& terms) {
  std::vector<PublishedAuthority> published;
  auto in_use = read_in_use(files.certificate);
  if (!in_use) return tl::unexpected(in_use.error());
  published.push_back({PublishedAuthority::Role::in_use, std::move(in_use->back())});
  std::error_code ignored;  // an activated one has been moved away
  if (!files.next.empty() && fs::exists(files.next, ignored)) {
    auto next = read_authority_file(files.next);
    if (!next) return tl::unexpected(next.error());
    if (const auto fault = authority_fault(*next, terms)) return about(files.next, *fault);
    published.push_back({PublishedAuthority::Role::next, std::move(next->back())});
  }
  // The file's time is when it was replaced: leaves of that day live for leaf_days.
  const fs::path before = previous_file(files.certificate);
  struct stat status{};
  if (::stat(before.c_str(), &status) == 0 &&
      terms.now < std::int64_t{status.st_mtim.tv_sec} + (terms.leaf_days + 1) * kSecondsOfDay) {
    if (auto previous = read_authority_file(before)) {
      published.push_back({PublishedAuthority::Role::previous, std::move(previous->back())});
    }
  }
  return published;
}

tl::expected<std::vector<std::string>, std::string> own_authority_keys(const AuthorityFiles& files,
                                                                       const AuthorityTerms& terms) {
  std::vector<std::string> keys;
  const auto add = [&keys](const X509Ptr& certificate) { keys.push_back(public_key_info(certificate.get())); };
  const auto in_use = read_in_use(files.certificate);
  if (!in_use) return tl::unexpected(in_use.error());
  std::ranges::for_each(*in_use, add);
  const auto published = published_authorities(files, terms);
  if (!published) return tl::unexpected(published.error());
  for (const PublishedAuthority& one : *published) add(one.certificate);
  if (const auto former = read_authority_file(previous_file(files.certificate))) std::ranges::for_each(*former, add);
  return keys;
}

}  // namespace bloomwall::proxy
