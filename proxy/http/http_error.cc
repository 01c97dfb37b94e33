// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/http_error.h"

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
    {ErrorKind::bad_request, "bad_request", {400, kRequest, "The request is not well formed.", true}},
    {ErrorKind::bad_target, "bad_target", {400, kRequest, "The address is not one that can be opened.", false}},
    {ErrorKind::ambiguous_path,
     "ambiguous_path",
     {400, kRequest, "The path of the address can be read in more than one way.", false}},
    {ErrorKind::client_denied, "client_denied", {403, kDenied, "This client may not use the proxy.", true}},
    {ErrorKind::port_denied, "port_denied", {403, kDenied, "This port is not allowed.", false}},
    {ErrorKind::destination_denied,
     "destination_denied",
     {403, "destination_ip_prohibited", "The proxy may not connect to this address.", false}},
    {ErrorKind::tunnel_denied, "tunnel_denied", {403, kDenied, "What this tunnel carries is not allowed.", true}},
    {ErrorKind::method_not_allowed, "method_not_allowed", {405, kRequest, "This method is not allowed here.", false}},
    {ErrorKind::request_timeout, "request_timeout", {408, kRequest, "The request took too long to arrive.", true}},
    {ErrorKind::client_gone, "client_gone", {400, kRequest, "The client left before its request was answered.", true}},
    {ErrorKind::client_stalled, "client_stalled", {408, kRequest, "The client did not take its answer.", true}},
    {ErrorKind::body_too_large, "body_too_large", {413, kRequest, "The body of the request is too large.", true}},
    {ErrorKind::uri_too_long, "uri_too_long", {414, kRequest, "The address is too long.", true}},
    {ErrorKind::misdirected, "misdirected", {421, kRequest, "This is a proxy, not the server asked for.", false}},
    {ErrorKind::login_required, "login_required", {407, kDenied, "The proxy needs a name and a password.", false}},
    {ErrorKind::login_locked, "login_locked", {429, kDenied, "Too many passwords were wrong. Try again later.", false}},
    {ErrorKind::login_unchecked,
     "login_unchecked",
     {503, "proxy_internal_error", "The proxy could not check the password in time.", false}},
    {ErrorKind::too_many_requests, "too_many_requests", {429, kRequest, "Too many requests from this client.", false}},
    {ErrorKind::head_too_large, "head_too_large", {431, kRequest, "The header of the request is too large.", true}},
    {ErrorKind::internal, "internal", {500, "proxy_internal_error", "The proxy failed.", true}},
    {ErrorKind::not_implemented,
     "not_implemented",
     {501, kRequest, "The request asks for something the proxy does not speak.", true}},
    {ErrorKind::dns_error, "dns_error", {502, "dns_error", "The name of the server could not be resolved.", false}},
    {ErrorKind::dns_timeout, "dns_timeout", {504, "dns_timeout", "The name server did not answer in time.", false}},
    {ErrorKind::connection_refused,
     "connection_refused",
     {502, "connection_refused", "The server refused the connection.", false}},
    {ErrorKind::connection_failed,
     "connection_failed",
     {502, "destination_ip_unroutable", "The server could not be reached.", false}},
    {ErrorKind::connect_timeout,
     "connect_timeout",
     {504, "connection_timeout", "The server could not be reached in time.", false}},
    {ErrorKind::connection_terminated,
     "connection_terminated",
     {502, "connection_terminated", "The server closed the connection without an answer.", false}},
    {ErrorKind::upstream_protocol,
     "upstream_protocol",
     {502, "http_protocol_error", "The answer of the server is not well formed.", false}},
    {ErrorKind::upstream_head_too_large,
     "upstream_head_too_large",
     {502, "http_response_header_section_size", "The header of the server's answer is too large.", false}},
    {ErrorKind::response_incomplete,
     "response_incomplete",
     {502, "http_response_incomplete", "The server closed the connection in the middle of its answer.", true}},
    {ErrorKind::upstream_timeout,
     "upstream_timeout",
     {504, "http_response_timeout", "The server did not answer in time.", false}},
    {ErrorKind::connection_limit,
     "connection_limit",
     {503, "connection_limit_reached", "The proxy has as many connections as it can hold.", true}},
    {ErrorKind::shutting_down, "shutting_down", {503, "proxy_internal_response", "The proxy is being stopped.", true}},
    {ErrorKind::filter_late,
     "filter_late",
     {503, "proxy_internal_error", "The proxy's filter could not be read in time.", false}},
    {ErrorKind::dns_limit, "dns_limit", {503, "dns_error", "The proxy asks for too many names already.", false}},
    {ErrorKind::loop, "loop", {502, "proxy_loop_detected", "The request came back to the proxy that sent it.", false}},
    {ErrorKind::parent_tls,
     "parent_tls",
     {502, "tls_protocol_error", "The proxy behind this one could not be spoken to in TLS.", false}},
    {ErrorKind::parent_certificate,
     "parent_certificate",
     {502, "tls_certificate_error", "The proxy behind this one cannot prove who it is.", false}},
    {ErrorKind::parent_refused,
     "parent_refused",
     {502, "connection_refused", "The proxy behind this one made no connection to the server.", false}},
    {ErrorKind::parent_auth,
     "parent_auth",
     {502, "proxy_configuration_error", "The proxy behind this one asks for credentials.", false}},
    {ErrorKind::origin_certificate,
     "origin_certificate",
     {502, "tls_certificate_error", "The server cannot prove who it is.", false}},
    {ErrorKind::origin_tls,
     "origin_tls",
     {502, "tls_protocol_error", "The server could not be spoken to in TLS.", false}},
    {ErrorKind::origin_alert,
     "origin_alert",
     {502, "tls_alert_received", "The server refused the TLS connection.", false}},
    {ErrorKind::origin_tls_timeout,
     "origin_tls_timeout",
     {504, "connection_timeout", "The server did not finish the TLS handshake in time.", false}},
    {ErrorKind::origin_refused,
     "origin_refused",
     {502, "connection_terminated", "The server took no more requests.", false}},
    {ErrorKind::version_unsupported,
     "version_unsupported",
     {505, kRequest, "Only HTTP/1.0 and HTTP/1.1 are spoken here.", true}},
}};

constexpr bool rows_stand_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return static_cast<std::size_t>(ErrorKind::version_unsupported) + 1 == kErrorKinds;
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
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 407:
      return "Proxy Authentication Required";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 451:
      return "Unavailable For Legal Reasons";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

}  // namespace bloomwall::proxy
