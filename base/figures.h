// Numbers as people read them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall {

// "12.4 kB", "25.0 GB": three digits or a little more, decimal units; "980 bytes" below a thousand.
std::string size_text(std::uint64_t bytes);
// A probability: "one in 34 billion (2.9e-11)", "one in 1,200 (8.3e-04)"; "less than one in 10^18"; "never"
// for none at all.
std::string one_in(double probability);
// "1 entry", "5,000,000 entries".
std::string count_text(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace bloomwall
