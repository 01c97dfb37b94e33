// SPDX-License-Identifier: Apache-2.0
#include "filter/file/read_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kBits = 64;

// Where the digests of this section's leaves begin among those of all sections.
std::uint64_t first_leaf_of(const Header& header, SectionType type) {
  std::uint64_t first = 0;
  for (const SectionEntry& section : header.sections) {
    if (section.type == type) break;
    if (has_leaf_records(section.type)) first += leaf_count(section.length);
  }
  return first;
}

}  // namespace

Result<std::unique_ptr<ReadCheck>> ReadCheck::make(const FilterFile& file) {
  std::unique_ptr<ReadCheck> out(new ReadCheck(file));
  auto sums = file.read_page_sums();
  if (!sums) return unexpected(std::move(sums).error());
  out->sums_ = *std::move(sums);
  if (!out->sums_.empty()) {
    out->count_pieces(file.header().file_bytes / kPageBytes + 1);
    return out;
  }
  const auto bytes = file.checked_section(*file.header().find(SectionType::leaves));
  if (!bytes) return unexpected(bytes.error());
  out->leaves_.resize(bytes->size() / sizeof(LeafDigest));
  if (!out->leaves_.empty()) std::memcpy(out->leaves_.data(), bytes->data(), out->leaves_.size() * sizeof(LeafDigest));
  out->count_pieces(out->leaves_.size());
  return out;
}

std::optional<Error> ReadCheck::check(std::uint64_t offset) {
  const auto& sections = file_.header().sections;
  const auto section = std::find_if(sections.begin(), sections.end(), [&](const SectionEntry& one) {
    return has_pages(one.type) && offset >= one.offset && offset - one.offset < one.length;
  });
  if (section == sections.end()) return std::nullopt;
  const std::uint64_t at = !sums_.empty()
                               ? offset / kPageBytes
                               : first_leaf_of(file_.header(), section->type) + (offset - section->offset) / kLeafBytes;
  const std::uint64_t bit = std::uint64_t{1} << at % kBits;
  if (at < pieces_ && (checked_[at / kBits].load(std::memory_order_acquire) & bit) != 0) return std::nullopt;
  std::optional<Error> wrong = compare(*section, offset);
  if (wrong) {
    note(*wrong);
  } else if (at < pieces_) {
    checked_[at / kBits].fetch_or(bit, std::memory_order_release);
  }
  return wrong;
}

// Pages of a file that was cut, or whose disk failed, are lost: what they should have been is not known.
void ReadCheck::note(const Error& wrong) {
  if (file_.lost()) return;
  const std::lock_guard lock(mutex_);
  if (!damage_) damage_ = wrong;
  is_damaged_.store(true, std::memory_order_release);
}

void ReadCheck::count_pieces(std::uint64_t pieces) {
  pieces_ = pieces;
  checked_ = std::vector<std::atomic<std::uint64_t>>(pieces / kBits + 1);
}

std::optional<Error> ReadCheck::compare(const SectionEntry& section, std::uint64_t offset) const {
  const auto bytes = file_.section_bytes(section.type);
  const std::uint64_t within = offset - section.offset;
  const std::uint64_t piece = !sums_.empty() ? kPageBytes : kLeafBytes;
  const std::uint64_t begin = within / piece * piece;
  const auto part = bytes.subspan(begin, std::min(piece, bytes.size() - begin));
  bool holds = false;
  if (!sums_.empty()) {
    holds = sums_.matches(section.offset + begin, part);
  } else {
    const std::uint64_t leaf = first_leaf_of(file_.header(), section.type) + begin / kLeafBytes;
    holds = leaf < leaves_.size() && leaves_[leaf].xxh == xxh128(part);
  }
  if (holds) return std::nullopt;
  const std::uint64_t from = section.offset + begin;
  return Error{Errc::bad_digest, file_.path().string(),
               fmt::format("section {} is damaged within bytes {} to {}; fetch or build the file again",
                           to_string(section.type), from, from + part.size() - 1)};
}

std::optional<Error> ReadCheck::damage() const {
  if (!is_damaged_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return damage_;
}

}  // namespace bloomwall::filter
