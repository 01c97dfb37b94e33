// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/client_certificates.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/handles.h"
#include "base/text.h"
#include "proxy/tls/certificates.h"
#include "proxy/tls/pem_files.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostClientNames = 64, kMostClientName = 255;
constexpr std::size_t kMostAuthorities = 100, kMostAuthorityFile = std::size_t{1} << 20;
constexpr long kMostClientChain = 32L * 1024;

using ClientNamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;

std::string_view text_of_asn1(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

void add_name(std::vector<std::string>& names, std::string_view kind, std::string_view value) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (names.size() >= kMostClientNames || value.empty() || value.size() > kMostClientName) return;
  if (std::ranges::any_of(value, is_control)) return;
  names.push_back(std::string(kind).append(value));
}

// The hash of what decides who is let in, for tickets.
std::string tickets_of(const ClientCertificates& wanted, std::string_view authorities, std::string_view revoked) {
  const auto hash = sha256_of(fmt::format("{} {} {}{}", wanted.required, authorities.size(), authorities, revoked));
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

tl::expected<std::int64_t, std::string> add_lists(X509_STORE* store, const std::filesystem::path& file) {
  const auto lists = read_crls(file);
  if (!lists) return tl::unexpected(lists.error());
  std::int64_t first_end = 0;
  for (const X509CrlPtr& list : *lists) {
    if (X509_STORE_add_crl(store, list.get()) != 1)
      return tl::unexpected(fmt::format("{}: a list twice", file.string()));
    const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list.get());
    const std::int64_t end = next == nullptr ? 0 : unix_time_of(next);
    if (end != 0 && (first_end == 0 || end < first_end)) first_end = end;
  }
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  return first_end;
}

}  // namespace

tl::expected<std::int64_t, std::string> ask_for_certificates(SSL_CTX* context, const ClientCertificates& wanted) {
  ERR_clear_error();
  auto text = read_text(wanted.authorities, kMostAuthorityFile);
  if (!text) return tl::unexpected(text.error());
  const auto authorities = read_certificates(wanted.authorities, kMostAuthorityFile);
  if (!authorities) return tl::unexpected(authorities.error());
  if (authorities->size() > kMostAuthorities) {
    return tl::unexpected(fmt::format("{}: more than {} certificates", wanted.authorities.string(), kMostAuthorities));
  }
  X509StorePtr store(X509_STORE_new());
  for (const X509Ptr& authority : *authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
    SSL_CTX_add_client_CA(context, authority.get());
  }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  std::int64_t ends = 0;
  std::string revoked;
  if (!wanted.revoked.empty()) {
    auto read = read_text(wanted.revoked);
    if (!read) return tl::unexpected(read.error());
    revoked = *std::move(read);
    const auto added = add_lists(store.get(), wanted.revoked);
    if (!added) return tl::unexpected(added.error());
    ends = *added;
  }
  const std::string tickets = tickets_of(wanted, *text, revoked);
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(tickets.data()),
                                 static_cast<unsigned int>(tickets.size()));
  SSL_CTX_set_cert_store(context, store.release());  // which the context owns from here on
  SSL_CTX_set_max_cert_list(context, kMostClientChain);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (wanted.required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  return ends;
}

bool is_client_certificate_valid(const SSL_CTX* context, X509* certificate, const STACK_OF(X509) * chain) {
  ERR_clear_error();
  const X509StoreContextPtr check(X509_STORE_CTX_new());
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  if (check == nullptr || X509_STORE_CTX_init(check.get(), store, certificate, const_cast<STACK_OF(X509)*>(chain)) != 1)
    return false;
  X509_STORE_CTX_set_default(check.get(), "ssl_client");
  const bool is_valid = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  return is_valid;
}

std::vector<std::string> client_certificate_names(const X509* certificate) {
  std::vector<std::string> out;
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
    unsigned char* octets = nullptr;
    const int size = ASN1_STRING_to_UTF8(&octets, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    const OctetsPtr owner(octets);
    if (size > 0) add_name(out, "cn:", {reinterpret_cast<const char*>(octets), static_cast<std::size_t>(size)});
  }
  const ClientNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int kind = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind);
    if (kind == GEN_DNS) {
      std::string name(text_of_asn1(static_cast<const ASN1_STRING*>(value)));
      make_lower(name);
      add_name(out, "dns:", name);
    }
    if (kind == GEN_URI) add_name(out, "uri:", text_of_asn1(static_cast<const ASN1_STRING*>(value)));
    if (kind == GEN_EMAIL) add_name(out, "email:", text_of_asn1(static_cast<const ASN1_STRING*>(value)));
  }
  return out;
}

}  // namespace bloomwall::proxy
