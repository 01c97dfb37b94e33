// The sketches section, little-endian:
//   u32 version (1), u32 mark mask, u16 least labels (256: none), u16 most labels, u32 greatest depth, then a sketch
//   for each kind in the order of kKinds but networks, for hosts and for marks:
//   u32 number of registers that are not zero, then for each of them u16 index and u8 rank, by index; where that would
//   be as long as all registers, all registers, a byte each.
// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "filter/bits/line_ops.h"
#include "filter/keys/keys.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kSparseBytes = 3;

template <typename Number>
void put(std::vector<std::byte>& out, Number value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <typename Number>
bool take(std::span<const std::byte>& bytes, Number& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

bool is_sparse(std::size_t used) { return used * kSparseBytes < DistinctSketch::kRegisters; }

// Ertl's sigma and tau: what registers that are zero, or at their maximum, add to the sum of 2^-rank.
double sigma(double x) {
  double y = 1;
  double z = x;
  for (double before = -1; z != before;) {
    before = z;
    x *= x;
    z += x * y;
    y += y;
  }
  return z;
}

double tau(double x) {
  if (x <= 0 || x >= 1) return 0;
  double y = 1;
  double z = 1 - x;
  for (double before = -1; z != before;) {
    before = z;
    x = std::sqrt(x);
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

}  // namespace

unsigned DistinctSketch::rank_of(const Hash128& key) {
  return std::min(static_cast<unsigned>(std::countl_zero(key.lo)) + 1, kMostRank);
}

void DistinctSketch::raise(std::size_t at, unsigned rank) {
  if (ranks_.empty()) ranks_.resize(kRegisters);
  if (ranks_[at] >= rank) return;
  ranks_[at] = static_cast<std::uint8_t>(rank);
  if (++raised_ >= kRegisters) find_floor();
}

void DistinctSketch::find_floor() {
  raised_ = 0;
  floor_ = ranks_.empty() ? 0 : *std::min_element(ranks_.begin(), ranks_.end());
}

void DistinctSketch::merge(const DistinctSketch& other) {
  if (other.ranks_.empty()) return;
  if (ranks_.empty()) ranks_.resize(kRegisters);
  for (std::size_t i = 0; i < kRegisters; ++i) ranks_[i] = std::max(ranks_[i], other.ranks_[i]);
  find_floor();
}

std::uint64_t DistinctSketch::estimate() const {
  if (ranks_.empty()) return 0;
  std::array<std::uint32_t, kMostRank + 1> count{};
  for (const std::uint8_t rank : ranks_) ++count[rank];
  constexpr double kM = kRegisters;
  double z = kM * tau(1 - count[kMostRank] / kM);
  for (unsigned rank = kMostRank - 1; rank >= 1; --rank) z = 0.5 * (z + count[rank]);
  z += kM * sigma(count[0] / kM);
  return static_cast<std::uint64_t>(std::llround(kM * kM / (2 * std::log(2.0) * z)));
}

void DistinctSketch::write(std::vector<std::byte>& out) const {
  const auto used = ranks_.size() - static_cast<std::size_t>(std::count(ranks_.begin(), ranks_.end(), 0));
  put(out, static_cast<std::uint32_t>(used));
  if (!is_sparse(used)) {
    const auto all = std::as_bytes(std::span(ranks_));
    out.insert(out.end(), all.begin(), all.end());
    return;
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i] == 0) continue;
    put(out, static_cast<std::uint16_t>(i));
    put(out, ranks_[i]);
  }
}

bool DistinctSketch::read(std::span<const std::byte>& bytes) {
  std::uint32_t used = 0;
  if (!take(bytes, used) || used > kRegisters) return false;
  ranks_.assign(used == 0 ? 0 : kRegisters, 0);
  for (std::size_t i = 0; is_sparse(used) && i < used; ++i) {
    std::uint16_t at = 0;
    std::uint8_t rank = 0;
    if (!take(bytes, at) || !take(bytes, rank) || rank == 0 || ranks_[at] != 0) return false;
    ranks_[at] = rank;
  }
  if (!is_sparse(used)) {
    if (bytes.size() < kRegisters) return false;
    std::memcpy(ranks_.data(), bytes.data(), kRegisters);
    bytes = bytes.subspan(kRegisters);
  }
  find_floor();
  const auto zeros = static_cast<std::size_t>(std::count(ranks_.begin(), ranks_.end(), 0));
  return ranks_.size() - zeros == used &&
         std::all_of(ranks_.begin(), ranks_.end(), [](std::uint8_t rank) { return rank <= kMostRank; });
}

void EntrySketches::add_host(const Hash128& host, Variant variant) {
  hosts_.add(host);
  if (variant < kVariantMarkUrl) {
    const Kind kind = variant == kVariantSuffix      ? Kind::suffix
                      : variant == kVariantExactHost ? Kind::exact_host
                                                     : Kind::subdomains;
    kinds_[index_of(kind)].add(host);
    return;
  }
  mark_mask_ |= std::uint32_t{1} << variant;
  // Of the pair: both halves are mixed with the variant.
  marks_.add({.lo = bits::first_word(host.lo, variant), .hi = bits::first_word(host.hi, variant)});
}

void EntrySketches::add_labels(unsigned labels) {
  if (labels == 0) return;
  labels = std::min(labels, kMostLabels);  // as in a header
  min_labels_ = std::min(min_labels_, labels);
  max_labels_ = std::max(max_labels_, labels);
}

void EntrySketches::merge(const EntrySketches& other) {
  for (std::size_t i = 0; i < kKeyKindCount; ++i) kinds_[i].merge(other.kinds_[i]);
  hosts_.merge(other.hosts_);
  marks_.merge(other.marks_);
  mark_mask_ |= other.mark_mask_;
  min_labels_ = std::min(min_labels_, other.min_labels_);
  max_labels_ = std::max(max_labels_, other.max_labels_);
  max_depth_ = std::max(max_depth_, other.max_depth_);
}

namespace {

// Marks of the mean host, rounded up, but for what both estimates may be wrong by.
unsigned mean_marks(const KeySummary& of) {
  constexpr double kMostSurplus = 0.03;
  if (of.hosts == 0) return 0;
  const double mean = static_cast<double>(of.marks) / static_cast<double>(of.hosts);
  return static_cast<unsigned>(std::ceil(std::min(mean * (1 - kMostSurplus), double{kMostPathQuestions})));
}

}  // namespace

KeySummary EntrySketches::summary() const {
  KeySummary out;
  out.estimated = true;
  for (std::size_t i = 0; i < kKeyKindCount; ++i) out.distinct[i] = kinds_[i].estimate();
  out.hosts = hosts_.estimate();
  out.marks = marks_.estimate();
  out.mark_mask = mark_mask_;
  out.max_labels = static_cast<std::uint8_t>(std::min(max_labels_, 255U));
  out.min_labels = static_cast<std::uint8_t>(std::min<std::uint32_t>(min_labels_, out.max_labels));
  out.max_depth = static_cast<std::uint16_t>(std::min(max_depth_, 65535U));
  out.path_questions = mean_marks(out);
  return out;
}

std::vector<std::byte> EntrySketches::serialise() const {
  std::vector<std::byte> out;
  put(out, kVersion);
  put(out, mark_mask_);
  put(out, static_cast<std::uint16_t>(min_labels_));
  put(out, static_cast<std::uint16_t>(max_labels_));
  put(out, max_depth_);
  for (const DistinctSketch& kind : kinds_) kind.write(out);
  hosts_.write(out);
  marks_.write(out);
  return out;
}

Result<EntrySketches> EntrySketches::parse(std::span<const std::byte> bytes) {
  EntrySketches out;
  std::uint32_t version = 0;
  std::uint16_t least = 0;
  std::uint16_t most = 0;
  bool ok = take(bytes, version) && version == kVersion && take(bytes, out.mark_mask_) && take(bytes, least) &&
            take(bytes, most) && take(bytes, out.max_depth_) && least <= kNoLabels && most < kNoLabels;
  out.min_labels_ = least;
  out.max_labels_ = most;
  for (DistinctSketch& kind : out.kinds_) ok = ok && kind.read(bytes);
  ok = ok && out.hosts_.read(bytes) && out.marks_.read(bytes) && bytes.empty();
  if (!ok) return unexpected(Error{Errc::bad_section, "sketches", "not as a builder writes them"});
  return out;
}

namespace {

constexpr std::size_t kKnownHosts = 1024;

unsigned labels_of(const Entry& entry) {
  if (entry.host_kind != HostKind::name) return 0;
  return static_cast<unsigned>(std::count(entry.host.begin(), entry.host.end(), '.')) + 1;
}

}  // namespace

SketchingSink::SketchingSink(const KeyMaker& keys) : keys_(keys), known_(kKnownHosts) {}

const Hash128& SketchingSink::hash_of_host(const Entry& entry) {
  if (entry.host == last_host_ && !last_host_.empty()) return last_hash_;
  last_host_ = entry.host;
  last_hash_ = keys_.host(entry.host);
  sketches_.add_labels(labels_of(entry));
  return last_hash_;
}

void SketchingSink::add(const Entry& entry) {
  if (entry.kind == Kind::raw) {
    const Hash128 key = keys_.raw(entry.path);
    sketches_.add_key(Kind::raw, key, 0);
    return take_key(Kind::raw, key);
  }
  const Hash128& host = hash_of_host(entry);
  const EntryKeys keys = keys_of(keys_, entry, host);
  add_host(host, keys.host_variant);
  if (!is_path_kind(entry.kind)) return;
  sketches_.add_key(entry.kind, keys.key, keys.depth);
  take_key(entry.kind, keys.key);
}

void SketchingSink::add_host(const Hash128& host, Variant variant) {
  KnownHost& known = known_[host.lo % kKnownHosts];
  const std::uint32_t bit = std::uint32_t{1} << variant;
  if (known.key != host) known = {.key = host};
  if ((known.variants & bit) != 0) return;
  known.variants |= bit;
  sketches_.add_host(host, variant);
  take_host(host, variant);
}

KeySink& KeyEstimator::sink(unsigned worker) {
  while (sinks_.size() <= worker) sinks_.push_back(std::make_unique<SketchingSink>(keys_));
  return *sinks_[worker];
}

EntrySketches KeyEstimator::sketches() const {
  EntrySketches all;
  for (const auto& sink : sinks_) all.merge(sink->sketches());
  return all;
}

}  // namespace bloomwall::filter
