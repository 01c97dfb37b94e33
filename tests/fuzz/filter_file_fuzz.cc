// Hostile bytes as a whole filter file: the header as it stands, then sealed with the right digest so that the checks
// behind it are reached, then opened from a file, asked, verified and its info read.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "filter/file/filter_file.h"
#include "tests/fuzz/sealed_file.h"

namespace {

using namespace bloomwall::filter;

void ask(const SectionView& section, const Hash128& key) {
  if (!section) return;
  const Place place = section.place(key);
  if (place.page >= section.geometry().pages) abort();
  section.prefetch(place);
  // Variant 0 takes the same lines whatever the line choice, so both ways of asking must agree.
  if (section.test(place) != (section.test_variants(place, 1) == 1)) abort();
  static_cast<void>(section.test_variants(place, (1U << kHostVariantCount) - 1));
}

void open_and_ask(const std::vector<std::byte>& bytes) {
  const bloomwall::fuzz::MemoryFile in_memory(bytes);
  const auto file = FilterFile::open(in_memory.path());
  if (file) {
    for (std::uint64_t i = 0; i < 64; ++i) {
      const Hash128 key = (*file)->keys().raw(std::to_string(i));
      ask((*file)->hosts(), key);
      ask((*file)->paths(), key);
      ask((*file)->raw(), {.lo = ~key.lo, .hi = ~std::uint64_t{0} * (i & 1)});
    }
    static_cast<void>((*file)->networks().find(bloomwall::IpAddress{}));
    static_cast<void>((*file)->info());
    static_cast<void>((*file)->verify(FilterFile::Depth::tampering));
    if ((*file)->lost()) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(input.begin(), input.end());
  static_cast<void>(parse_header(file, file.size()));
  static_cast<void>(parse_info(file));
  if (file.size() >= kHeaderBytes) {
    bloomwall::fuzz::seal(file);
    const auto header = parse_header(file, file.size());
    // What is accepted must be what is written again.
    if (header && header->minor == 0) {
      const auto again = serialise_header(*header);
      if (!std::equal(again.begin(), again.end(), file.begin())) abort();
    }
  }
  open_and_ask(file);
  return 0;
}
