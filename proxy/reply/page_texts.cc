// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/page_texts.h"

#include <algorithm>

#include "proxy/http/fields.h"
#include "proxy/reply/accept.h"

namespace bloomwall::proxy {
namespace {

constexpr unsigned kMostLanguageRanges = 64;

// "de-AT" and "DE" are "de"; "den" is not.
bool is_of(std::string_view range, std::string_view tag) { return same_name(range.substr(0, range.find('-')), tag); }

}  // namespace

Language choose_language(std::string_view accept_language) {
  std::array<unsigned, kLanguageTags.size()> qualities{};
  std::array<bool, kLanguageTags.size()> is_named{};
  Language best = Language::en;
  unsigned best_quality = 0, ranges = 0;
  const auto offer = [&](std::size_t index, unsigned quality) {
    is_named[index] = true;
    qualities[index] = std::max(qualities[index], quality);
    if (quality <= best_quality) return;
    best = static_cast<Language>(index);
    best_quality = quality;
  };
  for (std::string_view element; ranges < kMostLanguageRanges && next_element(accept_language, element); ++ranges) {
    const AcceptedRange range = parse_accepted(element);
    if (range.value == "*") {
      if (!is_named[0]) offer(0, range.quality);
      continue;
    }
    for (std::size_t i = 0; i < kLanguageTags.size(); ++i) {
      if (is_of(range.value, kLanguageTags[i])) offer(i, range.quality);
    }
  }
  return best;
}

std::optional<PageText> page_text_named(std::string_view name) {
  const auto found = std::ranges::find(page_texts(), name, &PageTextEntry::name);
  if (found == page_texts().end()) return std::nullopt;
  return found->text;
}

std::string filled(std::string_view text, PageTextValues values) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    out.append(text.substr(0, open));
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return out.append(text.substr(open));
    const std::string_view name = text.substr(open + 1, close - open - 1);
    for (const auto& [known, value] : values) {
      if (known == name) out.append(value);
    }
    text.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace bloomwall::proxy
