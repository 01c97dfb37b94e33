// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/icap_head.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/text.h"
#include "proxy/http/body_reader.h"
#include "proxy/http/fields.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kIcapLineEnd = "\r\n";
constexpr std::string_view kScheme = "icap://";
constexpr std::size_t kUsualIcapFields = 16;

constexpr tl::unexpected<IcapError> refused(std::string_view detail, int status = 400) {
  return tl::unexpected(IcapError{status, detail});
}
using Checked = tl::expected<void, IcapError>;

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

// icap://HOST[:PORT]/SERVICE[?QUERY]
Checked read_uri(std::string_view uri, IcapHead& head) {
  if (!is_printable(uri) || !starts_ignoring_case(uri, kScheme)) return refused("the URI is icap://HOST/SERVICE");
  uri.remove_prefix(kScheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == 0 || slash == std::string_view::npos) return refused("the URI is icap://HOST/SERVICE");
  head.service = uri.substr(slash + 1);
  head.service = head.service.substr(0, head.service.find('?'));
  return {};
}

Checked read_request_line(std::string_view line, IcapHead& head) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refused("a request line is METHOD URI ICAP/1.0");
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  if (!version.starts_with("ICAP/")) return refused("a request line is METHOD URI ICAP/1.0");
  if (version != "ICAP/1.0") return refused("only ICAP/1.0 is spoken", 505);
  if (method == "RESPMOD") return refused("only requests are judged: OPTIONS and REQMOD", 405);
  if (method != "OPTIONS" && method != "REQMOD") return refused("only OPTIONS and REQMOD are known", 501);
  head.method = method == "REQMOD" ? IcapHead::Method::reqmod : IcapHead::Method::options;
  return read_uri(line.substr(first + 1, last - first - 1), head);
}

// The one field of that name; nothing: there is none. Two are refused.
tl::expected<std::optional<std::string_view>, IcapError> only(std::span<const Field> fields, std::string_view name) {
  std::optional<std::string_view> found;
  for (const Field& field : fields) {
    if (!same_name(field.name, name)) continue;
    if (found) return refused("a field that counts comes twice");
    found = field.value;
  }
  return found;
}

// "req-hdr=0, req-body=412": "req-hdr" and 0 of its first element.
std::optional<std::pair<std::string_view, std::uint64_t>> next_section(std::string_view& list) {
  const std::string_view element = trim(next_part(list, ','));
  const std::size_t equals = element.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> offset = parse_length(element.substr(equals + 1));
  if (!offset) return std::nullopt;
  return std::pair(element.substr(0, equals), *offset);
}

Checked read_encapsulated(std::optional<std::string_view> list, IcapHead& head) {
  const bool is_reqmod = head.method == IcapHead::Method::reqmod;
  if (!list && !is_reqmod) return {};
  if (!list) return refused("Encapsulated is missing");
  const auto first = next_section(*list);
  if (!first || first->second != 0) return refused("Encapsulated does not begin with a section at 0");
  if (!is_reqmod) {
    if (first->first == "null-body" && list->empty()) return {};
    return refused("OPTIONS has no body here: Encapsulated: null-body=0");
  }
  const auto second = next_section(*list);
  const bool is_whole = first->first == "req-hdr" && second && list->empty() &&
                        (second->first == "req-body" || second->first == "null-body");
  if (!is_whole) return refused("Encapsulated is req-hdr=0 and req-body or null-body");
  if (second->second == 0) return refused("Encapsulated has no request");
  if (second->second > kMostEncapsulatedHead) return refused("the head of the HTTP request is too long", 413);
  head.http_octets = static_cast<std::size_t>(second->second);
  head.has_body = second->first == "req-body";
  return {};
}

// "Local://john", "WinNT://EXAMPLE/john": john.
std::string_view name_in(std::string_view text) {
  return text.find("://") == std::string_view::npos ? text : text.substr(text.rfind('/') + 1);
}

Checked read_user(std::optional<std::string_view> in_base64, std::optional<std::string_view> plain, IcapHead& head) {
  if (in_base64) {
    const std::optional<std::string> text = from_base64(*in_base64);
    if (!text) return refused("X-Authenticated-User is not base64");
    head.user = name_in(*text);
  }
  if (plain) {
    if (in_base64 && head.user != *plain) return refused("X-Authenticated-User and X-Client-Username name two users");
    head.user = *plain;
  }
  const bool is_text =
      std::ranges::none_of(head.user, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
  if (!is_text || head.user.size() > kMostIcapUser) return refused("the name of the user is none");
  return {};
}

Checked read_fields(std::span<const Field> fields, IcapHead& head) {
  Persistence persistence;
  for (const Field& field : fields) {
    if (field.id == FieldId::content_length || field.id == FieldId::transfer_encoding)
      return refused("ICAP has no Content-Length and no Transfer-Encoding of its own");
    if (field.id == FieldId::connection) persistence.note(field.value);
    if (same_name(field.name, "Allow")) head.allows_204 = head.allows_204 || has_element(field.value, "204");
  }
  head.keep_alive = !persistence.close;
  const auto host = only(fields, "Host"), encapsulated = only(fields, "Encapsulated"),
             preview = only(fields, "Preview"), client = only(fields, "X-Client-IP"),
             user = only(fields, "X-Authenticated-User"), plain_user = only(fields, "X-Client-Username");
  for (const auto* const field : {&host, &encapsulated, &preview, &client, &user, &plain_user}) {
    if (!*field) return tl::unexpected(field->error());
  }
  if (!*host) return refused("Host is missing");
  if (*preview) {
    head.preview = parse_length(**preview);
    if (!head.preview) return refused("Preview is not a number of octets");
  }
  if (*client) {
    head.client = IpAddress::parse(**client);
    if (!head.client) return refused("X-Client-IP is not an address");
  }
  if (const Checked read = read_user(*user, *plain_user, head); !read) return read;
  return read_encapsulated(*encapsulated, head);
}

}  // namespace

tl::expected<IcapHead, IcapError> parse_icap_head(std::string_view text) {
  IcapHead head;
  const std::size_t end = text.find(kIcapLineEnd);
  if (end == std::string_view::npos) return refused("a request line is METHOD URI ICAP/1.0");
  if (const Checked read = read_request_line(text.substr(0, end), head); !read) return tl::unexpected(read.error());
  std::vector<Field> fields;
  fields.reserve(kUsualIcapFields);
  if (!parse_fields(text.substr(end + kIcapLineEnd.size()), kMostIcapFields, fields))
    return refused("the fields of the head break the grammar");
  if (const Checked read = read_fields(fields, head); !read) return tl::unexpected(read.error());
  return head;
}

}  // namespace bloomwall::proxy
