// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/intermediate_pool.h"

#include <openssl/x509v3.h>

#include <new>

namespace bloomwall::proxy {
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
