// Domains that a build marks as a whole: registrable domains ("example.com") and public suffixes under which strangers
// have hosts ("github.io") that have URL entries of their own. A mark counts for every host below, so with
// tls_inspection.mode urls one such entry decrypts the whole domain. The file cannot list them later: it holds bits.
// The text has the form of a file for tls_inspection.never, so that its lines can be taken over.
// Memory: about 100 bytes a domain, of at most kMostDomains for each worker; entries on others are counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "filter/url/entry.h"

namespace bloomwall::filter {

class MarkReport {
 public:
  static constexpr std::size_t kMostDomains = 1'000'000;

  // The greatest number of workers. Called before the other functions, never concurrently with them.
  void expect_workers(unsigned workers);
  // By one thread for one worker at a time.
  void seen(unsigned worker, const Entry& entry);
  // Sorted by domain; not while a worker adds. `name`: of the filter, for the first line.
  std::string text(const std::string& name) const;
  void clear() { parts_.clear(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct alignas(64) Part {
    std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>> entries;  // by domain
    std::uint64_t not_listed = 0;
  };
  std::deque<Part> parts_;
};

}  // namespace bloomwall::filter
