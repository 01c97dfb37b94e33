// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/replies.h"

#include <fmt/format.h>

#include "proxy/http/escape.h"
#include "proxy/http/own_reply.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kForwardMethods = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE, CONNECT";
constexpr std::string_view kTransparentMethods = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE";

// Small, neutral and without anything from the network: errors are for the person who looks after the network.
constexpr std::string_view kErrorPage = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{status} {phrase}</title><style>
:root{{color-scheme:light dark;--ground:#eef1f5;--ink:#18202c;--soft:#556072}}
@media(prefers-color-scheme:dark){{:root{{--ground:#0f1319;--ink:#e9edf3;--soft:#9aa6b8}}}}
body{{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--ground);color:var(--ink);
font:1rem/1.6 system-ui,sans-serif}}main{{max-width:36rem;padding:2rem}}h1{{font-size:1.6rem;margin:0 0 .4rem}}
p{{margin:.3rem 0}}small{{color:var(--soft)}}</style></head><body><main><h1>{phrase}</h1>
<p>{summary}</p><p><small>{status} {name}: {detail}{id}</small></p></main></body></html>
)";

// What the access rules refuse says so in the status line, as a denial does.
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

// `id`: the decision's, or empty.
std::string error_body(MediaType type, const HttpError& error, const ErrorFacts& fact, std::string_view id) {
  const std::string_view phrase = reason_phrase(fact.status);
  switch (type) {
    case MediaType::html: {
      std::string detail;
      append_html(detail, error.detail);
      return fmt::format(fmt::runtime(kErrorPage), fmt::arg("status", fact.status), fmt::arg("phrase", phrase),
                         fmt::arg("summary", fact.summary), fmt::arg("name", to_string(error.kind)),
                         fmt::arg("detail", detail),
                         fmt::arg("id", id.empty() ? "" : fmt::format("; decision {}", id)));
    }
    case MediaType::json: {
      std::string detail;
      append_json(detail, error.detail);
      return fmt::format(R"({{"error":"{}","status":{},"message":"{}","detail":"{}"{}}})"
                         "\n",
                         to_string(error.kind), fact.status, fact.summary, detail,
                         id.empty() ? "" : fmt::format(R"(,"decision_id":"{}")", id));
    }
    case MediaType::text:
      break;
  }
  return fmt::format("{} {}: {} ({}{})\n", fact.status, phrase, fact.summary, error.detail,
                     id.empty() ? "" : fmt::format("; decision {}", id));
}

std::string_view more_fields_of(ErrorKind kind) {
  switch (kind) {
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
  const std::string body = error_body(type, error, fact, id);
  const std::string details = id.empty() ? std::string(error.detail) : fmt::format("{}; decision {}", error.detail, id);
  std::string more(more_fields_of(error.kind));
  if (error.kind == ErrorKind::method_not_allowed) more.append("Allow: ").append(kTransparentMethods).append("\r\n");
  write_own_reply(out,
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
  write_own_reply(out,
                  {
                      .status = 200,
                      .content_type = "message/http",
                      .body = body,
                  },
                  context);
}

void write_options_reply(std::string& out, const ReplyContext& context) {
  const std::string allow = fmt::format("Allow: {}\r\n", kForwardMethods);
  write_own_reply(
      out, {.status = 200, .proxy_error = {}, .details = {}, .content_type = {}, .body = {}, .more_fields = allow},
      context);
}

}  // namespace bloomwall::proxy
