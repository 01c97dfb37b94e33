// SPDX-License-Identifier: Apache-2.0
#include "filter/slices/record_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/units.h"
#include "filter/parallel.h"

namespace bloomwall::filter {
namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kSortedByDigit = std::size_t{1} << 15;  // from here on one pass by upper bits pays
constexpr std::size_t kReadAhead = std::size_t{1} << 16;      // records of a file

unsigned width_of_record(LeafRecord record) {
  const auto high = static_cast<std::uint64_t>(record >> 64);
  return high != 0 ? 64 + static_cast<unsigned>(std::bit_width(high))
                   : static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(record)));
}

// Puts records into the order of their upper bits, in place (McIlroy, Bostic, McIlroy, "Engineering Radix Sort", 1993).
// Returns where each digit's range ends.
std::vector<std::size_t> put_by_digit(std::span<LeafRecord> records, unsigned shift) {
  const auto digit = [shift](LeafRecord r) { return static_cast<std::size_t>(r >> shift); };
  std::vector<std::size_t> ends(kDigits), at(kDigits);
  for (const LeafRecord r : records) ++ends[digit(r)];
  std::size_t sum = 0;
  for (std::size_t d = 0; d < kDigits; ++d) {
    at[d] = sum;
    sum += ends[d];
    ends[d] = sum;
  }
  for (std::size_t d = 0; d < kDigits; ++d) {
    while (at[d] < ends[d]) {
      LeafRecord moving = records[at[d]];
      for (std::size_t to = digit(moving); to != d; to = digit(moving)) std::swap(moving, records[at[to]++]);
      records[at[d]++] = moving;
    }
  }
  return ends;
}

}  // namespace

std::size_t sort_unique(std::span<LeafRecord> records) {
  if (records.size() < kSortedByDigit) {
    std::ranges::sort(records);
  } else {
    const unsigned width = width_of_record(std::ranges::max(records));
    std::size_t begin = 0;
    for (const std::size_t end : put_by_digit(records, width > kDigitBits ? width - kDigitBits : 0)) {
      std::ranges::sort(records.subspan(begin, end - begin));
      begin = end;
    }
  }
  return static_cast<std::size_t>(std::ranges::unique(records).begin() - records.begin());
}

class RecordStore::Sink final : public SketchingSink {
 public:
  Sink(RecordStore& store, AnonymousMemory memory)
      : SketchingSink(store.keys_),
        store_(store),
        memory_(std::move(memory)),
        all_(reinterpret_cast<LeafRecord*>(memory_.bytes().data()), memory_.bytes().size() / sizeof(LeafRecord)) {}

  // Sorted, each once.
  std::span<const LeafRecord> finish() {
    used_ = sort_unique(all_.first(used_));
    return all_.first(used_);
  }

 private:
  void take_host(const Hash128& host, Variant variant) override { take(SectionKind::hosts, host, variant); }
  void take_key(Kind kind, const Hash128& key) override {
    take(kind == Kind::raw ? SectionKind::raw : SectionKind::paths, key, 0);
  }
  void take(SectionKind kind, const Hash128& key, Variant variant) {
    const auto section = static_cast<std::size_t>(kind);
    const auto& geometry = store_.spans_[section].geometry;
    if (!geometry) {
      return store_.fail({Errc::usage,
                          {},
                          "there are entries of a kind for which the geometry has no section; count "
                          "all lists, and plan again"});
    }
    Place place = place_of(*geometry, kind, key);
    const std::uint64_t leaf = store_.first_leaf_[section] + (place.page >> kLeafPageBits);
    place.page &= kPagesOfLeaf - 1;
    if (used_ == all_.size()) make_room();
    all_[used_++] = LeafRecord{leaf} << kMostValueBits | value_of(kind, place, variant);
  }
  void make_room() {
    used_ = sort_unique(all_);
    if (used_ <= all_.size() / 4 * 3) return;
    if (auto ok = store_.spill(all_.first(used_)); !ok) store_.fail(std::move(ok).error());
    used_ = 0;
  }

  RecordStore& store_;
  AnonymousMemory memory_;
  std::span<LeafRecord> all_;
  std::size_t used_ = 0;
};
static_assert(static_cast<std::size_t>(SectionKind::hosts) == 0 && static_cast<std::size_t>(SectionKind::paths) == 1 &&
              static_cast<std::size_t>(SectionKind::raw) == 2);

// The records of a run from its beginning on.
class RecordStore::Run {
 public:
  explicit Run(std::span<const LeafRecord> in_memory) : ready_(in_memory) {}
  explicit Run(const Spilled& file) : file_(file.file.get()), left_(file.records) {}

