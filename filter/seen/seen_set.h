// The set of keys seen so far, which grows while it is asked: a crawler's visited table. Section R of a filter file in
// memory. Says "seen" of a new key at the section's error rate, and never "new" of one seen before.
//   auto seen = SeenSet::create(spec);  // or load(file)
//   KeyText texts;                      // one per thread
//   if (seen->add(seen->place(texts.of(seen->key(), url).octets)) == Added::fresh) ...
//   seen->save(file, former, "who");    // while others add
// Between two runs it is a filter file of raw keys (FORMAT.md): `info`, `verify` and `query --raw` read it, and a
// filter that `build --raw` has made is such a set.
// Threads: any number may call place(), prefetch(), add(), holds() and counts(), while one saves. Of those that add the
// same key at the same time exactly one is told that it is new: asking and writing happen under the lock of the key's
// page. Locks are kParts for all pages, so that two threads seldom meet at one; a mutex that nobody else holds costs
// some 15 ns beside the cache lines of the page.
// After fork() both processes may go on, provided that no other thread was adding; each has a set of its own.
// Memory: the geometry's, and 64 KiB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "filter/bits/section.h"
#include "filter/file/file_info.h"
#include "filter/file/header.h"
#include "filter/file/memory.h"
#include "filter/file/temp_file.h"
#include "filter/result.h"
#include "filter/seen/key_text.h"

namespace bloomwall::filter {

enum class Added : std::uint8_t {
  fresh,  // it was new, and is seen from now on
  seen,
  full,  // it is new, but would be one more than the set was promised to hold: nothing was changed
};

class SeenSet {
 public:
  struct Spec {
    Geometry geometry;
    SeriesKey series_key{};  // should be secret, or keys can be made up that pass for seen
    SeenKey key = SeenKey::line;
  };
  // Errors: limit where the memory can't be had.
  static Result<SeenSet> create(const Spec& spec);
  // As a file has it, every byte of which is compared with its digests. Errors: unsupported where it holds anything but
  // raw keys or is signed; those of FilterFile; bad_section where it promises what its size cannot give; limit.
  static Result<SeenSet> load(const std::filesystem::path& file);

  // From now on the set refuses new keys once made_for.keys of them are in, those of the file among them. Before the
  // first add(). Errors: unmet_target where its size does not give that error for so many.
  Result<void> promise(const MadeFor& made_for);
  const MadeFor& made_for() const { return made_for_; }  // of promise(), else of the file; zeros: nobody said

  // Writes the file, as a whole or not at all: with all keys whose add() had returned before the call, and perhaps some
  // of those that come meanwhile. Adding goes on; it waits for the copy of one page at most. `former`: the only file
  // that may be replaced; it is the new one afterwards. The next file has the series' next sequence. One thread at a
  // time. Errors: io, and those of FilterWriter; the file is as it was then.
  Result<Header> save(const std::filesystem::path& file, FormerFile& former, std::string_view builder);

  SeenKey key() const { return key_; }
  bool was_loaded() const { return was_loaded_; }
  const SeriesKey& series_key() const { return series_key_; }
  const Geometry& geometry() const { return writer_.geometry(); }

  Place place(std::string_view octets) const { return writer_.place(keys_.raw(octets)); }
  void prefetch(const Place& place) const { writer_.view().prefetch_all(place); }
  Added add(const Place& place);
  bool holds(const Place& place) const;

  // What came (entries; those that were refused are not among them) and what was new (keys). 1,024 locks.
  KindCounts counts() const;                            // since the set was made, in all runs
  const KindCounts& before() const { return before_; }  // as the file had them
  // Error of one question as the bits now set give it. Reads all of them; not while others add.
  double fill() const;

 private:
  static constexpr std::size_t kParts = 1024;
  struct alignas(64) Part {
    mutable std::mutex mutex;
    std::uint64_t entries = 0, keys = 0;
    std::uint64_t credits = 0;  // new keys that it may still take
  };
  struct Shared {
    std::array<Part, kParts> parts;
    std::atomic<std::uint64_t> left;  // new keys that no part has a credit for
    std::atomic<bool> is_full = false;
    std::mutex gathering;
  };
  SeenSet(const Spec& spec, AnonymousMemory memory);
  Part& part_of(std::uint64_t page) const { return shared_->parts[page % kParts]; }
  std::uint64_t take_credits();
  bool gather_credits();
  void copy_pages(std::span<std::byte> out) const;

  SeriesKey series_key_;
  KeyMaker keys_;
  SeenKey key_;
  AnonymousMemory memory_;
  SectionWriter writer_;
  std::unique_ptr<Shared> shared_;
  bool was_loaded_ = false;
  KindCounts before_;
  MadeFor made_for_;
  std::optional<Header> last_;  // of the file that was loaded or saved last
};

}  // namespace bloomwall::filter
