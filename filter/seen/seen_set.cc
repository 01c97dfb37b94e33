// SPDX-License-Identifier: Apache-2.0
#include "filter/seen/seen_set.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/units.h"
#include "filter/bits/bloom_math.h"
#include "filter/file/filter_file.h"
#include "filter/file/filter_writer.h"
#include "filter/file/identity.h"
#include "filter/seen/seen_size.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max() / 2;

// Why a filter is no set of keys; empty: it is one.
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

SeenKey key_of(const Header& header) {
  if ((header.converter_options & kOptionUrlKeys) != 0) return SeenKey::url;
  return (header.converter_options & kOptionHostKeys) != 0 ? SeenKey::host : SeenKey::line;
}

std::uint32_t options_of(SeenKey key) {
  switch (key) {
    case SeenKey::line:
      return kOptionRaw;
    case SeenKey::url:
      return kOptionRaw | kOptionUrlKeys;
    case SeenKey::host:
      return kOptionRaw | kOptionHostKeys;
  }
  return kOptionRaw;
}

bool is_met(const Geometry& geometry, const MadeFor& made_for) {
  constexpr std::uint64_t kBits = 8 * kPageBytes;
  if (made_for.keys / kBits > geometry.pages) return false;  // more keys than bits: nothing to calculate
  constexpr double kRounding = 1.001;  // least_seen_size() ends a millionth of the size from the limit
  return seen_error(geometry, made_for.keys) <= made_for.error * kRounding;
}

}  // namespace

SeenSet::SeenSet(const Spec& spec, AnonymousMemory memory)
    : series_key_(spec.series_key),
      keys_(spec.series_key),
      key_(spec.key),
      memory_(std::move(memory)),
      writer_(spec.geometry, memory_.bytes().data(), SectionKind::raw),
      shared_(std::make_unique<Shared>()) {
  shared_->left = kNoLimit;
}

Result<SeenSet> SeenSet::create(const Spec& spec) {
  const std::uint64_t bytes = spec.geometry.bytes();
  // The kernel overcommits: where memory is missing the process would be killed in the middle.
  if (const std::uint64_t free = available_ram(); bytes > free) {
    return unexpected(Error{
        Errc::limit, {}, fmt::format("{} of memory are wanted, {} are free", format_bytes(bytes), format_bytes(free))});
  }
  auto memory = AnonymousMemory::make(bytes);
  if (!memory) {
    return unexpected(
        Error{Errc::limit, {}, fmt::format("cannot get {} of memory: {}", format_bytes(bytes), memory.error().what)});
  }
  return SeenSet(spec, *std::move(memory));
}

Result<SeenSet> SeenSet::load(const std::filesystem::path& file) {
  const auto opened = FilterFile::open(file);
  if (!opened) return unexpected(opened.error());
  const Header& header = (*opened)->header();
  if (const auto why = why_no_set(header); !why.empty()) {
    return unexpected(Error{Errc::unsupported, file.string(), fmt::format("is a filter that {}", why)});
  }
  if (auto ok = (*opened)->verify(FilterFile::Depth::accident); !ok) return unexpected(std::move(ok).error());
  const auto info = (*opened)->info();
  if (!info) return unexpected(info.error());
  const Geometry geometry = header.find(SectionType::raw)->geometry;
  if (info->made_for.keys != 0 && !is_met(geometry, info->made_for)) {
    return unexpected(Error{Errc::bad_section, file.string(), "promises an error that its size cannot give"});
  }
  auto seen = create({.geometry = geometry, .series_key = header.series_key, .key = key_of(header)});
  if (!seen) return seen;
  if (auto ok = (*opened)->read_section(SectionType::raw, seen->writer_.bytes()); !ok) {
    return unexpected(std::move(ok).error());
  }
  seen->was_loaded_ = true;
  seen->before_ = header.kinds[index_of(Kind::raw)];
  seen->made_for_ = info->made_for;
  seen->last_ = header;
  return seen;
}

Result<void> SeenSet::promise(const MadeFor& made_for) {
  if (!is_met(geometry(), made_for)) {
    return unexpected(
        Error{Errc::unmet_target,
              {},
              fmt::format("a set of {} holds {} keys at an error of {}, not {}", format_bytes(geometry().bytes()),
                          format_count(seen_capacity(geometry(), made_for.error)), format_rate(made_for.error),
                          format_count(made_for.keys))});
  }
  made_for_ = made_for;
  shared_->left = made_for.keys - std::min(made_for.keys, before_.keys);
  return {};
}

