// SPDX-License-Identifier: Apache-2.0
//
// The header on disk: 4096 bytes, little-endian, reserved bytes zero.
//
//  offset  size  field
//  0       8     magic              89 'B' 'W' 'F' 0D 0A 1A 0A
//  8       2     major              1; a reader refuses another
//  10      2     minor              0; a larger one may use reserved bytes, for what a reader may pass over
//  12      4     header length      4096
//  16      8     file length        bytes
//  24      8     incompatible       feature bits; a reader refuses one it does not know
//  32      8     compatible         feature bits; unknown ones are passed over
//  40      16    file id            random
//  56      16    series id          random, kept from build to build
//  72      32    series key         secret; bytes 0..7 seed the hash
//  104     8     sequence           grows within a series
//  112     8     created            seconds since 1970
//  120     8     valid until        seconds since 1970; 0: no end
//  128     2     hash id            1: XXH3-128 with seed
//  130     2     key derivation     1: key.h
//  132     2     canonicalisation   1: canonical_url.h
//  134     2     reserved
//  136     4     canonical options  1: queries by their parameters
//  140     4     converter options  as the builder was asked; for people
//  144     4     Unicode version    0x0F0000 is 15.0.0
//  148     4     section count      1..18
//  152     8     PSL time           seconds since 1970; 0: no public suffix list used
//  160     16    hash self-test     H128("bloomwall hash self-test 1")
//  176     384   kinds              16 of 24: entries u64, keys u64, sets of bits u8: 1, N 0, 7 reserved; order S X W U
//                                   Q D R N, 8 zero
//  560     8     marks              distinct (host, mark) pairs
//  568     8     hosts              distinct hosts in H
//  576     4     mark mask          bit v: mark variant v occurs
//  580     1     least labels       of host names in H
//  581     1     most labels
//  582     2     deepest directory
//  584     48    predicted errors   of a question by counts: H, P, R; by fill: H, P, R; f64 each
//  632     32    unlisted host      mean, p99, mean questions, p99 questions; f64 each
//  664     32    listed host        likewise
//  696     64    reserved           two more request classes
//  760     16    measured           samples u64, hits u64
//  776     32    exact side         SHA-256 root of the .bwx made with the file; zeros: none was
//  808     216   reserved
//  1024    2304  section table      18 of 128, see below
//  3328    704   signatures         8 of 88: algorithm u32, parameter u32, key id 16, signature 64
//  4032    48    reserved
//  4080    16    header digest      XXH3-128 of the header with this field zeroed
//
// A section entry:
//  0       4     type               header.h
//  4       4     flags              bit 0: critical; no other
//  8       8     offset             multiple of 4096, of 2 MiB where the length is 32 MiB or more
//  16      8     length             bytes
//  24      2     layout             1: 2x8 sectors, 2: 4x4; this and the next three are 0 where there are no pages
//  26      2     reserved
//  28      4     segments           1
//  32      8     pages
//  40      16    XXH3-128 root      over the XXH3-128 of the leaves
//  56      32    SHA-256 root       over the SHA-256 of the leaves
//  88      40    reserved
#include "filter/file/header_bytes.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/names.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kFileLengthOffset = 16;
constexpr std::size_t kKindsOffset = 176;
constexpr std::size_t kKindBytes = 24;
constexpr std::size_t kKindSlots = 16;
constexpr std::uint8_t sets_of_kind(std::size_t kind) { return kind < kKeyKindCount ? 1 : 0; }
constexpr std::size_t kSectionsOffset = 1024;
constexpr std::size_t kSectionBytes = 128;
constexpr std::size_t kSignaturesOffset = 3328;
constexpr std::size_t kSignatureBytes = 88;
static_assert(kSectionsOffset + kMaxSections * kSectionBytes == kSignaturesOffset);
static_assert(kSignaturesOffset + kMaxSignatures * kSignatureBytes == 4032);

// Both copy a field to or from its offset, so that one list of fields serves reading and writing. Fields are scalars
// and arrays of bytes; the machine is little-endian (key.cc asserts it).
class FieldReader {
 public:
  explicit FieldReader(const HeaderBytes& bytes) : bytes_(bytes) {}
  template <typename T>
  void operator()(std::size_t offset, T& field) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&field, bytes_.data() + offset, sizeof field);
  }

 private:
  const HeaderBytes& bytes_;
};

class FieldWriter {
 public:
  explicit FieldWriter(HeaderBytes& bytes) : bytes_(bytes) {}
  template <typename T>
  void operator()(std::size_t offset, const T& field) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(bytes_.data() + offset, &field, sizeof field);
  }

 private:
  HeaderBytes& bytes_;
};

