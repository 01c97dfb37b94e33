// Any octets as Accept and Accept-Language: what is chosen was asked for, and the limit on ranges holds.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "proxy/reply/accept.h"
#include "proxy/reply/page_texts.h"
#include "proxy/reply/self_path.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::proxy;

using bloomwall::fuzz::require;

bool holds(std::string_view text, std::string_view word) {
  std::string small(text);
  bloomwall::make_lower(small);
  return small.find(word) != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  const std::string_view text(exact.data(), exact.size());
  const Language language = choose_language(text);
  require(language == Language::en || holds(text, tag_of(language)));
  require(choose_language("de;q=0.001," + std::string(text)) != Language::en || holds(text, "en") || holds(text, "*"));
  if (choose_media(text) == MediaType::json) require(holds(text, "application/"));
  require(parse_accepted(text).quality <= 1000);
  static_cast<void>(self_path(text));
  const std::string all = filled(text, {{"a", "{b}"}, {"b", "x"}});
  require(all.size() <= text.size() + 3);
  return 0;
}
