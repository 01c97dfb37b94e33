// SPDX-License-Identifier: Apache-2.0
#include "filter/url/url_split.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::array<std::string_view, 5> kSchemes{"http", "https", "ws", "wss", "ftp"};

bool is_slash(char c) { return c == '/' || c == '\\'; }

void note(UrlReason reason, SplitUrl& split) {
  if (split.reason == UrlReason::none) split.reason = reason;
}

bool goes(char c) { return c == '\t' || c == '\r' || c == '\n'; }

// A loop without branches, which compilers turn into vector code.
bool has_any_that_goes(std::string_view text) {
  unsigned found = 0;
  for (const char c : text) {
    found |= static_cast<unsigned>(c == '\t') | static_cast<unsigned>(c == '\r') | static_cast<unsigned>(c == '\n');
  }
  return found != 0;
}

// Step 1.
std::string_view clean(std::string_view raw, std::string& cleaned, SplitUrl& split) {
  raw = trim_controls(raw);
  if (!has_any_that_goes(raw)) return raw;
  note(UrlReason::control_octet, split);
  cleaned.clear();
  std::remove_copy_if(raw.begin(), raw.end(), std::back_inserter(cleaned), goes);
  return cleaned;
}

std::string_view known_scheme(std::string_view name) {
  for (const std::string_view scheme : kSchemes) {
    if (std::equal(scheme.begin(), scheme.end(), name.begin(), name.end(),
                   [](char a, char b) { return a == to_lower(b); })) {
      return scheme;
    }
  }
  return {};
}

// "8080", "8080/x" after the colon of "host:8080", which looks like a scheme.
bool begins_with_port(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits != 0 &&
         (digits == text.size() || std::string_view("/?\\").find(text[digits]) != std::string_view::npos);
}

// Step 3. What follows the scheme and its two slashes; nothing where the URL has no meaning here.
std::optional<std::string_view> cut_scheme(std::string_view url, SplitUrl& split) {
  split.scheme = kSchemes[0];
  std::size_t end = 0;
  while (end < url.size() && (is_alpha(url[end]) || (end != 0 && (is_digit(url[end]) || url[end] == '+' ||
                                                                  url[end] == '-' || url[end] == '.')))) {
    ++end;
  }
  if (end == 0 || end == url.size() || url[end] != ':') return url;
  const std::string_view known = known_scheme(url.substr(0, end));
  const std::string_view after = url.substr(end + 1);
  if (known.empty()) {
    if (begins_with_port(after)) return url;
    return std::nullopt;
  }
  if (after.size() < 2 || !is_slash(after[0]) || !is_slash(after[1])) return std::nullopt;
  if (!after.starts_with("//")) note(UrlReason::backslash, split);
  split.scheme = known;
  return after.substr(2);
}

// Step 6. `text` follows the host: nothing, or ':' and an optional number. Any count of leading zeros is a number
// still.
bool read_port(std::string_view text, SplitUrl& split) {
  if (text.empty()) return true;
  if (text[0] != ':') return false;
  unsigned port = 0;
  for (const char c : text.substr(1)) {
    if (!is_digit(c)) return false;
    port = port * 10 + static_cast<unsigned>(c - '0');
    if (port > 65535) return false;
  }
  split.port = static_cast<std::uint16_t>(port);
  return true;
}

// Steps 5 and 6.
bool cut_authority(std::string_view authority, SplitUrl& split) {
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    note(UrlReason::userinfo, split);
    authority.remove_prefix(at + 1);
  }
  std::size_t end = 0;
  if (authority.starts_with('[')) {
    end = authority.find(']') + 1;  // npos + 1 is 0
    if (end == 0) {
      note(UrlReason::bad_ipv6, split);
      return false;
    }
  } else {
    end = std::min(authority.find(':'), authority.size());
  }
  split.host = authority.substr(0, end);
  if (read_port(authority.substr(end), split)) return true;
  note(UrlReason::bad_port, split);
  return false;
}

}  // namespace

SplitUrl split_url(std::string_view raw, std::string& cleaned) {
  SplitUrl split;
  std::string_view url = clean(raw, cleaned, split);
  url = url.substr(0, url.find('#'));  // step 2
  if (url.empty()) {
    note(UrlReason::empty, split);
    return split;
  }
  const auto after = cut_scheme(url, split);
  if (!after) {
    note(UrlReason::unknown_scheme, split);
    return split;
  }
  const auto ends_authority = [](char c) { return is_slash(c) || c == '?'; };
  const auto end = static_cast<std::size_t>(  // step 4
      std::distance(after->begin(), std::find_if(after->begin(), after->end(), ends_authority)));
  split.path_and_query = split.rest = after->substr(end);
  if (split.rest.starts_with('\\')) note(UrlReason::backslash, split);
  if (!split.rest.empty() && is_slash(split.rest[0])) split.rest.remove_prefix(1);
  split.usable = cut_authority(after->substr(0, end), split);
  return split;
}

}  // namespace bloomwall::filter
