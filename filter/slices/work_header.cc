// SPDX-License-Identifier: Apache-2.0
//
//  offset  size     field
//  0       8        magic           89 'B' 'W' 'W' 0D 0A 1A 0A
//  8       2        major           1
//  10      2        kind            1 geometry, 2 count, 3 records, 4 part
//  12      4        flags           0
//  16      8        file length
//  24      16       series id
//  40      16       geometry id     geometry_id_of()
//  56      4, 4     number, of how many (geometry: 0, 0)
//  64      16       content id      SHA-256 of this header without octets 64 to 79 and 4080 to 4095, its first half
//  80      16       set id          of a part
//  96      32       known good
//  128     32       reading         as in a filter
//  192     3 x 32   H, P, R         type u32, layout u32, pages u64, first leaf u64, leaves u64
//  1024    16 x 64  sections        type u32, zero u32, offset u64, length u64, XXH3-128 16, 24 zero
//  4080    16       digest          XXH3-128 of octets 0 to 4079
#include "filter/slices/work_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "filter/file/header_bytes.h"

namespace bloomwall::filter {
namespace {

constexpr std::array<std::uint8_t, 8> kWorkMagic{0x89, 'B', 'W', 'W', '\r', '\n', 0x1a, '\n'};
constexpr std::uint16_t kWorkMajor = 1;
constexpr std::size_t kContentAt = 64;
constexpr std::size_t kReadingAt = 128;
constexpr std::size_t kSpansAt = 192;
constexpr std::size_t kSpanBytes = 32;
constexpr std::size_t kSpansEnd = kSpansAt + kPageSections.size() * kSpanBytes;
constexpr std::size_t kTableAt = 1024;
constexpr std::size_t kEntryBytes = 64;
constexpr std::size_t kTableEnd = kTableAt + kMostWorkSections * kEntryBytes;
constexpr std::string_view kGeometryDomain = "bloomwall geometry 1\n";

tl::unexpected<Error> bad_work(Errc code, std::string field, std::string what) {
  return unexpected(Error{code, std::move(field), std::move(what)});
}

template <typename T>
void put_at(HeaderBytes& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <typename T>
T get_at(const HeaderBytes& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

FileId first_half(const Sha256& digest) {
  FileId out{};
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

FileId content_id_of(const HeaderBytes& bytes) {
  const std::span<const std::byte> all(bytes);
  Sha256Stream digest;
  digest.add(all.first(kContentAt));
  digest.add(all.subspan(kContentAt + sizeof(FileId), kDigestOffset - kContentAt - sizeof(FileId)));
  return first_half(digest.finish());
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

// Which sections a file of a kind must have, and which it may have, as bits.
constexpr std::uint32_t bit_of(WorkSection type) { return 1U << static_cast<std::uint32_t>(type); }
constexpr std::uint32_t kHeadMust =
    bit_of(WorkSection::sketches) | bit_of(WorkSection::info) | bit_of(WorkSection::entries);
constexpr std::uint32_t kHeadMay = kHeadMust | bit_of(WorkSection::networks);
struct Wanted {
  std::uint32_t must = 0, may = 0;
};
constexpr Wanted wanted_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::geometry:
      return {bit_of(WorkSection::sketches), bit_of(WorkSection::sketches)};
    case WorkKind::count:
      return {kHeadMust, kHeadMay};
    case WorkKind::records:
      return {kHeadMust | bit_of(WorkSection::index),
              kHeadMay | bit_of(WorkSection::index) | bit_of(WorkSection::records) | bit_of(WorkSection::known_good) |
                  bit_of(WorkSection::exceptions)};
    case WorkKind::part: {
      constexpr std::uint32_t kAll = bit_of(WorkSection::pages) | bit_of(WorkSection::digests) |
                                     bit_of(WorkSection::page_sums) | bit_of(WorkSection::fills);
      return {0, kAll};
    }
  }
  return {};
}

}  // namespace

const char* to_string(WorkKind kind) {
  switch (kind) {
    case WorkKind::geometry:
      return "a geometry (.bwg)";
    case WorkKind::count:
      return "a count (.bwk)";
    case WorkKind::records:
      return "records (.bwr)";
    case WorkKind::part:
      return "a part (.bwp)";
  }
  return "unknown";
}

ReadingOctets reading_octets(const Header& header) {
  HeaderBytes bytes{};
  const std::vector<std::byte> all = serialise_header(header);
  std::copy_n(all.begin() + kReadingAt, sizeof(ReadingOctets), bytes.begin() + kReadingAt);
  put_at(bytes, kSectionCountOffset, std::uint32_t{0});
  return get_at<ReadingOctets>(bytes, kReadingAt);
}

const WorkEntry* WorkHeader::find(WorkSection type) const {
  const auto at = std::ranges::find(sections, type, &WorkEntry::type);
  return at == sections.end() ? nullptr : &*at;
}

Header WorkHeader::filter_header() const {
  HeaderBytes bytes{};
  put_at(bytes, kReadingAt, reading);
  const Header from = read_fields(bytes);
  Header out;
  out.series_id = series_id;
  out.hash_id = from.hash_id;
  out.key_derivation = from.key_derivation;
  out.canonicalisation = from.canonicalisation;
  out.canonical_options = from.canonical_options;
  out.converter_options = from.converter_options;
  out.unicode_version = from.unicode_version;
  out.psl_time = from.psl_time;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto& g = spans[i].geometry;
    if (g) out.sections.push_back({.type = kPageSections[i], .critical = true, .length = g->bytes(), .geometry = *g});
  }
  return out;
}

LeafSpans all_leaves(const Geometries& geometries) {
  LeafSpans out;
  const std::array each{geometries.hosts, geometries.paths, geometries.raw};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].geometry = each[i];
    out[i].count = out[i].all();
  }
  return out;
}