// Large while much is left, so that parts seldom meet at the one counter; one at a time towards the end, so that no
// part keeps credits that another one lacks.
std::uint64_t SeenSet::take_credits() {
  constexpr std::uint64_t kMost = 256;
  std::uint64_t left = shared_->left.load(std::memory_order_relaxed);
  while (left != 0) {
    const std::uint64_t taken = std::clamp<std::uint64_t>(left / (4 * kParts), 1, kMost);
    if (shared_->left.compare_exchange_weak(left, left - taken, std::memory_order_relaxed)) return taken;
  }
  return 0;
}

// Takes back what parts have and do not need just now. False: nothing is left anywhere. The caller holds no part.
bool SeenSet::gather_credits() {
  const std::scoped_lock alone(shared_->gathering);
  if (shared_->left != 0) return true;  // another thread has gathered
  if (shared_->is_full) return false;
  std::uint64_t gathered = 0;
  for (Part& part : shared_->parts) {
    const std::scoped_lock lock(part.mutex);
    gathered += part.credits;
    shared_->left += std::exchange(part.credits, 0);
  }
  shared_->is_full = gathered == 0;
  return gathered != 0;
}

Added SeenSet::add(const Place& place) {
  Part& part = part_of(place.page);
  for (;;) {
    {
      const std::scoped_lock lock(part.mutex);
      if (writer_.view().test(place)) {
        ++part.entries;
        return Added::seen;
      }
      if (part.credits == 0) part.credits = take_credits();
      if (part.credits != 0) {
        --part.credits;
        ++part.entries;
        ++part.keys;
        writer_.insert_exclusive(place);
        return Added::fresh;
      }
    }
    if (shared_->is_full || !gather_credits()) return Added::full;
  }
}

bool SeenSet::holds(const Place& place) const {
  const std::scoped_lock lock(part_of(place.page).mutex);
  return writer_.view().test(place);
}

KindCounts SeenSet::counts() const {
  KindCounts sum = before_;
  for (const Part& part : shared_->parts) {
    const std::scoped_lock lock(part.mutex);
    sum.entries = sum_of_counts(sum.entries, part.entries);
    sum.keys = sum_of_counts(sum.keys, part.keys);
  }
  return sum;
}

double SeenSet::fill() const { return fill_error(geometry().layout, writer_.bytes()); }

// By way of a page of its own: `out` may be a file's, where a write can wait for the disk.
void SeenSet::copy_pages(std::span<std::byte> out) const {
  alignas(kLineBytes) std::array<std::byte, kPageBytes> copy;
  const std::span<const std::byte> bytes = writer_.bytes();
  for (std::uint64_t page = 0; page < geometry().pages; ++page) {
    {
      const std::scoped_lock lock(part_of(page).mutex);
      std::memcpy(copy.data(), bytes.data() + page * kPageBytes, kPageBytes);
    }
    std::memcpy(out.data() + page * kPageBytes, copy.data(), kPageBytes);
  }
}

Result<Header> SeenSet::save(const std::filesystem::path& file, FormerFile& former, std::string_view builder) {
  IdentityOptions options;
  options.series_key = series_key_;
  const auto identity = choose_identity(options, last_);
  if (!identity) return unexpected(identity.error());
  FilterWriter::Plan plan;
  set_identity(plan.header, *identity);
  plan.header.converter_options = options_of(key_);
  plan.header.unicode_version = unicode_version();
  plan.raw = geometry();
  plan.info.builder = builder;
  plan.info.made_for = made_for_;
  plan.former = former;
  auto writer = FilterWriter::create(file, std::move(plan));
  if (!writer) return unexpected(std::move(writer).error());
  copy_pages((*writer)->pages(SectionType::raw));
  // After the copy: the file says rather too many keys than too few.
  (*writer)->header().kinds[index_of(Kind::raw)] = counts();
  if (auto ok = (*writer)->commit(); !ok) return unexpected(std::move(ok).error());
  struct stat status{};
  if (fstat((*writer)->draft().descriptor(), &status) != 0) return system_error(file, "look at");
  former.stamp = stamp_of(status);
  last_ = (*writer)->header();
  return *last_;
}

}  // namespace bloomwall::filter
