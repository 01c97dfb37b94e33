// One parsed response head, as views into the reader's head buffer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/fields.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

struct ResponseHead {
  int status = 0;                // 100 .. 999
  std::string_view reason = {};  // may be empty
  Version version = Version::http11;
  BodyFraming framing = BodyFraming::none;  // of the octets that follow: none for HEAD, 1xx, 204, 304
  std::uint64_t content_length = 0;
  bool has_content_length = false;  // kept also where there is no body (HEAD, 304) so that it can be forwarded
  bool keep_alive = false;          // the origin's offer
  std::vector<Field> fields = {};   // Content-Length and Transfer-Encoding included, as received
};

// How the body must be sent after the head that was written, and whether the connection closes after it.
struct ResponsePlan {
  BodyFraming framing = BodyFraming::none;
  bool close = false;
};

// Turns the complete octets of a response head into a ResponseHead. Used by http1_reader.h, which lists what is
// repaired and what is refused.

// Whether the first octets, as far as they have come, can begin a status line that is taken.
bool may_start_response(std::string_view text);

// `text`: from the status line to the empty line; rewritten where it needs repair, as `repair` may say before and says
// afterwards. `head` is overwritten, its views point into `text`; framing and keep_alive are those the fields announce,
// before request and status are considered.
std::optional<HttpError> parse_response_head(std::string& text, bool& repair, std::size_t most_fields,
                                             ResponseHead& head);

// The same head with CRLF line ends, folds joined by SP, no space before colons, one SP on either side of the status,
// control octets but NUL blank in the reason and in values that say nothing of framing, no lone `identity` as transfer
// coding and no empty element beside a lone `chunked`, "ICY" read as HTTP/1.0 and "HTTP/2.0", which programs behind
// some servers write, as HTTP/1.1, and Content-Length reduced to what counts: none beside Transfer-Encoding, one where
// several lines or elements say the same number.
std::string repair_response_head(std::string_view text);

}  // namespace bloomwall::proxy