template <typename Copy, typename HeaderType>
void copy_identity(const Copy& copy, HeaderType& h) {
  copy(8, h.major);
  copy(10, h.minor);
  copy(kFileLengthOffset, h.file_bytes);
  copy(24, h.incompatible);
  copy(32, h.compatible);
  copy(40, h.file_id);
  copy(56, h.series_id);
  copy(72, h.series_key);
  copy(104, h.sequence);
  copy(112, h.created);
  copy(120, h.valid_until);
  copy(128, h.hash_id);
  copy(130, h.key_derivation);
  copy(132, h.canonicalisation);
  copy(136, h.canonical_options);
  copy(140, h.converter_options);
  copy(144, h.unicode_version);
  copy(152, h.psl_time);
}

template <typename Copy, typename HeaderType>
void copy_contents(const Copy& copy, HeaderType& h) {
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const std::size_t at = kKindsOffset + i * kKindBytes;
    copy(at, h.kinds[i].entries);
    copy(at + 8, h.kinds[i].keys);
  }
  copy(560, h.marks);
  copy(568, h.hosts);
  copy(576, h.mark_mask);
  copy(580, h.min_labels);
  copy(581, h.max_labels);
  copy(582, h.max_depth);
}

template <typename Copy, typename ClassType>
void copy_class(const Copy& copy, std::size_t at, ClassType& c) {
  copy(at, c.mean);
  copy(at + 8, c.p99);
  copy(at + 16, c.mean_questions);
  copy(at + 24, c.p99_questions);
}

template <typename Copy, typename HeaderType>
void copy_errors(const Copy& copy, HeaderType& h) {
  auto& p = h.predicted;
  copy(584, p.host_key);
  copy(592, p.path_key);
  copy(600, p.raw_key);
  copy(608, p.host_fill);
  copy(616, p.path_fill);
  copy(624, p.raw_fill);
  copy_class(copy, 632, p.unlisted_host);
  copy_class(copy, 664, p.listed_host);
  copy(760, h.measured.samples);
  copy(768, h.measured.hits);
  copy(776, h.exact_root);
}

template <typename Copy, typename EntryType>
void copy_section(const Copy& copy, std::size_t at, EntryType& s) {
  copy(at, s.type);
  copy(at + 8, s.offset);
  copy(at + 16, s.length);
  copy(at + 24, s.geometry.layout);
  copy(at + 32, s.geometry.pages);
  copy(at + 40, s.xxh_root);
  copy(at + 56, s.sha_root);
}

template <typename Copy, typename SignatureType>
void copy_signature(const Copy& copy, std::size_t at, SignatureType& s) {
  copy(at, s.algorithm);
  copy(at + 4, s.parameter);
  copy(at + 8, s.key_id);
  copy(at + 24, s.bytes);
}

// Fields that are not a plain copy: flags and the parts that vary in number.
template <typename Copy, typename HeaderType>
void copy_all(const Copy& copy, HeaderType& h) {
  copy_identity(copy, h);
  copy_contents(copy, h);
  copy_errors(copy, h);
  for (std::size_t i = 0; i < h.sections.size(); ++i)
    copy_section(copy, kSectionsOffset + i * kSectionBytes, h.sections[i]);
  for (std::size_t i = 0; i < kMaxSignatures; ++i) {
    copy_signature(copy, kSignaturesOffset + i * kSignatureBytes, h.signatures[i]);
  }
}

Digest128 to_digest(const XXH128_hash_t& hash) {
  Digest128 out{};
  std::memcpy(out.data(), &hash.low64, 8);
  std::memcpy(out.data() + 8, &hash.high64, 8);
  return out;
}

}  // namespace

Header read_fields(const HeaderBytes& bytes) {
  const FieldReader read(bytes);
  Header h;
  h.sections.resize(std::min<std::size_t>(read_section_count(bytes), kMaxSections));
  copy_all(read, h);
  for (std::size_t i = 0; i < h.sections.size(); ++i) {
    std::uint32_t flags = 0;
    read(kSectionsOffset + i * kSectionBytes + 4, flags);
    h.sections[i].critical = (flags & 1) != 0;
  }
  return h;
}

std::uint32_t read_section_count(const HeaderBytes& bytes) {
  std::uint32_t count = 0;
  FieldReader{bytes}(kSectionCountOffset, count);
  return count;
}

bool has_only_known_rules(const HeaderBytes& bytes) {
  const FieldReader read(bytes);
  std::uint8_t sets = 0;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    read(kKindsOffset + i * kKindBytes + 16, sets);
    if (sets != sets_of_kind(i)) return false;
  }
  const auto unknown = std::span(bytes).subspan(kKindsOffset, kKindSlots * kKindBytes).subspan(kKindCount * kKindBytes);
  if (std::any_of(unknown.begin(), unknown.end(), [](std::byte b) { return b != std::byte{0}; })) return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(read_section_count(bytes), kMaxSections); ++i) {
    const std::size_t at = kSectionsOffset + i * kSectionBytes;
    SectionType type{};
    std::uint32_t flags = 0;
    std::uint32_t segments = 0;
    read(at, type);
    read(at + 4, flags);
    read(at + 28, segments);
    if ((flags & ~std::uint32_t{1}) != 0 || segments != std::uint32_t{has_pages(type)}) return false;
  }
  return true;
}

