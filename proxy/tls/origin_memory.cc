// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/origin_memory.h"

#include <openssl/asn1.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "proxy/tls/certificates.h"

namespace bloomwall::proxy {
namespace {

X509Ptr shared_or_none(const X509Ptr& certificate) {
  return certificate == nullptr ? nullptr : share(certificate.get());
}

}  // namespace

std::size_t VerifiedChains::Hash::operator()(const Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

VerifiedChains::Digest VerifiedChains::digest_of(const STACK_OF(X509) * sent, const std::string& name) {
  // A digest of fixed size for each certificate, then the name: no two inputs give the same octets.
  const DigestContextPtr context(EVP_MD_CTX_new());
  bool ok = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  Digest digest{};
  for (int i = 0; ok && i < sk_X509_num(sent); ++i) {
    ok = X509_digest(sk_X509_value(sent, i), EVP_sha256(), digest.data(), nullptr) == 1 &&
         EVP_DigestUpdate(context.get(), digest.data(), digest.size()) == 1;
  }
  ok = ok && EVP_DigestUpdate(context.get(), "name:", 5) == 1 &&
       EVP_DigestUpdate(context.get(), name.data(), name.size()) == 1 &&
       EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  if (!ok) throw std::bad_alloc();
  return digest;
}

std::optional<VerifiedChains::Chain> VerifiedChains::find(const Digest& digest, std::int64_t now) {
  const std::scoped_lock lock(mutex_);
  const auto at = chains_.find(digest);
  // A clock that was set back makes an entry too young for its end, and it is not used either.
  if (at == chains_.end() || now >= at->second.until || now < at->second.until - kLifetime) return std::nullopt;
  return Chain{shared_or_none(at->second.chain.issuer), at->second.chain.not_after};
}

void VerifiedChains::add(const Digest& digest, const Chain& chain, std::int64_t now) {
  const std::scoped_lock lock(mutex_);
  const auto [at, is_new] = chains_.try_emplace(digest);
  at->second.chain = {shared_or_none(chain.issuer), chain.not_after};
  at->second.until = std::min(now + kLifetime, chain.not_after);
  if (!is_new) return;
  age_.push_back(digest);
  if (age_.size() <= kLimit) return;
  chains_.erase(age_.front());
  age_.pop_front();
}

std::size_t VerifiedChains::size() const {
  const std::scoped_lock lock(mutex_);
  return chains_.size();
}

namespace {

// SEQUENCE { ... [3] peer certificate ... } (ssl/ssl_asn1.c of OpenSSL), each element by its tag.
std::string der_without_certificate(const SSL_SESSION& session) {
  constexpr long kPeer = 3;
  unsigned char* octets = nullptr;
  const int size = i2d_SSL_SESSION(&session, &octets);
  const OctetsPtr owner(octets);
  if (size <= 0) return {};
  const unsigned char* at = octets;
  const auto header = [](const unsigned char*& from, long most) {
    struct Header {
      long size = 0;
      int tag = 0, tag_class = 0;
      bool is_bad = false;
    } found;
    found.is_bad =
        (static_cast<unsigned>(ASN1_get_object(&from, &found.size, &found.tag, &found.tag_class, most)) & 0x80U) != 0;
    return found;
  };
  const auto whole = header(at, size);
  if (whole.is_bad) return {};
  std::string kept;
  for (const unsigned char* const end = at + whole.size; at < end;) {
    const unsigned char* const begin = at;
    const auto element = header(at, end - at);
    if (element.is_bad) return {};
    at += element.size;
    if (element.tag_class == V_ASN1_CONTEXT_SPECIFIC && element.tag == kPeer) continue;
    kept.append(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(at - begin));
  }
  return der(kDerSequence, kept);
}

SslSessionPtr session_of(const std::string& der) {
  const auto* octets = reinterpret_cast<const unsigned char*>(der.data());
  return SslSessionPtr(d2i_SSL_SESSION(nullptr, &octets, static_cast<long>(der.size())));
}

}  // namespace

OriginSessions::Kept OriginSessions::take(const std::string& origin, std::int64_t now) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(origin);
  if (found == by_key_.end()) return {};
  const auto at = found->second;
  origins_.splice(origins_.begin(), origins_, at);
  for (Stored& stored : at->sessions) {
    if (stored.der.empty()) continue;
    Kept taken;
    if (now < stored.until) taken = {session_of(stored.der), stored.until};
    const bool is_usable = taken.session != nullptr && SSL_SESSION_is_resumable(taken.session.get()) == 1;
    if (!is_usable || stored.is_used_once) forget(stored);
    if (is_usable) return taken;
  }
  drop(at);
  return {};
}

void OriginSessions::keep(const std::string& origin, const SSL_SESSION& session, std::int64_t until) {
  Stored stored{.der = der_without_certificate(session),
                .until = until,
                .is_used_once = SSL_SESSION_get_protocol_version(&session) >= TLS1_3_VERSION};
  if (stored.der.empty() || stored.der.size() > kMostOfOne) return;
  const std::scoped_lock lock(mutex_);
  auto found = by_key_.find(origin);
  if (found == by_key_.end()) {
    origins_.push_front({origin, {}});
    found = by_key_.emplace(origins_.front().key, origins_.begin()).first;
    octets_ += origin.size();
  } else {
    origins_.splice(origins_.begin(), origins_, found->second);
  }
  auto& sessions = found->second->sessions;
  forget(sessions.back());
  for (std::size_t i = sessions.size() - 1; i > 0; --i) sessions.at(i) = std::move(sessions.at(i - 1));
  octets_ += stored.der.size();
  ++count_;
  sessions.front() = std::move(stored);
  while (count_ > kLimit || octets_ > kMostOctets) drop(std::prev(origins_.end()));
}

void OriginSessions::forget(Stored& stored) {
  if (stored.der.empty()) return;
  --count_;
  octets_ -= stored.der.size();
  stored = {};
}

void OriginSessions::drop(Origins::iterator origin) {
  for (Stored& stored : origin->sessions) forget(stored);
  octets_ -= origin->key.size();
  by_key_.erase(origin->key);
  origins_.erase(origin);
}

std::size_t OriginSessions::octets() const {
  const std::scoped_lock lock(mutex_);
  return octets_;
}

std::size_t OriginSessions::size() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

namespace {

bool holds(const STACK_OF(X509) * stack, const X509* certificate) {
  for (int i = 0; i < sk_X509_num(stack); ++i) {
    if (X509_cmp(sk_X509_value(stack, i), certificate) == 0) return true;
  }
  return false;
}

}  // namespace

X509Ptr IntermediatePool::add(X509* certificate) {
  const unsigned long subject = X509_subject_name_hash(certificate);
  const auto [first, last] = by_subject_.equal_range(subject);
  for (auto at = first; at != last; ++at) {
    if (X509_cmp(at->second.get(), certificate) == 0) return share(at->second.get());
  }
  if (limit_ == 0) return share(certificate);
  if (age_.size() >= limit_) {
    X509* const oldest = age_.front();
    age_.pop_front();
    const auto [from, to] = by_subject_.equal_range(X509_subject_name_hash(oldest));
    for (auto at = from; at != to; ++at) {
      if (at->second.get() != oldest) continue;
      by_subject_.erase(at);
      break;
    }
  }
  by_subject_.emplace(subject, share(certificate));
  age_.push_back(certificate);
  return share(certificate);
}

void IntermediatePool::append_issuers(X509* certificate, STACK_OF(X509) * stack, int limit) const {
  const auto [first, last] = by_subject_.equal_range(X509_issuer_name_hash(certificate));
  for (auto at = first; at != last && sk_X509_num(stack) < limit; ++at) {
    X509* const candidate = at->second.get();
    if (X509_check_issued(candidate, certificate) != X509_V_OK || holds(stack, candidate)) continue;
    if (sk_X509_push(stack, share(candidate).release()) == 0) throw std::bad_alloc();
  }
}

void IntermediatePool::add_all(const IntermediatePool& other) {
  for (X509* const certificate : other.age_) add(certificate);
}

}  // namespace bloomwall::proxy
