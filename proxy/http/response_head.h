// Turns the complete octets of a response head into a ResponseHead. Used by response_reader.h, which lists what is
// repaired and what is refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/http/http_error.h"
#include "proxy/http/response.h"

namespace bloomwall::proxy {

// Whether the first octets, as far as they have come, can begin a status line of HTTP/1.
bool may_start_response(std::string_view text);

// `text`: from the status line to the empty line; rewritten where it needs repair. `head` is overwritten, its views
// point into `text`; framing and keep_alive are those the fields announce, before request and status are considered.
std::optional<HttpError> parse_response_head(std::string& text, bool needs_repair, std::size_t most_fields,
                                             ResponseHead& head);

// The same head with CRLF line ends, folds joined by SP, no space before colons, and Content-Length reduced to what
// counts: none beside Transfer-Encoding, one where several lines or elements say the same number.
std::string repair_response_head(std::string_view text);

}  // namespace bloomwall::proxy
