// What the admin address shows its clients: the certificate of `admin.tls`, from files, or one that the proxy's own
// authority (tls_inspection.ca) signs in memory, where that says `internal`.
//   names      admin.hosts, localhost, and the addresses of this machine that admin.address listens on; of an authority
//              with name constraints those that it may sign for
//   validity   tls_inspection.leaf.days; new after a day, and as soon as the machine's addresses are others
// Its key never leaves the process. It is part of a Snapshot, and renewed in place: connections that are open keep the
// certificate that they began with.
// Thread: the main loop's, once it is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "proxy/io/interfaces.h"
#include "proxy/tls/certificate_authority.h"
#include "proxy/tls/leaf_cache.h"
#include "proxy/tls/tls_context.h"

namespace bloomwall::proxy {

class AdminCertificate {
 public:
  // nullptr: plain. Reads files. Errors: one line that names the key, the file and what to do.
  using Made = tl::expected<std::shared_ptr<AdminCertificate>, std::string>;
  static Made load(const conf::Config& settings, const std::vector<Interface>& interfaces, std::int64_t now);

  const TlsContextPtr& context() const { return context_; }  // never null
  // Who signs in memory; nullptr: the certificate is a file's.
  AuthorityPtr authority() const { return mint_ == nullptr ? nullptr : mint_->authority(); }
  const std::vector<std::string>& names() const { return names_; }  // of what was signed in memory
  // What people may call the address, and the authority's name constraints forbid.
  const std::vector<std::string>& forbidden() const { return forbidden_; }

  // Signs again where that is due; true: context() is another one. Errors: the CA has expired; what there is stays.
  // Cost: a signature, where it is due.
  tl::expected<bool, std::string> renew(const std::vector<Interface>& interfaces, std::int64_t now);

 private:
  AdminCertificate() = default;
  std::vector<std::string> wanted(const std::vector<Interface>& interfaces) const;
  tl::expected<void, std::string> sign(std::vector<std::string> wanted, std::int64_t now);

  conf::Admin settings_;
  LeafMintPtr mint_;
  LeafPtr leaf_;
  TlsContextPtr context_;
  std::vector<std::string> wanted_, names_, forbidden_;  // wanted_: both of the others
};

}  // namespace bloomwall::proxy
