// Hostile bytes as a whole counting filter (.bwc): the header sealed with the right digest and the feature bit of
// counters, then opened from a file, its counters counted, asked, changed in a copy and turned into bits, all of it
// verified.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/memory.h"
#include "filter/update/cell_store.h"
#include "filter/update/counting.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_file.h"

namespace {

using namespace bloomwall::filter;

using bloomwall::fuzz::require;

// Bits and counters must say the same of a key, and a key that is added and removed must leave no trace where nothing
// sticks.
void change(const Geometry& geometry, std::vector<std::byte>& cells, SectionKind kind, const Hash128& key) {
  CounterSection section(geometry, cells.data(), kind);
  const Place place = section.place(key);
  require(place.page < geometry.pages);
  const auto before = cells;
  const bool was_there = section.test(place);
  section.add(place);
  require(section.test(place));
  const bool sticks = count_cells(cells).stuck > 0;
  require(section.remove(place));
  if (!sticks) require(cells == before && section.test(place) == was_there);
  const auto bits = AnonymousMemory::make(geometry.bytes());  // of whole pages, as a section must be
  require(bits.has_value());
  cells_to_bits(cells, bits->bytes());
  const SectionView view(geometry, bits->bytes().data(), kind);
  require(view.test(view.place(key)) == section.test(place));
}

void work_on(const FilterFile& file) {
  for (const SectionEntry& entry : file.header().sections) {
    if (!has_pages(entry.type)) continue;
    const auto bytes = file.section_bytes(entry.type);
    require(bytes.size() / kCounterPageBytes == entry.geometry.pages && bytes.size() % kCounterPageBytes == 0);
    const CellCounts counts = cells_of(file, entry.type);
    require(counts.cells == bytes.size() * 2 && counts.single + counts.stuck <= counts.used &&
            counts.used <= counts.cells);
    const SectionKind kind = section_kind(entry.type);
    std::vector<std::byte> cells(bytes.begin(), bytes.end());
    const double fill = counter_fill_error(entry.geometry.layout, cells);
    require(fill >= 0 && fill <= 1);
    change(entry.geometry, cells, kind, file.keys().raw("key"));
    change(entry.geometry, cells, kind, {.lo = ~std::uint64_t{0}, .hi = ~std::uint64_t{0}});
  }
  // As an update asks before it removes anything.
  CellStore store(sections_of(file), file.header(), CellChange::probe);
  KeySink& sink = store.sink(0);
  for (const Kind kind : kKinds) {
    if (kind == Kind::network) continue;  // has no key
    const bool raw = kind == Kind::raw;
    sink.add({.kind = kind,
              .host_kind = HostKind::name,
              .host = raw ? "" : "host.example",
              .path = raw ? "key" : "/a/b/",
              .query = "q"});
  }
  sink.flush();
  const CellTally tally = store.tally();
  require(tally.entry_count() + tally.not_there + tally.no_section == kKeyKindCount);
}

void open_and_work(const std::vector<std::byte>& bytes) {
  const bloomwall::fuzz::MemoryFile in_memory(bytes);
  const auto file = FilterFile::open(in_memory.path(), Form::counters);
  require(!file || !FilterFile::open(in_memory.path()));  // it is of one form
  if (!file) return;
  require(!(*file)->hosts() && !(*file)->paths() && !(*file)->raw());
  work_on(**file);
  static_cast<void>((*file)->info());
  static_cast<void>((*file)->verify(FilterFile::Depth::tampering));
  require(!(*file)->lost());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(input.begin(), input.end());
  static_cast<void>(parse_header(file, file.size(), Form::counters));
  if (file.size() >= kHeaderBytes) {
    file[kIncompatibleOffset] |= static_cast<std::byte>(kCountersFeature);
    bloomwall::fuzz::seal(file);
    const auto header = parse_header(file, file.size(), Form::counters);
    // What is accepted must be what is written again.
    if (header && header->minor == 0) {
      const auto again = serialise_header(*header);
      require(std::equal(again.begin(), again.end(), file.begin()));
    }
  }
  open_and_work(file);
  return 0;
}
