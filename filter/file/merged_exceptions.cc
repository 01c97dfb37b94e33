// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "filter/file/exceptions.h"
#include "filter/file/filter_file.h"

namespace bloomwall::filter {
namespace {

bool tests_positive(const FilterFile& file, const Hash128& key, Kind kind) {
  const bool is_host = is_host_kind(kind);
  const SectionView& section = is_host ? file.hosts() : kind == Kind::raw ? file.raw() : file.paths();
  if (!section) return false;
  return section.test(section.place(key), is_host ? host_variant(kind) : 0);
}

// Whether this input would stop what the others take for good.
bool speaks_against(const FilterFile& file, const Hash128& key, Kind kind) {
  return (file.exceptions().of(key) & kind_bit(kind)) == 0 && tests_positive(file, key, kind);
}

}  // namespace

Result<std::vector<Exception>> merged_exceptions(std::span<const FilterFile* const> inputs,
                                                 std::span<const Exception> more) {
  std::vector<Exception> all(more.begin(), more.end());
  for (const FilterFile* file : inputs) {
    const auto own = file->exceptions().all();
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end(), [](const Exception& a, const Exception& b) { return in_file_order(a.key, b.key); });
  std::vector<Exception> out;
  for (std::size_t i = 0; i < all.size();) {
    Exception merged{.key = all[i].key};
    for (; i < all.size() && all[i].key == merged.key; ++i) merged.kinds |= all[i].kinds;
    for (const Kind kind : kKinds) {
      const auto against = [&](const FilterFile* file) { return speaks_against(*file, merged.key, kind); };
      if ((merged.kinds & kind_bit(kind)) != 0 && std::any_of(inputs.begin(), inputs.end(), against)) {
        merged.kinds &= ~kind_bit(kind);
      }
    }
    if (merged.kinds != 0) out.push_back(merged);
  }
  if (out.size() > kMaxExceptions) {
    return unexpected(Error{Errc::limit, "exceptions",
                            fmt::format("{} of them, more than the {} of a file", out.size(), kMaxExceptions)});
  }
  return out;
}

}  // namespace bloomwall::filter
