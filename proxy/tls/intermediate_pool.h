// Intermediate certificates by subject, for origins that do not send theirs: those of a file, or those seen in chains
// that were verified. They are candidates of a path and no anchors, so what is in here makes nothing trusted.
// Bounded: beyond `limit` the oldest goes. Memory: 5-8 KiB a certificate.
// Threads: one at a time; OriginVerifier holds a mutex around the one that grows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <unordered_map>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

class IntermediatePool {
 public:
  explicit IntermediatePool(std::size_t limit) : limit_(limit) {}
  // Keeps the certificate unless it is here; returns the copy that is kept, which many chains then share.
  X509Ptr add(X509* certificate);
  // Adds references to those that may have issued `certificate` to the stack, as far as they are not in it and it holds
  // less than `limit`.
  void append_issuers(X509* certificate, STACK_OF(X509) * stack, int limit) const;
  void add_all(const IntermediatePool& other);
  std::size_t size() const { return age_.size(); }

 private:
  std::size_t limit_;
  std::unordered_multimap<unsigned long, X509Ptr> by_subject_;  // hash of the name
  std::deque<X509*> age_;                                       // oldest first
};

}  // namespace bloomwall::proxy
