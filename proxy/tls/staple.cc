// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/staple.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>

#include <memory>
#include <new>

#include "base/handles.h"
#include "proxy/tls/certificates.h"
#include "proxy/tls/handles.h"

namespace bloomwall::proxy {
namespace {

using ResponsePtr = std::unique_ptr<OCSP_RESPONSE, FreeWith<OCSP_RESPONSE_free>>;
using BasicPtr = std::unique_ptr<OCSP_BASICRESP, FreeWith<OCSP_BASICRESP_free>>;
using IdPtr = std::unique_ptr<OCSP_CERTID, FreeWith<OCSP_CERTID_free>>;

BasicPtr parse(std::span<const unsigned char> answer) {
  const unsigned char* at = answer.data();
  const ResponsePtr response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(answer.size())));
  if (response == nullptr || OCSP_response_status(response.get()) != OCSP_RESPONSE_STATUS_SUCCESSFUL) return nullptr;
  return BasicPtr(OCSP_response_get1_basic(response.get()));
}

// The issuer is the only anchor: a responder's certificate must come from it directly.
bool is_signed(OCSP_BASICRESP* answer, X509* issuer, std::int64_t now) {
  const X509StorePtr store(X509_STORE_new());
  const X509StackPtr issuers(sk_X509_new_null());
  if (store == nullptr || issuers == nullptr || X509_STORE_add_cert(store.get(), issuer) != 1 ||
      sk_X509_push(issuers.get(), share(issuer).release()) == 0) {
    throw std::bad_alloc();
  }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store.get()), now);
  X509_VERIFY_PARAM_set_auth_level(X509_STORE_get0_param(store.get()), 2);
  return OCSP_basic_verify(answer, issuers.get(), store.get(), OCSP_TRUSTOTHER) == 1;
}

// The certificate is named by hashes of its issuer, whose algorithm the responder chose.
bool is_about(OCSP_SINGLERESP* single, X509* certificate, X509* issuer) {
  ASN1_OBJECT* algorithm = nullptr;
  auto* const id = const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(single));
  if (OCSP_id_get0_info(nullptr, &algorithm, nullptr, nullptr, id) != 1) return false;
  const EVP_MD* const digest = EVP_get_digestbyobj(algorithm);
  if (digest == nullptr) return false;
  const IdPtr wanted(OCSP_cert_to_id(digest, certificate, issuer));
  return wanted != nullptr && OCSP_id_cmp(wanted.get(), id) == 0;
}

Staple status_of(OCSP_SINGLERESP* single, std::int64_t now) {
  constexpr std::int64_t kLeeway = 300, kWithoutEnd = std::int64_t{7} * 24 * 3600;
  ASN1_GENERALIZEDTIME* begin = nullptr;
  ASN1_GENERALIZEDTIME* end = nullptr;
  const int status = OCSP_single_get0_status(single, nullptr, nullptr, &begin, &end);
  if (begin == nullptr) return Staple::none;
  const std::int64_t from = unix_time_of(begin), to = end != nullptr ? unix_time_of(end) : from + kWithoutEnd;
  if (now < from - kLeeway || now > to + kLeeway) return Staple::none;
  if (status == V_OCSP_CERTSTATUS_REVOKED) return Staple::revoked;
  return status == V_OCSP_CERTSTATUS_GOOD ? Staple::good : Staple::none;
}

}  // namespace

Staple read_staple(X509* certificate, X509* issuer, std::span<const unsigned char> answer, std::int64_t now) {
  Staple found = Staple::none;
  const BasicPtr basic = answer.empty() ? nullptr : parse(answer);
  for (int i = 0; basic != nullptr && i < OCSP_resp_count(basic.get()); ++i) {
    OCSP_SINGLERESP* const single = OCSP_resp_get0(basic.get(), i);
    if (!is_about(single, certificate, issuer)) continue;
    const Staple status = status_of(single, now);
    if (status != Staple::none) found = status;
    if (status == Staple::revoked) break;
  }
  if (found != Staple::none && !is_signed(basic.get(), issuer, now)) found = Staple::none;
  ERR_clear_error();
  return found;
}

}  // namespace bloomwall::proxy
