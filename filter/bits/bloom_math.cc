// How a result comes about. Let an item be a key (or a host) and u = (1 - 1/64) or (1 - j/512)^4: the chance that given
// cells stay empty under one set of bits. The chance that a line passes, given i sets in it, is a sum of c_j * u_j^i
// (inclusion and exclusion). Averaging u^i over where n items fall turns each term into (item factor)^n, so that no sum
// over loads is needed; what remains is the sum over n, the items of a page.
// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/bloom_math.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace bloomwall::filter {
namespace {

// Sums of terms of either sign cancel to what may be tiny: 64 bits of mantissa keep the noise below 1e-14.
using Real = long double;

constexpr Real kLines = 64;
static_assert(kLines * kLineBytes == kPageBytes);
constexpr double kFingerprints = 34359738368.0;  // 2^35
constexpr double kHopelessLoad = 65536;          // sets a page from which on the error is 1 within rounding
constexpr double kPoissonPages = 1e6;            // from so many pages on, a binomial is a Poisson within 1e-6

struct Term {
  Real coefficient;
  Real base;  // per set
};

// (1 - u^i)^8 for one set a question; for two sets each word is asked twice: its second moment, to the eighth power.
std::vector<Term> sector_terms(unsigned sets_asked) {
  const Real u = 63.0L / 64;
  const Real v = 62.0L / 64;
  const Real cu = sets_asked == 1 ? -1.0L : -(2 * 64 * 63 + 64) / 4096.0L;
  const Real cv = sets_asked == 1 ? 0.0L : 64 * 63 / 4096.0L;
  constexpr std::array<Real, 9> factorial{1, 1, 2, 6, 24, 120, 720, 5040, 40320};
  std::vector<Term> terms;
  for (std::size_t a = 0; a <= 8; ++a) {
    for (std::size_t b = 0; a + b <= (sets_asked == 1 ? a : 8); ++b) {
      const Real ways = factorial[8] / (factorial[a] * factorial[b] * factorial[8 - a - b]);
      terms.push_back({ways * std::pow(cu, static_cast<int>(a)) * std::pow(cv, static_cast<int>(b)),
                       std::pow(u, static_cast<int>(a)) * std::pow(v, static_cast<int>(b))});
    }
  }
  return terms;
}

// E[(occupied/512)^q], q = 4 bits a set asked, by factorial moments: x^q = sum of S(q,k) * x(x-1)..(x-k+1), where the k-th
// factorial moment is 512..(512-k+1) * P(k given cells occupied).
std::vector<Term> quad_terms(unsigned sets_asked) {
  const unsigned q = 4 * sets_asked;
  std::array<std::array<Real, 9>, 9> stirling{};
  std::array<std::array<Real, 9>, 9> choose{};
  stirling[0][0] = 1;
  for (std::size_t n = 0; n <= 8; ++n) {
    choose[n][0] = 1;
    for (std::size_t k = 1; k <= n; ++k) {
      stirling[n][k] = static_cast<Real>(k) * stirling[n - 1][k] + stirling[n - 1][k - 1];
      choose[n][k] = choose[n - 1][k - 1] + choose[n - 1][k];
    }
  }
  std::vector<Term> terms(q + 1);
  Real falling = 1;  // 512..(512-k+1) / 512^q
  for (unsigned i = 0; i < q; ++i) falling /= 512;
  for (unsigned k = 0; k <= q; ++k) {
    for (unsigned j = 0; j <= k; ++j) {
      terms[j].coefficient += stirling[q][k] * falling * (j % 2 == 0 ? 1 : -1) * choose[k][j];
    }
    falling *= 512 - static_cast<int>(k);
  }
  for (unsigned j = 0; j <= q; ++j) terms[j].base = std::pow(1 - static_cast<Real>(j) / 512, 4);
  return terms;
}

// E[x^sets] of one variant or key, which has one set or two.
Real variant_power(Real x, Real sets_per_variant) { return x * (2 - sets_per_variant + (sets_per_variant - 1) * x); }

// E[y^variants] of a host: one, and more in a Poisson number of jumps, each geometric, so that variance/(mean - 1) is the
// dispersion.
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
  const Real rounds = load.sets / load.variants;
  if (!load.shared_lines) return variant_power(one_set(u, v, u * v), rounds);
  const Real mean = load.variants / load.keys;
  const auto host = [&](Real x) { return host_power(variant_power(x, rounds), mean, load.dispersion); };
  return one_set(host(u), host(v), host(u * v));
}

PageError page_error(const SectionLoad& load, unsigned rounds, double own_sets) {
  const unsigned sets_asked = load.shared_lines ? rounds : 1;
  const unsigned repeats = load.shared_lines ? 1 : rounds;
  const bool sectors = load.layout == Layout::sectors_2x8;
  const Real width = sectors ? 2 : 4;
  const std::vector<Term> line = sectors ? sector_terms(sets_asked) : quad_terms(sets_asked);
  PageError out;
  // Both lines at once is exact, but squares the coefficients; those of two sets would drown small results in rounding.
  if (sectors && sets_asked == 1) {
    out.power = repeats;
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
  out.power = repeats * static_cast<unsigned>(width);
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

double bits_error(const SectionLoad& load, unsigned rounds, double own_sets) {
  const PageError error = page_error(load, rounds, own_sets);
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

double question_error(const SectionLoad& load, unsigned rounds, double own_sets) {
  if (load.keys < 0.5 || load.pages == 0 || rounds == 0) return 0;
  SectionLoad known = load;
  const double given = load.variants != 0 ? load.variants : load.sets;
  known.variants = load.shared_lines ? std::max(given, load.keys) : load.keys;
  known.sets = std::clamp(load.sets, known.variants, 2 * known.variants);
  const double pages = static_cast<double>(known.pages);
  if (known.sets / pages > kHopelessLoad) return 1;
  const double collision = std::min(1.0, known.keys / pages / kFingerprints);
  const double from_bits = bits_error(known, rounds, own_sets);
  return from_bits + (1 - from_bits) * collision;
}

double key_error(Layout layout, double keys, std::uint64_t pages, unsigned rounds) {
  return question_error({.layout = layout, .pages = pages, .keys = keys, .sets = keys * rounds}, rounds);
}

std::uint64_t pages_for(const SectionLoad& load, double target, unsigned rounds) {
  const auto meets = [&](std::uint64_t pages) {
    SectionLoad tried = load;
    tried.pages = pages;
    return question_error(tried, rounds) <= target;
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

std::uint64_t pages_for(Layout layout, double keys, double target, unsigned rounds) {
  return pages_for({.layout = layout, .keys = keys, .sets = keys * rounds}, target, rounds);
}

}  // namespace bloomwall::filter
