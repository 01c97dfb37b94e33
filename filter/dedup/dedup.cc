// SPDX-License-Identifier: Apache-2.0

#include "filter/dedup/dedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/units.h"
#include "filter/bits/bloom_math.h"
#include "filter/dedup/line_slices.h"
#include "filter/lists/list_input.h"
#include "filter/parallel.h"
#include "filter/seen/seen_size.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kUsualBits = 32;  // per line, where only the memory is known

}  // namespace

Result<Geometry> choose_dedup_size(const DedupTarget& target) {
  if (target.memory && (*target.memory < kPageBytes || *target.memory / kPageBytes > kMaxPages)) {
    return unexpected(Error{Errc::usage, "--memory", fmt::format("at least {} are needed", format_bytes(kPageBytes))});
  }
  if (target.entries && (target.fpr || !target.memory)) {
    const double fpr = target.fpr.value_or(kUsualSeenError);
    const Geometry least = least_seen_size(*target.entries, fpr);
    if (least.pages == 0) {
      return unexpected(Error{Errc::unmet_target, "--fpr", "no size gives so small an error for so many lines"});
    }
    if (!target.memory) return least;
    if (least.bytes() > *target.memory) {
      return unexpected(
          Error{Errc::unmet_target, "--memory",
                fmt::format("{} lines need {} for an error of {}; {} are allowed", format_count(*target.entries),
                            format_bytes(least.bytes()), format_rate(fpr), format_bytes(*target.memory))});
    }
  }
  const std::uint64_t memory = target.memory.value_or(kUsualMemory);
  return filling_seen_size(memory, target.entries.value_or(memory * 8 / kUsualBits));
}

namespace {

constexpr std::size_t kSlotsAThread = 4;
constexpr std::size_t kAhead = 24;  // lines that are prefetched ahead of the look-up

Result<void> read_file(const std::string& file, SliceRing& ring) {
  auto input = ListInput::open(file);
  if (!input) return unexpected(std::move(input).error());
  input->without_digest();
  LineSlices slices(*input);
  while (RingSlot* slot = ring.next_empty()) {
    const auto more = slices.next(slot->slice);
    if (!more) return unexpected(more.error());
    if (!*more) break;
    ring.filled();
  }
  return {};
}

void hash_lines(const SeenSet& seen, KeyText& texts, RingSlot& slot) {
  slot.lines.clear();
  if (slot.slice.too_long) return;
  const std::string_view text = slot.slice.text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const KeyText::Key key = texts.of(seen.key(), line);
    slot.lines.push_back(
        {.place = seen.place(key.octets), .end = static_cast<std::uint32_t>(begin), .no_url = key.is_as_given});
  }
}

// Moves the new lines to the front of the slice and drops the others.
void drop_seen(SeenSet& seen, RingSlot& slot, DedupCounts& counts) {
  std::string& text = slot.slice.text;
  const std::vector<HashedLine>& lines = slot.lines;
  for (std::size_t i = 0; i < std::min(kAhead, lines.size()); ++i) seen.prefetch(lines[i].place);
  std::size_t kept = 0;   // octets at the front that stay
  std::size_t begin = 0;  // of a run of new lines
  std::size_t at = 0;     // end of the line before
  const auto keep = [&](std::size_t end) {
    if (kept != begin) std::memmove(text.data() + kept, text.data() + begin, end - begin);
    kept += end - begin;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i + kAhead < lines.size()) seen.prefetch(lines[i + kAhead].place);
    if (seen.add(lines[i].place) != Added::seen) {
      ++counts.lines_out;
    } else {
      keep(at);
      begin = lines[i].end;
    }
    at = lines[i].end;
    counts.no_url += lines[i].no_url ? 1U : 0U;
  }
  keep(at);
  text.resize(kept);
  counts.lines_in += lines.size();
}

void count_piece(const LineSlice& piece, DedupCounts& counts) {
  if (!piece.line_ends) return;
  ++counts.lines_in;
  ++counts.lines_out;
  ++counts.too_long;
}

// False: the reader is gone.
bool write_all(SliceRing& ring, SeenSet& seen, const WriteLines& write, DedupCounts& counts) {
  while (RingSlot* slot = ring.next_hashed()) {
    LineSlice& slice = slot->slice;
    counts.bytes_in += slice.text.size();
    if (slice.too_long) {
      count_piece(slice, counts);
    } else {
      drop_seen(seen, *slot, counts);
    }
    counts.bytes_out += slice.text.size();
    if (!slice.text.empty() && !write(slice.text)) return false;
    ring.written();
  }
  return true;
}

}  // namespace

Result<void> dedup(const std::vector<std::string>& files, unsigned threads, SeenSet& seen, const WriteLines& write,
                   DedupCounts& counts) {
  threads = std::max(threads, 1U);
  SliceRing ring((threads + 2) * kSlotsAThread);
  Result<void> outcome;
  std::vector<std::jthread> helpers;
  const bool reads = add_thread(helpers, [&] {
    for (const std::string& file : files) {
      if (outcome = read_file(file, ring); !outcome) break;
    }
    ring.end();
  });
  const auto hash = [&] {
    KeyText texts;
    while (RingSlot* slot = ring.next_filled()) {
      hash_lines(seen, texts, *slot);
      ring.hashed(*slot);
    }
  };
  unsigned hashing = 0;
  while (reads && hashing < threads && add_thread(helpers, hash)) ++hashing;
  if (hashing == 0) {
    ring.stop();
    helpers.clear();
    return unexpected(Error{Errc::io, {}, "the system cannot start two more threads"});
  }
  const bool is_wanted = write_all(ring, seen, write, counts);
  if (!is_wanted) ring.stop();
  helpers.clear();  // joins
  if (is_wanted) return outcome;
  return unexpected(Error{Errc::io, "standard output", "can't be written"});
}

}  // namespace bloomwall::filter
