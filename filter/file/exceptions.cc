// SPDX-License-Identifier: Apache-2.0
#include "filter/file/exceptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace bloomwall::filter {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are written as they lie in memory");

constexpr std::array<char, 4> kMagic{'B', 'W', 'E', '1'};
constexpr KindMask kAllKinds = (KindMask{1} << kKeyKindCount) - 1;

template <typename T>
T read_at(std::span<const std::byte> bytes, std::size_t at) {
  T out{};
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

template <typename T>
void append(std::vector<std::byte>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

tl::unexpected<Error> bad(std::string what) {
  return unexpected(Error{Errc::bad_section, "exceptions", std::move(what)});
}

// Host kinds may stand together, a key of P or R has one kind.
bool is_possible(KindMask kinds) {
  if (kinds == 0 || (kinds & ~kAllKinds) != 0) return false;
  return (kinds & kHostKindMask) != 0 ? (kinds & ~kHostKindMask) == 0 : std::has_single_bit(kinds);
}

}  // namespace

Result<Exceptions> Exceptions::parse(std::span<const std::byte> section) {
  if (section.size() < kExceptionHeaderBytes) return bad("too short");
  if (std::memcmp(section.data(), kMagic.data(), kMagic.size()) != 0) return bad("not a section of exceptions");
  if (read_at<std::uint32_t>(section, 4) != kExceptionBytes) return bad("records of an unknown size");
  const auto count = read_at<std::uint64_t>(section, 8);
  const std::span<const std::byte> records = section.subspan(kExceptionHeaderBytes);
  if (count == 0 || count > kMaxExceptions || records.size() % kExceptionBytes != 0 ||
      records.size() / kExceptionBytes != count) {
    return bad(fmt::format("{} records in {} bytes", count, section.size()));
  }
  std::vector<Exception> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> record = records.subspan(i * kExceptionBytes, kExceptionBytes);
    out[i].key = {.lo = read_at<std::uint64_t>(record, 8), .hi = read_at<std::uint64_t>(record, 0)};
    out[i].kinds = read_at<std::uint32_t>(record, 16);
    if (!is_possible(out[i].kinds) || read_at<std::uint32_t>(record, 20) != 0) return bad("a record of no known kind");
    if (i > 0 && !in_file_order(out[i - 1].key, out[i].key)) return bad("records out of order");
  }
  return Exceptions(std::move(out));
}

KindMask Exceptions::of(const Hash128& key) const {
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), key,
                                   [](const Exception& e, const Hash128& k) { return in_file_order(e.key, k); });
  return at != sorted_.end() && at->key == key ? at->kinds : 0;
}

std::vector<std::byte> serialise_exceptions(std::span<const Exception> sorted) {
  std::vector<std::byte> out;
  if (sorted.empty()) return out;
  out.reserve(kExceptionHeaderBytes + sorted.size() * kExceptionBytes);
  append(out, kMagic);
  append(out, static_cast<std::uint32_t>(kExceptionBytes));
  append(out, static_cast<std::uint64_t>(sorted.size()));
  for (const Exception& e : sorted) {
    append(out, e.key.hi);
    append(out, e.key.lo);
    append(out, e.kinds);
    append(out, std::uint32_t{0});
  }
  return out;
}

}  // namespace bloomwall::filter
