// SPDX-License-Identifier: Apache-2.0

#include "filter/dedup/dedup.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/units.h"
#include "filter/bits/bloom_math.h"
#include "filter/builder/builder.h"
#include "filter/dedup/line_slices.h"
#include "filter/file/filter_file.h"
#include "filter/file/filter_writer.h"
#include "filter/file/identity.h"
#include "filter/file/memory.h"
#include "filter/lists/list_input.h"
#include "filter/lists/list_report.h"
#include "filter/parallel.h"
#include "filter/url/canonical_url.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

// One segment: nothing is partitioned here.
Geometry of_pages(Layout layout, std::uint64_t pages) { return {.layout = layout, .pages = pages}; }

Geometry filling(std::uint64_t memory, std::uint64_t entries) {
  const std::uint64_t pages = memory / kPageBytes;
  const Geometry sectors = of_pages(Layout::sectors_2x8, pages);
  const Geometry quads = of_pages(Layout::lines_4x4, pages);
  return dedup_error(quads, entries) < dedup_error(sectors, entries) ? quads : sectors;
}

Geometry meeting(std::uint64_t entries, double fpr) {
  const auto keys = static_cast<double>(std::max<std::uint64_t>(entries, 1));
  const auto pages = [&](Layout layout) {
    return pages_for({.layout = layout, .kind = SectionKind::raw, .keys = keys}, fpr);
  };
  const std::uint64_t sectors = pages(Layout::sectors_2x8);
  const std::uint64_t quads = pages(Layout::lines_4x4);
  const bool use_sectors = sectors != 0 && (quads == 0 || sectors <= quads);  // 0: not to be had
  return use_sectors ? of_pages(Layout::sectors_2x8, sectors) : of_pages(Layout::lines_4x4, quads);
}

constexpr std::uint64_t kUsualBits = 32;  // per line, where only the memory is known

}  // namespace

double dedup_error(const Geometry& geometry, std::uint64_t lines) {
  return key_error(geometry.layout, SectionKind::raw, static_cast<double>(lines), geometry.pages);
}

// The differential equation d(offered) / d(taken) = 1 / (1 - error(offered)), by Runge and Kutta's method of the fourth
// order.
double dedup_offered(const Geometry& geometry, std::uint64_t taken, double most) {
  constexpr unsigned kSteps = 64;
  const auto slope = [&](double offered) {
    const double error = key_error(geometry.layout, SectionKind::raw, std::min(offered, most), geometry.pages);
    return 1 / std::max(1 - error, 1e-6);
  };
  const double step = static_cast<double>(taken) / kSteps;
  double offered = 0;
  for (unsigned i = 0; i < kSteps && offered < most; ++i) {
    const double first = slope(offered);
    const double second = slope(offered + step / 2 * first);
    const double third = slope(offered + step / 2 * second);
    const double fourth = slope(offered + step * third);
    offered += step / 6 * (first + 2 * second + 2 * third + fourth);
  }
  return std::min(offered, most);
}

Result<Geometry> choose_dedup_size(const DedupTarget& target) {
  if (target.memory && (*target.memory < kPageBytes || *target.memory / kPageBytes > kMaxPages)) {
    return unexpected(Error{Errc::usage, "--memory", fmt::format("at least {} are needed", format_bytes(kPageBytes))});
  }
  if (target.entries && (target.fpr || !target.memory)) {
    const double fpr = target.fpr.value_or(kUsualDedupError);
    const Geometry least = meeting(*target.entries, fpr);
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
  return filling(memory, target.entries.value_or(memory * 8 / kUsualBits));
}

void SeenLines::Unmap::operator()(std::byte* memory) const noexcept { munmap(memory, bytes); }

SeenLines::SeenLines(const Geometry& geometry, const SeriesKey& key, Memory memory)
    : geometry_(geometry),
      series_key_(key),
      keys_(key),
      memory_(std::move(memory)),
      writer_(geometry, memory_.get(), SectionKind::raw) {}

Result<SeenLines> SeenLines::create(const Geometry& geometry, const SeriesKey& key) {
  const std::uint64_t bytes = geometry.bytes();
  // The kernel overcommits: where memory is missing the process would be killed in the middle.
  if (const std::uint64_t free = available_ram(); bytes > free) {
    return unexpected(Error{
        Errc::limit, {}, fmt::format("{} of memory are wanted, {} are free", format_bytes(bytes), format_bytes(free))});
  }
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return unexpected(
        Error{Errc::limit, {}, fmt::format("cannot get {} of memory: {}", format_bytes(bytes), std::strerror(errno))});
  }
  madvise(at, bytes, MADV_HUGEPAGE);  // without it the same, only slower
  return SeenLines(geometry, key, Memory(static_cast<std::byte*>(at), Unmap{bytes}));
}

