// Fingerprints, and the pages that hold them; byte table in exact_side.h.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>

#include "filter/bits/bit_choice.h"
#include "filter/file/exact_side.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t low_bits(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

std::uint64_t tag_of(Kind kind) { return is_host_kind(kind) ? host_variant(kind) : kind == Kind::raw ? 9 : 8; }

// At most 48 bits from any bit on; the eight bytes read lie in the page because its last eight are no payload.
std::uint64_t packed_at(const std::byte* payload, std::uint64_t bit, unsigned width) {
  std::uint64_t word = 0;
  std::memcpy(&word, payload + bit / 8, sizeof word);
  return (word >> (bit % 8)) & low_bits(width);
}

void pack_at(std::byte* payload, std::uint64_t bit, std::uint64_t value) {
  std::uint64_t word = 0;
  std::memcpy(&word, payload + bit / 8, sizeof word);
  word |= value << (bit % 8);
  std::memcpy(payload + bit / 8, &word, sizeof word);
}

}  // namespace

std::uint64_t exact_fingerprint(Kind kind, const Hash128& key) {
  return bits::mix64((tag_of(kind) << 48) | ((key.lo & low_bits(29)) << 19) | (key.hi & low_bits(19))) >> 16;
}

ExactAnswer ask_exact_page(std::span<const std::byte, kExactPageBytes> page, std::uint64_t fingerprint) {
  std::uint64_t first = 0;
  std::uint16_t count = 0;
  std::uint8_t width = 0;
  std::memcpy(&first, page.data(), sizeof first);
  std::memcpy(&count, page.data() + 8, sizeof count);
  std::memcpy(&width, page.data() + 10, sizeof width);
  const bool is_sound = count != 0 && width <= kExactBits && std::uint64_t{count} * width <= kExactPayloadBits &&
                        (width != 0 || count == 1) && first <= low_bits(kExactBits);
  if (!is_sound) return ExactAnswer::unknown;
  if (fingerprint < first) return ExactAnswer::refuted;
  const std::uint64_t wanted = fingerprint - first;
  const std::byte* const payload = page.data() + kExactPageHead;
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::uint64_t value = packed_at(payload, middle * width, width);
    if (value == wanted) return ExactAnswer::confirmed;
    if (value < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return ExactAnswer::refuted;
}

bool ExactPageWriter::add(std::uint64_t fingerprint) {
  if (!fingerprints_.empty()) {
    const auto width = static_cast<std::uint64_t>(std::bit_width(fingerprint - first()));
    if ((fingerprints_.size() + 1) * width > kExactPayloadBits) return false;
  }
  fingerprints_.push_back(fingerprint);
  return true;
}

std::vector<std::byte> ExactPageWriter::take() {
  std::vector<std::byte> page(kExactPageBytes);
  const auto width = static_cast<std::uint8_t>(std::bit_width(fingerprints_.back() - first()));
  const auto count = static_cast<std::uint16_t>(fingerprints_.size());
  std::memcpy(page.data(), fingerprints_.data(), 8);
  std::memcpy(page.data() + 8, &count, sizeof count);
  std::memcpy(page.data() + 10, &width, sizeof width);
  for (std::size_t i = 0; i < fingerprints_.size(); ++i) {
    pack_at(page.data() + kExactPageHead, i * width, fingerprints_[i] - first());
  }
  fingerprints_.clear();
  return page;
}

}  // namespace bloomwall::filter
