// Mints the certificates that clients of intercepted hosts see: one name each, nothing copied from the origin's.
//   subject    CN = the name up to 64 octets; beyond that, and of addresses under a CA with name constraints, empty:
//              the SAN is critical then
//   SAN        exactly the one name or address
//   validity   whole days (UTC): from two days before today to `days` after it, within the CA's; new after a day
//   serial     127 random bits
//   others     CA:FALSE critical, keyUsage digitalSignature critical, serverAuth, AKI = the CA's SKI, SKI
//   key        P-256, of this process alone, for all leaves; new every 24 hours
// Cost: a signature of the CA's key and 25 us (bench/leaf_mint_bench.cc). Errors: one line.
// Threads: any, several at a time. The clock is a parameter, in seconds since 1970.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "proxy/tls/certificate_authority.h"

namespace bloomwall::proxy {

// The key of leaves.
struct LeafKey {
  EvpKeyPtr key;
  EvpKeyPtr encoded;  // its public half, in the form that OpenSSL writes into certificates at once (leaf_mint.cc)
  X509ExtensionPtr identifier;
  std::int64_t made = 0;
};

// A certificate for one host, its key and its chain: what a TLS session presents. Owns all of it. Immutable.
class Leaf {
 public:
  X509* certificate() const { return certificate_.get(); }
  EVP_PKEY* key() const { return key_->key.get(); }
  STACK_OF(X509) * chain() const { return authority_->chain(); }  // behind the leaf; may be empty, never null
  std::int64_t minted() const { return minted_; }
  std::int64_t not_before() const { return not_before_; }
  std::int64_t not_after() const { return not_after_; }
  // Whether it may be given out at this time: less than a day old, by a clock that has not been put back either.
  bool is_fresh(std::int64_t now) const;

 private:
  friend class LeafMint;
  Leaf() = default;
  X509Ptr certificate_;
  std::shared_ptr<const LeafKey> key_;
  AuthorityPtr authority_;
  std::int64_t minted_ = 0, not_before_ = 0, not_after_ = 0;
};
using LeafPtr = std::shared_ptr<const Leaf>;

class LeafMint {
 public:
  static constexpr int kDays = 5;
  explicit LeafMint(AuthorityPtr authority, int days = kDays);
  LeafMint(const LeafMint&) = delete;
  LeafMint& operator=(const LeafMint&) = delete;

  // `host`: canonical, as the filters know it but for the brackets of IPv6: a name with xn-- labels, or an address.
  // Errors: what is neither; the CA has expired; its signer failed.
  tl::expected<LeafPtr, std::string> mint(std::string_view host, std::int64_t now) const;
  static bool is_mintable(std::string_view host);

  // Else mint() may wait, and must not run on an event loop.
  bool is_fast() const { return authority_->signer().is_fast(); }
  const AuthorityPtr& authority() const { return authority_; }
  // Different for every LeafMint of the process: keep one over a reload that leaves the CA and the days as they are.
  std::uint64_t generation() const { return generation_; }

 private:
  std::shared_ptr<const LeafKey> key_at(std::int64_t now) const;
  tl::expected<void, std::string> sign(X509* certificate) const;

  const AuthorityPtr authority_;
  const int days_;
  const std::uint64_t generation_;
  const X509ExtensionPtr constraints_, usage_, purpose_, authority_key_;
  mutable std::atomic<std::shared_ptr<const LeafKey>> key_;
};
using LeafMintPtr = std::shared_ptr<const LeafMint>;

}  // namespace bloomwall::proxy
