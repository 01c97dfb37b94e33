// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/zone_record.h"

#include <algorithm>

#include "base/text.h"

namespace bloomwall::filter {
namespace {

bool is_ttl(std::string_view word) {
  return !word.empty() && is_digit(word.front()) && std::all_of(word.begin(), word.end(), [](char c) {
    return is_digit(c) || std::string_view("smhdw").find(to_lower(c)) != std::string_view::npos;
  });
}

bool is_class(std::string_view word) {
  return equals_ignoring_case(word, "IN") || equals_ignoring_case(word, "CH") || equals_ignoring_case(word, "HS");
}

std::string_view without_last_dot(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

bool is_under(std::string_view name, std::string_view zone) {
  return name.size() > zone.size() && name[name.size() - zone.size() - 1] == '.' &&
         equals_ignoring_case(name.substr(name.size() - zone.size()), zone);
}

}  // namespace

void ZoneReader::add_word(std::string_view word) {
  if (!word.empty() && count_ < kMaxWords) words_[count_++] = word;
}

// Cuts `text` into words and counts parentheses. False where one is closed that was not open.
bool ZoneReader::split(std::string_view text) {
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (c == '"') quoted = !quoted;
    if (quoted && i < text.size()) continue;
    const bool ends = is_blank(c) || c == ';' || c == '(' || c == ')';
    if (!ends) continue;
    add_word(text.substr(start, i - start));
    start = i + 1;
    if (c == ';') return true;
    depth_ += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth_ < 0) return false;
  }
  return true;
}

ZoneLine ZoneReader::line(std::string_view text) {
  const bool starts_record = depth_ == 0;
  count_ = 0;
  if (starts_record) {
    held_.clear();
    held_lines_ = 0;
    inherits_ = !text.empty() && is_blank(text.front());
  }
  if (!split(text)) {
    depth_ = 0;
    return ZoneLine::damaged;
  }
  if (!starts_record || depth_ > 0) return hold();
  if (count_ == 0) return trim(text).empty() ? ZoneLine::blank : ZoneLine::comment;
  return words_[0].starts_with('$') && !inherits_ ? directive() : read_record();
}

ZoneLine ZoneReader::hold() {
  for (std::size_t i = 0; i < count_; ++i) held_.append(words_[i]).push_back(' ');
  ++held_lines_;
  if (depth_ > 0) {
    if (held_.size() <= kMaxHeld && held_lines_ <= kMaxLines) return ZoneLine::open;
    depth_ = 0;
    return ZoneLine::never_closed;
  }
  count_ = 0;
  split(held_);
  depth_ = 0;  // quotes left open on one line may have hidden a parenthesis that shows now
  return count_ == 0 ? ZoneLine::damaged : read_record();
}

ZoneLine ZoneReader::directive() {
  if (equals_ignoring_case(words_[0], "$TTL")) return ZoneLine::directive;
  if (!equals_ignoring_case(words_[0], "$ORIGIN")) return ZoneLine::unread;
  if (count_ < 2) return ZoneLine::damaged;
  const bool relative = !words_[1].ends_with('.') && !origin_.empty();
  std::string origin{without_last_dot(words_[1])};
  if (relative) origin.append(".").append(origin_);
  origin_ = origin;
  if (zone_.empty()) zone_ = origin_;
  return ZoneLine::directive;
}

// The owner as it is under the zone. The result lives in owner_ or in the line.
std::string_view ZoneReader::resolve(std::string_view owner) {
  if (owner == "@") {
    owner_ = origin_;
  } else if (owner.ends_with('.')) {
    owner_ = without_last_dot(owner);
  } else {
    owner_ = owner;
    if (!origin_.empty()) owner_.append(".").append(origin_);
  }
  return owner_;
}

ZoneLine ZoneReader::read_record() {
  std::size_t at = inherits_ ? 0 : 1;
  if (!inherits_) resolve(words_[0]);
  for (int i = 0; i < 2 && at < count_ && (is_ttl(words_[at]) || is_class(words_[at])); ++i) ++at;
  if (at >= count_) return ZoneLine::damaged;
  record_.type = words_[at];
  record_.data = at + 1 < count_ ? words_[at + 1] : std::string_view{};
  if (zone_.empty() && equals_ignoring_case(record_.type, "SOA")) zone_ = owner_;
  std::string_view owner = owner_;
  if (!zone_.empty() && equals_ignoring_case(owner, zone_)) {
    owner = {};
  } else if (!zone_.empty() && is_under(owner, zone_)) {
    owner.remove_suffix(zone_.size() + 1);
  }
  record_.owner = owner;
  // A name without its last dot is one in the zone, and another.
  record_.owner_is_data =
      !owner.empty() && record_.data.ends_with('.') && equals_ignoring_case(without_last_dot(record_.data), owner);
  return ZoneLine::record;
}

}  // namespace bloomwall::filter
