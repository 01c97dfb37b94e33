// The set of lines seen so far: R keys in one section of anonymous memory (huge pages where the kernel gives them).
// Says "seen" of a new line at the section's error rate, and never "new" of one seen before.
// Threads: place() from any of them; the rest from one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "filter/bits/section.h"
#include "filter/result.h"

namespace bloomwall::filter {

class SeenLines {
 public:
  // Errors: limit where the memory can't be had. `key` should be secret, or lines can be made up that pass for seen.
  static Result<SeenLines> create(const Geometry& geometry, const SeriesKey& key);

  Place place(std::string_view line) const { return writer_.place(keys_.raw(line)); }
  void prefetch(const Place& place) const { writer_.view().prefetch_all(place); }
  // True where the line is new; it is seen from now on.
  bool add(const Place& place) {
    if (writer_.view().test(place)) return false;
    writer_.insert_exclusive(place);
    return true;
  }
  const Geometry& geometry() const { return geometry_; }
  // Error of one question as the bits now set give it. Reads all of them.
  double fill() const;

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const noexcept;
  };
  using Memory = std::unique_ptr<std::byte, Unmap>;
  SeenLines(const Geometry& geometry, const SeriesKey& key, Memory memory);
  Geometry geometry_;
  KeyMaker keys_;
  Memory memory_;
  SectionWriter writer_;
};

}  // namespace bloomwall::filter
