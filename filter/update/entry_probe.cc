// SPDX-License-Identifier: Apache-2.0
#include "filter/update/entry_probe.h"

#include "filter/keys/entry_keys.h"

namespace bloomwall::filter {

bool may_hold(const FilterFile& file, const Entry& entry) {
  const KeyMaker& keys = file.keys();
  const EntryKeys made = keys_of(keys, entry, entry.kind == Kind::raw ? Hash128{} : keys.host(entry.host));
  const auto asks = [&](const SectionView& section, const Hash128& key, Variant variant) {
    return section && section.test(section.place(key), variant);
  };
  if (entry.kind == Kind::raw) return asks(file.raw(), made.key, 0);
  if (is_host_kind(entry.kind)) return asks(file.hosts(), made.host, made.host_variant);
  return asks(file.hosts(), made.host, made.host_variant) && asks(file.paths(), made.key, 0);
}

}  // namespace bloomwall::filter
