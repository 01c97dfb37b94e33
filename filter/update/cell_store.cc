// SPDX-License-Identifier: Apache-2.0
#include "filter/update/cell_store.h"

#include <algorithm>
#include <numeric>

#include "filter/keys/keys.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kInFlight = 32;
constexpr std::size_t kRecentMarks = 1024;

std::uint64_t less(std::uint64_t from, std::uint64_t amount) { return from - std::min(from, amount); }

}  // namespace

void CellTally::merge(const CellTally& other) {
  for (std::size_t i = 0; i < kKindCount; ++i) {
    entries[i] += other.entries[i];
    distinct[i] += other.distinct[i];
  }
  not_there += other.not_there;
  no_section += other.no_section;
  hosts += other.hosts;
  marks += other.marks;
  mark_mask |= other.mark_mask;
  min_labels = std::min(min_labels, other.min_labels);
  max_labels = std::max(max_labels, other.max_labels);
  max_depth = std::max(max_depth, other.max_depth);
}

std::uint64_t CellTally::entry_count() const {
  return std::accumulate(entries.begin(), entries.end(), std::uint64_t{0});
}

class CellStore::Sink final : public KeySink {
 public:
  explicit Sink(CellStore& store) : store_(store), recent_marks_(kRecentMarks) {}
  const CellTally& tally() const { return tally_; }

  void add(const Entry& entry) override {
    const KeyMaker& keys = store_.keys_;
    const EntryKeys made = keys_of(keys, entry, entry.kind == Kind::raw ? Hash128{} : keys.host(entry.host));
    if (!note(entry, made)) return;
    Op op{.kind = entry.kind, .variant = 0, .section = section_of(entry.kind), .place = {}};
    if (is_host_kind(entry.kind)) {
      op.variant = made.host_variant;
      op.place = op.section->place(made.host);
    } else {
      op.place = op.section->place(made.key);
    }
    if (is_path_kind(entry.kind) && store_.change_ == CellChange::add) announce(made);
    op.section->prefetch(op.place, op.variant);
    waiting_.push_back(op);
    if (waiting_.size() == kInFlight) flush();
  }

  void flush() override {
    for (const Op& op : waiting_) apply(op);
    waiting_.clear();
  }

 private:
  struct Op {
    Kind kind;
    Variant variant;
    CounterSection* section;
    Place place;
  };
  struct Mark {
    Hash128 host{};
    std::uint32_t variants = 0;
  };

  CounterSection* section_of(Kind kind) const {
    auto& s = store_.sections_;
    auto& wanted = kind == Kind::raw ? s.raw : is_path_kind(kind) ? s.paths : s.hosts;
    return wanted ? &*wanted : nullptr;
  }
  // False where the filter has no place for it.
  bool note(const Entry& entry, const EntryKeys& made) {
    const bool has_place = section_of(entry.kind) != nullptr && (entry.kind == Kind::raw || store_.sections_.hosts);
    if (!has_place) {
      ++tally_.no_section;
      return false;
    }
    if (store_.change_ != CellChange::add || entry.kind == Kind::raw) return true;
    tally_.max_depth = std::max(tally_.max_depth, made.depth);
    if (entry.host_kind != HostKind::name) return true;
    const auto labels = static_cast<std::uint32_t>(1 + std::count(entry.host.begin(), entry.host.end(), '.'));
    tally_.min_labels = std::min(tally_.min_labels, labels);
    tally_.max_labels = std::max(tally_.max_labels, labels);
    return true;
  }

  // Pins the mark, unless this thread did so recently: lists name one host many times.
  void announce(const EntryKeys& made) {
    Mark& recent = recent_marks_[made.host.lo % kRecentMarks];
    if (recent.host != made.host) recent = {.host = made.host};
    if ((recent.variants >> made.host_variant & 1U) != 0) return;
    recent.variants |= 1U << made.host_variant;
    tally_.mark_mask |= 1U << made.host_variant;
    CounterSection& hosts = *store_.sections_.hosts;
    const Place place = hosts.place(made.host);
    const std::lock_guard lock(lock_of(place));
    if (!hosts.test(place, made.host_variant)) {
      ++tally_.marks;
      if (!has_any_variant(hosts, place)) ++tally_.hosts;
    }
    hosts.pin(place, made.host_variant);
  }

  void apply(const Op& op) {
    const std::size_t kind = index_of(op.kind);
    const std::lock_guard lock(lock_of(op.place));
    switch (store_.change_) {
      case CellChange::add:
        count_new(op, kind);
        op.section->add(op.place, op.variant);
        ++tally_.entries[kind];
        return;
      case CellChange::probe:
        ++(op.section->test(op.place, op.variant) ? tally_.entries[kind] : tally_.not_there);
        return;
      case CellChange::remove:
        if (!op.section->remove(op.place, op.variant)) {
          ++tally_.not_there;
          return;
        }
        ++tally_.entries[kind];
        if (op.section->test(op.place, op.variant)) return;
        ++tally_.distinct[kind];
        if (is_host_kind(op.kind) && !has_any_variant(*op.section, op.place)) ++tally_.hosts;
        return;
    }
  }

