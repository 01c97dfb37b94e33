// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <set>

#include "filter/release/publisher.h"

namespace bloomwall::filter {

Result<std::vector<std::string>> prune(const OriginFolder& folder, const TextOpener& open, std::size_t keep) {
  const auto rings = folder.rings();
  if (!rings) return unexpected(rings.error());
  const auto releases = folder.releases();
  if (!releases) return unexpected(releases.error());
  const auto last = releases->end() - static_cast<std::ptrdiff_t>(std::min(keep, releases->size()));
  std::set<std::uint64_t> kept(last, releases->end());
  for (const std::string& name : *rings) {
    const auto ring = folder.ring(name, open);
    if (!ring) return unexpected(ring.error());
    kept.insert(ring->release);
  }
  std::set<std::string> named;
  for (const std::uint64_t number : kept) {
    const auto release = folder.release(number, open);
    if (!release) return unexpected(release.error());
    named.insert(release->base.file);
    if (release->exact) named.insert(release->exact->file);
    if (release->delta) named.insert(release->delta->file);
  }
  const auto files = folder.files();
  if (!files) return unexpected(files.error());
  std::vector<std::string> gone;
  for (const std::uint64_t number : *releases) {
    if (!kept.contains(number)) gone.push_back(release_file(number));
  }
  std::ranges::copy_if(*files, std::back_inserter(gone),
                       [&](const std::string& file) { return !named.contains(file); });
  for (const std::string& part : gone) {
    if (auto ok = folder.remove(part); !ok) return unexpected(ok.error());
  }
  folder.remove_leftovers();
  return gone;
}

}  // namespace bloomwall::filter
