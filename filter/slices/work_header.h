// The header of the files between the steps of a build in slices (filter/FORMAT.md, section 16): geometry .bwg, count
// .bwk, records .bwr, part .bwp. Its fields in memory, its bytes, and what is refused.
//   count     sketches of a slice                     -> plan
//   geometry  sizes, without the series' key          -> map, build --like, assemble
//   records   keys of a slice, by leaf                -> reduce
//   part      pages of some leaves                    -> assemble
// Offsets and lengths in bytes, little-endian. Every byte is hostile; nothing here guards against who forges a file.
// Errors: bad_magic, unsupported (versions, flags, types), bad_header, bad_digest, too_short; `where` is the field.
// Threads: any. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "filter/file/header.h"
#include "filter/file/leaves.h"
#include "filter/file/prediction.h"
#include "filter/result.h"

namespace bloomwall::filter {

enum class WorkKind : std::uint16_t { geometry = 1, count = 2, records = 3, part = 4 };
const char* to_string(WorkKind kind);  // "a geometry (.bwg)"

enum class WorkSection : std::uint32_t {
  sketches = 1,
  info = 2,
  networks = 3,
  entries = 4,     // by kind, 16 u64
  known_good = 5,  // keys of known-good URLs that the slice lists, as exceptions
  index = 6,       // of `records`, by leaf
  records = 7,
  pages = 8,
  digests = 9,      // of `pages`, 48 octets a leaf
  page_sums = 10,   // u32 a page
  fills = 11,       // f64 a leaf: LeafFacts::fill
  exceptions = 12,  // what the lists of the slice except: exceptions_text()
};
inline constexpr std::uint32_t kMostWorkSection = 12;
// Their digests stand in other sections, by leaf.
constexpr bool has_own_sums(WorkSection type) { return type == WorkSection::records || type == WorkSection::pages; }

struct WorkEntry {
  WorkSection type{};
  std::uint64_t offset = 0, length = 0;
  Xxh128 sum{};
};

// H, P or R: its geometry, and the leaves of it that the file is about.
struct LeafSpan {
  std::optional<Geometry> geometry;  // none: there is no such section
  std::uint64_t first = 0, count = 0;
  std::uint64_t all() const { return geometry ? leaf_count(geometry->bytes()) : 0; }
};
inline constexpr std::array kPageSections{SectionType::hosts, SectionType::paths, SectionType::raw};
using LeafSpans = std::array<LeafSpan, kPageSections.size()>;

// Octets 128 to 159 of the header of a filter, 148 to 151 zero: hash, derivation, options, tables.
using ReadingOctets = std::array<std::byte, 32>;
ReadingOctets reading_octets(const Header& header);

struct WorkHeader {
  WorkKind kind{};
  std::uint64_t file_bytes = 0;
  FileId series_id{};
  FileId geometry_id{};              // computed: serialise_work() and parse_work() set it
  std::uint32_t number = 0, of = 0;  // slice or part
  FileId content_id{};               // computed likewise
  FileId set_id{};                   // of a part: set_id_of() all records
  Sha256 known_good{};               // KnownGood::digest(); zeros: no known-good list
  ReadingOctets reading{};
  LeafSpans spans{};
  std::vector<WorkEntry> sections;

  const WorkEntry* find(WorkSection type) const;
  // The fields of a filter's header that follow: series id, how lists are read, sections with their geometry. No key.
  Header filter_header() const;
};

inline constexpr std::size_t kMostWorkSections = 16;
inline constexpr std::uint32_t kMostSlices = 1U << 20;  // and parts

// Sets the ids; kHeaderBytes of them.
std::vector<std::byte> serialise_work(WorkHeader& header);
// `head`: the first kHeaderBytes of a file of `file_bytes`.
Result<WorkHeader> parse_work(std::span<const std::byte> head, std::uint64_t file_bytes);
bool is_work_file(std::span<const std::byte> head);  // by its magic

FileId geometry_id_of(const WorkHeader& header);
// Of all records files, in the order of their slices.
FileId set_id_of(std::span<const FileId> content_ids);
// Geometries as spans, with all leaves.
LeafSpans all_leaves(const Geometries& geometries);
Geometries geometries_of(const LeafSpans& spans);

// What of two files makes them unfit for each other, for a message; null: nothing.
const char* difference_of(const WorkHeader& a, const WorkHeader& b);

}  // namespace bloomwall::filter