  void count_new(const Op& op, std::size_t kind) {
    if (op.section->test(op.place, op.variant)) return;
    ++tally_.distinct[kind];
    if (is_host_kind(op.kind) && !has_any_variant(*op.section, op.place)) ++tally_.hosts;
  }

  static bool has_any_variant(const CounterSection& hosts, const Place& place) {
    for (Variant variant = 0; variant < kHostVariantCount; ++variant) {
      if (hosts.test(place, variant)) return true;
    }
    return false;
  }

  std::mutex& lock_of(const Place& place) const { return (*store_.locks_)[place.page % store_.locks_->size()]; }

  CellStore& store_;
  CellTally tally_;
  std::vector<Op> waiting_;
  std::vector<Mark> recent_marks_;
};

CellStore::CellStore(const CellSections& sections, const Header& header, CellChange change)
    : sections_(sections),
      keys_(key_maker_of(header)),
      change_(change),
      locks_(std::make_unique<std::array<std::mutex, 1024>>()) {}

CellStore::~CellStore() = default;

KeySink& CellStore::sink(unsigned worker) {
  const std::lock_guard lock(sinks_mutex_);
  while (sinks_.size() <= worker) sinks_.push_back(std::make_unique<Sink>(*this));
  return *sinks_[worker];
}

CellTally CellStore::tally() const {
  CellTally out;
  for (const auto& sink : sinks_) out.merge(sink->tally());
  return out;
}

void apply_tally(Header& header, const CellTally& tally, CellChange change) {
  if (change == CellChange::probe) return;
  const bool adding = change == CellChange::add;
  const bool any_labels = has_unknown_labels(header);
  const auto apply = [adding](std::uint64_t& count, std::uint64_t amount) {
    count = adding ? sum_of_counts(count, amount) : less(count, amount);
  };
  for (std::size_t i = 0; i < kKindCount; ++i) {
    apply(header.kinds[i].entries, tally.entries[i]);
    apply(header.kinds[i].keys, tally.distinct[i]);
  }
  apply(header.hosts, tally.hosts);
  if (!adding) return;
  apply(header.marks, tally.marks);
  header.mark_mask |= tally.mark_mask;
  header.max_depth =
      static_cast<std::uint16_t>(std::max<std::uint32_t>(header.max_depth, std::min(tally.max_depth, 65535U)));
  if (tally.max_labels == 0 || any_labels) return;
  const auto least = static_cast<std::uint8_t>(std::min(tally.min_labels, 255U));
  header.min_labels = header.max_labels == 0 ? least : std::min(header.min_labels, least);
  header.max_labels = std::max(header.max_labels, static_cast<std::uint8_t>(std::min(tally.max_labels, 255U)));
}

namespace {

using Cells = std::optional<CounterSection>;

Cells cells_of_file(const FilterFile& file, SectionType type) {
  const SectionEntry* const section = file.header().find(type);
  if (section == nullptr) return std::nullopt;
  // Never written through: CellChange::probe only tests.
  auto* const cells = const_cast<std::byte*>(file.section_bytes(type).data());
  return CounterSection(section->geometry, cells, section_kind(type));
}

Cells cells_of_writer(FilterWriter& writer, SectionType type, const std::optional<Geometry>& geometry) {
  if (!geometry) return std::nullopt;
  return CounterSection(*geometry, writer.pages(type).data(), section_kind(type));
}

std::optional<Geometry> geometry_in(const FilterFile& file, SectionType type) {
  const SectionEntry* const section = file.header().find(type);
  if (section == nullptr) return std::nullopt;
  return section->geometry;
}

}  // namespace

CellSections sections_of(const FilterFile& file) {
  return {.hosts = cells_of_file(file, SectionType::hosts),
          .paths = cells_of_file(file, SectionType::paths),
          .raw = cells_of_file(file, SectionType::raw)};
}

CellSections sections_of(FilterWriter& writer, const FilterFile& like) {
  return sections_of(writer, Geometries{.hosts = geometry_in(like, SectionType::hosts),
                                        .paths = geometry_in(like, SectionType::paths),
                                        .raw = geometry_in(like, SectionType::raw)});
}

CellSections sections_of(FilterWriter& writer, const Geometries& geometries) {
  return {.hosts = cells_of_writer(writer, SectionType::hosts, geometries.hosts),
          .paths = cells_of_writer(writer, SectionType::paths, geometries.paths),
          .raw = cells_of_writer(writer, SectionType::raw, geometries.raw)};
}

}  // namespace bloomwall::filter
