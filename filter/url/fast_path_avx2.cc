// The check of fast_path.h on 64 octets at a time: two table look-ups by nibble give each octet its classes, and the
// rules about neighbours become shifts of bit masks.
// SPDX-License-Identifier: Apache-2.0
#include "filter/url/fast_path.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace bloomwall::filter::fast_path_detail {
namespace {

// One bit an octet; bits beyond the end of the URL are 0. Marks are '?' and ';', which differ in one bit.
struct Masks {
  std::uint64_t host, path, slash, dot, mark;
};

struct Masks32 {
  std::uint32_t host, path, slash, dot, mark;
};

// Classes of an octet: its bits in both tables. Host octets: 1 '-' '.', 2 digits, 4 '_', 8 a-o, 16 p-z.
// Path octets: 32 row 2 but space '#' '%', 64 rows 3, 4, 6, 7 (0x7F is taken out later), 128 row 5 but '\'.
constexpr std::uint8_t kHostClasses = 0x1F;
constexpr std::uint8_t kPathClasses = 0xE0;
constexpr std::array<std::uint8_t, 16> kByHigh{0, 0, 32 | 1, 64 | 2, 64, 128 | 4, 64 | 8, 64 | 16};

constexpr std::array<std::uint8_t, 16> make_by_low() {
  std::array<std::uint8_t, 16> table{};
  for (unsigned low = 0; low < 16; ++low) {
    unsigned classes = 64;
    if (low == 0xD || low == 0xE) classes |= 1;
    if (low <= 9) classes |= 2;
    if (low == 0xF) classes |= 4;
    if (low != 0) classes |= 8;
    if (low <= 0xA) classes |= 16;
    if (low != 0 && low != 3 && low != 5) classes |= 32;
    if (low != 0xC) classes |= 128;
    table[low] = static_cast<std::uint8_t>(classes);
  }
  return table;
}
constexpr std::array<std::uint8_t, 16> kByLow = make_by_low();

[[gnu::target("avx2"), gnu::always_inline]] inline std::uint32_t bits(__m256i bytes) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
}

[[gnu::target("avx2"), gnu::always_inline]] inline std::uint32_t equal(__m256i bytes, char c) {
  return bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c)));
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i table(const std::array<std::uint8_t, 16>& values) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values.data())));
}

[[gnu::target("avx2"), gnu::always_inline]] inline std::uint32_t of_class(__m256i classes, std::uint8_t wanted) {
  return ~equal(_mm256_and_si256(classes, _mm256_set1_epi8(static_cast<char>(wanted))), 0);
}

[[gnu::target("avx2"), gnu::always_inline]] inline Masks32 classify(const char* at) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  // Shuffling gives 0 where the top bit is set, so octets >= 0x80 have no class.
  const __m256i by_low = _mm256_shuffle_epi8(table(kByLow), bytes);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
  const __m256i classes = _mm256_and_si256(by_low, _mm256_shuffle_epi8(table(kByHigh), high));
  return {.host = of_class(classes, kHostClasses),
          .path = of_class(classes, kPathClasses) & ~equal(bytes, 0x7F),
          .slash = equal(bytes, '/'),
          .dot = equal(bytes, '.'),
          .mark = equal(_mm256_or_si256(bytes, _mm256_set1_epi8('?' ^ ';')), '?')};
}

Masks shifted_left(const Masks32& m, unsigned by) {
  return {std::uint64_t{m.host} << by, std::uint64_t{m.path} << by, std::uint64_t{m.slash} << by,
          std::uint64_t{m.dot} << by, std::uint64_t{m.mark} << by};
}

Masks shifted_right(const Masks32& m, unsigned by) {
  return {m.host >> by, m.path >> by, m.slash >> by, m.dot >> by, m.mark >> by};
}

Masks both(const Masks& a, const Masks& b) {
  return {a.host | b.host, a.path | b.path, a.slash | b.slash, a.dot | b.dot, a.mark | b.mark};
}

// The up to 64 octets from `at` on. Never reads outside the URL: the last load ends with it and overlaps the one
// before.
[[gnu::target("avx2"), gnu::always_inline]] inline Masks window(std::string_view url, std::size_t at) {
  const std::size_t size = url.size() - at;
  const char* const begin = url.data() + at;
  if (size >= 64) return both(shifted_left(classify(begin), 0), shifted_left(classify(begin + 32), 32));
  if (size == 0) return {};
  if (url.size() >= 32) {
    const Masks32 last = classify(url.data() + (url.size() - 32));
    if (size < 32) return shifted_right(last, 32 - static_cast<unsigned>(size));
    return both(shifted_left(classify(begin), 0), shifted_left(last, static_cast<unsigned>(size) - 32));
  }
  std::array<char, 32> padded{};
  std::memcpy(padded.data(), begin, size);
  return shifted_left(classify(padded.data()), 0);
}

