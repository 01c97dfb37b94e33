// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/user_name.h"

#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "conf/config.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostUnits = 20 * kMostUserName;  // the longest that one code point becomes is 18

template <typename T>
std::int32_t size_of(const T& buffer) {
  return static_cast<std::int32_t>(buffer.size());
}

// Nothing: it is no UTF-8.
std::optional<std::string> fold_unicode(std::string_view name) {
  std::array<UChar, kMostUserName> units{};
  std::array<UChar, kMostUnits> folded{};
  std::array<char, 3 * kMostUnits> octets{};
  UErrorCode status = U_ZERO_ERROR;
  std::int32_t size = 0;
  u_strFromUTF8(units.data(), size_of(units), &size, name.data(), static_cast<std::int32_t>(name.size()), &status);
  const UNormalizer2* const fold = unorm2_getNFKCCasefoldInstance(&status);
  size = unorm2_normalize(fold, units.data(), size, folded.data(), size_of(folded), &status);
  std::int32_t bytes = 0;
  u_strToUTF8(octets.data(), size_of(octets), &bytes, folded.data(), size, &status);
  if (U_FAILURE(status)) return std::nullopt;
  return std::string(octets.data(), static_cast<std::size_t>(bytes));
}

std::string join_words(std::string_view text) {
  std::string out;
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    if (!out.empty()) out.push_back(' ');
    out.append(word);
  }
  return out;
}

}  // namespace

std::optional<std::string> fold_user_name(std::string_view name) {
  if (name.size() > kMostUserName) return std::nullopt;
  std::string text(name);
  make_lower(text);
  const bool is_ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!is_ascii) text = fold_unicode(name).value_or(std::move(text));
  text = join_words(text);
  if (text.empty() || text.size() > kMostUserName) return std::nullopt;
  return text;
}

std::optional<std::string> fold_principal_name(std::string_view name) {
  const std::size_t at = std::min(name.rfind('@'), name.size());
  auto folded = fold_user_name(name.substr(0, at));
  if (!folded || folded->size() + name.size() - at > kMostUserName) return std::nullopt;
  return folded->append(name.substr(at));
}

NameSources NameSources::of(const conf::Authentication& logins, std::span<const conf::Answers> doors) {
  return {.has_passwords = !logins.basic_helper.command.empty(),
          .has_tickets = !logins.negotiate_helper.command.empty(),
          .has_askers = std::ranges::any_of(doors, &conf::Answers::users),
          .case_sensitive = logins.case_sensitive};
}

std::vector<std::string> NameSources::other_names(std::string_view written) const {
  std::vector<std::string> names;
  if (case_sensitive) return names;
  const auto add = [&](const std::optional<std::string>& name) {
    if (name && *name != written && std::ranges::find(names, *name) == names.end()) names.push_back(*name);
  };
  if (has_passwords || has_askers) add(fold_user_name(written));
  if (has_tickets) add(fold_principal_name(written));
  return names;
}

}  // namespace bloomwall::proxy
