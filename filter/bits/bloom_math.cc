// How a result comes about. Let an item be a key (or a host) and u = (1 - 1/64) or (1 - j/512)^4: the chance that given
// cells stay empty under one set of bits. The chance that a line passes, given i sets in it, is a sum of c_j * u_j^i
// (inclusion and exclusion). Averaging u^i over where n items fall turns each term into (item factor)^n, so that no sum
// over loads is needed; what remains is the sum over n, the items of a page.
// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/bloom_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#define BLOOMWALL_POPCNT __attribute__((target("popcnt")))
#else
#define BLOOMWALL_POPCNT
#endif

namespace bloomwall::filter {
namespace {

// Sums of terms of either sign cancel to what may be tiny: 64 bits of mantissa keep the noise below 1e-14.
using Real = long double;

constexpr Real kLines = 64;
static_assert(kLines * kLineBytes == kPageBytes);
constexpr double kHopelessLoad = 65536;  // sets a page from which on the error is 1 within rounding
constexpr double kPoissonPages = 1e6;    // from so many pages on, a binomial is a Poisson within 1e-6

struct Term {
  Real coefficient;
  Real base;  // per set
};

// (1 - u^i)^8.
std::vector<Term> sector_terms() {
  constexpr std::array<Real, 9> choose{1, 8, 28, 56, 70, 56, 28, 8, 1};
  std::vector<Term> terms;
  for (std::size_t a = 0; a < choose.size(); ++a) {
    terms.push_back({(a % 2 == 0 ? 1 : -1) * choose[a], std::pow(63.0L / 64, static_cast<int>(a))});
  }
  return terms;
}

// E[(occupied/512)^4] by factorial moments: x^4 = sum of S(4,k) * x(x-1)..(x-k+1), where the k-th factorial moment is
// 512..(512-k+1) * P(k given cells occupied).
std::vector<Term> quad_terms() {
  constexpr std::array<Real, 5> stirling{0, 1, 7, 6, 1};
  constexpr std::array<std::array<Real, 5>, 5> choose{{{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}}};
  std::vector<Term> terms(5);
  Real falling = 1 / std::pow(Real{512}, 4);  // 512..(512-k+1) / 512^4
  for (unsigned k = 0; k <= 4; ++k) {
    for (unsigned j = 0; j <= k; ++j) {
      terms[j].coefficient += stirling[k] * falling * (j % 2 == 0 ? 1 : -1) * choose[k][j];
    }
    falling *= 512 - static_cast<int>(k);
  }
  for (unsigned j = 0; j <= 4; ++j) terms[j].base = std::pow(1 - static_cast<Real>(j) / 512, 4);
  return terms;
}

// E[y^variants] of a host: one, and more in a Poisson number of jumps, each geometric, so that variance/(mean - 1) is
// the dispersion.
Real host_power(Real y, Real mean, Real dispersion) {
  const Real jump = (std::max(dispersion, Real{1}) + 1) / 2;
  return y * std::exp((mean - 1) / jump * (y / (jump - (jump - 1) * y) - 1));
}

// Chance that a question passes in a page of n items: (sum of c * f^n)^power.
struct PageError {
  std::vector<Term> terms;  // base: per item
  unsigned power = 1;
};

// One line of L asked, or for the pair of lines of 2x8 both at once (`v` given): an item takes both, one or none.
Real item_factor(const SectionLoad& load, Real u, Real v, Real lines_of_set) {
  const Real in_line = lines_of_set / kLines;
  const Real in_both = lines_of_set * (lines_of_set - 1) / (kLines * (kLines - 1));
  const auto one_set = [&](Real pu, Real pv, Real puv) {
    return 1 - 2 * in_line + in_both + (in_line - in_both) * (pu + pv) + in_both * puv;
  };
  if (load.kind != SectionKind::hosts) return one_set(u, v, u * v);
  const Real mean = load.sets / load.keys;
  const auto host = [&](Real x) { return host_power(x, mean, load.dispersion); };
  return one_set(host(u), host(v), host(u * v));
}

PageError page_error(const SectionLoad& load, double own_sets) {
  const bool sectors = load.layout == Layout::sectors_2x8;
  const Real width = sectors ? 2 : 4;
  const std::vector<Term> line = sectors ? sector_terms() : quad_terms();
  PageError out;
  if (sectors) {  // both lines at once, which is exact
    for (const Term& a : line) {
      for (const Term& b : line) {
        if (b.base > a.base) continue;
        out.terms.push_back(
            {(a.base == b.base ? 1 : 2) * a.coefficient * b.coefficient * std::pow(a.base * b.base, own_sets),
             item_factor(load, a.base, b.base, width)});
      }
    }
    return out;
  }
  out.power = 4;
  for (const Term& a : line) {
    out.terms.push_back({a.coefficient * std::pow(a.base, own_sets), item_factor(load, a.base, 1, width)});
  }
  return out;
}

// How many items a page holds: weights of n = first, first + 1, ...; what is left out weighs less than 1e-18.
struct PageItems {
  std::uint64_t first = 0;
  std::vector<double> weight;
};

PageItems page_items(double keys, std::uint64_t pages) {
  if (pages == 1) return {.first = static_cast<std::uint64_t>(std::llround(keys)), .weight = {1.0}};
  const double mean = keys / static_cast<double>(pages);
  const bool poisson = static_cast<double>(pages) >= kPoissonPages;
  const double odds = 1 / (static_cast<double>(pages) - 1);
  // weight(n + 1) / weight(n)
  const auto ratio = [=](double n) { return (poisson ? mean : std::max(keys - n, 0.0) * odds) / (n + 1); };
  const double mode = std::floor(mean);
  constexpr double kNothing = 1e-18;
  std::vector<double> down;
  double w = 1;
  for (double n = mode; n > 0; --n) {
    const double step = ratio(n - 1);
    if (step <= 0) break;
    w /= step;
    if (w < kNothing) break;
    down.push_back(w);
  }
  PageItems out{.first = static_cast<std::uint64_t>(mode) - down.size(), .weight = {down.rbegin(), down.rend()}};
  w = 1;
  for (double n = mode; w >= kNothing; w *= ratio(n++)) out.weight.push_back(w);
  double sum = 0;
  for (const double x : out.weight) sum += x;
  for (double& x : out.weight) x /= sum;
  return out;
}

Real power_of(Real x, unsigned n) {
  Real out = 1;
  for (; n > 0; --n) out *= x;
  return out;
}

double bits_error(const SectionLoad& load, double own_sets) {
  const PageError error = page_error(load, own_sets);
  const PageItems items = page_items(load.keys, load.pages);
  std::vector<Real> value;
  value.reserve(error.terms.size());
  for (const Term& t : error.terms) value.push_back(t.coefficient * std::pow(t.base, static_cast<Real>(items.first)));
  Real total = 0;
  for (std::size_t i = 0; i < items.weight.size(); ++i) {
    Real pass = 0;
    for (std::size_t t = 0; t < value.size(); ++t) {
      pass += value[t];
      value[t] *= error.terms[t].base;
    }
    const bool empty = items.first + i == 0 && own_sets == 0;  // where the sum would be pure rounding noise
    if (!empty) total += items.weight[i] * power_of(std::clamp<Real>(pass, 0, 1), error.power);
  }
  return static_cast<double>(total);
}

}  // namespace

double question_error(const SectionLoad& load, double own_sets) {
  if (load.keys < 0.5 || load.pages == 0) return 0;
  SectionLoad known = load;
  known.sets = load.kind == SectionKind::hosts ? std::max(load.sets, load.keys) : load.keys;
  const double pages = static_cast<double>(known.pages);
  if (known.sets / pages > kHopelessLoad) return 1;
  const double fingerprints = std::ldexp(1.0, static_cast<int>(fingerprint_bits(known.kind)));
  const double collision = std::min(1.0, known.keys / pages / fingerprints);
  const double from_bits = bits_error(known, own_sets);
  return from_bits + (1 - from_bits) * collision;
}

double key_error(Layout layout, SectionKind kind, double keys, std::uint64_t pages) {
  return question_error({.layout = layout, .kind = kind, .pages = pages, .keys = keys});
}

std::uint64_t pages_for(const SectionLoad& load, double target) {
  const auto meets = [&](std::uint64_t pages) {
    SectionLoad tried = load;
    tried.pages = pages;
    return question_error(tried) <= target;
  };
  if (meets(1)) return 1;
  std::uint64_t high = 2;
  while (!meets(high)) {
    if (high >= kMaxPages) return 0;
    high *= 2;
  }
  std::uint64_t low = high / 2;  // does not meet it
  // One part in a million is closer than the counts are known.
  while (high - low > std::max<std::uint64_t>(1, high >> 20)) {
    const std::uint64_t middle = low + (high - low) / 2;
    (meets(middle) ? high : low) = middle;
  }
  return high;
}

namespace {

constexpr std::size_t kPageLines = kPageBytes / kLineBytes;
constexpr std::size_t kWords = kLineBytes / sizeof(std::uint64_t);

// Of each line of a page: for 2x8 the product of the counts of its words, at most 64^8; for 4x4 the count of the line.
using LineCounts = std::array<std::uint64_t, kPageLines>;
using CountLines = void (*)(Layout, const std::byte* page, LineCounts& out);

// Written once and compiled twice, since the processor's counting instruction can't be assumed.
[[gnu::always_inline]] inline void count_lines(Layout layout, const std::byte* page, LineCounts& out) {
  for (std::size_t line = 0; line < kPageLines; ++line) {
    std::array<std::uint64_t, kWords> words{};
    std::memcpy(words.data(), page + line * kLineBytes, kLineBytes);
    std::uint64_t sum = 0;
    std::uint64_t product = 1;
    for (const std::uint64_t word : words) {
      const auto count = static_cast<std::uint64_t>(std::popcount(word));
      sum += count;
      product *= count;
    }
    out[line] = layout == Layout::sectors_2x8 ? product : sum;
  }
}
[[maybe_unused]] void count_plain(Layout layout, const std::byte* page, LineCounts& out) {
  count_lines(layout, page, out);
}
BLOOMWALL_POPCNT void count_fast(Layout layout, const std::byte* page, LineCounts& out) {
  count_lines(layout, page, out);
}

CountLines fastest_counter() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("popcnt") == 0) return count_plain;
#endif
  return count_fast;
}

double sectors_page(const LineCounts& counts) {
  double sum = 0;
  double squares = 0;
  for (const std::uint64_t product : counts) {
    const double pass = static_cast<double>(product) * 0x1p-48;
    sum += pass;
    squares += pass * pass;
  }
  return (sum * sum - squares) / static_cast<double>(kPageLines * (kPageLines - 1));
}

double quad_page(const LineCounts& counts) {
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double fill = static_cast<double>(count) / (8 * kLineBytes);
    sum += fill * fill * fill * fill;
  }
  const double mean = sum / kPageLines;
  return mean * mean * mean * mean;
}

}  // namespace

double fill_error(Layout layout, std::span<const std::byte> pages) {
  static const CountLines count = fastest_counter();
  const std::size_t page_count = pages.size() / kPageBytes;
  if (page_count == 0) return 0;
  double total = 0;
  LineCounts counts{};
  for (std::size_t i = 0; i < page_count; ++i) {
    count(layout, pages.data() + i * kPageBytes, counts);
    total += layout == Layout::sectors_2x8 ? sectors_page(counts) : quad_page(counts);
  }
  return total / static_cast<double>(page_count);
}

}  // namespace bloomwall::filter
