// What a file answers, as an id: header.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "filter/file/leaves.h"

namespace bloomwall::filter {

FileId content_id(const Header& header) {
  static constexpr std::string_view kDomain = "bloomwall content 1\n";
  Sha256Stream stream;
  stream.add(std::as_bytes(std::span(kDomain)));
  for (const SectionType type :
       {SectionType::hosts, SectionType::paths, SectionType::raw, SectionType::exceptions, SectionType::networks}) {
    const SectionEntry* const section = header.find(type);
    if (section == nullptr) continue;
    stream.add(std::as_bytes(std::span(&section->type, 1)));
    stream.add(std::as_bytes(std::span(&section->length, 1)));
    stream.add(std::as_bytes(std::span(section->sha_root)));
  }
  const Sha256 digest = stream.finish();
  FileId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

}  // namespace bloomwall::filter
