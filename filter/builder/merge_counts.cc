// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/merge_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "filter/bits/bloom_math.h"
#include "filter/builder/draft_pages.h"
#include "filter/file/networks.h"

namespace bloomwall::filter {
namespace {

const char* difference_without_key(const Header& a, const Header& b) {
  if (a.hash_id != b.hash_id || a.key_derivation != b.key_derivation) return "another key derivation";
  if (a.canonicalisation != b.canonicalisation || a.canonical_options != b.canonical_options)
    return "another canonical form";
  if (a.converter_options != b.converter_options) return "built with other options";
  const Geometries x = geometries_of(a);
  const Geometries y = geometries_of(b);
  if (x.hosts != y.hosts || x.paths != y.paths || x.raw != y.raw) return "another geometry (build it --like the first)";
  return nullptr;
}

const char* difference(const Header& a, const Header& b) {
  return a.series_key != b.series_key ? "another series" : difference_without_key(a, b);
}

std::uint64_t scaled(std::uint64_t count, double factor) {
  constexpr double kMost = 0x1p62;  // the range of llround()
  return static_cast<std::uint64_t>(std::llround(std::min(static_cast<double>(count) * factor, kMost)));
}

std::span<const Kind> kinds_in(SectionType type) {
  static constexpr std::array kHosts{Kind::suffix, Kind::exact_host, Kind::subdomains};
  static constexpr std::array kPaths{Kind::url, Kind::url_query, Kind::directory};
  static constexpr std::array kRaw{Kind::raw};
  if (type == SectionType::hosts) return kHosts;
  if (type == SectionType::paths) return kPaths;
  return kRaw;
}

void scale(Header& header, SectionType type, double factor) {
  for (const Kind kind : kinds_in(type)) {
    std::uint64_t& keys = header.kinds[index_of(kind)].keys;
    if (keys > 0) keys = std::max<std::uint64_t>(1, scaled(keys, factor));
  }
  if (type != SectionType::hosts) return;
  header.hosts = std::max<std::uint64_t>(header.hosts > 0 ? 1 : 0, scaled(header.hosts, factor));
  header.marks = std::max<std::uint64_t>(header.marks > 0 ? 1 : 0, scaled(header.marks, factor));
}

SectionLoad load_of(const Header& header, const FilterDraft::PageSection& section) {
  if (section.type == SectionType::hosts) return host_load(header, section.geometry);
  return section.type == SectionType::paths ? path_load(header, section.geometry) : raw_load(header, section.geometry);
}

// The share of the summed counts at which the predicted error of a section is that of its bits.
double share_of(const Header& sums, const FilterDraft::PageSection& section, double fill) {
  double low = 0;
  double high = 1;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    Header part = sums;
    scale(part, section.type, middle);
    (question_error(load_of(part, section)) < fill ? low : high) = middle;
  }
  return high;
}

std::span<const std::byte> pages_of(const PageViews& views, SectionType type) {
  if (type == SectionType::hosts) return views.hosts.bytes();
  return type == SectionType::paths ? views.paths.bytes() : views.raw.bytes();
}

// The same where so few bits are set that no error can be calculated: from their number, as each set has sixteen.
double share_by_bits(const Header& sums, const FilterDraft::PageSection& section, std::span<const std::byte> pages) {
  constexpr double kBitsOfSet = 16;
  std::uint64_t set = 0;
  for (std::size_t at = 0; at < pages.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, pages.data() + at, sizeof word);
    set += static_cast<std::uint64_t>(std::popcount(word));
  }
  const double bits = static_cast<double>(pages.size()) * 8;
  const double sets = -std::log1p(-static_cast<double>(set) / bits) * bits / kBitsOfSet;
  const double most = load_of(sums, section).sets;
  return most > 0 ? std::min(1.0, sets / most) : 1;
}

}  // namespace

