// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/framing.h"

#include <limits>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

// What the Transfer-Encoding lines of a message say together.
struct Codings {
  unsigned lines = 0;
  unsigned chunked = 0;  // elements that are exactly "chunked"
  unsigned other = 0;
  bool last_is_chunked = false;
  bool only_chunked() const { return lines == 1 && chunked == 1 && other == 0; }
};

Codings read_codings(std::span<const Field> fields) {
  Codings codings;
  for (const Field& field : fields) {
    if (field.id != FieldId::transfer_encoding) continue;
    ++codings.lines;
    std::string_view list = field.value;
    for (std::string_view coding; next_element(list, coding);) {
      codings.last_is_chunked = same_name(coding, "chunked");
      ++(codings.last_is_chunked ? codings.chunked : codings.other);
    }
  }
  return codings;
}

}  // namespace

std::optional<std::uint64_t> parse_length(std::string_view text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (text.empty() || !all(octets::digit, text)) return std::nullopt;
  std::uint64_t length = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (length > (kMost - digit) / 10) return std::nullopt;
    length = length * 10 + digit;
  }
  return length;
}

tl::expected<Framing, HttpError> request_framing(std::span<const Field> fields, Version version) {
  Framing framing;
  for (const Field& field : fields) {
    if (field.id != FieldId::content_length) continue;
    const auto length = parse_length(field.value);
    if (!length) return tl::unexpected(bad_request("malformed Content-Length"));
    if (framing.has_length) return tl::unexpected(bad_request("several Content-Length fields"));
    framing = {*length > 0 ? BodyFraming::length : BodyFraming::none, *length, true};
  }
  const Codings codings = read_codings(fields);
  if (codings.lines == 0) return framing;
  if (framing.has_length) return tl::unexpected(bad_request("Transfer-Encoding beside Content-Length"));
  if (version == Version::http10) return tl::unexpected(bad_request("Transfer-Encoding in HTTP/1.0"));
  if (codings.only_chunked()) return Framing{BodyFraming::chunked, 0, false};
  if (codings.chunked == 0 && codings.other == 0) return tl::unexpected(bad_request("empty Transfer-Encoding"));
  if (codings.chunked > 0 && (codings.chunked > 1 || !codings.last_is_chunked)) {
    return tl::unexpected(bad_request("chunked is not the last transfer coding, once"));
  }
  if (codings.other == 0) return tl::unexpected(bad_request("several Transfer-Encoding fields"));
  return tl::unexpected(HttpError{ErrorKind::not_implemented, "a transfer coding other than chunked"});
}

tl::expected<Framing, HttpError> response_framing(std::span<const Field> fields) {
  const Codings codings = read_codings(fields);
  if (codings.lines > 0) {
    if (!codings.only_chunked()) return tl::unexpected(bad_response("a transfer coding other than chunked"));
    return Framing{BodyFraming::chunked, 0, false};
  }
  Framing framing{BodyFraming::until_close, 0, false};
  for (const Field& field : fields) {
    if (field.id != FieldId::content_length) continue;
    std::string_view list = field.value;
    bool any = false;
    for (std::string_view element; next_element(list, element); any = true) {
      const auto length = parse_length(element);
      if (!length) return tl::unexpected(bad_response("malformed Content-Length"));
      if (framing.has_length && framing.length != *length)
        return tl::unexpected(bad_response("contradicting Content-Length"));
      framing = {*length > 0 ? BodyFraming::length : BodyFraming::none, *length, true};
    }
    if (!any) return tl::unexpected(bad_response("empty Content-Length"));
  }
  return framing;
}

}  // namespace bloomwall::proxy
