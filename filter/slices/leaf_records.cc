// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/leaf_records.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "filter/file/header_bytes.h"

namespace bloomwall::filter {
namespace {

constexpr unsigned kWordBits = 64;

// Bits from the lowest of the first octet on.
class BitWriter {
 public:
  explicit BitWriter(std::vector<std::byte>& out) : out_(out) {}
  void put(std::uint64_t bits, unsigned count) {  // count <= 64; higher bits are zero
    word_ |= bits << used_;
    const unsigned room = kWordBits - used_;
    if (count < room) {
      used_ += count;
      return;
    }
    flush_word();
    word_ = room == kWordBits ? 0 : bits >> room;
    used_ = count - room;
  }
  void put_ones(std::uint64_t count) {
    for (; count >= kWordBits; count -= kWordBits) put(~std::uint64_t{0}, kWordBits);
    put((std::uint64_t{1} << count) - 1, static_cast<unsigned>(count));
  }
  void end() {
    const std::size_t bytes = (used_ + 7) / 8;
    const auto octets = std::as_bytes(std::span(&word_, 1)).first(bytes);
    out_.insert(out_.end(), octets.begin(), octets.end());
  }

 private:
  void flush_word() {
    const auto octets = std::as_bytes(std::span(&word_, 1));
    out_.insert(out_.end(), octets.begin(), octets.end());
  }
  std::vector<std::byte>& out_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;  // < 64
};

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes), bits_(bytes.size() * 8) {}
  std::uint64_t left() const { return bits_ - at_; }
  // The number of one-bits up to a zero bit, which is taken, too; false where there is none.
  bool take_ones(std::uint64_t& count) {
    count = 0;
    while (true) {
      const std::uint64_t available = std::min<std::uint64_t>(left(), kWordBits - 8);
      if (available == 0) return false;
      const auto ones = static_cast<unsigned>(std::countr_one(peek()));
      if (ones < available) {
        count += ones;
        at_ += ones + 1;
        return true;
      }
      count += available;
      at_ += available;
    }
  }
  bool take(unsigned count, std::uint64_t& value) {  // count <= 56
    value = 0;
    if (count == 0) return true;
    if (left() < count) return false;
    value = peek() & ((std::uint64_t{1} << count) - 1);
    at_ += count;
    return true;
  }

 private:
  // At least 56 bits, zeros behind the end.
  std::uint64_t peek() const {
    std::uint64_t word = 0;
    const std::size_t octet = at_ / 8;
    std::memcpy(&word, bytes_.data() + octet, std::min(sizeof word, bytes_.size() - octet));
    return word >> at_ % 8;
  }
  std::span<const std::byte> bytes_;
  std::uint64_t bits_, at_ = 0;
};

constexpr unsigned kMostTaken = 56;

bool take_low(BitReader& bits, unsigned k, RecordValue& value) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  const unsigned first = std::min(k, kMostTaken);
  if (!bits.take(first, low) || !bits.take(k - first, high)) return false;
  value = RecordValue{high} << first | low;
  return true;
}

unsigned width_of(RecordValue value) {
  const auto high = static_cast<std::uint64_t>(value >> kWordBits);
  return high != 0 ? kWordBits + static_cast<unsigned>(std::bit_width(high))
                   : static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(value)));
}

tl::unexpected<Error> bad_records(const char* what) { return unexpected(Error{Errc::bad_section, "records", what}); }

}  // namespace

std::vector<std::byte> serialise_index(std::span<const LeafIndex> index) {
  std::vector<std::byte> out;
  out.reserve(index.size() * kLeafIndexBytes);
  for (const LeafIndex& leaf : index) {
    put(out, leaf.offset);
    put(out, leaf.records);
    put(out, std::uint32_t{leaf.k});
    put(out, leaf.sum);
  }
  return out;
}

Result<std::vector<LeafIndex>> parse_index(std::span<const std::byte> bytes, std::uint64_t record_bytes) {
  std::vector<LeafIndex> out;
  out.reserve(bytes.size() / kLeafIndexBytes);
  std::uint64_t least = 0;
  while (bytes.size() >= kLeafIndexBytes) {
    LeafIndex leaf;
    leaf.offset = take<std::uint64_t>(bytes);
    leaf.records = take<std::uint32_t>(bytes);
    const auto k = take<std::uint32_t>(bytes);
    leaf.sum = take<std::uint64_t>(bytes);
    if (k > kMostValueBits) return bad_records("the index has a parameter that is not possible");
    leaf.k = static_cast<std::uint8_t>(k);
    if (leaf.offset < least || leaf.offset > record_bytes || (out.empty() && leaf.offset != 0))
      return bad_records("the index does not ascend");
    least = leaf.offset;
    out.push_back(leaf);
  }
  if (!bytes.empty()) return bad_records("the index is not whole");
  return out;
}

LeafIndex encode_leaf(std::span<const RecordValue> values, std::vector<std::byte>& out) {
  LeafIndex leaf;
  const std::size_t begin = out.size();
  if (!values.empty()) {
    leaf.records = static_cast<std::uint32_t>(values.size());
    const RecordValue mean = values.back() / values.size();
    leaf.k = static_cast<std::uint8_t>(mean == 0 ? 0 : width_of(mean) - 1);
    const std::uint64_t low_mask = leaf.k >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << leaf.k) - 1;
    BitWriter bits(out);
    RecordValue before = 0;
    for (const RecordValue value : values) {
      const RecordValue difference = value - before;
      before = value;
      bits.put_ones(static_cast<std::uint64_t>(difference >> leaf.k));
      bits.put(0, 1);
      bits.put(static_cast<std::uint64_t>(difference) & low_mask, std::min<unsigned>(leaf.k, kWordBits));
      if (leaf.k > kWordBits) {
        const unsigned more = leaf.k - kWordBits;
        bits.put(static_cast<std::uint64_t>(difference >> kWordBits) & ((std::uint64_t{1} << more) - 1), more);
      }
    }
    bits.end();
  }
  leaf.sum = xxh64(std::span(out).subspan(begin));
  return leaf;
}

Result<void> decode_leaf(const LeafIndex& leaf, std::span<const std::byte> code, SectionKind kind, std::uint64_t pages,
                         std::vector<LeafKey>& out) {
  if (xxh64(code) != leaf.sum)
    return unexpected(Error{Errc::bad_digest, "records", "are damaged; make the file again"});
  BitReader bits(code);
  RecordValue value = 0;
  const unsigned rest = kMostValueBits + 1 - std::min<unsigned>(leaf.k, kMostValueBits);
  for (std::uint32_t i = 0; i < leaf.records; ++i) {
    std::uint64_t quotient = 0;
    RecordValue low = 0;
    if (!bits.take_ones(quotient) || !take_low(bits, leaf.k, low)) return bad_records("end too early");
    if (rest < kWordBits && quotient >> rest != 0) return bad_records("hold a value that is not possible");
    const RecordValue difference = RecordValue{quotient} << leaf.k | low;
    if (i > 0 && difference == 0) return bad_records("hold a value twice");
    value += difference;
    if (value >> value_bits(kind) != 0) return bad_records("hold a value that is not possible");
    const LeafKey key = key_of_value(kind, value);
    if (key.place.page >= pages || key.variant >= kHostVariantCount)
      return bad_records("hold a page or a variant that is not there");
    out.push_back(key);
  }
  std::uint64_t end = 0;
  if (bits.left() >= 8 || !bits.take(static_cast<unsigned>(bits.left()), end) || end != 0)
    return bad_records("are followed by more");
  return {};
}

}  // namespace bloomwall::filter