Result<void> check_mergeable(const MergeInputs& inputs, const std::optional<Header>& like) {
  const Header& first = inputs.front()->header();
  const char* const unlike = !like                                ? nullptr
                             : like->series_id != first.series_id ? "another series"
                                                                  : difference_without_key(*like, first);
  if (unlike != nullptr) {
    return unexpected(Error{Errc::usage, inputs.front()->path().string(),
                            fmt::format("{}; --like names a file that it does not fit", unlike)});
  }
  for (const auto& input : inputs) {
    const std::string name = input->path().string();
    if (const char* const what = difference(first, input->header())) {
      return unexpected(
          Error{Errc::usage, name, fmt::format("{}; can't be merged with {}", what, inputs.front()->path().string())});
    }
  }
  return {};
}

Header sum_counts(const MergeInputs& inputs) {
  Header out = inputs.front()->header();
  out.exact_root = {};
  forget_unknown(out);
  bool any_labels = has_unknown_labels(out);
  const auto add = [](std::uint64_t& sum, std::uint64_t count) { sum = sum_of_counts(sum, count); };
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Header& h = inputs[i]->header();
    for (std::size_t kind = 0; kind < kKindCount; ++kind) {
      add(out.kinds[kind].entries, h.kinds[kind].entries);
      add(out.kinds[kind].keys, h.kinds[kind].keys);
    }
    add(out.hosts, h.hosts);
    add(out.marks, h.marks);
    any_labels = any_labels || has_unknown_labels(h);
    out.mark_mask |= h.mark_mask;
    out.path_questions = std::max(out.path_questions, h.path_questions);
    if (h.max_labels > 0) out.min_labels = out.max_labels == 0 ? h.min_labels : std::min(out.min_labels, h.min_labels);
    out.max_labels = std::max(out.max_labels, h.max_labels);
    out.max_depth = std::max(out.max_depth, h.max_depth);
    // The oldest versions that any of them was made with.
    out.unicode_version = std::min(out.unicode_version, h.unicode_version);
    out.psl_time = std::min(out.psl_time, h.psl_time);
  }
  if (any_labels) out.min_labels = out.max_labels = 0;
  return out;
}

void keep_gates_open(Header& header, const Header& sums) {
  for (std::size_t kind = 0; kind < kKeyKindCount; ++kind) {
    if (sums.kinds[kind].keys != 0) header.kinds[kind].keys = std::max<std::uint64_t>(1, header.kinds[kind].keys);
  }
  header.mark_mask |= sums.mark_mask;
  header.max_depth = std::max(header.max_depth, sums.max_depth);
  if (header.max_labels == 0 || sums.max_labels == 0) return;
  header.min_labels = std::min(header.min_labels, sums.min_labels);
  header.max_labels = std::max(header.max_labels, sums.max_labels);
}

Result<std::optional<EntrySketches>> merge_sketches(const MergeInputs& inputs) {
  EntrySketches out;
  for (const auto& input : inputs) {
    const auto bytes = input->section_bytes(SectionType::sketches);
    if (bytes.empty()) return std::nullopt;
    auto sketches = EntrySketches::parse(bytes);
    if (!sketches) {
      sketches.error().where = input->path().string();
      return unexpected(std::move(sketches).error());
    }
    out.merge(*sketches);
  }
  return out;
}

Result<RangeSet> united_networks(const MergeInputs& inputs) {
  RangeSet all;
  for (const auto& input : inputs) {
    if (!input->networks().empty()) all = united(all, input->networks());
    if (all.size() > kMaxNetworks) {
      return unexpected(Error{Errc::limit, input->path().string(),
                              fmt::format("with the files before it more than {} ranges of addresses", kMaxNetworks)});
    }
  }
  return all;
}

Result<void> estimate_counts(Header& header, const FilterDraft& draft,
                             const std::vector<FilterDraft::SectionFacts>& facts) {
  constexpr double kLeastCalculated = 1e-12;  // below it a prediction is rounding noise
  header.compatible |= kEstimatedCounts;
  const Header sums = header;
  const auto pages = DraftPages::map(draft);
  if (!pages) return unexpected(pages.error());
  for (std::size_t i = 0; i < draft.sections().size(); ++i) {
    const auto& section = draft.sections()[i];
    const double fill = FilterDraft::fill_of(section, facts[i]);
    scale(header, section.type,
          fill < kLeastCalculated ? share_by_bits(sums, section, pages_of(pages->views(), section.type))
                                  : share_of(sums, section, fill));
  }
  return {};
}

}  // namespace bloomwall::filter
