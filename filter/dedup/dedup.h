// Lines in, each of them out the first time it is seen, in order. What is compared are the octets of a line without its
// LF, where a CR counts, or the URL that it spells (SeenKey). Never lets a line through twice; drops a new line as
// "seen" at the error rate of SeenLines.
//   one thread reads and cuts -> `threads` threads hash -> the calling thread asks, writes
// Slices pass through a ring, so that the output does not depend on the number of threads, memory is bounded, and a
// line comes out as soon as it is read. A line over kMaxDedupLine is written without a look-up, and counted.
// Speed: bounded by the slowest stage; asking and writing take some 60 ns a line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/bits/section.h"
#include "filter/file/header.h"
#include "filter/file/temp_file.h"
#include "filter/result.h"

namespace bloomwall::filter {

// How much memory the set of seen lines gets, and in which layout.
//   entries and fpr   the least memory that meets fpr once `entries` distinct lines are in (default 1e-6)
//   memory            all of it, in the layout that errs less; entries tell what error to expect
//   nothing           kUsualMemory
// Where entries, fpr and memory are given, memory is a limit: unmet_target where the error can't be reached in it.
inline constexpr std::uint64_t kUsualMemory = 200'000'000;
inline constexpr double kUsualDedupError = 1e-6;
// More than this at the end is a failure where nobody says how much may be.
inline constexpr double kMostDedupError = 1e-4;

struct DedupTarget {
  std::optional<std::uint64_t> entries = {};  // distinct lines expected
  std::optional<std::uint64_t> memory = {};   // bytes, at least a page
  std::optional<double> fpr = {};             // chance that a new line is taken for seen, at the end
};
Result<Geometry> choose_dedup_size(const DedupTarget& target);

// The chance that a new line is taken for seen once `lines` distinct ones have come.
double dedup_error(const Geometry& geometry, std::uint64_t lines);
// How many distinct lines have come where so many were new to the set: those that it took for seen, though they were
// not, are among them. They set no bit that was not set, so the set is as full as if it had taken them. Each line that
// is taken stands for 1 / (1 - error) lines that came. Error: 1 % while the error is below 0.9; no more than `most`.
// Some milliseconds.
double dedup_offered(const Geometry& geometry, std::uint64_t taken, double most);

// What of a line is its key.
enum class SeenKey : std::uint8_t {
  line,  // its octets
  url,   // the canonical text of its URL, "example.com/a?q" (CanonicalUrl::expression()); of what is no URL its octets
};

// The set of lines seen so far: R keys in one section of anonymous memory (huge pages where the kernel gives them).
// Says "seen" of a new line at the section's error rate, and never "new" of one seen before.
// Between two runs it is a filter file of raw keys (FORMAT.md): `info`, `verify` and `query --raw` read it, and a
// filter that `build --raw` has made is such a set.
// Threads: place() from any of them; the rest from one.
class SeenLines {
 public:
  // Errors: limit where the memory can't be had. `key` should be secret, or lines can be made up that pass for seen.
  static Result<SeenLines> create(const Geometry& geometry, const SeriesKey& key);
  // As a file has it, every byte of which is compared with its digests. Errors: unsupported where it holds anything but
  // raw keys or is signed; those of FilterFile; limit.
  static Result<SeenLines> load(const std::filesystem::path& file);
  // Writes the file, as a whole or not at all; `came`: how many lines have come since it was read or made, `taken`: how
  // many of them were new. `former`: the only file that may be replaced. The next file has the series' next sequence.
  Result<Header> save(const std::filesystem::path& file, const FormerFile& former, SeenKey key, std::uint64_t came,
                      std::uint64_t taken) const;
  // What the file said; null: it was made.
  const Header* loaded() const { return loaded_ ? &*loaded_ : nullptr; }
  SeenKey loaded_key() const;  // of what the file said
  const SeriesKey& series_key() const { return series_key_; }

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
  SeriesKey series_key_;
  KeyMaker keys_;
  Memory memory_;
  SectionWriter writer_;
  std::optional<Header> loaded_;
};

struct DedupCounts {
  std::uint64_t lines_in = 0;
  std::uint64_t lines_out = 0;
  std::uint64_t bytes_in = 0;  // after decompression, a missing last LF added
  std::uint64_t bytes_out = 0;
  std::uint64_t too_long = 0;  // written unasked; part of lines_in and lines_out
  std::uint64_t no_url = 0;    // SeenKey::url: compared octet by octet; part of lines_in
  std::uint64_t distinct() const { return lines_out - too_long; }
};

// Takes whole lines (or pieces of one that is too long). False: the reader is gone.
using WriteLines = std::function<bool(std::string_view)>;

// Reads files ("-": stdin; compressed ones too) one after the other. `counts` are true even where it fails.
// Errors: those of ListInput; io "standard output" where `write` gave false.
Result<void> dedup(const std::vector<std::string>& files, unsigned threads, SeenLines& seen, SeenKey key,
                   const WriteLines& write, DedupCounts& counts);

}  // namespace bloomwall::filter
