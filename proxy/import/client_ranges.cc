// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/client_ranges.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace bloomwall::proxy::foreign {
namespace {

constexpr std::array<std::string_view, 3> kEverybody{"all", "0.0.0.0/0", "0.0.0.0/0.0.0.0"};

void add_halves(std::string_view first, std::string_view second, std::vector<filter::AddressRange>& out) {
  for (const std::string_view half : {first, second}) out.push_back(filter::read_address_range(half).range);
}

}  // namespace

std::optional<std::vector<filter::AddressRange>> client_ranges(std::string_view word) {
  std::vector<filter::AddressRange> out;
  const bool is_everybody =
      std::ranges::any_of(kEverybody, [word](std::string_view name) { return equals_ignoring_case(word, name); });
  if (is_everybody || equals_ignoring_case(word, "ipv4")) add_halves("0.0.0.0/1", "128.0.0.0/1", out);
  const bool is_of_ipv6 = word == "::/0" || equals_ignoring_case(word, "ipv6");
  if (is_everybody || is_of_ipv6) add_halves("::/1", "8000::/1", out);
  if (!out.empty()) return out;
  if (const auto address = IpAddress::parse_host(word)) return std::vector{filter::range_of(*address)};
  const filter::RangeReading reading = filter::read_address_range(word, filter::RangeOf::clients);
  if (reading.outcome != filter::RangeReading::Outcome::range && !reading.has_host_bits) return std::nullopt;
  return std::vector{reading.range};
}

}  // namespace bloomwall::proxy::foreign
