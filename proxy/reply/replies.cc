// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/replies.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proxy/http/escape.h"
#include "proxy/reply/reply_message.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kForwardMethods = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE, CONNECT";
constexpr std::string_view kTransparentMethods = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE";

// Small, neutral and without text from the network: error pages are for the network's operator.
constexpr std::string_view kErrorPage = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{status} {phrase}</title><style>
:root{{color-scheme:light dark;--ground:#eef1f5;--ink:#18202c;--soft:#556072}}
@media(prefers-color-scheme:dark){{:root{{--ground:#0f1319;--ink:#e9edf3;--soft:#9aa6b8}}}}
body{{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--ground);color:var(--ink);
font:1rem/1.6 system-ui,sans-serif}}main{{max-width:36rem;padding:2rem}}h1{{font-size:1.6rem;margin:0 0 .4rem}}
p{{margin:.3rem 0}}small{{color:var(--soft)}}</style></head><body><main><h1>{phrase}</h1>
<p>{summary}{contact}</p><p><small>{status} {name}: {detail}{id}</small></p></main></body></html>
)";

// Refusals by the access rules say so in the reason phrase, as block replies do.
std::string_view status_phrase(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::client_denied:
      return "Client Not Allowed";
    case ErrorKind::port_denied:
      return "Port Not Allowed";
    case ErrorKind::destination_denied:
      return "Destination Not Allowed";
    default:
      return reason_phrase(facts(kind).status);
  }
}

// What is wrong with a certificate, for a person; the causes are those of proxy/tls/certificates.h.
constexpr std::pair<std::string_view, std::string_view> kCertificateFaults[]{
    {"expired", "its certificate has expired"},
    {"not_yet_valid", "its certificate is not valid yet"},
    {"wrong_name", "its certificate is for another name"},
    {"self_signed", "nobody but itself vouches for its certificate"},
    {"unknown_issuer", "nobody who is trusted here vouches for its certificate"},
    {"weak", "its certificate has a key or a signature that is too weak"},
    {"not_permitted", "its certificate is not meant for this use"},
    {"revoked", "its certificate has been revoked"},
    {"no_staple", "its certificate demands a proof of validity that was not sent"},
    {"own_ca", "its certificate was made by this proxy"},
    {"distrusted", "its certificate depends on a key that is distrusted here"},
    {"malformed", "its certificate cannot be verified"},
};

std::string summary_of(const HttpError& error, const ErrorFacts& fact) {
  std::string summary(fact.summary);
  if (error.kind != ErrorKind::origin_certificate) return summary;
  for (const auto& [cause, fault] : kCertificateFaults) {
    if (error.detail != cause) continue;
    summary.back() = ':';
    summary.append(" ").append(fault).append(". Your request was not sent to it.");
  }
  return summary;
}

bool is_about_login(ErrorKind kind) { return kind == ErrorKind::login_required || kind == ErrorKind::login_locked; }

std::string error_body(MediaType type, const HttpError& error, const ErrorFacts& fact, const ReplyContext& context) {
  const std::string_view phrase = reason_phrase(fact.status), id = context.decision_id;
  const std::string_view contact = is_about_login(error.kind) ? context.contact : std::string_view();
  std::string safe_contact;
  const std::string summary = summary_of(error, fact);
  switch (type) {
    case MediaType::html: {
      std::string detail;
      append_html(detail, error.detail);
      append_html(safe_contact, contact);
      return fmt::format(fmt::runtime(kErrorPage), fmt::arg("status", fact.status), fmt::arg("phrase", phrase),
                         fmt::arg("summary", summary), fmt::arg("name", to_string(error.kind)),
                         fmt::arg("detail", detail),
                         fmt::arg("contact", contact.empty() ? "" : " Contact: " + safe_contact),
                         fmt::arg("id", id.empty() ? "" : fmt::format("; decision {}", id)));
    }
    case MediaType::json: {
      std::string detail;
      append_json(detail, error.detail);
      append_json(safe_contact, contact);
      return fmt::format(R"({{"error":"{}","status":{},"message":"{}","detail":"{}"{}{}}})"
                         "\n",
                         to_string(error.kind), fact.status, summary, detail,
                         contact.empty() ? "" : fmt::format(R"(,"contact":"{}")", safe_contact),
                         id.empty() ? "" : fmt::format(R"(,"decision_id":"{}")", id));
    }
    case MediaType::text:
      break;
  }
  return fmt::format("{} {}: {} ({}{})\n", fact.status, phrase, summary, error.detail,
                     id.empty() ? "" : fmt::format("; decision {}", id));
}

std::string more_fields_of(ErrorKind kind, const ReplyContext& context) {
  switch (kind) {
    case ErrorKind::login_required:
      return std::string(context.challenge);
    case ErrorKind::login_locked:
      return fmt::format("Retry-After: {}\r\n", context.locked_for);
    case ErrorKind::login_unchecked:
    case ErrorKind::too_many_requests:  // a whole second's worth is free again by then
      return "Retry-After: 1\r\n";
    case ErrorKind::connection_limit:
    case ErrorKind::shutting_down:
      return "Retry-After: 5\r\n";
    default:
      return {};
  }
}

bool is_secret(const Field& field) {
  switch (field.id) {
    case FieldId::proxy_authorization:
    case FieldId::proxy_authenticate:
    case FieldId::proxy_authentication_info:
    case FieldId::proxy_other:
      return true;
    default:
      return same_name(field.name, "authorization") || same_name(field.name, "cookie");
  }
}

}  // namespace

void write_error(std::string& out, const HttpError& error, const ReplyContext& context) {
  const ErrorFacts& fact = facts(error.kind);
  const MediaType type = context.method == Method::connect ? MediaType::text : choose_media(context.accept);
  const std::string_view id = context.decision_id;
  const std::string body = error_body(type, error, fact, context);
  const std::string details = id.empty() ? std::string(error.detail) : fmt::format("{}; decision {}", error.detail, id);
  std::string more = more_fields_of(error.kind, context);
  if (error.kind == ErrorKind::method_not_allowed) more.append("Allow: ").append(kTransparentMethods).append("\r\n");
  write_reply_message(out,
                      {.status = fact.status,
                       .reason = status_phrase(error.kind),
                       .proxy_error = fact.proxy_error,
                       .details = details,
                       .content_type = content_type(type),
                       .body = body,
                       .more_fields = more,
                       .is_page = type == MediaType::html,
                       .close = fact.must_close},
                      context);
}

void write_trace_reply(std::string& out, const RequestHead& head, const ReplyContext& context) {
  std::string body;
  body.append(head.method_name).append(1, ' ').append(head.target.raw);
  body.append(head.version == Version::http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  for (const Field& field : head.fields) {
    if (!is_secret(field)) body.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  body.append("\r\n");
  write_reply_message(out,
                      {
                          .status = 200,
                          .content_type = "message/http",
                          .body = body,
                      },
                      context);
}

void write_options_reply(std::string& out, const ReplyContext& context) {
  const std::string allow = fmt::format("Allow: {}\r\n", kForwardMethods);
  write_reply_message(
      out, {.status = 200, .proxy_error = {}, .details = {}, .content_type = {}, .body = {}, .more_fields = allow},
      context);
}

}  // namespace bloomwall::proxy
