// Escapes that are none by RFC 3986 and that some servers decode, and octets at which a target ends that a server
// writes decoded into a request line. All functions take bytes of any value and time linear in their text. Thread-safe.
// Sources: Jetty 9.4 (URIUtil.decodePath, TypeUtil.convertHexDigit), the documentation of IIS, nginx ($uri).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bloomwall::filter {

// Whether a path as spelt holds "%uXXXX", at any depth of decoding, with digits as loose as some servers take them.
// `decoded` is scratch space.
bool holds_odd_escape(std::string_view path, std::string& decoded);

// Appends `query` with its "%uXXXX" as UTF-8. It is canonical, so their '%' stands escaped in it ("%25u0065"). Each
// half of a surrogate pair becomes three octets: no entry holds such text.
void append_unicode_escapes_decoded(std::string_view query, std::string& out);

// Where the first escape of an octet <= 0x20 or of '#' stands in canonical text, or npos.
std::size_t target_end(std::string_view text);

}  // namespace bloomwall::filter
