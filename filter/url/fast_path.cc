// SPDX-License-Identifier: Apache-2.0
#include "filter/url/fast_path.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/text.h"
#include "filter/url/odd_escapes.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

enum : std::uint8_t { kHostOctet = 1, kPathOctet = 2 };

constexpr std::array<std::uint8_t, 256> make_plain_table() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0x21; c <= 0x7E; ++c) table[c] = kPathOctet;
  table['%'] = table['#'] = table['\\'] = 0;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] |= kHostOctet;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] |= kHostOctet;
  for (const char c : {'.', '_', '-'}) table[static_cast<unsigned char>(c)] |= kHostOctet;
  return table;
}
constexpr std::array<std::uint8_t, 256> kPlainClass = make_plain_table();

bool is_plain(std::uint8_t octet_class, char c) {
  return (kPlainClass[static_cast<unsigned char>(c)] & octet_class) != 0;
}

// Offset of the first octet from `at` on that is no part of it: the end, a '?' behind a path, or an octet that no
// canonical path or query has there.
std::size_t part_end(UrlPart part, std::string_view url, std::size_t at) {
  char before = 'x';
  while (at < url.size()) {
    const char c = url[at];
    const bool is_escape = c == '%';
    if (is_escape ? !fast_path_detail::is_kept_escape(part, url, at) : !is_plain(kPathOctet, c)) break;
    if (part == UrlPart::path && (c == '?' || c == ';' || (before == '/' && (c == '/' || c == '.')))) break;
    before = c;
    at += is_escape ? 3 : 1;
  }
  return at;
}

}  // namespace

bool is_canonical_name(std::string_view host) {
  if (host.empty() || host.size() > kMaxFastHost) return false;
  char before = '.';
  for (const char c : host) {
    if (!is_plain(kHostOctet, c) || (c == '.' && before == '.')) return false;
    before = c;
  }
  return before != '.' && !fast_path_detail::ends_in_digit_label(host);
}

UrlCut cut_if_canonical(std::string_view url) {
  static const auto best = fast_path_detail::has_avx2() ? fast_path_detail::cut_avx2 : fast_path_detail::cut_scalar;
  return best(url);
}

bool is_canonical(UrlPart part, std::string_view text) {
  static const auto best =
      fast_path_detail::has_avx2() ? fast_path_detail::is_canonical_avx2 : fast_path_detail::is_canonical_scalar;
  return best(part, text);
}

namespace fast_path_detail {

std::size_t scheme_size(std::string_view url) {
  // Sizes that the compiler knows: no call of memcmp.
  if (url.size() < 8 || std::memcmp(url.data(), "http", 4) != 0) return 0;
  if (std::memcmp(url.data() + 4, "://", 3) == 0) return 7;
  return std::memcmp(url.data() + 4, "s://", 4) == 0 ? 8 : 0;
}

bool ends_in_digit_label(std::string_view host) {
  return is_digit(host[host.rfind('.') + 1]);  // npos + 1 is 0
}

PortCut read_port(std::string_view url, std::size_t host_begin, std::size_t host_end) {
  constexpr std::size_t kMostDigits = 5;
  const std::string_view text = url.substr(host_end);
  if (!text.starts_with(':')) return {};
  std::size_t size = 1;
  unsigned number = 0;
  for (; size < text.size() && size <= kMostDigits && is_digit(text[size]); ++size) {
    number = number * 10 + static_cast<unsigned>(text[size] - '0');
  }
  const bool is_number = size > 1 && number <= 65535;
  const bool is_whole = size == text.size() || text[size] == '/';
  if (!is_number || !is_whole || host_end - host_begin + size > kMaxFastHost) return {};
  return {.size = static_cast<std::uint8_t>(size), .number = static_cast<std::uint16_t>(number)};
}

bool is_kept_escape(UrlPart part, std::string_view url, std::size_t at) {
  const int octet = escape_at(url, at);
  if (octet < 0 || octet == '%' || !is_escaped_always(static_cast<char>(octet))) return false;
  if (part == UrlPart::path && (octet < 0x7F || is_blank_by_itself(url, at))) return false;
  return url[at + 1] < 'a' && url[at + 2] < 'a';
}

UrlCut cut_scalar(std::string_view url) {
  const std::size_t begin = scheme_size(url);
  if (begin == 0) return {};
  std::size_t end = begin;
  while (end < url.size() && is_plain(kHostOctet, url[end])) ++end;
  if (!is_canonical_name(url.substr(begin, end - begin))) return {};
  PortCut port;
  if (end < url.size() && url[end] != '/') {
    port = read_port(url, begin, end);
    if (port.size == 0) return {};
  }
  UrlCut cut{.host_begin = static_cast<std::uint8_t>(begin),
             .host_end = static_cast<std::uint8_t>(end),
             .port_size = port.size,
             .port = port.number,
             .query = std::string_view::npos};
  std::size_t at = part_end(UrlPart::path, url, cut.path_begin());
  if (at < url.size() && url[at] == '?') {
    cut.query = at;
    at = part_end(UrlPart::query, url, at);
  }
  return at == url.size() ? cut : UrlCut{};
}

bool is_canonical_scalar(UrlPart part, std::string_view text) { return part_end(part, text, 0) == text.size(); }

}  // namespace fast_path_detail

}  // namespace bloomwall::filter
