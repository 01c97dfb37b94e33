// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/http_error.h"

#include <algorithm>
#include <array>

namespace bloomwall::proxy {
namespace {

struct Row {
  ErrorKind kind;
  const char* name;
  ErrorFacts facts;
};

constexpr std::string_view kRequest = "http_request_error";
constexpr std::string_view kDenied = "http_request_denied";

constexpr std::array<Row, kErrorKinds> kRows{{
    {ErrorKind::bad_request, "bad_request", {400, kRequest, true}},
    {ErrorKind::bad_target, "bad_target", {400, kRequest, false}},
    {ErrorKind::ambiguous_path, "ambiguous_path", {400, kRequest, false}},
    {ErrorKind::client_denied, "client_denied", {403, kDenied, true}},
    {ErrorKind::port_denied, "port_denied", {403, kDenied, false}},
    {ErrorKind::destination_denied, "destination_denied", {403, "destination_ip_prohibited", false}},
    {ErrorKind::tunnel_denied, "tunnel_denied", {403, kDenied, true}},
    {ErrorKind::method_not_allowed, "method_not_allowed", {405, kRequest, false}},
    {ErrorKind::request_timeout, "request_timeout", {408, kRequest, true}},
    {ErrorKind::client_gone, "client_gone", {400, kRequest, true}},
    {ErrorKind::client_stalled, "client_stalled", {408, kRequest, true}},
    {ErrorKind::body_too_large, "body_too_large", {413, kRequest, true}},
    {ErrorKind::uri_too_long, "uri_too_long", {414, kRequest, true}},
    {ErrorKind::misdirected, "misdirected", {421, kRequest, false}},
    {ErrorKind::login_required, "login_required", {407, kDenied, false}},
    {ErrorKind::login_locked, "login_locked", {429, kDenied, false}},
    {ErrorKind::login_unchecked, "login_unchecked", {503, "proxy_internal_error", false}},
    {ErrorKind::too_many_requests, "too_many_requests", {429, kRequest, false}},
    {ErrorKind::head_too_large, "head_too_large", {431, kRequest, true}},
    {ErrorKind::internal, "internal", {500, "proxy_internal_error", true}},
    {ErrorKind::not_implemented, "not_implemented", {501, kRequest, true}},
    {ErrorKind::dns_error, "dns_error", {502, "dns_error", false}},
    {ErrorKind::dns_timeout, "dns_timeout", {504, "dns_timeout", false}},
    {ErrorKind::connection_refused, "connection_refused", {502, "connection_refused", false}},
    {ErrorKind::connection_failed, "connection_failed", {502, "destination_ip_unroutable", false}},
    {ErrorKind::connect_timeout, "connect_timeout", {504, "connection_timeout", false}},
    {ErrorKind::connection_terminated, "connection_terminated", {502, "connection_terminated", false}},
    {ErrorKind::upstream_protocol, "upstream_protocol", {502, "http_protocol_error", false}},
    {ErrorKind::upstream_head_too_large, "upstream_head_too_large", {502, "http_response_header_section_size", false}},
    {ErrorKind::response_incomplete, "response_incomplete", {502, "http_response_incomplete", true}},
    {ErrorKind::upstream_timeout, "upstream_timeout", {504, "http_response_timeout", false}},
    {ErrorKind::connection_limit, "connection_limit", {503, "connection_limit_reached", true}},
    {ErrorKind::shutting_down, "shutting_down", {503, "proxy_internal_response", true}},
    {ErrorKind::filter_late, "filter_late", {503, "proxy_internal_error", false}},
    {ErrorKind::dns_limit, "dns_limit", {503, "dns_error", false}},
    {ErrorKind::loop, "loop", {502, "proxy_loop_detected", false}},
    {ErrorKind::parent_tls, "parent_tls", {502, "tls_protocol_error", false}},
    {ErrorKind::parent_certificate, "parent_certificate", {502, "tls_certificate_error", false}},
    {ErrorKind::parent_refused, "parent_refused", {502, "connection_refused", false}},
    {ErrorKind::parent_auth, "parent_auth", {502, "proxy_configuration_error", false}},
    {ErrorKind::origin_certificate, "origin_certificate", {502, "tls_certificate_error", false}},
    {ErrorKind::origin_tls, "origin_tls", {502, "tls_protocol_error", false}},
    {ErrorKind::origin_alert, "origin_alert", {502, "tls_alert_received", false}},
    {ErrorKind::origin_tls_timeout, "origin_tls_timeout", {504, "connection_timeout", false}},
    {ErrorKind::origin_refused, "origin_refused", {502, "connection_terminated", false}},
    {ErrorKind::version_unsupported, "version_unsupported", {505, kRequest, true}},
    {ErrorKind::http2_preface, "http2_preface", {505, kRequest, true}},
}};

constexpr bool rows_stand_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return static_cast<std::size_t>(ErrorKind::http2_preface) + 1 == kErrorKinds;
}
static_assert(rows_stand_in_order());

}  // namespace

const ErrorFacts& facts(ErrorKind kind) { return kRows[static_cast<std::size_t>(kind)].facts; }
bool is_refusal(ErrorKind kind) {
  const int status = facts(kind).status;
  const bool is_failure = status == 500 || status == 502 || status == 504;
  return !is_failure || kind == ErrorKind::loop;
}
const char* to_string(ErrorKind kind) { return kRows[static_cast<std::size_t>(kind)].name; }

std::string_view reason_phrase(int status) {
  struct Row {
    int status;
    std::string_view phrase;
  };
  static constexpr auto kPhrases = std::to_array<Row>({
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {407, "Proxy Authentication Required"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {421, "Misdirected Request"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {451, "Unavailable For Legal Reasons"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  });
  const auto* const row = std::ranges::find(kPhrases, status, &Row::status);
  return row == kPhrases.end() ? std::string_view{} : row->phrase;
}

}  // namespace bloomwall::proxy
