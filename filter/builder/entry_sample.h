// Some of the entries of a build, kept as text while they pass, so that the file can be asked for them before it takes its
// target's place: through the canonical form and the look-up that the proxy uses, as a request that each of them must stop.
// What drifts between the two ways (canonical form, cut, header ranges, marks, bits, disk) then fails the build.
// Of a range of addresses its first and its last one are asked for.
// Kept is every 2^k-th entry of a worker, k growing with them; ranges likewise. Memory: at most 16 MiB and `most` texts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "filter/result.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

inline constexpr std::size_t kSampledEntries = 10'000;

class EntrySample {
 public:
  explicit EntrySample(std::size_t most = kSampledEntries) : most_(most) {}

  // Before any of the others, and not meanwhile: so many workers there will be at most.
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

  // Asks a whole filter file for all of them. An entry that no request can spell is asked in its canonical form. Errors:
  // bad_section, naming the first entry that is not found, and how many more; those of opening the file.
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

}  // namespace bloomwall::filter
