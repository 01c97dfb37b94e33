// Files of a build in slices from anywhere, with a digest that fits: what is taken has one form, its sections are in
// it, and records come out in order.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "filter/slices/leaf_records.h"
#include "filter/slices/slice_head.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_file.h"

namespace {

using namespace bloomwall::filter;

using bloomwall::fuzz::MemoryFile;
using bloomwall::fuzz::require;

// The digest that follows from the rest. Ids are those of the seeds, where nothing that they cover was changed.
void seal_work(std::vector<std::byte>& file) {
  const std::span<std::byte> head = std::span(file).first(kHeaderBytes);
  const Xxh128 digest = xxh128(head.first(kHeaderBytes - sizeof(Xxh128)));
  std::memcpy(head.data() + kHeaderBytes - sizeof digest, digest.data(), sizeof digest);
}

void read_records(const WorkFile& file) {
  const WorkEntry* const records = file.header().find(WorkSection::records);
  const auto bytes = file.section(WorkSection::index);
  if (!bytes || records == nullptr) return;
  const auto index = parse_index(*bytes, records->length);
  if (!index) return;
  for (std::size_t i = 0; i + 1 < index->size(); ++i) {
    std::vector<std::byte> code((*index)[i + 1].offset - (*index)[i].offset);
    if (!file.read_at(records->offset + (*index)[i].offset, code)) return;
    LeafIndex leaf = (*index)[i];
    leaf.sum = xxh64(code);
    for (const SectionKind kind : {SectionKind::hosts, SectionKind::paths, SectionKind::raw}) {
      std::vector<LeafKey> keys;
      if (!decode_leaf(leaf, code, kind, kPagesOfLeaf, keys)) continue;
      require(keys.size() == leaf.records);
      require(std::ranges::is_sorted(keys, [kind](const LeafKey& a, const LeafKey& b) {
        return value_of(kind, a.place, a.variant) < value_of(kind, b.place, b.variant);
      }));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (file.size() >= kHeaderBytes) seal_work(file);
  const MemoryFile named(file);
  const auto opened = WorkFile::open(named.path());
  if (!opened) {
    require(!opened.error().what.empty());
    return 0;
  }
  WorkHeader header = opened->header();
  const auto again = serialise_work(header);
  require(std::ranges::equal(again, std::span(file).first(kHeaderBytes)));
  for (const WorkEntry& entry : header.sections) require(entry.length <= size && entry.offset <= size - entry.length);
  (void)read_head(*opened);
  read_records(*opened);
  return 0;
}
