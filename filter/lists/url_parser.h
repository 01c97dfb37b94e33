// Finds text in a line or a field that is no part of its URL: columns of a table, markup, another URL. Read as one long
// URL, which no request has, the listed URL would pass.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "filter/lists/line_parser.h"

namespace bloomwall::filter {

// Whether a line can be nothing but a URL with a scheme: none of the octets that mean anything else to a list (blanks,
// marks of comments, separators, quotes, wildcards) or that no URL is sent with. Most lines of most lists are such, and
// need no other look. One pass, 16 octets at once.
bool is_bare_url(std::string_view line);

// What is wrong with a line of a list of URLs, without its comment; empty where nothing is. Static storage.
// Columns are told from commas, semicolons and bars that belong to the URL by what follows them: dates, quoted text,
// addresses, words that feeds are full of ("online", "malware"); words alone behind a file name, a '/' or a bar. Not
// where the line goes on like a path or, in a query, like a list of values. Behind a '/' a separator begins a segment
// ("/x/,a"), unless it is one of `borders`, which most lines of the list hold, or a date or quoted text follows.
std::string_view error_in_url_line(std::string_view text, std::string_view borders = {});

// Likewise of a field of a table, which may hold any separator.
std::string_view error_in_field(std::string_view text);

// Makes an entry of a URL that has no such fault, whether it is the line or a field of it. One that was copied out of a
// page has "&amp;" where it was written '&'. Such a one may be asked for as it stands, too, so that both are entries.
enum class UrlPlace : std::uint8_t { line, field };
LineOutcome take_url(std::string_view url, UrlPlace place, EntryGate& gate);

}  // namespace bloomwall::filter
