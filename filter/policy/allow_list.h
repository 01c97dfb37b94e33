// Allow lists: exact entries that overrule filters. One entry a line, shaped as in any list (entry.h):
//   example.com                    # overrules every filter, for the host, its subdomains, every path
//   http://example.com/a/ @ads     # overrules the filter "ads" alone, under that path
//   example.org @ads @malware
//   @@||example.net^               # as in adblock lists
//   0.0.0.0 example.net            # as in hosts files: the host alone
// A top-level domain is refused unless it is written "*.com", and so is a URL of which only the host is left ("/#!/page").
// An entry on several lines overrules what any of them names. An entry with alternative forms is refused: which of them
// would it open? All lists of a configuration go into one AllowLists. Const calls are thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/exact_set.h"
#include "filter/result.h"

namespace bloomwall::filter {

class AllowLists {
 public:
  // Filters are named by their place in `filters`.
  AllowLists(const KeyMaker& keys, std::vector<std::string> filters);

  // Adds one list. Every error of it (kMaxReportedErrors), with file:line; the good lines count even so.
  std::vector<Error> load(const std::filesystem::path& file);
  std::vector<Error> parse(std::string_view text, const std::string& name);

  std::uint64_t size() const { return entries_.size(); }
  const ExactSet& entries() const { return entries_; }
  // `value` is that of a match in entries().
  bool overrules_all(std::uint32_t value) const { return value == kEveryFilter; }
  bool overrules(std::uint32_t value, std::size_t filter) const;
  // " @ads @malware", or nothing where it overrules all.
  std::string scope_text(std::uint32_t value) const;

 private:
  friend class AllowListParser;
  using Filters = std::vector<std::uint64_t>;  // bit f % 64 of word f / 64
  static constexpr std::uint32_t kEveryFilter = 1;
  void allow(const Entry& entry, const Filters& filters);  // empty: all
  std::uint32_t number_of(const Filters& filters);

  ExactSet entries_;
  std::vector<std::string> names_;
  std::vector<Filters> scopes_;                    // value v > kEveryFilter stands for scopes_[v - kEveryFilter - 1]
  std::map<Filters, std::uint32_t> known_scopes_;  // each set of filters stands there once
};

}  // namespace bloomwall::filter
