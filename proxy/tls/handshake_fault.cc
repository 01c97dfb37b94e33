// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/handshake_fault.h"

#include <openssl/sslerr.h>
#include <openssl/tls1.h>

#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {
namespace {

std::string_view origin_alert(std::uint8_t alert) {
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:
      return "the origin takes no cipher, group or signature that is offered (alert handshake_failure); "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_AD_INSUFFICIENT_SECURITY:
      return "the origin wants stronger ciphers than are offered (alert insufficient_security); "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_AD_PROTOCOL_VERSION:
      return "the origin speaks neither TLS 1.2 nor 1.3 (alert protocol_version); "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_AD_NO_APPLICATION_PROTOCOL:
      return "the origin speaks no version of HTTP that is offered (alert no_application_protocol)";
    case SSL_AD_UNRECOGNIZED_NAME:
      return "the origin does not serve this name (alert unrecognized_name)";
    case SSL_AD_INTERNAL_ERROR:
      return "the origin has failed (alert internal_error)";
    case SSL_AD_ACCESS_DENIED:
      return "the origin refuses this proxy (alert access_denied)";
    case SSL_AD_DECODE_ERROR:
    case SSL_AD_ILLEGAL_PARAMETER:
    case SSL_AD_UNEXPECTED_MESSAGE:
    case SSL_AD_UNSUPPORTED_EXTENSION:
    case SSL_AD_MISSING_EXTENSION:
      return "the origin does not understand the handshake that is offered (an alert); "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    default:
      return "the origin ended TLS with an alert";
  }
}

std::string_view origin_breach(int reason) {
  switch (reason) {
    case SSL_R_UNSAFE_LEGACY_RENEGOTIATION_DISABLED:
      return "the origin lacks secure renegotiation (RFC 5746); "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_SSL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
      return "the origin speaks neither TLS 1.2 nor 1.3; "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_BAD_RECORD_TYPE:
      return "the origin does not speak TLS on this port";
    case SSL_R_WRONG_CIPHER_RETURNED:
    case SSL_R_UNKNOWN_CIPHER_RETURNED:
      return "the origin chose a cipher that was not offered; "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_R_WRONG_CURVE:
    case SSL_R_BAD_ECPOINT:
    case SSL_R_BAD_KEY_SHARE:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_DH_KEY_TOO_SMALL:
    case SSL_R_UNSUPPORTED_ELLIPTIC_CURVE:
      return "the origin chose a group for the key exchange that was not offered; "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_R_WRONG_SIGNATURE_TYPE:
    case SSL_R_UNKNOWN_DIGEST:
    case SSL_R_WRONG_SIGNATURE_SIZE:
      return "the origin signs in a way that was not offered, such as by SHA-1; "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
    case SSL_R_BAD_SIGNATURE:
      return "the origin's signature does not fit its certificate";
    default:
      return "the origin breaks a rule of TLS; "
             "tls_inspection.on_failed_handshake or .never leaves it to its clients";
  }
}

std::string_view client_alert(std::uint8_t alert) {
  switch (alert) {
    case SSL_AD_UNKNOWN_CA:
      return "the client does not know the authority of tls_inspection.ca (alert unknown_ca)";
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "the client refuses the certificate (an alert); it lacks the authority of tls_inspection.ca, or pins its "
             "own";
    case SSL_AD_USER_CANCELLED:
      return "the client gave up (alert user_canceled)";
    default:
      return "the client ended TLS with an alert";
  }
}

std::string_view client_breach(int reason) {
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_SSL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
      return "the client speaks neither TLS 1.2 nor 1.3; tls_inspection.never or .never_clients leaves it alone";
    case SSL_R_NO_SHARED_CIPHER:
      return "the client offers no cipher that is taken: ECDHE with AES-GCM or ChaCha20; "
             "tls_inspection.never or .never_clients leaves it alone";
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
      return "the client offers no group for the key exchange that is taken; "
             "tls_inspection.never or .never_clients leaves it alone";
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
      return "the client takes no signature of the certificates that are made; "
             "tls_inspection.never or .never_clients leaves it alone";
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return "the client offers no version of HTTP that is served";
    default:
      return "the client breaks a rule of TLS";
  }
}

}  // namespace

std::string_view origin_fault(const TlsSession& tls) {
  if (tls.alert_received() != 0) return origin_alert(tls.alert_received());
  if (tls.fault() == TlsSession::Fault::protocol) return origin_breach(tls.fault_reason());
  return "the origin closed the connection in the handshake, without an alert; "
         "tls_inspection.on_failed_handshake or .never leaves it to its clients";
}

std::string_view client_fault(const TlsSession& tls) {
  if (tls.alert_received() != 0) return client_alert(tls.alert_received());
  return client_breach(tls.fault_reason());
}

}  // namespace bloomwall::proxy
