// What a verdict takes from a filter that is served: Policy is asked as a worker of the proxy asks it, from the text of
// a URL to the verdict. Where pages are not in memory it says so at once, they are read, and the request is judged
// again, as in the proxy, whose loop does other work meanwhile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/ten_billion/url_series.h"
#include "filter/policy/policy.h"

namespace bloomwall::bench {

// Nanoseconds of single verdicts.
class Latencies {
 public:
  void add(std::uint64_t nanoseconds) { values_.push_back(nanoseconds); }
  std::size_t size() const { return values_.size(); }
  // "| name | verdicts | p50 | p99 | p99.9 | longest |" in microseconds.
  std::string row(const std::string& name);

 private:
  std::vector<std::uint64_t> values_;
};
extern const char* const kLatencyHead;  // the head of a table of such rows

// Asks about entries, which must all be blocked, and about URLs that are not listed, in turn.
class VerdictAsker {
 public:
  VerdictAsker(const UrlSeries& series, std::uint64_t seed) : series_(series), next_(seed) {}
  void ask(const filter::Policy& policy);
  Latencies at_once, waited;
  std::uint64_t missed = 0;  // entries that were let pass

 private:
  bool judge(const filter::Policy& policy, const std::string& url, bool& waited_for_pages);
  const UrlSeries& series_;
  std::uint64_t next_;
  filter::Canonicaliser canonicaliser_;
  std::vector<const std::byte*> absent_;
  std::string url_;
};

struct ServingResult {
  std::string text;
  bool holds = false;  // no entry was let pass
};

// Loads the filter as the proxy does, and asks it `verdicts` times.
filter::Result<ServingResult> measure_verdicts(const std::filesystem::path& file, const UrlSeries& series,
                                               std::uint64_t verdicts);
// Serves `file` while a copy of it is verified and put in its place, and goes on with that. Disk: the file twice.
filter::Result<ServingResult> measure_swap(const std::filesystem::path& file, const UrlSeries& series);

}  // namespace bloomwall::bench
