// Turns the complete octets of a request head into a RequestHead, or into the error to answer. Used by
// request_reader.h. Checks and their statuses: the list in request_reader.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "proxy/http/http_error.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

// Whether the first octets, as far as they have come, can begin a request line.
bool may_start_request(std::string_view text);

// `text`: from the request line to the empty line, line ends checked. `head` is overwritten; its views point into
// `text`.
std::optional<HttpError> parse_request_head(std::string_view text, std::size_t most_fields, RequestHead& head);

}  // namespace bloomwall::proxy
