// How long a message body is: Content-Length and Transfer-Encoding, read once, strictly.
// Source: RFC 9112 section 6.3; numbers are those rules.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <tl/expected.hpp>

#include "proxy/http/fields.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

struct Framing {
  BodyFraming kind = BodyFraming::none;
  std::uint64_t length = 0;
  bool has_length = false;  // Content-Length was given, also 0
};

// Digits alone, at most 2^63-1.
std::optional<std::uint64_t> parse_length(std::string_view text);

// Requests: one Content-Length of digits alone; Transfer-Encoding is exactly "chunked", once, never in HTTP/1.0, never
// beside Content-Length. Codings we do not know: not_implemented; everything else wrong: bad_request.
tl::expected<Framing, HttpError> request_framing(std::span<const Field> fields, Version version);

// Responses, as the fields say it (whether there is a body at all depends on request and status). Content-Length lines
// and list elements must all be the same number. Transfer-Encoding must be chunked alone; beside it Content-Length does
// not count. Neither: until_close.
tl::expected<Framing, HttpError> response_framing(std::span<const Field> fields);

}  // namespace bloomwall::proxy
