// SPDX-License-Identifier: Apache-2.0
#include "filter/seen/key_text.h"

namespace bloomwall::filter {

KeyText::Key KeyText::of(SeenKey key, std::string_view text) {
  if (key == SeenKey::line) return {.octets = text};
  std::string_view spelling = text;
  if (spelling.ends_with('\r')) spelling.remove_suffix(1);
  if (spelling.size() > kLongestSeenUrl) return {.octets = text, .is_as_given = true};
  const CanonicalUrl& url = key == SeenKey::url ? canonicaliser_.url(spelling) : canonicaliser_.host(spelling);
  if (url.action != UrlAction::lookup || !url.has_canonical) return {.octets = text, .is_as_given = true};
  if (key == SeenKey::host) return {.octets = url.host};
  expression_ = url.expression();
  return {.octets = expression_};
}

}  // namespace bloomwall::filter
