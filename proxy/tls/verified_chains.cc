// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/verified_chains.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <new>

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

}  // namespace bloomwall::proxy