namespace {

// Why a filter is no set of lines; empty: it is one.
std::string_view why_no_set(const Header& header) {
  if (header.find(SectionType::raw) == nullptr) return "holds no raw keys";
  for (const SectionType type :
       {SectionType::hosts, SectionType::paths, SectionType::exceptions, SectionType::networks}) {
    if (header.find(type) != nullptr) return "holds more than raw keys";
  }
  if (header.exact_root != Sha256{}) return "has an exact side";
  const bool is_signed = header.find(SectionType::signatures) != nullptr ||
                         std::ranges::any_of(header.signatures, [](const Signature& s) { return s != Signature{}; });
  return is_signed ? "is signed" : "";
}

}  // namespace

Result<SeenLines> SeenLines::load(const std::filesystem::path& file) {
  const auto opened = FilterFile::open(file);
  if (!opened) return unexpected(opened.error());
  const Header& header = (*opened)->header();
  if (const auto why = why_no_set(header); !why.empty()) {
    return unexpected(Error{Errc::unsupported, file.string(), fmt::format("is a filter that {}", why)});
  }
  auto seen = create(header.find(SectionType::raw)->geometry, header.series_key);
  if (!seen) return seen;
  if (auto ok = (*opened)->read_section(SectionType::raw, seen->writer_.bytes()); !ok) {
    return unexpected(std::move(ok).error());
  }
  seen->loaded_ = header;
  return seen;
}

SeenKey SeenLines::loaded_key() const {
  return loaded_ && (loaded_->converter_options & kOptionUrlKeys) != 0 ? SeenKey::url : SeenKey::line;
}

Result<Header> SeenLines::save(const std::filesystem::path& file, const FormerFile& former, SeenKey key,
                               std::uint64_t came, std::uint64_t taken) const {
  IdentityOptions options;
  options.series_key = series_key_;
  const auto identity = choose_identity(options, loaded_);
  if (!identity) return unexpected(identity.error());
  FilterWriter::Plan plan;
  set_identity(plan.header, *identity);
  plan.header.converter_options = kOptionRaw | (key == SeenKey::url ? kOptionUrlKeys : 0);
  plan.header.unicode_version = unicode_version();
  KindCounts& counts = plan.header.kinds[index_of(Kind::raw)];
  if (loaded_) counts = loaded_->kinds[index_of(Kind::raw)];
  counts.entries = sum_of_counts(counts.entries, came);
  counts.keys = sum_of_counts(counts.keys, taken);
  plan.raw = geometry_;
  plan.info.builder = "bloomwall-filter " BLOOMWALL_VERSION " dedup";
  plan.former = former;
  auto writer = FilterWriter::create(file, std::move(plan));
  if (!writer) return unexpected(std::move(writer).error());
  const std::span<const std::byte> bits = writer_.bytes();
  std::ranges::copy(bits, (*writer)->pages(SectionType::raw).begin());
  if (auto ok = (*writer)->commit(); !ok) return unexpected(std::move(ok).error());
  return (*writer)->header();
}

double SeenLines::fill() const { return fill_error(geometry_.layout, writer_.bytes()); }

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

// The keys of lines, by one thread.
class LineKeys {
 public:
  LineKeys(const SeenLines& seen, SeenKey key) : seen_(seen), key_(key) {}
  HashedLine hashed(std::string_view line) {
    if (key_ == SeenKey::line) return {.place = seen_.place(line)};
    std::string_view text = line;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.size() > kMaxLineBytes) return {.place = seen_.place(line), .no_url = true};
    const CanonicalUrl& url = canonicaliser_.url(text);
    if (url.action != UrlAction::lookup || !url.has_canonical) return {.place = seen_.place(line), .no_url = true};
    return {.place = seen_.place(url.expression())};
  }

 private:
  const SeenLines& seen_;
  SeenKey key_;
  Canonicaliser canonicaliser_;
};

void hash_lines(LineKeys& keys, RingSlot& slot) {
  slot.lines.clear();
  if (slot.slice.too_long) return;
  const std::string_view text = slot.slice.text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    slot.lines.push_back(keys.hashed(line));
    slot.lines.back().end = static_cast<std::uint32_t>(begin);
  }
}

// Moves the new lines to the front of the slice and drops the others.
void drop_seen(SeenLines& seen, RingSlot& slot, DedupCounts& counts) {
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
    if (seen.add(lines[i].place)) {
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
bool write_all(SliceRing& ring, SeenLines& seen, const WriteLines& write, DedupCounts& counts) {
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

Result<void> dedup(const std::vector<std::string>& files, unsigned threads, SeenLines& seen, SeenKey key,
                   const WriteLines& write, DedupCounts& counts) {
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
    LineKeys keys(seen, key);
    while (RingSlot* slot = ring.next_filled()) {
      hash_lines(keys, *slot);
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
