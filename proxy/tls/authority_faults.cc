// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/authority_faults.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <system_error>

#include "base/units.h"
#include "proxy/tls/pem_files.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;
using Fault = std::optional<std::string>;

constexpr std::int64_t kDay = 86'400;

std::string time_text(std::int64_t seconds) {
  return seconds > 0 ? format_time(static_cast<std::uint64_t>(seconds)) : "1970 or before";
}

Fault purpose_fault(X509* certificate) {
  const std::uint32_t flags = X509_get_extension_flags(certificate);
  if ((flags & EXFLAG_INVALID) != 0) return "an extension that cannot be read";
  if (X509_get_version(certificate) != X509_VERSION_3) return "no certificate of version 3";
  if ((flags & EXFLAG_CA) == 0) {
    return "no CA (its basicConstraints do not say CA:TRUE): take the certificate of an issuing CA, or make one with "
           "`bloomwall ca init`";
  }
  if ((X509_get_key_usage(certificate) & KU_KEY_CERT_SIGN) == 0) return "its keyUsage does not allow keyCertSign";
  const bool has_purposes = (flags & EXFLAG_XKUSAGE) != 0;
  constexpr std::uint32_t kServer = XKU_SSL_SERVER | XKU_ANYEKU;
  if (has_purposes && (X509_get_extended_key_usage(certificate) & kServer) == 0) {
    return "its extendedKeyUsage does not allow serverAuth";
  }
  return std::nullopt;
}

Fault strength_fault(X509* certificate) {
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr) return "its key cannot be read";
  constexpr int kFewestRsaBits = 2048, kFewestEcBits = 256;
  const int bits = EVP_PKEY_get_bits(key);
  const bool is_rsa = EVP_PKEY_is_a(key, "RSA") == 1;
  if (is_rsa && bits < kFewestRsaBits) {
    return fmt::format("an RSA key of {} bits; clients want 2,048 or more: make another CA", bits);
  }
  if (!is_rsa && bits < kFewestEcBits) return fmt::format("a key of {} bits; clients want 256 or more", bits);
  return std::nullopt;
}

// Nobody looks at the signature of a root, unless the root signs leaves itself.
Fault signature_fault(X509* certificate, bool is_issuer) {
  if (!is_issuer && is_self_signed(certificate)) return std::nullopt;
  int digest = NID_undef;
  if (X509_get_signature_info(certificate, &digest, nullptr, nullptr, nullptr) != 1) {
    return "a signature algorithm that is not known here";
  }
  switch (digest) {
    case NID_md5:
    case NID_md5_sha1:
    case NID_sha1:
      return "signed with SHA-1 or MD5, which clients refuse: have it issued again with SHA-256";
    default:
      return std::nullopt;
  }
}

Fault time_fault(const X509* certificate, const AuthorityTerms& terms) {
  const std::int64_t begin = unix_time_of(X509_get0_notBefore(certificate));
  const std::int64_t end = unix_time_of(X509_get0_notAfter(certificate));
  if (terms.now < begin) return fmt::format("not valid before {}: is the clock right?", time_text(begin));
  if (terms.now > end) return fmt::format("expired on {}: make or get another CA", time_text(end));
  if (end - terms.now < terms.leaf_days * kDay) {
    return fmt::format(
        "expires on {}, within the {} days that a leaf lives (tls_inspection.leaf.days): make or get "
        "another CA",
        time_text(end), terms.leaf_days);
  }
  return std::nullopt;
}

// `below`: how many CAs stand between it and the leaf.
Fault place_fault(X509* certificate, std::size_t below) {
  const long length = X509_get_pathlen(certificate);
  if (length < 0 || static_cast<std::size_t>(length) >= below) return std::nullopt;
  return fmt::format("its pathlen {} does not allow the {} CAs below it", length, below);
}

