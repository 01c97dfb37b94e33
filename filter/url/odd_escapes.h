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

// Escapes whose digits some servers take from '0' to '?', '@' to 'F' and '`' to 'f', reckoning with what no digit is.
// Path and query as spelt, with the digits of such escapes as they are meant: "%2>" as "%2E", "%2?" (whose '?' begins
// no query) as "%2F". False: there are none.
bool append_loose_escapes_made_strict(std::string_view text, std::string& out);
bool holds_loose_escape(std::string_view text);
// To the fixpoint, as append_decoded_fully().
void append_loosely_decoded(std::string_view text, std::string& out);

// Appends `query` with its "%uXXXX" as UTF-8. It is canonical, so their '%' stands escaped in it ("%25u0065"). Each
// half of a surrogate pair becomes three octets: no entry holds such text.
void append_unicode_escapes_decoded(std::string_view query, std::string& out);

// Whether the escape at text[at] ('%') is of 0x85 or 0xA0, which are blanks to servers that read a request line as
// Latin-1, and not of a part of a longer character: behind an octet of ASCII.
bool is_blank_by_itself(std::string_view text, std::size_t at);

// Where the first escape of an octet <= 0x20, of '#' or of such a blank stands in canonical text, or npos.
std::size_t target_end(std::string_view text);

// Likewise where the octet itself stands in decoded text, or its size.
std::size_t decoded_target_end(std::string_view text);

}  // namespace bloomwall::filter
