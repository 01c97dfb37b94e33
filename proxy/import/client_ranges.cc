// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/client_ranges.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace bloomwall::proxy::foreign {
namespace {

constexpr std::array<std::string_view, 3> kEverybody{"all", "0.0.0.0/0", "0.0.0.0/0.0.0.0"};

void add_halves(std::string_view first, std::string_view second, std::vector<filter::AddressRange>& out) {
  for (const std::string_view half : {first, second}) out.push_back(filter::read_address_range(half).range);
}

std::optional<filter::AddressRange> network(std::string_view word) {
  if (const auto address = IpAddress::parse_host(word)) return filter::range_of(*address);
  const filter::RangeReading reading = filter::read_address_range(word, filter::RangeOf::clients);
  if (reading.outcome != filter::RangeReading::Outcome::range && !reading.has_host_bits) return std::nullopt;
  return reading.range;
}

// Squid's "10.0.4.0-10.0.7.0/24": from the first network to the last.
std::optional<filter::AddressRange> masked_range(std::string_view word) {
  const std::size_t dash = word.find('-'), slash = word.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const std::string mask{word.substr(slash)};
  const auto first = network(std::string(word.substr(0, dash)) + mask);
  const auto last = network(std::string(word.substr(dash + 1, slash - dash - 1)) + mask);
  const bool is_range = first && last && first->is_v4() == last->is_v4() && first->first <= last->last;
  return is_range ? std::optional(filter::AddressRange{first->first, last->last}) : std::nullopt;
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
  const auto range = network(word);
  const auto one = range ? range : masked_range(word);
  return one ? std::optional(std::vector{*one}) : std::nullopt;
}

}  // namespace bloomwall::proxy::foreign