Geometries geometries_of(const LeafSpans& spans) {
  return {.hosts = spans[0].geometry, .paths = spans[1].geometry, .raw = spans[2].geometry};
}

FileId geometry_id_of(const WorkHeader& header) {
  std::vector<std::byte> text;
  const auto domain = std::as_bytes(std::span(kGeometryDomain));
  text.insert(text.end(), domain.begin(), domain.end());
  put(text, header.series_id);
  put(text, header.reading);
  for (std::size_t i = 0; i < header.spans.size(); ++i) {
    const Geometry g = header.spans[i].geometry.value_or(kNoGeometry);
    put(text, static_cast<std::uint32_t>(header.spans[i].geometry ? kPageSections[i] : SectionType{}));
    put(text, static_cast<std::uint32_t>(g.layout));
    put(text, g.pages);
  }
  return first_half(sha256(text));
}

FileId set_id_of(std::span<const FileId> content_ids) { return first_half(sha256(std::as_bytes(content_ids))); }

std::vector<std::byte> serialise_work(WorkHeader& header) {
  HeaderBytes bytes{};
  put_at(bytes, 0, kWorkMagic);
  put_at(bytes, 8, kWorkMajor);
  put_at(bytes, 10, header.kind);
  put_at(bytes, 16, header.file_bytes);
  put_at(bytes, 24, header.series_id);
  header.geometry_id = geometry_id_of(header);
  put_at(bytes, 40, header.geometry_id);
  put_at(bytes, 56, header.number);
  put_at(bytes, 60, header.of);
  put_at(bytes, 80, header.set_id);
  put_at(bytes, 96, header.known_good);
  put_at(bytes, kReadingAt, header.reading);
  for (std::size_t i = 0; i < header.spans.size(); ++i) {
    const LeafSpan& span = header.spans[i];
    const std::size_t at = kSpansAt + i * kSpanBytes;
    if (!span.geometry) continue;
    put_at(bytes, at, static_cast<std::uint32_t>(kPageSections[i]));
    put_at(bytes, at + 4, static_cast<std::uint32_t>(span.geometry->layout));
    put_at(bytes, at + 8, span.geometry->pages);
    put_at(bytes, at + 16, span.first);
    put_at(bytes, at + 24, span.count);
  }
  for (std::size_t i = 0; i < header.sections.size(); ++i) {
    const WorkEntry& entry = header.sections[i];
    const std::size_t at = kTableAt + i * kEntryBytes;
    put_at(bytes, at, entry.type);
    put_at(bytes, at + 8, entry.offset);
    put_at(bytes, at + 16, entry.length);
    put_at(bytes, at + 24, entry.sum);
  }
  header.content_id = content_id_of(bytes);
  put_at(bytes, kContentAt, header.content_id);
  put_at(bytes, kDigestOffset, xxh128(std::span(bytes).first(kDigestOffset)));
  return {bytes.begin(), bytes.end()};
}

