// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/origin_verifier.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

#include "filter/url/host.h"
#include "proxy/tls/pem_files.h"
#include "proxy/tls/staple.h"
#include "proxy/tls/wildcard_name.h"

namespace bloomwall::proxy {
namespace {

constexpr int kMaxDepth = 10;         // certificates between the origin's and the root
constexpr int kMostIssuersTried = 8;  // of one name, where one key after the other does not fit
constexpr int kMaxCandidates = 64;    // beside those that the origin sent

bool set_name(X509_VERIFY_PARAM* parameters, const std::string& name) {
  if (const std::string octets = address_octets(name); !octets.empty()) {
    const auto* const data = reinterpret_cast<const unsigned char*>(octets.data());
    return X509_VERIFY_PARAM_set1_ip(parameters, data, octets.size()) == 1;
  }
  if (name.empty() || name.front() == '.') return false;  // OpenSSL takes them for "any" and "any below"
  // The only wildcard that could fit stands for the first label. Under a suffix that one company has, such as
  // github.io, it is what that company serves by, and browsers accept it.
  const std::size_t dot = name.find('.');
  const std::string_view parent =
      dot == std::string::npos ? std::string_view{} : std::string_view(name).substr(dot + 1);
  unsigned int flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  if (parent.find('.') == std::string_view::npos || filter::is_registry_suffix(parent)) {
    flags |= X509_CHECK_FLAG_NO_WILDCARDS;
  }
  X509_VERIFY_PARAM_set_hostflags(parameters, flags);
  if (X509_VERIFY_PARAM_set1_host(parameters, name.data(), name.size()) != 1) return false;
  const auto second = stand_in_for_wildcard(name);
  return !second || X509_VERIFY_PARAM_add1_host(parameters, second->data(), second->size()) == 1;
}

bool is_issuer_missing(int code) {
  return code == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT || code == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         code == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
}

std::int64_t first_end(const STACK_OF(X509) * path) {
  std::int64_t end = INT64_MAX;
  for (int i = 0; i < sk_X509_num(path); ++i) {
    end = std::min(end, unix_time_of(X509_get0_notAfter(sk_X509_value(path, i))));
  }
  return end;
}

}  // namespace

struct OriginVerifier::Path {
  int code = X509_V_OK;
  int depth = 0;       // of the certificate at fault
  X509StackPtr chain;  // from the origin's certificate as far as an issuer was found
};

OriginVerifier::Path OriginVerifier::find_path(X509_STORE* store, X509* leaf, STACK_OF(X509) * candidates,
                                               const std::string& name) const {
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  if (context == nullptr || X509_STORE_CTX_init(context.get(), store, leaf, candidates) != 1 ||
      X509_STORE_CTX_set_default(context.get(), "ssl_server") != 1) {
    throw std::bad_alloc();
  }
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_auth_level(parameters, 2);
  X509_VERIFY_PARAM_set_depth(parameters, kMaxDepth);
  X509_VERIFY_PARAM_set_time(parameters, clock_());
  if (!set_name(parameters, name)) return {X509_V_ERR_HOSTNAME_MISMATCH, 0, nullptr};
  Path path;
  if (X509_verify_cert(context.get()) != 1) {
    const int code = X509_STORE_CTX_get_error(context.get());
    path.code = code != X509_V_OK ? code : X509_V_ERR_UNSPECIFIED;
    path.depth = X509_STORE_CTX_get_error_depth(context.get());
  }
  path.chain.reset(X509_STORE_CTX_get1_chain(context.get()));
  ERR_clear_error();
  return path;
}

// Where a certificate does not say which key has signed it, OpenSSL takes the first of several issuers of that name
// and no other. One whose key does not fit is taken away, and what is left is tried.
OriginVerifier::Path OriginVerifier::try_issuers(X509_STORE* store, X509* leaf, STACK_OF(X509) * candidates,
                                                 const std::string& name) const {
  Path path = find_path(store, leaf, candidates, name);
  for (int tries = 1; tries < kMostIssuersTried && path.code == X509_V_ERR_CERT_SIGNATURE_FAILURE; ++tries) {
    const X509* const wrong = sk_X509_value(path.chain.get(), path.depth + 1);
    int at = sk_X509_num(candidates) - 1;
    while (at > 0 && sk_X509_value(candidates, at) != wrong) --at;
    if (at <= 0) break;  // a root, or the origin's own certificate
    const X509Ptr taken(sk_X509_delete(candidates, at));
    path = find_path(store, leaf, candidates, name);
  }
  return path;
}

// Adds what may have issued the candidates, and what may have issued that.
bool OriginVerifier::add_issuers(STACK_OF(X509) * candidates) const {
  const int sent = sk_X509_num(candidates), limit = sent + kMaxCandidates;
  const std::scoped_lock lock(learnt_mutex_);
  for (int i = 0; i < sk_X509_num(candidates); ++i) {
    X509* const certificate = sk_X509_value(candidates, i);
    given_.append_issuers(certificate, candidates, limit);
    learnt_.append_issuers(certificate, candidates, limit);
  }
  return sk_X509_num(candidates) > sent;
}

OriginVerifier::Verified OriginVerifier::verify(X509_STORE* store, const STACK_OF(X509) * sent,
                                                const std::string& name) {
  X509* const leaf = sk_X509_num(sent) > 0 ? sk_X509_value(sent, 0) : nullptr;
  if (leaf == nullptr) {
    return {CertificateError::malformed, X509_V_ERR_UNSPECIFIED, "the origin sent no certificate", nullptr, 0};
  }
  const std::int64_t now = clock_();
  const auto digest = VerifiedChains::digest_of(sent, name);
  if (auto known = chains_.find(digest, now)) {
    Verified verified;
    verified.issuer = std::move(known->issuer);
    verified.not_after = known->not_after;
    verified.remembered = true;
    return verified;
  }
  const X509StackPtr candidates(X509_chain_up_ref(const_cast<STACK_OF(X509)*>(sent)));
  if (candidates == nullptr) throw std::bad_alloc();
  Path path = try_issuers(store, leaf, candidates.get(), name);
  if (is_issuer_missing(path.code) && add_issuers(candidates.get())) {
    path = try_issuers(store, leaf, candidates.get(), name);
  }
  Verified verified = judge(path, sent);
  if (verified.error == CertificateError::none) {
    learn(path.chain.get(), verified);
    chains_.add(digest, {verified.issuer == nullptr ? nullptr : share(verified.issuer.get()), verified.not_after}, now);
    return verified;
  }
  if (verified.error == CertificateError::own_ca || verified.error == CertificateError::distrusted) return verified;
  const auto end = exception_for(leaf, name);
  if (!end) return verified;
  Verified excused;
  excused.by_exception = true;
  excused.not_after = *end;
  return excused;
}

OriginVerifier::Verified OriginVerifier::judge(const Path& path, const STACK_OF(X509) * sent) const {
  const STACK_OF(X509)* const chain = path.chain.get();
  const int size = sk_X509_num(chain);
  X509* const top = size > 0 ? sk_X509_value(chain, size - 1) : nullptr;
  Verified verified;
  // Before OpenSSL's own reason: these two are what the operator has to know.
  verified.error = check_keys(chain);
  if (path.code != X509_V_OK && verified.error != CertificateError::own_ca &&
      verified.error != CertificateError::distrusted) {
    const bool is_alone = sk_X509_num(sent) == 1 && is_issuer_missing(path.code);
    verified.error = is_from_own_ca(top, sent) ? CertificateError::own_ca
                     : is_alone                ? CertificateError::incomplete_chain
                                               : cause_of(path.code);
    verified.x509_error = path.code;
    if (verified.error == CertificateError::incomplete_chain) {
      verified.why = words_of(verified.error);
      return verified;
    }
    if (verified.error != CertificateError::own_ca) {
      verified.why = X509_verify_cert_error_string(path.code);
      if (path.depth > 0) verified.why += fmt::format(" (issuer {} of the certificate)", path.depth);
      return verified;
    }
  }
  for (int i = 0; verified.error == CertificateError::none && i + 1 < size; ++i) {
    X509* const certificate = sk_X509_value(chain, i);
    if (is_revoked(certificate, sk_X509_value(chain, i + 1))) verified.error = CertificateError::revoked;
  }
  if (verified.error != CertificateError::none) {
    verified.x509_error =
        verified.error == CertificateError::revoked ? X509_V_ERR_CERT_REVOKED : X509_V_ERR_APPLICATION_VERIFICATION;
    verified.why = words_of(verified.error);
    return verified;
  }
  verified.not_after = first_end(chain);
  verified.without_scts = public_roots_.contains(key_hash(top)) && !has_scts(sk_X509_value(chain, 0));
  return verified;
}

// Over the whole path, root included: OpenSSL 3.0 knows no distrusted keys, takes EC keys of 224 bits, and lets an
// intermediate without basicConstraints pass for a CA where keyUsage says keyCertSign.
CertificateError OriginVerifier::check_keys(const STACK_OF(X509) * path) const {
  CertificateError error = CertificateError::none;
  const int size = sk_X509_num(path);
  for (int i = 0; i < size; ++i) {
    X509* const certificate = sk_X509_value(path, i);
    const KeyHash hash = key_hash(certificate);
    if (own_.contains(hash)) return CertificateError::own_ca;
    if (distrusted_.contains(hash)) {
      error = CertificateError::distrusted;
      continue;
    }
    if (error != CertificateError::none) continue;
    const bool is_leaf = i == 0, is_root = i > 0 && i + 1 == size;
    const bool is_permitted = is_leaf ? allows_server(certificate) : is_root || X509_check_ca(certificate) == 1;
    if (!is_permitted) error = CertificateError::not_permitted;
    if (!has_strong_key(certificate)) error = CertificateError::weak;
  }
  return error;
}

// A hit counts only if this issuer signed the list: two issuers may share a name.
bool OriginVerifier::is_revoked(X509* certificate, X509* issuer) const {
  const auto [first, last] = crls_.equal_range(X509_issuer_name_hash(certificate));
  for (auto at = first; at != last; ++at) {
    X509_CRL* const crl = at->second.get();
    X509_REVOKED* entry = nullptr;
    if (X509_CRL_get0_by_cert(crl, &entry, certificate) != 1) continue;  // 2: taken off the list again
    const bool is_issuers = X509_CRL_verify(crl, X509_get0_pubkey(issuer)) == 1;
    ERR_clear_error();
    if (is_issuers) return true;
  }
  return false;
}

// Where there is no path, since our own CA is no root of the system: what was sent may hold the CA, or be signed by it.
bool OriginVerifier::is_from_own_ca(X509* top, const STACK_OF(X509) * sent) const {
  for (int i = 0; !own_.empty() && i < sk_X509_num(sent); ++i) {
    if (own_.contains(key_hash(sk_X509_value(sent, i)))) return true;
  }
  const bool is_found = top != nullptr && std::any_of(own_keys_.begin(), own_keys_.end(), [top](const EvpKeyPtr& key) {
                          return X509_verify(top, key.get()) == 1;
                        });
  ERR_clear_error();
  return is_found;
}

std::optional<std::int64_t> OriginVerifier::exception_for(X509* leaf, const std::string& name) const {
  if (!exceptions_.has(name)) return std::nullopt;
  const KeyHash hash = key_hash(leaf);
  if (own_.contains(hash) || distrusted_.contains(hash)) return std::nullopt;
  return exceptions_.end_of(name, hash, clock_());
}

void OriginVerifier::learn(const STACK_OF(X509) * path, Verified& verified) {
  const int size = sk_X509_num(path);
  if (size < 2) return;
  verified.issuer = share(sk_X509_value(path, 1));
  const std::scoped_lock lock(learnt_mutex_);
  for (int i = 1; i + 1 < size; ++i) {
    X509Ptr kept = learnt_.add(sk_X509_value(path, i));
    if (i == 1) verified.issuer = std::move(kept);
  }
}

CertificateError OriginVerifier::check_staple(const Verified& verified, X509* leaf,
                                              std::span<const unsigned char> answer, const std::string& name) const {
  if (verified.by_exception) return CertificateError::none;
  const Staple staple =
      verified.issuer == nullptr ? Staple::none : read_staple(leaf, verified.issuer.get(), answer, clock_());
  CertificateError error = CertificateError::none;
  if (staple == Staple::revoked) error = CertificateError::revoked;
  if (staple == Staple::none && must_staple(leaf)) error = CertificateError::no_staple;
  if (error != CertificateError::none && exception_for(leaf, name)) return CertificateError::none;
  return error;
}

std::size_t OriginVerifier::learnt() const {
  const std::scoped_lock lock(learnt_mutex_);
  return learnt_.size();
}

// The settings of an OriginVerifier: files read and hashes parsed.

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
  std::error_code ignored;
  if (!settings.kept_intermediates.empty() && std::filesystem::exists(settings.kept_intermediates, ignored)) {
    const auto read = read_certificates(settings.kept_intermediates);
    if (!read) return read.error() + "; or remove the file: the next `bloomwall update` makes it";
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
