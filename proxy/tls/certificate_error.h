// Why an origin's certificate was refused: twelve causes, which are the label `cause` of the metric
// bloomwall_origin_certificate_errors_total. Append only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bloomwall::proxy {

enum class CertificateError : std::uint8_t {
  none,
  expired,
  not_yet_valid,
  wrong_name,      // no dNSName or iPAddress fits
  self_signed,     // the origin's own certificate, which no root signed
  unknown_issuer,  // an intermediate is missing, or the root is not trusted
  weak,            // key or signature below what rule 5 asks for
  not_permitted,   // purpose, CA flag, path length, name constraints, unknown critical extension
  revoked,         // by crl_file or a stapled OCSP answer
  no_staple,       // must-staple without a valid stapled answer
  own_ca,          // issued by an interception CA of this proxy
  distrusted,      // a key of the path is in tls_inspection.verify.distrust
  malformed,       // a signature that does not fit, a chain too long, anything else
};

inline constexpr std::array kCertificateErrors{
    CertificateError::expired,       CertificateError::not_yet_valid,  CertificateError::wrong_name,
    CertificateError::self_signed,   CertificateError::unknown_issuer, CertificateError::weak,
    CertificateError::not_permitted, CertificateError::revoked,        CertificateError::no_staple,
    CertificateError::own_ca,        CertificateError::distrusted,     CertificateError::malformed,
};

constexpr std::string_view to_string(CertificateError error) {
  switch (error) {
    case CertificateError::none:
      return "none";
    case CertificateError::expired:
      return "expired";
    case CertificateError::not_yet_valid:
      return "not_yet_valid";
    case CertificateError::wrong_name:
      return "wrong_name";
    case CertificateError::self_signed:
      return "self_signed";
    case CertificateError::unknown_issuer:
      return "unknown_issuer";
    case CertificateError::weak:
      return "weak";
    case CertificateError::not_permitted:
      return "not_permitted";
    case CertificateError::revoked:
      return "revoked";
    case CertificateError::no_staple:
      return "no_staple";
    case CertificateError::own_ca:
      return "own_ca";
    case CertificateError::distrusted:
      return "distrusted";
    case CertificateError::malformed:
      return "malformed";
  }
  return "unknown";
}

// Of an error of OpenSSL's verification, X509_V_ERR_*.
CertificateError cause_of(int x509_error);

}  // namespace bloomwall::proxy