  // Appends what belongs to the leaf, which is the next one.
  Result<void> take(std::uint64_t leaf, std::vector<RecordValue>& out) {
    while (true) {
      if (ready_.empty()) {
        if (left_ == 0) return {};
        if (auto ok = read(); !ok) return ok;
      }
      std::size_t count = 0;
      while (count < ready_.size() && static_cast<std::uint64_t>(ready_[count] >> kMostValueBits) == leaf) {
        out.push_back(ready_[count++] & ((RecordValue{1} << kMostValueBits) - 1));
      }
      ready_ = ready_.subspan(count);
      if (!ready_.empty()) return {};
    }
  }

 private:
  Result<void> read() {
    buffer_.resize(std::min<std::uint64_t>(left_, kReadAhead));
    auto bytes = std::as_writable_bytes(std::span(buffer_));
    while (!bytes.empty()) {
      const ssize_t done = pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(at_));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return system_error("temporary file", "read");
      at_ += static_cast<std::uint64_t>(done);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    left_ -= buffer_.size();
    ready_ = buffer_;
    return {};
  }

  std::span<const LeafRecord> ready_;
  std::vector<LeafRecord> buffer_;
  int file_ = -1;
  std::uint64_t left_ = 0, at_ = 0;  // records that are not read; octets that are
};

RecordStore::RecordStore(const KeyMaker& keys, const LeafSpans& spans, const Options& options)
    : keys_(keys), spans_(spans), options_(options) {
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    first_leaf_[i] = leaves_;
    leaves_ += spans_[i].all();
  }
}

RecordStore::~RecordStore() = default;

Result<std::unique_ptr<RecordStore>> RecordStore::create(const KeyMaker& keys, const LeafSpans& spans,
                                                         const Options& options) {
  Options used = options;
  used.threads = std::max(1U, options.threads);
  const std::uint64_t each = options.ram_bytes / used.threads;
  if (each < kLeastBuffer) {
    return unexpected(
        Error{Errc::limit,
              {},
              fmt::format("with {} threads at least {} of memory are needed, and {} are allowed; raise "
                          "--ram or lower --threads",
                          used.threads, format_bytes(kLeastBuffer * used.threads), format_bytes(options.ram_bytes))});
  }
  std::unique_ptr<RecordStore> out(new RecordStore(keys, spans, used));
  for (unsigned i = 0; i < used.threads; ++i) {
    auto memory = AnonymousMemory::make(each / sizeof(LeafRecord) * sizeof(LeafRecord));
    if (!memory) return unexpected(std::move(memory).error());
    out->sinks_.push_back(std::make_unique<Sink>(*out, *std::move(memory)));
  }
  return out;
}

KeySink& RecordStore::sink(unsigned worker) { return *sinks_.at(worker); }

void RecordStore::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!first_error_) first_error_ = std::move(error);
  failed_.store(true, std::memory_order_relaxed);
}

Result<void> RecordStore::check() {
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed))
    return unexpected(Error{Errc::io, {}, "interrupted"});
  if (!failed_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  return unexpected(*first_error_);
}

EntrySketches RecordStore::sketches() const {
  EntrySketches out;
  for (const auto& sink : sinks_) out.merge(sink->sketches());
  return out;
}

Result<void> RecordStore::spill(std::span<const LeafRecord> sorted) {
  const std::filesystem::path& folder = options_.tmp_dir;
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {  // not every file system has files without a name
    std::string name = (folder / ".bloomwall-map-XXXXXX").string();
    file = UniqueFd(mkostemp(name.data(), O_CLOEXEC));
    if (!file) return system_error(folder, "make a temporary file in");
    unlink(name.c_str());
  }
  for (auto bytes = std::as_bytes(sorted); !bytes.empty();) {
    const ssize_t done = ::write(file.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(folder, "write a temporary file in");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  const std::lock_guard lock(mutex_);
  spilled_.push_back({.file = std::move(file), .records = sorted.size()});
  return {};
}

Result<void> RecordStore::give_out(const OnLeaf& leaf) {
  if (auto ok = check(); !ok) return ok;
  std::vector<std::span<const LeafRecord>> sorted(sinks_.size());
  for_each_index(sinks_.size(), options_.threads, [&](std::size_t i) { sorted[i] = sinks_[i]->finish(); });
  std::vector<Run> runs;
  for (const auto& each : sorted) runs.emplace_back(each);
  for (const Spilled& each : spilled_) runs.emplace_back(each);
  std::vector<RecordValue> values;
  std::vector<RecordValue> more;
  std::vector<RecordValue> merged;
  for (std::uint64_t i = 0; i < leaves_; ++i) {
    values.clear();
    for (Run& run : runs) {
      more.clear();
      if (auto ok = run.take(i, more); !ok) return ok;
      if (values.empty()) values.swap(more);
      if (more.empty()) continue;
      merged.resize(values.size() + more.size());
      std::ranges::merge(values, more, merged.begin());
      values.swap(merged);
    }
    values.erase(std::ranges::unique(values).begin(), values.end());
    if (auto ok = leaf(values); !ok) return ok;
    if (auto ok = check(); !ok) return ok;
  }
  return {};
}

}  // namespace bloomwall::filter