Fault issue_fault(X509* certificate, X509* issuer) {
  EVP_PKEY* const key = X509_get0_pubkey(issuer);
  const bool issued = X509_check_issued(issuer, certificate) == X509_V_OK && X509_verify(certificate, key) == 1;
  ERR_clear_error();
  if (issued) return std::nullopt;
  return "did not issue the certificate before it; put the chain in order, the CA that signs leaves first";
}

Fault single_fault(const std::vector<X509Ptr>& certificates, std::size_t at, const AuthorityTerms& terms) {
  X509* const certificate = certificates[at].get();
  if (Fault fault = purpose_fault(certificate)) return fault;
  if (Fault fault = strength_fault(certificate)) return fault;
  if (Fault fault = signature_fault(certificate, at == 0)) return fault;
  if (Fault fault = time_fault(certificate, terms)) return fault;
  if (Fault fault = place_fault(certificate, at)) return fault;
  if (at > 0) {
    if (Fault fault = issue_fault(certificates[at - 1].get(), certificate)) return fault;
  }
  if (root_trust(certificate, terms.roots) == RootTrust::is_public) {
    return fmt::format("{} is a public CA that this system trusts; leaves need a CA of your own",
                       subject_text(certificate));
  }
  return std::nullopt;
}

// Whether one of the files below the folder holds the certificate.
bool is_in_folder(const fs::path& folder, const X509* certificate) {
  std::error_code error;
  constexpr int kMostFiles = 10'000;
  int files = 0;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && files < kMostFiles; at.increment(error), ++files) {
    if (std::error_code ignored; !at->is_regular_file(ignored)) continue;
    const auto held = read_authority_file(at->path());
    if (!held) continue;
    for (const X509Ptr& one : *held) {
      if (X509_cmp(one.get(), certificate) == 0) return true;
    }
  }
  return false;
}

// Where the system trusts it: by the file that is named, else as OpenSSL finds it by its subject.
bool is_trusted(X509* certificate, const fs::path& bundle) {
  const X509StorePtr store(X509_STORE_new());
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  if (store == nullptr || context == nullptr) throw std::bad_alloc();
  const bool is_open = bundle.empty() ? X509_STORE_set_default_paths(store.get()) == 1
                                      : X509_STORE_load_file(store.get(), bundle.c_str()) == 1;
  bool found = false;
  if (is_open && X509_STORE_CTX_init(context.get(), store.get(), nullptr, nullptr) == 1) {
    const X509StackPtr same(X509_STORE_CTX_get1_certs(context.get(), X509_get_subject_name(certificate)));
    for (int i = 0; same != nullptr && i < sk_X509_num(same.get()) && !found; ++i) {
      found = X509_cmp(sk_X509_value(same.get(), i), certificate) == 0;
    }
  }
  ERR_clear_error();
  return found;
}

}  // namespace

RootTrust root_trust(X509* certificate, const SystemRoots& roots) {
  if (!is_trusted(certificate, roots.bundle)) return RootTrust::unknown;
  for (const fs::path& folder : roots.added) {
    if (is_in_folder(folder, certificate)) return RootTrust::added;
  }
  return RootTrust::is_public;
}

std::optional<std::string> authority_fault(const std::vector<X509Ptr>& certificates, const AuthorityTerms& terms) {
  for (std::size_t at = 0; at < certificates.size(); ++at) {
    const Fault fault = single_fault(certificates, at, terms);
    if (!fault) continue;
    return certificates.size() == 1 ? *fault : fmt::format("certificate {}: {}", at + 1, *fault);
  }
  return std::nullopt;
}

tl::expected<std::vector<X509Ptr>, std::string> read_authority_file(const fs::path& path) {
  constexpr std::size_t kMost = 16, kMostBytes = std::size_t{1} << 20;
  auto certificates = read_certificates(path, kMostBytes);
  if (!certificates || certificates->size() <= kMost) return certificates;
  return tl::unexpected(fmt::format("{}: more than 16 certificates: not a CA with its chain", path.string()));
}

}  // namespace bloomwall::proxy
