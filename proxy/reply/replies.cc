// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/replies.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proxy/http/escape.h"
#include "proxy/reply/page_frame.h"
#include "proxy/reply/reply_message.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kForwardMethods = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE, CONNECT";
constexpr std::string_view kTransparentMethods = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE";

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

// What is wrong with a certificate; the causes are those of proxy/tls/certificates.h.
constexpr std::pair<std::string_view, PageText> kCertificateFaults[]{
    {"expired", PageText::certificate_expired},
    {"not_yet_valid", PageText::certificate_not_yet_valid},
    {"wrong_name", PageText::certificate_wrong_name},
    {"self_signed", PageText::certificate_self_signed},
    {"unknown_issuer", PageText::certificate_unknown_issuer},
    {"weak", PageText::certificate_weak},
    {"not_permitted", PageText::certificate_not_permitted},
    {"revoked", PageText::certificate_revoked},
    {"no_staple", PageText::certificate_no_staple},
    {"own_ca", PageText::certificate_own_ca},
    {"distrusted", PageText::certificate_distrusted},
    {"malformed", PageText::certificate_malformed},
    {"too_large", PageText::certificate_too_large},
    {"incomplete_chain", PageText::certificate_incomplete_chain},
};

constexpr std::size_t kLastError = static_cast<std::size_t>(PageText::error_http2_preface);
static_assert(kLastError - static_cast<std::size_t>(PageText::error_bad_request) + 1 == kErrorKinds);

std::string summary_of(const HttpError& error, Language language) {
  std::string summary(page_text(after(PageText::error_bad_request, static_cast<std::size_t>(error.kind)), language));
  if (error.kind != ErrorKind::origin_certificate) return summary;
  for (const auto& [cause, fault] : kCertificateFaults) {
    if (error.detail != cause) continue;
    summary.append(" ").append(page_text(fault, language));
    summary.append(" ").append(page_text(PageText::certificate_not_sent, language));
  }
  return summary;
}

// What a person can do about it.
PageText error_title(int status) {
  switch (status) {
    case 403:
      return PageText::error_title_denied;
    case 407:
      return PageText::error_title_login;
    case 429:
    case 503:
      return PageText::error_title_later;
    case 500:
      return PageText::error_title_proxy;
    case 502:
    case 504:
      return PageText::error_title_site;
    default:
      return PageText::error_title_request;
  }
}

bool is_about_login(ErrorKind kind) { return kind == ErrorKind::login_required || kind == ErrorKind::login_locked; }

constexpr std::size_t kMostOfHost = 255;  // octets; a host that was judged has no more

// Where what was asked for, or leads there, is the matter, and not the request or who sent it.
bool is_about_host(int status) { return status == 403 || status == 502 || status == 504; }

std::string_view named_host(int status, const ReplyContext& context) {
  return is_about_host(status) ? context.host.substr(0, kMostOfHost) : std::string_view();
}

std::string error_page(const HttpError& error, int status, const ReplyContext& context, Language language) {
  const bool has_contact = is_about_login(error.kind) && !context.contact.empty();
  std::string body = fmt::format("<p class=\"lead\">{}</p>", html_escaped(summary_of(error, language)));
  if (has_contact) {
    body += fmt::format("<p>{}</p>", html_text(PageText::error_contact, language, {{"contact", context.contact}}));
  }
  std::string footer = fmt::format("<span dir=\"ltr\">{} {} &middot; {}: {}</span>", status, reason_phrase(status),
                                   to_string(error.kind), html_escaped(error.detail));
  if (!context.decision_id.empty()) {
    footer += fmt::format("; {}", html_text(PageText::error_decision, language, {{"id", context.decision_id}}));
  }
  std::string title(page_text(error_title(status), language));
  if (const std::string_view host = named_host(status, context); !host.empty()) title.append(": ").append(host);
  return framed({.language = language, .title = title, .body = body, .footer = footer});
}

std::string error_body(MediaType type, const HttpError& error, const ErrorFacts& fact, const ReplyContext& context,
                       Language language) {
  const std::string_view id = context.decision_id;
  const std::string summary = summary_of(error, Language::en);
  switch (type) {
    case MediaType::html:
      return error_page(error, fact.status, context, language);
    case MediaType::json: {
      const std::string_view contact = is_about_login(error.kind) ? context.contact : std::string_view();
      std::string detail, safe_contact, host;
      append_json(detail, error.detail);
      append_json(host, named_host(fact.status, context));
      append_json(safe_contact, contact);
      return fmt::format(R"({{"error":"{}","status":{},"message":"{}","detail":"{}"{}{}{}}})"
                         "\n",
                         to_string(error.kind), fact.status, summary, detail,
                         host.empty() ? "" : fmt::format(R"(,"host":"{}")", host),
                         contact.empty() ? "" : fmt::format(R"(,"contact":"{}")", safe_contact),
                         id.empty() ? "" : fmt::format(R"(,"decision_id":"{}")", id));
    }
    case MediaType::text:
      break;
  }
  std::string host;
  append_log_quoted(host, named_host(fact.status, context));
  return fmt::format("{} {}: {} ({}{}{})\n", fact.status, reason_phrase(fact.status), summary, error.detail,
                     host.empty() ? "" : fmt::format("; host {}", host),
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
  ErrorFacts fact = facts(error.kind);
  if (context.parent != nullptr) fact.status = context.parent->status;
  const MediaType type = context.method == Method::connect ? MediaType::text : choose_media(context.accept);
  const std::string_view id = context.decision_id;
  const bool is_page = type == MediaType::html;
  const Language language = is_page ? choose_language(context.accept_language) : Language::en;
  const std::string body = error_body(type, error, fact, context, language);
  const std::string details = id.empty() ? std::string(error.detail) : fmt::format("{}; decision {}", error.detail, id);
  std::string more = more_fields_of(error.kind, context);
  const std::string_view phrase = context.parent == nullptr        ? status_phrase(error.kind)
                                  : context.parent->reason.empty() ? reason_phrase(fact.status)
                                                                   : std::string_view(context.parent->reason);
  if (error.kind == ErrorKind::method_not_allowed) more.append("Allow: ").append(kTransparentMethods).append("\r\n");
  write_reply_message(out,
                      {.status = fact.status,
                       .reason = phrase,
                       .proxy_error = fact.proxy_error,
                       .details = details,
                       .content_type = content_type(type),
                       .body = body,
                       .language = context.method == Method::connect ? std::string_view() : tag_of(language),
                       .more_fields = more,
                       .is_page = is_page,
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

void write_pass_reply(std::string& out, int status, const ReplyContext& context) {
  write_reply_message(
      out, {.status = status, .proxy_error = {}, .details = {}, .content_type = {}, .body = {}, .more_fields = {}},
      context);
}

void write_options_reply(std::string& out, const ReplyContext& context) {
  const std::string allow = fmt::format("Allow: {}\r\n", kForwardMethods);
  write_reply_message(
      out, {.status = 200, .proxy_error = {}, .details = {}, .content_type = {}, .body = {}, .more_fields = allow},
      context);
}

}  // namespace bloomwall::proxy