constexpr std::uint64_t below(std::size_t bit) { return bit >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bit) - 1; }

// Size of the host that begins at bit 0, or 0 where it is none.
std::size_t host_size(const Masks& m) {
  const auto size = static_cast<std::size_t>(std::countr_one(m.host));
  if (size == 0 || size > kMaxFastHost) return 0;
  const std::uint64_t dots = m.dot & below(size);
  const bool empty_label = ((dots & 1U) | (dots & (dots << 1U)) | ((dots >> (size - 1)) & 1U)) != 0;
  return empty_label ? 0 : size;
}

// Whether an escape that stays as it is begins at each of these places. They are counted from `at`, and those below
// `path_end` are in the path.
bool are_kept_escapes(std::string_view url, std::size_t at, std::uint64_t places, std::size_t path_end) {
  for (; places != 0; places &= places - 1) {
    const auto offset = static_cast<std::size_t>(std::countr_zero(places));
    const UrlPart part = offset < path_end ? UrlPart::path : UrlPart::query;
    if (url[at + offset] != '%' || !is_kept_escape(part, url, at + offset)) return false;
  }
  return true;
}

class PathCheck {
 public:
  explicit PathCheck(UrlPart first) : query_(first == UrlPart::query ? 0 : std::string_view::npos) {}

  // Takes the path and query octets of one window, which begins at `at`. False: not canonical.
  bool take(std::string_view url, std::size_t at, const Masks& m, std::uint64_t mine) {
    const std::uint64_t odd = ~m.path & mine;
    if (odd != 0 && !are_kept_escapes(url, at, odd, path_end(m.mark & mine))) return false;
    if (query_ != std::string_view::npos) return true;
    const auto end = static_cast<std::size_t>(std::countr_zero(m.mark & mine));  // 64 where there is none
    const std::uint64_t path = mine & below(end);
    const std::uint64_t slashes = m.slash & path;
    if ((((slashes << 1U) | slash_before_) & (m.slash | m.dot) & path) != 0) return false;
    slash_before_ = slashes >> 63U;
    if (end == 64) return true;
    query_ = at + end;
    return url[query_] == '?';
  }
  // All that comes from `from` on.
  [[gnu::target("avx2")]] bool take_rest(std::string_view url, std::size_t from) {
    for (std::size_t at = from; at < url.size(); at += 64) {
      if (!take(url, at, window(url, at), below(url.size() - at))) return false;
    }
    return true;
  }
  std::size_t query() const { return query_; }  // its '?'; npos where there is none

 private:
  std::size_t path_end(std::uint64_t marks) const {
    return query_ == std::string_view::npos ? static_cast<std::size_t>(std::countr_zero(marks)) : 0;
  }

  std::uint64_t slash_before_ = 0;
  std::size_t query_;
};

}  // namespace

[[gnu::target("avx2")]] UrlCut cut_avx2(std::string_view url) {
  const std::size_t begin = scheme_size(url);
  if (begin == 0) return {};
  const std::size_t size = url.size() - begin;
  const Masks first = window(url, begin);
  const std::size_t host = host_size(first);
  if (host == 0 || ends_in_digit_label(url.substr(begin, host))) return {};
  PortCut port;
  if (host < size && ((first.slash >> host) & 1U) == 0) {
    port = read_port(url, begin, begin + host);
    if (port.size == 0) return {};
  }
  PathCheck check(UrlPart::path);
  if (!check.take(url, begin, first, below(size) & ~below(host + port.size))) return {};
  if (!check.take_rest(url, begin + 64)) return {};
  return {.host_begin = static_cast<std::uint8_t>(begin),
          .host_end = static_cast<std::uint8_t>(begin + host),
          .port_size = port.size,
          .port = port.number,
          .query = check.query()};
}

[[gnu::target("avx2")]] bool is_canonical_avx2(UrlPart part, std::string_view text) {
  PathCheck check(part);
  return check.take_rest(text, 0) && (part == UrlPart::query || check.query() == std::string_view::npos);
}

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }

}  // namespace bloomwall::filter::fast_path_detail

#else

namespace bloomwall::filter::fast_path_detail {
UrlCut cut_avx2(std::string_view url) { return cut_scalar(url); }
bool is_canonical_avx2(UrlPart part, std::string_view text) { return is_canonical_scalar(part, text); }
bool has_avx2() { return false; }
}  // namespace bloomwall::filter::fast_path_detail

#endif