namespace {

Result<LeafSpan> read_span(const HeaderBytes& bytes, std::size_t i, WorkKind kind) {
  const std::size_t at = kSpansAt + i * kSpanBytes;
  const auto type = get_at<std::uint32_t>(bytes, at);
  const auto layout = get_at<std::uint32_t>(bytes, at + 4);
  const auto pages = get_at<std::uint64_t>(bytes, at + 8);
  LeafSpan out;
  out.first = get_at<std::uint64_t>(bytes, at + 16);
  out.count = get_at<std::uint64_t>(bytes, at + 24);
  if (type == 0) {
    if (layout == 0 && pages == 0 && out.first == 0 && out.count == 0) return out;
    return bad_work(Errc::bad_header, "sizes", "of a section that is not there");
  }
  if (type != static_cast<std::uint32_t>(kPageSections[i]) || kind == WorkKind::count)
    return bad_work(Errc::bad_header, "sizes", "of a section of another type");
  if (layout != static_cast<std::uint32_t>(Layout::sectors_2x8) &&
      layout != static_cast<std::uint32_t>(Layout::lines_4x4))
    return bad_work(Errc::unsupported, "sizes", fmt::format("layout {} is not known", layout));
  if (pages == 0 || pages > kMaxPages) return bad_work(Errc::bad_header, "sizes", "no possible number of pages");
  out.geometry = Geometry{.layout = static_cast<Layout>(layout), .pages = pages};
  const bool is_whole = out.first == 0 && out.count == out.all();
  const bool fits = out.first <= out.all() && out.count <= out.all() - out.first;
  if (kind == WorkKind::part ? !fits : !is_whole)
    return bad_work(Errc::bad_header, "sizes", "leaves that are not there");
  return out;
}

Result<std::vector<WorkEntry>> read_table(const HeaderBytes& bytes, WorkKind kind, std::uint64_t file_bytes) {
  std::vector<WorkEntry> out;
  const Wanted wanted = wanted_of(kind);
  std::uint32_t seen = 0;
  std::uint64_t end = kHeaderBytes;
  for (std::size_t i = 0; i < kMostWorkSections; ++i) {
    const std::size_t at = kTableAt + i * kEntryBytes;
    const std::span<const std::byte> octets = std::span(bytes).subspan(at, kEntryBytes);
    if (is_zero(octets)) continue;
    const auto type = get_at<std::uint32_t>(bytes, at);
    const WorkEntry entry{.type = static_cast<WorkSection>(type),
                          .offset = get_at<std::uint64_t>(bytes, at + 8),
                          .length = get_at<std::uint64_t>(bytes, at + 16),
                          .sum = get_at<Xxh128>(bytes, at + 24)};
    if (type == 0 || type > kMostWorkSection)
      return bad_work(Errc::unsupported, "section", fmt::format("type {} is not known", type));
    if (i != out.size() || !is_zero(octets.subspan(4, 4)) || !is_zero(octets.subspan(40)))
      return bad_work(Errc::bad_header, "section", "reserved octets that are not zero");
    if ((wanted.may & bit_of(entry.type)) == 0 || (seen & bit_of(entry.type)) != 0)
      return bad_work(Errc::bad_header, "section", fmt::format("type {} has no place here", type));
    if (entry.offset < end || entry.offset > file_bytes || entry.length == 0 ||
        entry.length > file_bytes - entry.offset)
      return bad_work(Errc::bad_header, "section", fmt::format("type {} is outside the file or overlaps", type));
    if (has_own_sums(entry.type) && entry.sum != Xxh128{})
      return bad_work(Errc::bad_header, "section", fmt::format("type {} has a sum", type));
    seen |= bit_of(entry.type);
    end = entry.offset + entry.length;
    out.push_back(entry);
  }
  if ((seen & wanted.must) != wanted.must) return bad_work(Errc::bad_header, "section", "one is missing");
  if (end != file_bytes) return bad_work(Errc::bad_header, "file length", "is not the end of the last section");
  return out;
}

Result<void> check_numbers(const WorkHeader& h) {
  const bool is_numbered = h.kind != WorkKind::geometry;
  const bool fits = is_numbered ? h.number < h.of && h.of <= kMostSlices : h.number == 0 && h.of == 0;
  if (!fits) return bad_work(Errc::bad_header, "number", fmt::format("{} of {}", h.number, h.of));
  if (h.kind != WorkKind::part && h.set_id != FileId{})
    return bad_work(Errc::bad_header, "set id", "is of parts alone");
  const bool is_bare = h.kind == WorkKind::geometry || h.kind == WorkKind::count;
  if (is_bare && h.known_good != Sha256{}) return bad_work(Errc::bad_header, "known good", "is of records and parts");
  const Header f = h.filter_header();
  if (f.hash_id != 1 || f.key_derivation != 1 || f.canonicalisation != 1 || f.canonical_options > kQueriesByParameters)
    return bad_work(Errc::unsupported, "reading", "a hash, derivation or option that is not known");
  if (h.kind != WorkKind::count && f.sections.empty()) return bad_work(Errc::bad_header, "sizes", "no section");
  return {};
}

}  // namespace

