// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/admin_certificate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "proxy/io/endpoint.h"
#include "proxy/tls/certificates.h"
#include "proxy/tls/pem_files.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostNames = 100;  // a machine may have hundreds of addresses, and browsers read them all

// As certificates hold it.
std::string certificate_name(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  make_lower(name);
  return name;
}

// Whether each CA of the chain may sign for this name. Errors: it cannot be minted.
bool may_sign_for(const LeafMint& mint, const std::string& name, std::int64_t now) {
  if (!LeafMint::is_mintable(name)) return false;
  if (!mint.authority()->has_name_constraints()) return true;
  const auto leaf = mint.mint(name, now);
  if (!leaf) return false;
  X509_check_purpose((*leaf)->certificate(), -1, 0);  // reads the extensions that the next call looks at
  return std::ranges::all_of(mint.authority()->certificates(), [&](const X509Ptr& certificate) {
    const NameConstraintsPtr constraints(
        static_cast<NAME_CONSTRAINTS*>(X509_get_ext_d2i(certificate.get(), NID_name_constraints, nullptr, nullptr)));
    return constraints == nullptr || NAME_CONSTRAINTS_check((*leaf)->certificate(), constraints.get()) == X509_V_OK;
  });
}

}  // namespace

AdminCertificate::Made AdminCertificate::load(const conf::Config& settings, const std::vector<Interface>& interfaces,
                                              std::int64_t now) {
  const conf::Admin& admin = settings.admin;
  if (!admin.tls.is_on()) return nullptr;
  std::shared_ptr<AdminCertificate> made(new AdminCertificate);
  if (!admin.tls.internal) {
    auto context = TlsContext::for_listener(admin.tls.certificate, admin.tls.key);
    if (!context) return tl::unexpected(fmt::format("admin.tls: {}", context.error()));
    made->context_ = *std::move(context);
    return made;
  }
  const conf::InspectionCa& ca = settings.tls_inspection.ca;
  const int days = static_cast<int>(settings.tls_inspection.leaf.days);
  forbid_core_files();
  const auto authority = CertificateAuthority::load({ca.certificate, ca.key, ca.passphrase_file, {}},
                                                    {.now = now, .leaf_days = days, .roots = {}});
  if (!authority) {
    return tl::unexpected(
        fmt::format("admin.tls: internal needs the authority of tls_inspection.ca, whatever "
                    "tls_inspection.mode: {}",
                    authority.error()));
  }
  made->settings_ = admin;
  made->mint_ = std::make_shared<const LeafMint>(*authority, days);
  if (const auto done = made->sign(made->wanted(interfaces), now); !done) {
    return tl::unexpected(fmt::format("admin.tls: internal: {}: {}", ca.certificate.string(), done.error()));
  }
  return made;
}

// Each once, the ones that people type first.
std::vector<std::string> AdminCertificate::wanted(const std::vector<Interface>& interfaces) const {
  std::vector<std::string> names;
  const auto add = [&names](std::string name) {
    if (names.size() < kMostNames && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  for (const std::string& host : settings_.hosts) add(certificate_name(host));
  add("localhost");
  const auto listening = Endpoint::parse(settings_.address.value_or(""));
  if (!listening) return names;
  if (!listening->is_wildcard()) add(listening->ip());
  for (const Interface& each : interfaces) {
    const bool is_v6 = each.address.find(':') != std::string::npos;
    if (listening->is_wildcard() && (listening->is_v6() || !is_v6)) add(each.address);
  }
  return names;
}

tl::expected<void, std::string> AdminCertificate::sign(std::vector<std::string> wanted, std::int64_t now) {
  std::vector<std::string> names, forbidden;
  for (const std::string& name : wanted) (may_sign_for(*mint_, name, now) ? names : forbidden).push_back(name);
  if (names.empty()) {
    return tl::unexpected(
        fmt::format("its name constraints forbid all that the address is called by ({})", fmt::join(forbidden, ", ")));
  }
  const std::vector<std::string_view> hosts(names.begin(), names.end());
  const auto leaf = mint_->mint_for(hosts, now);
  if (!leaf) return tl::unexpected(leaf.error());
  auto context = TlsContext::for_leaf(**leaf);
  if (!context) return tl::unexpected(context.error());
  leaf_ = *leaf;
  context_ = *std::move(context);
  wanted_ = std::move(wanted);
  names_ = std::move(names);
  forbidden_ = std::move(forbidden);
  return {};
}

tl::expected<bool, std::string> AdminCertificate::renew(const std::vector<Interface>& interfaces, std::int64_t now) {
  if (mint_ == nullptr) return false;
  auto names = wanted(interfaces);
  if (leaf_->is_fresh(now) && names == wanted_) return false;
  if (const auto done = sign(std::move(names), now); !done) return tl::unexpected(done.error());
  return true;
}

}  // namespace bloomwall::proxy
