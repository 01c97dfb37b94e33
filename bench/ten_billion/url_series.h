// A list of any length that stands in no file: entry i is made from i and a seed alone, so that blocks can be made by
// any thread in any order, entries can be drawn for a sample, and URLs can be made that are certainly not in the list.
//
// Entries come in groups of kGroupEntries on hosts of the group's own, in an order that mixes its hosts and kinds:
//   hosts with path entries   200 a group: 160 with U alone, 24 with Q alone, 14 with D at one depth alone, one with U
//                             and Q, one with U, Q and D at two depths (the "mixed" host): 1.02 marks a host, as in
//                             real lists
//   host entries (S)          200 a group, on hosts of their own: 2 % of all entries
//   U 79 %, Q 12 %, D 7 % (depths 1, 2, 3, 4 and 6), 15 to about 320 entries a host
// A URL is at most kMaxUrlBytes long and canonical. It is unlike every other because its host carries the host's number
// and its path the entry's (url_line.h), and because no word has the '-' of a code.
// Immutable, shared by all threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/ten_billion/url_line.h"

namespace bloomwall::bench {

inline constexpr std::size_t kMaxUrlBytes = 64;
inline constexpr std::uint64_t kGroupEntries = 10'000;
inline constexpr std::uint64_t kGroupPathHosts = 200;
inline constexpr std::uint64_t kGroupHostEntries = 200;

class UrlSeries {
 public:
  // `entries` is rounded up to whole groups; at most 10^11.
  UrlSeries(std::uint64_t entries, std::uint64_t seed);

  std::uint64_t entries() const { return groups_ * kGroupEntries; }
  std::uint64_t path_hosts() const { return groups_ * kGroupPathHosts; }
  std::uint64_t host_entries() const { return groups_ * kGroupHostEntries; }
  std::uint64_t count(filter::Kind kind) const;

  // Entry i as a list spells it; S as "http://host/".
  void append_entry(std::uint64_t i, std::string& out) const;
  filter::Kind kind(std::uint64_t i) const { return slots_[i % kGroupEntries].kind; }
  // All entries of one group, a line each.
  void append_group(std::uint64_t group, std::string& out) const;

  // Requests, made from any number r: nothing that the list says matches them. Half have a query; one to six segments.
  void append_unlisted_host(std::uint64_t r, std::string& out) const;  // a host that no entry has; r < 2^34
  void append_listed_host(std::uint64_t r, std::string& out) const;  // a host with path entries, drawn by their number
  void append_mixed_host(std::uint64_t r, std::string& out) const;  // a host with all four marks; all of them are asked

 private:
  struct Slot {
    filter::Kind kind = filter::Kind::suffix;
    std::uint8_t depth = 0;     // D only
    std::uint16_t host = 0;     // in the group; host entries after the path hosts
    std::uint32_t ordinal = 0;  // among the entries of that host
  };
  void add_entries(std::uint16_t host, filter::Kind kind, std::uint8_t depth, std::uint32_t entries);
  void add_zipf(std::uint16_t first_host, std::uint16_t hosts, filter::Kind kind, std::uint32_t entries);
  void append_request(std::uint64_t r, std::uint64_t host, unsigned least_depth, bool has_query,
                      std::string& out) const;
  void finish_entry(const Slot& slot, std::uint64_t host, Line& line) const;
  std::uint64_t host_number(std::uint64_t group, std::uint16_t host) const;

  std::uint64_t groups_;
  std::uint64_t seed_;
  std::vector<Slot> slots_;  // of one group; all groups are alike
};

}  // namespace bloomwall::bench