bool is_work_file(std::span<const std::byte> head) {
  return head.size() >= kWorkMagic.size() && std::memcmp(head.data(), kWorkMagic.data(), kWorkMagic.size()) == 0;
}

Result<WorkHeader> parse_work(std::span<const std::byte> head, std::uint64_t file_bytes) {
  if (!is_work_file(head)) return bad_work(Errc::bad_magic, {}, "is no file of a build in slices");
  if (head.size() < kHeaderBytes || file_bytes < kHeaderBytes)
    return bad_work(Errc::too_short, {}, "is shorter than its header");
  HeaderBytes bytes{};
  std::copy_n(head.begin(), kHeaderBytes, bytes.begin());
  if (get_at<std::uint16_t>(bytes, 8) != kWorkMajor)
    return bad_work(Errc::unsupported, "version", "is not known to this program");
  if (get_at<Xxh128>(bytes, kDigestOffset) != xxh128(std::span(bytes).first(kDigestOffset)))
    return bad_work(Errc::bad_digest, "header", "is damaged");
  WorkHeader out;
  const auto kind = get_at<std::uint16_t>(bytes, 10);
  if (kind < 1 || kind > 4 || get_at<std::uint32_t>(bytes, 12) != 0)
    return bad_work(Errc::unsupported, "header", "a kind or a flag that is not known");
  out.kind = static_cast<WorkKind>(kind);
  out.file_bytes = get_at<std::uint64_t>(bytes, 16);
  if (out.file_bytes != file_bytes) return bad_work(Errc::too_short, "file length", "is not that of the file: cut?");
  out.series_id = get_at<FileId>(bytes, 24);
  out.number = get_at<std::uint32_t>(bytes, 56);
  out.of = get_at<std::uint32_t>(bytes, 60);
  out.set_id = get_at<FileId>(bytes, 80);
  out.known_good = get_at<Sha256>(bytes, 96);
  out.reading = get_at<ReadingOctets>(bytes, kReadingAt);
  for (std::size_t i = 0; i < out.spans.size(); ++i) {
    const auto span = read_span(bytes, i, out.kind);
    if (!span) return unexpected(span.error());
    out.spans[i] = *span;
  }
  auto table = read_table(bytes, out.kind, file_bytes);
  if (!table) return unexpected(std::move(table).error());
  out.sections = *std::move(table);
  if (auto ok = check_numbers(out); !ok) return unexpected(std::move(ok).error());
  // What is neither a field nor reserved is zero, and the ids are those of the content: one header has one form.
  const std::vector<std::byte> again = serialise_work(out);
  if (!std::ranges::equal(again, bytes))
    return bad_work(Errc::bad_header, "header", "its ids or reserved octets are not as they must be");
  return out;
}

const char* difference_of(const WorkHeader& a, const WorkHeader& b) {
  if (a.series_id != b.series_id) return "another series key";
  if (a.reading != b.reading) {
    const Header x = a.filter_header();
    const Header y = b.filter_header();
    if (x.canonical_options != y.canonical_options) return "another reading of queries (--query-spellings)";
    if (x.converter_options != y.converter_options) return "lists that are read with other options";
    if (x.unicode_version != y.unicode_version) return "another version of Unicode";
    if (x.psl_time != y.psl_time) return "another public suffix list";
    return "another hash or key derivation";
  }
  for (std::size_t i = 0; i < a.spans.size(); ++i) {
    if (a.spans[i].geometry != b.spans[i].geometry) return "other sizes";
  }
  return nullptr;
}

}  // namespace bloomwall::filter
