// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/url_series.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <utility>

namespace bloomwall::bench {
namespace {

using filter::Kind;
using namespace std::string_view_literals;

constexpr std::uint16_t kUrlHosts = 160, kQueryHosts = 24, kDirectoryHosts = 14;
constexpr std::uint16_t kPairHost = kUrlHosts + kQueryHosts + kDirectoryHosts;  // U and Q
constexpr std::uint16_t kMixedHost = kPairHost + 1;                             // U, Q, D at two depths
static_assert(kMixedHost + 1 == kGroupPathHosts);
constexpr std::uint32_t kOnMixedHosts = 40;  // entries of each kind on each of the two
// Ordinals of requests begin where those of entries have long ended.
constexpr std::uint32_t kFirstUnlisted = std::uint32_t{1} << 20;

// As many fit into kMaxUrlBytes with the longest host and the longest last segment; checked by the tests.
constexpr std::array<std::uint8_t, kDirectoryHosts> kDepths{1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 6};

// Of URLs a half has two segments, a quarter one, an eighth three, an eighth four.
unsigned usual_depth(std::uint64_t host, std::uint32_t ordinal) {
  constexpr std::array<std::uint8_t, 8> kUsualDepths{2, 2, 2, 2, 1, 1, 3, 4};
  return kUsualDepths[mix(host + ordinal * std::uint64_t{31}) & 7];
}

}  // namespace

UrlSeries::UrlSeries(std::uint64_t entries, std::uint64_t seed)
    : groups_(std::max<std::uint64_t>((entries + kGroupEntries - 1) / kGroupEntries, 1)), seed_(mix(seed)) {
  constexpr std::uint32_t kUrls = 7900, kQueries = 1200, kDirectories = 700;
  for (const std::uint16_t host : {kPairHost, kMixedHost}) {
    add_entries(host, Kind::url, 0, kOnMixedHosts);
    add_entries(host, Kind::url_query, 0, kOnMixedHosts);
  }
  add_entries(kMixedHost, Kind::directory, 1, kOnMixedHosts / 2);
  add_entries(kMixedHost, Kind::directory, 2, kOnMixedHosts / 2);
  add_zipf(0, kUrlHosts, Kind::url, kUrls - 2 * kOnMixedHosts);
  add_zipf(kUrlHosts, kQueryHosts, Kind::url_query, kQueries - 2 * kOnMixedHosts);
  add_zipf(kUrlHosts + kQueryHosts, kDirectoryHosts, Kind::directory, kDirectories - kOnMixedHosts);
  for (std::uint16_t i = 0; i < kGroupHostEntries; ++i) add_entries(kGroupPathHosts + i, Kind::suffix, 0, 1);
  // The same order in every group, and on every machine: std::shuffle may differ between libraries.
  std::mt19937_64 random(seed);
  for (std::size_t i = slots_.size(); i > 1; --i) std::swap(slots_[i - 1], slots_[random() % i]);
}

void UrlSeries::add_entries(std::uint16_t host, Kind kind, std::uint8_t depth, std::uint32_t entries) {
  // Ordinals of one host differ whatever the kind, so that no path is spelt twice.
  const auto so_far = static_cast<std::uint32_t>(
      std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.host == host; }));
  for (std::uint32_t i = 0; i < entries; ++i) slots_.push_back({kind, depth, host, so_far + i});
}

// Some hosts have many entries, most have few: host r gets a share of 1 / (r + 8).
void UrlSeries::add_zipf(std::uint16_t first_host, std::uint16_t hosts, Kind kind, std::uint32_t entries) {
  double sum = 0;
  for (std::uint16_t r = 0; r < hosts; ++r) sum += 1.0 / (r + 8);
  std::uint32_t left = entries;
  for (std::uint16_t r = hosts; r > 0; --r) {
    const auto share = static_cast<std::uint32_t>(entries / (sum * (r - 1 + 8)));
    const std::uint32_t own = r == 1 ? left : share;
    const std::uint8_t depth = kind == Kind::directory ? kDepths[r - 1U] : std::uint8_t{0};
    add_entries(static_cast<std::uint16_t>(first_host + r - 1), kind, depth, own);
    left -= own;
  }
}

std::uint64_t UrlSeries::count(Kind kind) const {
  const auto in_group = std::count_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.kind == kind; });
  return groups_ * static_cast<std::uint64_t>(in_group);
}

void UrlSeries::finish_entry(const Slot& slot, std::uint64_t host, Line& line) const {
  if (slot.kind == Kind::suffix) {
    line << '/';
    return;
  }
  const unsigned depth = slot.kind == Kind::directory ? slot.depth : usual_depth(host, slot.ordinal);
  add_path({.kind = slot.kind, .depth = depth, .host = host, .ordinal = slot.ordinal}, seed_, line);
}

// Hosts with path entries first, then those of host entries, then those that no entry has.
std::uint64_t UrlSeries::host_number(std::uint64_t group, std::uint16_t host) const {
  if (host < kGroupPathHosts) return group * kGroupPathHosts + host;
  return path_hosts() + group * kGroupHostEntries + (host - kGroupPathHosts);
}

void UrlSeries::append_entry(std::uint64_t i, std::string& out) const {
  const Slot& slot = slots_[i % kGroupEntries];
  const std::uint64_t host = host_number(i / kGroupEntries, slot.host);
  Line line;
  line << "http://"sv;
  add_host(host, seed_, line);
  finish_entry(slot, host, line);
  out.append(line.text());
}

void UrlSeries::append_group(std::uint64_t group, std::string& out) const {
  std::array<Line, kGroupPathHosts + kGroupHostEntries> hosts;  // "http://host", made once for all its entries
  for (std::uint16_t h = 0; h < hosts.size(); ++h) {
    hosts[h] << "http://"sv;
    add_host(host_number(group, h), seed_, hosts[h]);
  }
  for (const Slot& slot : slots_) {
    Line line;
    line << hosts[slot.host].text();
    finish_entry(slot, host_number(group, slot.host), line);
    line << '\n';
    out.append(line.text());
  }
}

void UrlSeries::append_request(std::uint64_t r, std::uint64_t host, unsigned least_depth, bool has_query,
                               std::string& out) const {
  const std::uint64_t look = mix(r + 0x1234567);
  Line line;
  line << "http://"sv;
  add_host(host, seed_, line);
  add_path({.kind = has_query ? Kind::url_query : Kind::url,
            .depth = std::max(least_depth, static_cast<unsigned>(1 + look % 6)),
            .host = host,
            .ordinal = kFirstUnlisted + static_cast<std::uint32_t>(look >> 40)},
           seed_, line);
  out.append(line.text());
}

void UrlSeries::append_unlisted_host(std::uint64_t r, std::string& out) const {
  append_request(r, path_hosts() + host_entries() + r, 1, (mix(r) & 1) != 0, out);
}

void UrlSeries::append_listed_host(std::uint64_t r, std::string& out) const {
  // The host of an entry drawn at random, so that a host with many entries is met as often as they are.
  std::uint64_t number = mix(r ^ seed_);
  while (slots_[number % kGroupEntries].kind == Kind::suffix) number = mix(number + 1);
  const std::uint16_t host = slots_[number % kGroupEntries].host;
  append_request(r, host_number((number >> 20) % groups_, host), 1, (number >> 60 & 1) != 0, out);
}

void UrlSeries::append_mixed_host(std::uint64_t r, std::string& out) const {
  append_request(r, host_number(mix(r ^ seed_) % groups_, kMixedHost), 2, true, out);
}

}  // namespace bloomwall::bench
