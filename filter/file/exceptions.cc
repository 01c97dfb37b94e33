// SPDX-License-Identifier: Apache-2.0
#include "filter/file/exceptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "filter/file/filter_file.h"

namespace bloomwall::filter {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are written as they lie in memory");

constexpr std::array<char, 4> kExceptionsMagic{'B', 'W', 'E', '1'};
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

tl::unexpected<Error> bad_exceptions(std::string what) {
  return unexpected(Error{Errc::bad_section, "exceptions", std::move(what)});
}

// Host kinds may stand together, a key of P or R has one kind.
bool is_possible(KindMask kinds) {
  if (kinds == 0 || (kinds & ~kAllKinds) != 0) return false;
  return (kinds & kHostKindMask) != 0 ? (kinds & ~kHostKindMask) == 0 : std::has_single_bit(kinds);
}

bool tests_positive(const FilterFile& file, const Hash128& key, Kind kind) {
  const bool is_host = is_host_kind(kind);
  const SectionView& section = is_host ? file.hosts() : kind == Kind::raw ? file.raw() : file.paths();
  if (!section) return false;
  return section.test(section.place(key), is_host ? host_variant(kind) : 0);
}

// Whether this input would stop what the others take for good.
bool speaks_against(const FilterFile& file, const Hash128& key, Kind kind) {
  return (file.exceptions().of(key) & kind_bit(kind)) == 0 && tests_positive(file, key, kind);
}

}  // namespace

Result<Exceptions> Exceptions::parse(std::span<const std::byte> section) {
  if (section.size() < kExceptionHeaderBytes) return bad_exceptions("too short");
  if (std::memcmp(section.data(), kExceptionsMagic.data(), kExceptionsMagic.size()) != 0)
    return bad_exceptions("not a section of exceptions");
  if (read_at<std::uint32_t>(section, 4) != kExceptionBytes) return bad_exceptions("records of an unknown size");
  const auto count = read_at<std::uint64_t>(section, 8);
  const std::span<const std::byte> records = section.subspan(kExceptionHeaderBytes);
  if (count == 0 || count > kMaxExceptions || records.size() % kExceptionBytes != 0 ||
      records.size() / kExceptionBytes != count) {
    return bad_exceptions(fmt::format("{} records in {} bytes", count, section.size()));
  }
  std::vector<Exception> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> record = records.subspan(i * kExceptionBytes, kExceptionBytes);
    out[i].key = {.lo = read_at<std::uint64_t>(record, 8), .hi = read_at<std::uint64_t>(record, 0)};
    out[i].kinds = read_at<std::uint32_t>(record, 16);
    if (!is_possible(out[i].kinds) || read_at<std::uint32_t>(record, 20) != 0)
      return bad_exceptions("a record of no known kind");
    if (i > 0 && !in_file_order(out[i - 1].key, out[i].key)) return bad_exceptions("records out of order");
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
  append(out, kExceptionsMagic);
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

Result<std::vector<Exception>> merged_exceptions(std::span<const FilterFile* const> inputs,
                                                 std::span<const Exception> more) {
  std::vector<Exception> all(more.begin(), more.end());
  for (const FilterFile* file : inputs) {
    const auto own = file->exceptions().all();
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end(), [](const Exception& a, const Exception& b) { return in_file_order(a.key, b.key); });
  std::vector<Exception> out;
  for (std::size_t i = 0; i < all.size();) {
    Exception merged{.key = all[i].key};
    for (; i < all.size() && all[i].key == merged.key; ++i) merged.kinds |= all[i].kinds;
    for (const Kind kind : kKinds) {
      const auto against = [&](const FilterFile* file) { return speaks_against(*file, merged.key, kind); };
      if ((merged.kinds & kind_bit(kind)) != 0 && std::any_of(inputs.begin(), inputs.end(), against)) {
        merged.kinds &= ~kind_bit(kind);
      }
    }
    if (merged.kinds != 0) out.push_back(merged);
  }
  if (out.size() > kMaxExceptions) {
    return unexpected(Error{Errc::limit, "exceptions",
                            fmt::format("{} of them, more than the {} of a file", out.size(), kMaxExceptions)});
  }
  return out;
}

}  // namespace bloomwall::filter