Digest128 header_digest(const HeaderBytes& bytes) {
  HeaderBytes copy = bytes;
  std::fill(copy.begin() + kDigestOffset, copy.end(), std::byte{0});
  return to_digest(XXH3_128bits(copy.data(), copy.size()));
}

HeaderBytes without_signature_section(const HeaderBytes& bytes) {
  HeaderBytes out = bytes;
  const std::vector<SectionEntry> table = read_fields(bytes).sections;
  if (table.empty() || table.back().type != SectionType::signatures) return out;
  const std::size_t left = table.size() - 1;
  std::uint64_t end = kHeaderBytes;
  for (std::size_t i = 0; i < left; ++i) end = std::max(end, table[i].offset + table[i].length);
  const auto entry = out.begin() + static_cast<std::ptrdiff_t>(kSectionsOffset + left * kSectionBytes);
  std::fill(entry, entry + kSectionBytes, std::byte{0});
  const FieldWriter write(out);
  write(kFileLengthOffset, end);
  write(kSectionCountOffset, static_cast<std::uint32_t>(left));
  write(kDigestOffset, header_digest(out));
  return out;
}

HeaderBytes with_signature_section(const HeaderBytes& bytes, const SectionEntry& section) {
  HeaderBytes out = bytes;
  const FieldWriter write(out);
  const std::uint32_t count = read_section_count(bytes);
  copy_section(write, kSectionsOffset + count * kSectionBytes, section);
  write(kFileLengthOffset, section.offset + section.length);
  write(kSectionCountOffset, count + 1);
  write(kDigestOffset, header_digest(out));
  return out;
}

HeaderBytes without_signatures(const HeaderBytes& bytes) {
  HeaderBytes out = without_signature_section(bytes);
  const auto begin = out.begin() + kSignaturesOffset;
  std::fill(begin, begin + kMaxSignatures * kSignatureBytes, std::byte{0});
  std::fill(out.begin() + kDigestOffset, out.end(), std::byte{0});
  return out;
}

HeaderBytes with_signatures(const HeaderBytes& bytes, const std::array<Signature, kMaxSignatures>& signatures) {
  HeaderBytes out = bytes;
  const FieldWriter write(out);
  for (std::size_t i = 0; i < kMaxSignatures; ++i) {
    copy_signature(write, kSignaturesOffset + i * kSignatureBytes, signatures[i]);
  }
  write(kDigestOffset, header_digest(out));
  return out;
}

Digest128 hash_self_test(const SeriesKey& key) {
  const Hash128 hash = KeyMaker(key).hash("bloomwall hash self-test 1");
  return to_digest({.low64 = hash.lo, .high64 = hash.hi});
}

std::vector<std::byte> serialise_header(const Header& header) {
  HeaderBytes bytes{};
  const FieldWriter write(bytes);
  write(0, kMagic);
  copy_all(write, header);
  write(kHeaderLengthOffset, static_cast<std::uint32_t>(kHeaderBytes));
  write(kSectionCountOffset, static_cast<std::uint32_t>(header.sections.size()));
  write(kSelfTestOffset, hash_self_test(header.series_key));
  for (std::size_t i = 0; i < kKindCount; ++i) write(kKindsOffset + i * kKindBytes + 16, sets_of_kind(i));
  for (std::size_t i = 0; i < header.sections.size(); ++i) {
    const std::size_t at = kSectionsOffset + i * kSectionBytes;
    write(at + 4, std::uint32_t{header.sections[i].critical});
    write(at + 28, std::uint32_t{has_pages(header.sections[i].type)});
  }
  write(kDigestOffset, header_digest(bytes));
  return {bytes.begin(), bytes.end()};
}

const char* to_string(SectionType type) {
  static constexpr auto kWords = name_table<SectionType, SectionType::hosts>({{SectionType::hosts, "hosts"},
                                                                              {SectionType::paths, "paths"},
                                                                              {SectionType::raw, "raw"},
                                                                              {SectionType::exceptions, "exceptions"},
                                                                              {SectionType::info, "info"},
                                                                              {SectionType::leaves, "leaves"},
                                                                              {SectionType::sketches, "sketches"},
                                                                              {SectionType::page_sums, "page sums"},
                                                                              {SectionType::signatures, "signatures"},
                                                                              {SectionType::networks, "networks"}});
  return kWords.text(type);
}

const SectionEntry* Header::find(SectionType type) const {
  const auto at =
      std::find_if(sections.begin(), sections.end(), [type](const SectionEntry& s) { return s.type == type; });
  return at == sections.end() ? nullptr : &*at;
}

}  // namespace bloomwall::filter
