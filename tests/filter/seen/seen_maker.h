// Small sets of seen keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "filter/seen/seen_set.h"
#include "filter/seen/seen_size.h"

namespace bloomwall::filter {

inline SeenSet make_set(std::uint64_t keys, double error, SeenKey key = SeenKey::line) {
  SeriesKey series{};
  series[0] = 7;
  auto seen = SeenSet::create({.geometry = least_seen_size(keys, error), .series_key = series, .key = key});
  EXPECT_TRUE(seen.has_value());
  return std::move(seen).value();
}

inline Added add(SeenSet& seen, std::string_view octets) { return seen.add(seen.place(octets)); }
inline bool holds(const SeenSet& seen, std::string_view octets) { return seen.holds(seen.place(octets)); }
inline std::string key_number(std::uint64_t number) { return "http://host.example/" + std::to_string(number); }

}  // namespace bloomwall::filter
