// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/http_routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "proxy/api/api_reply.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {
namespace {

std::string_view path_of(const Target& target) {
  const std::string_view text = target.form == TargetForm::absolute ? target.path_and_query : target.raw;
  return text.substr(0, text.find('?'));
}

// An absolute-form target overrides Host (RFC 9112 section 3.2.2), so its authority is the one to check.
std::string_view host_of(const RequestHead& head) {
  if (head.target.form == TargetForm::absolute) return head.target.authority.host;
  return head.host ? head.host->host : std::string_view();
}

// Splits "/filters" off "/filters/ads" and leaves "/ads".
std::string_view take_segment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('/', 1));
  path.remove_prefix(segment.size());
  return segment;
}

bool matches(std::string_view pattern, std::string_view path, std::vector<std::string_view>& arguments) {
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_segment(pattern), given = take_segment(path);
    if (wanted.starts_with("/{") && given.size() > 1 && given.front() == '/') {
      arguments.push_back(given.substr(1));
    } else if (wanted != given) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

// An error in text, as the API says it.
HttpReply in_form_for(const RequestHead& head, HttpReply error) {
  if (!path_of(head.target).starts_with(kApiRoot)) return error;
  HttpReply made = problem(error.status, reason_phrase(error.status), trim_controls(error.body));
  made.more_fields = std::move(error.more_fields);
  return made;
}

void append_new(std::vector<std::string_view>& out, std::string_view text) {
  if (std::ranges::find(out, text) == out.end()) out.push_back(text);
}

}  // namespace

HttpRoutes::HttpRoutes(std::vector<HttpRoute> routes, std::optional<std::vector<std::string>> hosts)
    : routes_(std::move(routes)), hosts_(std::move(hosts)) {}

tl::expected<HttpRoutes::Match, HttpReply> HttpRoutes::find(const RequestHead& head) const {
  return look_up(head).map_error([&](HttpReply error) { return in_form_for(head, std::move(error)); });
}

tl::expected<HttpRoutes::Match, HttpReply> HttpRoutes::look_up(const RequestHead& head) const {
  std::vector<Match> at_path;
  for (const HttpRoute& route : routes_) {
    Match match{&route, {}};
    if (matches(route.path, path_of(head.target), match.arguments)) at_path.push_back(std::move(match));
  }
  const std::string_view host = host_of(head);
  const bool may_be_nameless = std::ranges::any_of(at_path, [](const Match& at) { return !at.route->needs_host; });
  if (hosts_ && !(host.empty() && may_be_nameless) && !is_known_host(host, *hosts_)) {
    return tl::unexpected(HttpReply{
        .status = 421, .body = "This host name is not known here: ask by address, or add it to admin.hosts.\n"});
  }
  const std::string_view method = head.method == Method::head ? "GET" : head.method_name;
  const auto found = std::ranges::find_if(at_path, [&](const Match& at) { return at.route->method == method; });
  if (found == at_path.end()) return tl::unexpected(no_route(method, at_path));
  if (method != "GET" && head.content_length > found->route->most_body) {
    return tl::unexpected(refusal({ErrorKind::body_too_large, "the body is longer than this path takes"}));
  }
  return std::move(*found);
}

HttpReply HttpRoutes::no_route(std::string_view method, const std::vector<Match>& at_path) const {
  std::vector<std::string_view> paths, methods;
  const auto allow = [&](const HttpRoute& route) {
    append_new(methods, route.method);
    if (route.method == "GET") append_new(methods, "HEAD");
  };
  for (const HttpRoute& route : routes_) {
    append_new(paths, route.path);
    if (at_path.empty()) allow(route);
  }
  for (const Match& at : at_path) allow(*at.route);
  if (std::ranges::find(methods, method) != methods.end()) {
    return {.status = 404, .body = fmt::format("{}\n", fmt::join(paths, " "))};
  }
  return {.status = 405,
          .body = fmt::format("{} only.\n", fmt::join(methods, " and ")),
          .more_fields = fmt::format("Allow: {}\r\n", fmt::join(methods, ", "))};
}

bool is_known_host(std::string_view host, const std::vector<std::string>& hosts) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (Endpoint::parse_ip(host)) return true;
  const auto is_host = [&](std::string_view name) { return equals_ignoring_case(host, name); };
  return is_host("localhost") || std::ranges::any_of(hosts, is_host);
}

HttpReply refusal(const HttpError& error) {
  return {.status = facts(error.kind).status, .body = fmt::format("{}\n", error.detail)};
}

HttpReply refusal(const HttpError& error, const RequestHead& head) { return in_form_for(head, refusal(error)); }

void write_reply(std::string& out, const HttpReply& reply, const ReplyTo& to, TimePoint now) {
  const bool is_chunked = reply.goes_on && to.version == Version::http11;
  std::string framing;
  if (is_chunked) framing = "Transfer-Encoding: chunked\r\n";
  // A 304 has no body, and the length would be that of the 200 (RFC 9110 section 8.6).
  if (!reply.goes_on && reply.status != 304) framing = fmt::format("Content-Length: {}\r\n", reply.body.size());
  fmt::format_to(std::back_inserter(out),
                 "HTTP/1.1 {} {}\r\nDate: {}\r\nServer: bloomwall\r\nContent-Type: {}\r\n{}"
                 "Cache-Control: {}\r\nX-Content-Type-Options: nosniff\r\n{}Connection: close\r\n\r\n",
                 reply.status, reason_phrase(reply.status), http_date(now), reply.type, framing, reply.caching,
                 reply.more_fields);
  if (to.is_head) return;
  out += is_chunked ? as_chunk(reply.body) : reply.body;
}

std::string as_chunk(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

}  // namespace bloomwall::proxy
