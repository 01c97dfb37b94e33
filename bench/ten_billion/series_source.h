// A UrlSeries as what a build reads: each call hands out one group of it, to any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>

#include "bench/ten_billion/url_series.h"
#include "filter/builder/ingest.h"

namespace bloomwall::bench {

class SeriesSource final : public filter::BlockSource {
 public:
  explicit SeriesSource(const UrlSeries& series) : series_(series) {}
  filter::Result<bool> next(filter::LineBlock& block) override {
    const std::uint64_t group = next_.fetch_add(1, std::memory_order_relaxed);
    if (group >= series_.entries() / kGroupEntries) return false;
    block.first_line = group * kGroupEntries + 1;
    block.text.clear();
    series_.append_group(group, block.text);
    return true;
  }
  Position position() const override {
    const std::uint64_t groups = series_.entries() / kGroupEntries;
    return {std::min(next_.load(std::memory_order_relaxed), groups), groups};
  }

 private:
  const UrlSeries& series_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace bloomwall::bench
