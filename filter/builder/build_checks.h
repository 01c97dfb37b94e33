// Checks of a built file: entries that must be found (EntrySample), and the error that is measured (measure_error).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "filter/builder/sizing.h"
#include "filter/file/filter_writer.h"
#include "filter/result.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// A sample of a build's entries, kept as text, that is looked up in the file before it replaces the target: as a
// request that each entry must stop, through the canonicaliser and the look-up that the proxy uses. A difference
// between the two ways (canonical form, splitting, header ranges, marks, bits, disk) then fails the build. Of a range
// of addresses the first and the last one are looked up.
// Keeps every 2^k-th entry of a worker, with k growing with their number; ranges likewise. Memory: at most 16 MiB and
// `most` texts.

inline constexpr std::size_t kSampledEntries = 10'000;

class EntrySample {
 public:
  explicit EntrySample(std::size_t most = kSampledEntries) : most_(most) {}

  // The greatest number of workers. Called before the other functions, never concurrently with them.
  void expect_workers(unsigned workers);
  // By one thread for one worker at a time.
  void seen(unsigned worker, const Entry& entry) {
    Part& part = parts_[worker];
    if ((part.count++ & part.mask) == 0) keep(part, entry);
  }
  void seen(unsigned worker, const AddressRange& range) {
    Part& part = parts_[worker];
    if ((part.range_count++ & part.range_mask) == 0) keep(part, range);
  }
  std::size_t size() const;  // ranges as well

  // Looks all of them up in a complete filter file. An entry that no request can spell is asked in its canonical form.
  // Errors: bad_section, naming the first entry that is not found and the number of others; those of opening the file.
  Result<void> check(const std::filesystem::path& file) const;

 private:
  struct Kept {
    Kind kind;
    HostKind host_kind;
    std::string host, path, query;
  };
  struct alignas(64) Part {
    std::uint64_t count = 0, mask = 0;
    std::size_t bytes = 0;
    std::vector<Kept> kept;
    std::uint64_t range_count = 0, range_mask = 0;
    std::vector<AddressRange> ranges;
  };
  void keep(Part& part, const Entry& entry) const;
  void keep(Part& part, const AddressRange& range) const;
  static void thin(Part& part);
  static std::string name_of(const Kept& entry);  // "S example.com"
  friend class SampleQuestions;

  std::size_t most_;
  std::deque<Part> parts_;
};

// Measures the error of a filter's bits: asks requests of the worst class, with as many questions as the prediction
// gives for its 99th percentile, each about a host or key that no entry has. It checks what the bits answer, not how
// many questions a request asks, nor marks and kinds: every question to H is of kind S. The requests are derived from
// the series key, so equal builds measure the same. A measurement needs some hundred false positives to mean anything;
// by default it is made where four million requests give that (errors from 1e-4 on) and the file is small enough to be
// read several times. The header always has the error that the set bits give as well.
// Questions are asked in the order of the pages, some hundred thousand at once, so that pages may be on disk.
// Memory: about 13 MB.

inline constexpr std::uint64_t kMostMeasuredBytes = std::uint64_t{1} << 30;  // unless it is asked for

// Requests that meet about 400 false positives, or 0 where it would take too many.
std::uint64_t usual_samples(const PredictedErrors& predicted);
// `asked`, or what is usual for this file.
std::uint64_t samples_for(const std::optional<std::uint64_t>& asked, const FilterDraft& draft,
                          const PredictedErrors& predicted);
// "408 of 4,000,000 requests, one in 9,804 (1.0e-04)", of raw keys "questions", or why not; of a header as written.
std::string measured_text(const Header& header);

// How many of `samples` requests meet a false positive in the draft's file. Call it once all pages are written. Ends
// early, with fewer samples, where `stop` returns true. Errors: io.
Result<MeasuredError> measure_error(const FilterDraft& draft, const PredictedErrors& predicted, std::uint64_t samples,
                                    const std::function<bool()>& stop = {});

}  // namespace bloomwall::filter
