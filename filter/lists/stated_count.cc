// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/stated_count.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMaxComment = 200;  // octets; longer ones are prose
constexpr std::size_t kMaxDigits = 12;

constexpr std::array<std::string_view, 20> kCounted{
    "entry",  "entries", "domain", "domains", "host",     "hosts",   "hostname", "hostnames", "rule",  "rules",
    "record", "records", "url",    "urls",    "networks", "subnets", "filters",  "blocked",   "count", "items"};
constexpr std::array<std::string_view, 18> kAround{"number",  "no",       "of",        "total",   "unique",   "active",
                                                   "the",     "all",      "list",      "amount",  "in",       "this",
                                                   "network", "blocking", "malicious", "current", "distinct", "names"};

// "85,311", "85.311", "85'311", "85311": the number, and what follows it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at]) && digits <= kMaxDigits) {
    value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    ++digits;
    ++at;
    const bool grouped = at + 3 < text.size() && (text[at] == ',' || text[at] == '.' || text[at] == '\'') &&
                         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                     text.begin() + static_cast<std::ptrdiff_t>(at) + 4, is_digit) &&
                         (at + 4 == text.size() || !is_digit(text[at + 4]));
    if (grouped) ++at;
  }
  if (digits == 0 || digits > kMaxDigits) return std::nullopt;
  const bool goes_on = at < text.size() && !is_blank(text[at]) && text[at] != ',' && text[at] != ')' &&
                       text[at] != '|' && !(text[at] == '.' && at + 1 == text.size());
  if (goes_on) return std::nullopt;  // "2026-01-01", "12:30", "1.2.3"
  text.remove_prefix(at);
  return value;
}

// A part of a comment between two bars.
std::optional<std::uint64_t> stated_in(std::string_view part) {
  bool counts = false;
  bool last_counts = false;
  std::optional<std::uint64_t> number;
  for (part = trim(part); !part.empty(); part = trim(part)) {
    if (!number && is_digit(part.front())) {
      number = take_number(part);
      if (!number) return std::nullopt;
      if (counts) return number;  // what follows is its unit
      continue;
    }
    std::size_t size = 0;
    while (size < part.size() && is_alpha(part[size])) ++size;
    const std::string_view word = part.substr(0, size);
    part.remove_prefix(size);
    if (word.empty()) {  // ':' or '=' between the words and the number, a full stop at the end
      const bool between = part.front() == ':' || part.front() == '=' || part == ".";
      if (!between) return std::nullopt;
      part.remove_prefix(1);
      continue;
    }
    last_counts = is_one_of(word, kCounted);
    if (!last_counts && !is_one_of(word, kAround)) return std::nullopt;
    counts = counts || last_counts;
  }
  return number && last_counts ? number : std::nullopt;  // "1,234 unique domains"
}

}  // namespace

std::optional<std::uint64_t> stated_count(std::string_view comment) {
  comment = trim(comment);
  if (comment.size() > kMaxComment || std::none_of(comment.begin(), comment.end(), is_digit)) return std::nullopt;
  constexpr std::string_view kDecoration = "#;!/*-=+ \t|";
  while (!comment.empty() && kDecoration.find(comment.front()) != std::string_view::npos) comment.remove_prefix(1);
  while (!comment.empty()) {
    const std::string_view part = next_part(comment, '|');
    if (const auto count = stated_in(part)) return count;
  }
  return std::nullopt;
}

}  // namespace bloomwall::filter
