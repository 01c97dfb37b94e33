// SPDX-License-Identifier: Apache-2.0
#include "filter/url/host_text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {
namespace {

constexpr auto kNowhere = std::string_view::npos;

// How many octets the blank of Unicode has that `text` begins with; 0 where it begins with none.
std::size_t unicode_blank(std::string_view text) {
  const auto octet = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : std::size_t{0};
  };
  const auto first = octet(0);
  if (first == 0xC2) return octet(1) == 0x85 || octet(1) == 0xA0 ? 2 : 0;
  const auto rest = octet(1) << 8U | octet(2);
  if (first == 0xE1) return rest == 0x9A80 ? 3 : 0;
  if (first == 0xE3) return rest == 0x8080 ? 3 : 0;
  if (first != 0xE2) return 0;
  const bool in_block = rest >= 0x8080 && rest <= 0x808B;  // U+2000 to U+200B
  const bool other = rest == 0x80A8 || rest == 0x80A9 || rest == 0x80AF || rest == 0x819F || rest == 0x81A0;
  return in_block || other ? 3 : 0;
}

// Likewise of the one that it ends with.
std::size_t unicode_blank_at_end(std::string_view text) {
  for (const std::size_t size : {std::size_t{2}, std::size_t{3}}) {
    if (text.size() >= size && unicode_blank(text.substr(text.size() - size)) == size) return size;
  }
  return 0;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// "##", "#@#", "#?#", "#$#", "#%#", "#@?#" and their like, which begin rules about the content of pages.
bool starts_rule_mark(std::string_view text) {
  const std::size_t end = text.find_first_not_of("@?$%", 1);
  return end <= 4 && text[end] == '#';  // kNowhere is larger
}

bool is_of_names(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view(".-_:*[]|^@,; \t").find(c) != kNowhere;
  });
}

}  // namespace

bool has_unicode_blank(std::string_view text) {
  if (is_ascii(text)) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (unicode_blank(text.substr(at)) > 0) return true;
  }
  return false;
}

std::string_view trim_all_blanks(std::string_view text) {
  text = trim(text);
  const bool may_have = !text.empty() && (static_cast<unsigned char>(text.front()) >= 0x80 ||
                                          static_cast<unsigned char>(text.back()) >= 0x80);
  if (!may_have) return text;
  for (std::size_t size = unicode_blank(text); size > 0; size = unicode_blank(text)) text = trim(text.substr(size));
  for (std::size_t size = unicode_blank_at_end(text); size > 0; size = unicode_blank_at_end(text)) {
    text = trim(text.substr(0, text.size() - size));
  }
  return text;
}

std::string with_plain_blanks(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = unicode_blank(text);
    plain.push_back(size > 0 ? ' ' : text.front());
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return plain;
}

std::string_view bare_host(std::string_view text) {
  text = trim_all_blanks(text);
  while (text.size() > 1 && (text.ends_with(',') || text.ends_with(';'))) {
    text = trim_all_blanks(text.substr(0, text.size() - 1));
  }
  return text;
}

std::string_view without_glued_comment(std::string_view text) {
  const std::size_t at = text.find('#');
  if (at == kNowhere || at == 0 || starts_rule_mark(text.substr(at))) return text;
  const std::string_view before = trim(text.substr(0, at));
  const std::string_view last = before.substr(before.find_last_of(" \t") + 1);  // npos + 1 is 0
  const bool named = has_dot(last) || last.find(':') != kNowhere;
  if (!named) return text;
  if (is_of_names(before)) return before;
  return read_address_range(bare_host(last)).outcome == RangeReading::Outcome::no_range ? text : before;
}

bool has_dot(std::string_view host) {
  if (host.find('.') != kNowhere) return true;
  if (is_ascii(host)) return false;
  for (const std::string_view dot : {"\xe3\x80\x82", "\xef\xbc\x8e", "\xef\xbd\xa1"}) {
    if (host.find(dot) != kNowhere) return true;
  }
  return false;
}

HostAndPort split_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == kNowhere || colon == 0) return {.host = text, .port = {}};
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (!bracketed && host.find_first_of(":[]") != kNowhere) return {.host = text, .port = {}};
  const std::string_view port = text.substr(colon + 1);
  if (port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return {.host = text, .port = {}};
  unsigned number = 0;
  for (const char c : port) number = number * 10 + static_cast<unsigned>(c - '0');
  if (number > 65535) return {.host = text, .port = {}};
  return {.host = host, .port = port, .has_colon = true};
}

}  // namespace bloomwall::filter
