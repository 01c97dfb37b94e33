// Text of foreign origin made safe for the place it is put in. One function a context; each appends, reads every octet
// once and lets nothing through that could end the context. Octets outside ASCII are escaped or passed as said.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

// HTML text and quoted attribute values. Control octets become U+FFFD; UTF-8 passes.
void append_html(std::string& out, std::string_view text);
// One component of a URL: everything but unreserved octets as %XX.
void append_percent_encoded(std::string& out, std::string_view text);
// A whole URL that may hold stray octets: everything no URL has as %XX, "%" and reserved ones kept.
void append_url(std::string& out, std::string_view url);
// The inside of a JSON string; pure ASCII, other characters of UTF-8 as \uXXXX, octets that are none as \u00XX.
void append_json(std::string& out, std::string_view text);
// An sf-string of RFC 8941 with its quotes; what it cannot hold becomes '?'.
void append_sf_string(std::string& out, std::string_view text);
// Log fields between quotes: '"', '\\', control and non-ASCII octets as \xXX.
void append_log_quoted(std::string& out, std::string_view text);
// Log fields between spaces: likewise and spaces as %XX; "-" for nothing.
void append_log_bare(std::string& out, std::string_view text);

// The other way, for a member of a form or of a query: %XX and '+' as the octets that they stand for. Nothing where an
// escape is broken.
std::optional<std::string> decode_form_text(std::string_view text);

// `url` if it is an http, https or mailto URL that needs no escaping inside a header field or attribute; else empty.
std::string_view safe_link(std::string_view url);

}  // namespace bloomwall::proxy
