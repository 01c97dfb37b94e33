// Records: keys on their way to the pages of a file. Six bytes in P (page within a partition 13 bits, fingerprint 35 bits) and
// ten in R (fingerprint 64 bits, page 13). Where a file has both sections, all are of ten.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "filter/bits/section.h"

namespace bloomwall::filter {

inline constexpr unsigned kPartitionPageBits = 13;  // of a record: at most so many pages make a partition
inline constexpr std::size_t kRowRecords = 32;

// `page` of a place counts from the first one of its partition here. Both forms are private to one run of one build.
enum class RecordForm : std::uint8_t { paths, any };
constexpr std::size_t record_bytes(RecordForm form) { return form == RecordForm::paths ? 6 : 10; }
constexpr std::size_t row_bytes(RecordForm form) {
  return record_bytes(form) * kRowRecords;
}  // three or five cache lines

inline void put_record(RecordForm form, const Place& place, std::byte* at) {
  if (form == RecordForm::paths) {
    const std::uint64_t value = place.page << fingerprint_bits(SectionKind::paths) | place.fingerprint;
    std::memcpy(at, &value, record_bytes(RecordForm::paths));
    return;
  }
  const auto page = static_cast<std::uint16_t>(place.page);
  std::memcpy(at, &place.fingerprint, sizeof place.fingerprint);
  std::memcpy(at + sizeof place.fingerprint, &page, sizeof page);
}
inline Place place_in(RecordForm form, const std::byte* record) {
  if (form == RecordForm::paths) {
    constexpr unsigned kBits = fingerprint_bits(SectionKind::paths);
    std::uint64_t value = 0;
    std::memcpy(&value, record, record_bytes(RecordForm::paths));
    return {.page = value >> kBits, .fingerprint = value & ((std::uint64_t{1} << kBits) - 1)};
  }
  Place out;
  std::uint16_t page = 0;
  std::memcpy(&out.fingerprint, record, sizeof out.fingerprint);
  std::memcpy(&page, record + sizeof out.fingerprint, sizeof page);
  out.page = page;
  return out;
}

// Records that lie one after the other.
struct RecordRun {
  std::span<const std::byte> bytes;
  RecordForm form = RecordForm::paths;
};

}  // namespace bloomwall::filter
