// SPDX-License-Identifier: Apache-2.0
#include "filter/url/fast_path.h"

#include <array>
#include <cstdint>

#include "base/text.h"

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

// Offset of the first octet that is no part of the path: a '?', the end, or one that a canonical path has not.
std::size_t path_end(std::string_view url, std::size_t at) {
  char before = 'x';
  for (; at < url.size(); ++at) {
    const char c = url[at];
    if (c == '?' || c == ';' || !is_plain(kPathOctet, c)) break;
    if (before == '/' && (c == '/' || c == '.')) break;
    before = c;
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

namespace fast_path_detail {

std::size_t scheme_size(std::string_view url) {
  if (url.starts_with("http://")) return 7;
  return url.starts_with("https://") ? 8 : 0;
}

bool ends_in_digit_label(std::string_view host) {
  return is_digit(host[host.rfind('.') + 1]);  // npos + 1 is 0
}

UrlCut cut_scalar(std::string_view url) {
  const std::size_t begin = scheme_size(url);
  if (begin == 0) return {};
  std::size_t end = begin;
  while (end < url.size() && is_plain(kHostOctet, url[end])) ++end;
  if (!is_canonical_name(url.substr(begin, end - begin))) return {};
  if (end < url.size() && url[end] != '/') return {};
  UrlCut cut{.host_begin = static_cast<std::uint8_t>(begin),
             .host_end = static_cast<std::uint8_t>(end),
             .query = std::string_view::npos};
  std::size_t at = path_end(url, end);
  if (at < url.size() && url[at] == '?') {
    cut.query = at;
    while (at < url.size() && is_plain(kPathOctet, url[at])) ++at;
  }
  return at == url.size() ? cut : UrlCut{};
}

}  // namespace fast_path_detail

}  // namespace bloomwall::filter
