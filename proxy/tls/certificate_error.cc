// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/certificate_error.h"

#include <openssl/x509_vfy.h>

namespace bloomwall::proxy {

CertificateError cause_of(int x509_error) {
  switch (x509_error) {
    case X509_V_OK:
      return CertificateError::none;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return CertificateError::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return CertificateError::not_yet_valid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return CertificateError::wrong_name;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return CertificateError::self_signed;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED:
      return CertificateError::unknown_issuer;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return CertificateError::weak;
    case X509_V_ERR_INVALID_CA:
    case X509_V_ERR_INVALID_PURPOSE:
    case X509_V_ERR_PATH_LENGTH_EXCEEDED:
    case X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
    case X509_V_ERR_PERMITTED_VIOLATION:
    case X509_V_ERR_EXCLUDED_VIOLATION:
    case X509_V_ERR_SUBTREE_MINMAX:
    case X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE:
    case X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX:
    case X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
    case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION:
    case X509_V_ERR_CERT_REJECTED:
      return CertificateError::not_permitted;
    case X509_V_ERR_CERT_REVOKED:
      return CertificateError::revoked;
    default:
      return CertificateError::malformed;
  }
}

}  // namespace bloomwall::proxy
