// The settings of an OriginVerifier: files read and hashes parsed.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <new>
#include <utility>

#include "proxy/tls/origin_verifier.h"
#include "proxy/tls/pem_files.h"

namespace bloomwall::proxy {
namespace {

// A certificate that is no root anchors nothing: the operator must know, since its chains would go on failing.
std::optional<std::string> refuse_without_ca(const std::vector<X509Ptr>& roots, const std::filesystem::path& file) {
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::uint32_t flags = X509_get_extension_flags(roots[i].get());
    if ((flags & EXFLAG_SS) != 0) continue;  // a root, or an origin's own certificate
    return fmt::format(
        "{}: certificate {} is not self-signed: a file of roots cannot hold intermediates; put it into "
        "tls_inspection.verify.intermediates_file",
        file.string(), i + 1);
  }
  return std::nullopt;
}

}  // namespace

std::int64_t OriginVerifier::system_seconds() { return std::time(nullptr); }

OriginVerifier::Loaded OriginVerifier::load(const OriginTrust& settings, Clock clock) {
  std::shared_ptr<OriginVerifier> verifier(new OriginVerifier(std::move(clock)));
  if (auto error = verifier->read_roots(settings)) return tl::unexpected(*std::move(error));
  if (auto error = verifier->read_files(settings)) return tl::unexpected(*std::move(error));
  for (const std::string& text : settings.distrust) {
    const auto hash = parse_key_hash(text);
    if (!hash) {
      return tl::unexpected(fmt::format(
          "tls_inspection.verify.distrust: \"{}\" is no SHA-256 of a public key: 64 hexadecimal digits are expected",
          text));
    }
    verifier->distrusted_.insert(*hash);
  }
  for (const std::string& info : settings.own_keys) {
    const auto* at = reinterpret_cast<const unsigned char*>(info.data());
    EvpKeyPtr key(d2i_PUBKEY(nullptr, &at, static_cast<long>(info.size())));
    if (key == nullptr) return tl::unexpected(std::string("the public key of an own CA does not parse"));
    verifier->own_keys_.push_back(std::move(key));
    verifier->own_.insert(sha256_of(info));
  }
  ERR_clear_error();
  return verifier;
}

std::optional<std::string> OriginVerifier::read_roots(const OriginTrust& settings) {
  const bool is_system = settings.ca_file.empty();
  auto roots = is_system ? read_system_roots() : read_certificates(settings.ca_file);
  if (!roots) return roots.error();
  if (is_system) {
    for (const X509Ptr& root : *roots) public_roots_.insert(key_hash(root.get()));
  } else if (auto error = refuse_without_ca(*roots, settings.ca_file)) {
    return error;
  }
  roots_ = *std::move(roots);
  if (settings.extra_ca_file.empty()) return std::nullopt;
  auto extra = read_certificates(settings.extra_ca_file);
  if (!extra) return extra.error();
  if (auto error = refuse_without_ca(*extra, settings.extra_ca_file)) return error;
  for (X509Ptr& root : *extra) roots_.push_back(std::move(root));
  return std::nullopt;
}

std::optional<std::string> OriginVerifier::read_files(const OriginTrust& settings) {
  if (!settings.intermediates_file.empty()) {
    const auto read = read_certificates(settings.intermediates_file);
    if (!read) return read.error();
    for (const X509Ptr& certificate : *read) given_.add(certificate.get());
  }
  if (!settings.crl_file.empty()) {
    auto read = read_crls(settings.crl_file);
    if (!read) return read.error();
    for (X509CrlPtr& crl : *read) {
      const unsigned long issuer = X509_NAME_hash_ex(X509_CRL_get_issuer(crl.get()), nullptr, nullptr, nullptr);
      crls_.emplace(issuer, std::move(crl));
    }
  }
  if (settings.trust_exceptions.empty()) return std::nullopt;
  const auto text = read_text(settings.trust_exceptions);
  if (!text) return text.error();
  auto parsed = TrustExceptions::parse(*text, settings.trust_exceptions.string());
  if (!parsed) return parsed.error();
  exceptions_ = *std::move(parsed);
  return std::nullopt;
}

void OriginVerifier::learn_from(const OriginVerifier& before) {
  if (&before == this) return;
  const std::scoped_lock lock(learnt_mutex_, before.learnt_mutex_);
  learnt_.add_all(before.learnt_);
}

X509StorePtr OriginVerifier::new_store() const {
  X509StorePtr store(X509_STORE_new());
  if (store == nullptr) throw std::bad_alloc();
  for (const X509Ptr& root : roots_) {
    if (X509_STORE_add_cert(store.get(), root.get()) != 1) throw std::bad_alloc();
  }
  return store;
}

}  // namespace bloomwall::proxy
