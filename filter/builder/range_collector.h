// The ranges of addresses of a build. They are joined now and then, so that repeated ranges take no more memory. Exact
// in every strategy of a build: a filter holds at most kMaxNetworks of them.
// Memory: 9 MiB a worker, and 8 bytes for each range of IPv4 that is left, 32 of IPv6.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "filter/file/networks.h"
#include "filter/result.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

class RangeCollector {
 public:
  explicit RangeCollector(std::uint64_t most = kMaxNetworks) : most_(most) {}
  // The greatest number of workers. Called before the other functions, never concurrently with them.
  void expect_workers(unsigned workers);
  // By one thread for one worker at a time.
  void seen(unsigned worker, const AddressRange& range);
  // Error `limit` once a single worker has more than a filter may hold. Thread-safe.
  Result<void> check() const;
  // All of them, joined; not while a worker adds. Error `limit`.
  Result<RangeSet> networks() const;
  void clear();

 private:
  struct alignas(64) Part {
    std::vector<AddressRange> fresh;
    RangeSet joined;
  };
  void join(Part& part);

  tl::unexpected<Error> too_many() const;

  std::uint64_t most_;
  std::deque<Part> parts_;
  std::atomic<bool> too_many_ = false;
};

}  // namespace bloomwall::filter
