// Hostile bytes as the file of a set of seen keys: the header sealed with the right digest, then loaded, asked, added
// to and written again.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "filter/seen/seen_set.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_file.h"

namespace {

using namespace bloomwall::filter;
using bloomwall::fuzz::require;

void work_on(SeenSet& seen) {
  const bool is_bounded = seen.made_for().keys != 0;
  if (is_bounded) require(seen.promise(seen.made_for()).has_value());  // load() has looked at it
  KeyText texts;
  const Place place = seen.place(texts.of(seen.key(), "http://host.example/a").octets);
  require(place.page < seen.geometry().pages);
  const bool was_there = seen.holds(place);
  const Added added = seen.add(place);
  require((added == Added::seen) == was_there && (added != Added::full || is_bounded));
  require(seen.holds(place) == (added != Added::full));
  require(added == Added::full || seen.add(place) == Added::seen);
  require(seen.counts().keys >= seen.before().keys);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(input.begin(), input.end());
  if (bytes.size() >= kHeaderBytes) bloomwall::fuzz::seal(bytes);
  const bloomwall::fuzz::MemoryFile file(bytes);
  auto seen = SeenSet::load(file.path());
  if (seen) work_on(*seen);
  return 0;
}
