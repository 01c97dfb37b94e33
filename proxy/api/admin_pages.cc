// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/admin_pages.h"

#include <fmt/format.h>

#include "proxy/decision/tls_inspection.h"
#include "proxy/reply/authority_page.h"

namespace bloomwall::proxy {
namespace {

HttpReply ready_reply(const AdminAnswers& answers) {
  if (answers.phase != Phase::serving) return {.status = 503, .body = fmt::format("{}\n", to_string(answers.phase))};
  if (!answers.lost.empty()) return {.status = 503, .body = fmt::format("lost: {}\n", answers.lost)};
  return {.body = fmt::format("{}\n", to_string(answers.phase))};
}

HttpReply authority_reply(const AdminAnswers& answers, const RequestHead& head, AuthorityResource resource) {
  if (answers.inspection == nullptr) return {.status = 404, .body = "tls_inspection.mode is off\n"};
  if (resource != AuthorityResource::page) {
    const AuthorityFileKind kind = authority_file_kind(resource);
    return {.type = kind.content_type,
            .body = answers.inspection->file(resource),
            .more_fields = std::string(kind.more_fields)};
  }
  std::string_view accept;
  for (const Field& field : head.fields) {
    if (field.id == FieldId::accept) accept = field.value;
  }
  const MediaType type = choose_media(accept);
  return {.type = content_type(type), .body = authority_page_text(answers.inspection->page(), type)};
}

}  // namespace

std::vector<HttpRoute> admin_routes(const std::function<AdminAnswers()>& answers) {
  std::vector<HttpRoute> routes{{.method = "GET",
                                 .path = "/healthz",
                                 .handler = [](const HttpRequest&) { return HttpReply{.body = "alive\n"}; },
                                 .needs_host = false},
                                {.method = "GET",
                                 .path = "/readyz",
                                 .handler = [answers](const HttpRequest&) { return ready_reply(answers()); },
                                 .needs_host = false},
                                {.method = "GET", .path = "/metrics", .handler = [answers](const HttpRequest&) {
                                   return HttpReply{.type = "text/plain; version=0.0.4; charset=utf-8",
                                                    .body = answers().metrics()};
                                 }}};
  for (const char* path : {"/ca", "/ca.crt", "/ca.der", "/ca.mobileconfig"}) {
    routes.push_back({.method = "GET", .path = path, .handler = [answers, path](const HttpRequest& request) {
                        return authority_reply(answers(), request.head, *authority_resource(path));
                      }});
  }
  return routes;
}

}  // namespace bloomwall::proxy
