// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/refang.h"

#include <array>
#include <cstddef>

#include "base/text.h"

namespace bloomwall::filter {
namespace {

struct Spelling {
  std::string_view defanged;
  std::string_view meant;
};
constexpr std::array<Spelling, 6> kDots{
    {{"[.]", "."}, {"(.)", "."}, {"{.}", "."}, {"[dot]", "."}, {"(dot)", "."}, {"{dot}", "."}}};
constexpr std::array<Spelling, 4> kAfterScheme{{{"://", "://"}, {"[:]//", "://"}, {"[://]", "://"}, {"(:)//", "://"}}};
constexpr std::array<Spelling, 4> kSchemes{
    {{"hxxps", "https"}, {"hxxp", "http"}, {"https", "https"}, {"http", "http"}}};

// The spelling that `text` begins with; null where there is none.
template <typename Spellings>
const Spelling* spelling_at(std::string_view text, const Spellings& spellings) {
  for (const Spelling& spelling : spellings) {
    if (starts_ignoring_case(text, spelling.defanged)) return &spelling;
  }
  return nullptr;
}

bool is_host_octet(char c) {
  return is_alpha(c) || is_digit(c) || c == '.' || c == '-' || c == '_' || c == '*' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string_view refanged(std::string_view text, std::string& scratch) {
  std::string_view rest = trim(text);
  bool changed = false;
  scratch.clear();
  if (const Spelling* const scheme = spelling_at(rest, kSchemes); scheme != nullptr) {
    const std::string_view behind = rest.substr(scheme->defanged.size());
    if (const Spelling* const colon = spelling_at(behind, kAfterScheme); colon != nullptr) {
      changed = scheme->defanged != scheme->meant || colon->defanged != colon->meant;
      scratch.append(scheme->meant).append(colon->meant);
      rest = behind.substr(colon->defanged.size());
    }
  }
  while (!rest.empty()) {
    if (const Spelling* const dot = spelling_at(rest, kDots); dot != nullptr) {
      scratch.append(dot->meant);
      rest.remove_prefix(dot->defanged.size());
      changed = true;
    } else if (is_host_octet(rest.front())) {
      scratch.push_back(rest.front());
      rest.remove_prefix(1);
    } else {
      break;
    }
  }
  if (!changed) return text;
  // Some writers spell the dots of the path so, too.
  for (const std::string_view dot = kDots.front().defanged; !rest.empty();) {
    const std::size_t at = rest.find(dot);
    scratch.append(rest.substr(0, at));
    if (at == std::string_view::npos) break;
    scratch.push_back('.');
    rest.remove_prefix(at + dot.size());
  }
  return scratch;
}

}  // namespace bloomwall::filter
