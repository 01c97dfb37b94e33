// SPDX-License-Identifier: Apache-2.0
#include "base/figures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/units.h"

namespace bloomwall {
namespace {

struct Scale {
  double least;
  const char* name;
};

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr std::array kUnits{Scale{1e12, "TB"}, Scale{1e9, "GB"}, Scale{1e6, "MB"}, Scale{1e3, "kB"}};
  for (const Scale& unit : kUnits) {
    const double value = static_cast<double>(bytes) / unit.least;
    if (value >= 1) return fmt::format("{:.1f} {}", value, unit.name);
  }
  return fmt::format("{} bytes", bytes);
}

std::string one_in(double probability) {
  if (!(probability > 0)) return "never";
  constexpr std::array kWords{Scale{1e12, "trillion"}, Scale{1e9, "billion"}, Scale{1e6, "million"}};
  constexpr double kLeast = 1e-18;  // smaller odds mean nothing to a reader
  if (probability < kLeast) return "less than one in 10^18";
  const double odds = 1 / probability;
  std::string text;
  for (const Scale& word : kWords) {
    if (odds < word.least) continue;
    text = odds < 10 * word.least ? fmt::format("{:.1f} {}", odds / word.least, word.name)
                                  : fmt::format("{:.0f} {}", odds / word.least, word.name);
    break;
  }
  if (text.empty()) text = format_count(static_cast<std::uint64_t>(std::llround(odds)));
  return fmt::format("one in {} ({:.1e})", text, probability);
}

std::string count_text(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : many);
}

}  // namespace bloomwall
