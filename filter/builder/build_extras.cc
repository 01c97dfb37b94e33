// SPDX-License-Identifier: Apache-2.0

#include "filter/builder/build_extras.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "filter/builder/draft_pages.h"
#include "filter/file/leaves.h"
#include "filter/kind.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_input.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

bool tests_positive(const PageViews& pages, const Hash128& key, Kind kind) {
  const bool is_host = is_host_kind(kind);
  const SectionView& section = is_host ? pages.hosts : kind == Kind::raw ? pages.raw : pages.paths;
  return section && section.test(section.place(key), is_host ? host_variant(kind) : 0);
}

void put_in_file_order(std::vector<Exception>& keys) {
  std::ranges::sort(keys, [](const Exception& a, const Exception& b) { return in_file_order(a.key, b.key); });
}

}  // namespace

Result<void> KnownGood::load(const std::string& list, const UsableGate& gate) {
  const std::uint64_t before = lines_;
  ReasonTally refused;
  if (auto ok = read(list, refused); !ok) return ok;
  if (refused.empty()) return {};
  const std::uint64_t unusable = refused.total();
  unusable_ += unusable;
  const std::uint64_t all = lines_ - before + unusable;
  const double share = static_cast<double>(unusable) / static_cast<double>(all);
  const ReasonCount worst = refused.by_count().front();
  const std::string what =
      fmt::format("{} of {} lines of known-good URLs can't be used: {}: {}, as in line {}: {}", format_count(unusable),
                  format_count(all), worst.reason, format_count(worst.count), worst.examples.front().line,
                  worst.examples.front().text);
  const bool is_excused = gate.is_open || std::ranges::find(gate.excused, list) != gate.excused.end();
  if (is_excused || share <= gate.most) {
    notes_.push_back(fmt::format("known good: {}: {}", list, what));
    return {};
  }
  return unexpected(Error{Errc::bad_syntax, list,
                          fmt::format("{} ({:.1f} %, more than {:.0f} %); --allow-unsupported takes the rest", what,
                                      share * 100, gate.most * 100)});
}

Result<void> KnownGood::read(const std::string& list, ReasonTally& refused) {
  auto input = ListInput::open(list);
  if (!input) return unexpected(std::move(input).error());
  input->without_digest();
  LineBlocks blocks(*input);
  LineBlock block;
  while (true) {
    const auto more = blocks.next(block);
    if (!more) return unexpected(more.error());
    if (!*more) return {};
    if (block.first_line == 1 && !raw_) {
      const auto sample = std::string_view(block.text).substr(0, kSampleBytes);
      if (auto ok = refuse_foreign(sample, list); !ok) return ok;
    }
    for (LineWalk lines(block.text, block.first_line); lines.next();) {
      const std::string_view reason = lines.too_long() ? "over 64 KiB" : take_line(lines.line());
      if (!reason.empty()) refused.add(reason, lines.number(), lines.line());
      if (known_.size() > kMaxKnownGoodKeys) {
        return unexpected(Error{Errc::limit, fmt::format("{}:{}", list, lines.number()),
                                fmt::format("more than {} keys of known-good URLs", format_count(kMaxKnownGoodKeys))});
      }
    }
  }
}

std::string_view KnownGood::take_line(std::string_view line) {
  if (raw_) {
    if (line.empty()) return {};
    ask(keys_.raw(line), Kind::raw);
    ++lines_;
    return {};
  }
  line = trim(without_comment(line));
  if (line.empty()) return {};
  // A URL of a request may hold these, if only percent-encoded afterwards; a line that somebody wrote does not.
  const auto is_foreign = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7F'; };
  if (std::ranges::any_of(line, is_foreign)) return "blanks or control octets inside";
  const ParsedEntry parsed = entries_.any(line);
  if (parsed.entries.empty() || !can_be_asked_for(parsed.entries.front())) return "no URL, host or domain";
  const CanonicalUrl& url = canonicaliser_.url(line);
  if (url.action != UrlAction::lookup) return "no URL, host or domain";
  ++lines_;
  UrlParts parts(url);
  UrlHashes hashes(keys_, parts);
  for (const UrlForm& form : url.asked()) {
    parts.use_form(form);
    hashes.forget_form();
    take_form(parts, hashes);
  }
  return {};
}

// All keys that a look-up of this form may use, for any contents of the filter.
void KnownGood::take_form(UrlParts& parts, UrlHashes& hashes) {
  for (std::size_t i = 0; i < parts.suffixes() && known_.size() <= kMaxKnownGoodKeys; ++i) {
    const Hash128 host = hashes.host(i);
    const auto key = [&](Kind kind, std::size_t depth) { return hashes.key(kind, i, depth, keys_.queries()); };
    if (!parts.is_address()) ask(host, Kind::suffix);
    ask(host, i == 0 ? Kind::exact_host : Kind::subdomains);
    const std::size_t depth = parts.depth();
    ask(key(Kind::url, depth), Kind::url);
    if (!parts.query().empty()) ask(key(Kind::url_query, depth), Kind::url_query);
    for (std::size_t d = 1; d <= depth && known_.size() <= kMaxKnownGoodKeys; ++d) {
      ask(key(Kind::directory, d), Kind::directory);
    }
  }
}

void KnownGood::seen(unsigned /*worker*/, const EntryKeys& keys) {
  const auto at = known_.find(is_host_kind(keys.kind) ? keys.host : keys.key);
  if (at == known_.end()) return;
  std::atomic_ref(at->second.listed).fetch_or(kind_bit(keys.kind), std::memory_order_relaxed);
}

std::vector<Exception> KnownGood::positives(const PageViews& pages) const {
  std::vector<Exception> out;
  out.reserve(known_.size());
  for (const auto& [key, known] : known_) {
    if (const KindMask open = known.asked & ~known.listed; open != 0) out.push_back({key, open});
  }
  put_in_file_order(out);  // that of the pages, so that a file larger than memory is read front to back
  for (Exception& e : out) {
    KindMask positive = 0;
    for (const Kind kind : kKinds) {
      if ((e.kinds & kind_bit(kind)) != 0 && tests_positive(pages, e.key, kind)) positive |= kind_bit(kind);
    }
    e.kinds = positive;
  }
  std::erase_if(out, [](const Exception& e) { return e.kinds == 0; });
  return out;
}

std::vector<Exception> KnownGood::listed() const {
  std::vector<Exception> out;
  for (const auto& [key, known] : known_) {
    if (const KindMask both = known.asked & known.listed; both != 0) out.push_back({key, both});
  }
  put_in_file_order(out);
  return out;
}

void KnownGood::take_listed(std::span<const Exception> seen_elsewhere) {
  for (const Exception& seen : seen_elsewhere) {
    if (const auto at = known_.find(seen.key); at != known_.end()) at->second.listed |= seen.kinds;
  }
}

Sha256 KnownGood::digest() const {
  std::vector<Exception> all;
  all.reserve(known_.size());
  for (const auto& [key, known] : known_) all.push_back({key, known.asked});
  put_in_file_order(all);
  Sha256Stream digest;
  for (const Exception& each : all) {
    const std::array<std::uint64_t, 3> words{each.key.hi, each.key.lo, each.kinds};
    digest.add(std::as_bytes(std::span(words)));
  }
  return digest.finish();
}

Result<std::vector<Exception>> KnownGood::exceptions(const PageViews& pages) const {
  std::vector<Exception> out = positives(pages);
  if (out.size() <= kMaxExceptions) return out;
  return unexpected(Error{Errc::limit, "--known-good",
                          fmt::format("{} exceptions, more than {}: the filter is too small for its entries",
                                      format_count(out.size()), format_count(kMaxExceptions))});
}

Result<BuildExtras> BuildExtras::create(const Options& options, const KeyMaker& keys,
                                        const std::filesystem::path& output, std::uint64_t ram_bytes) {
  BuildExtras out;
  std::vector<KeyObserver*> all;
  if (!options.known_good.empty()) {
    out.known_good_ = std::make_unique<KnownGood>(keys, options.raw);
    for (const std::string& list : options.known_good) {
      if (auto ok = out.known_good_->load(list, options.gate); !ok) return unexpected(std::move(ok).error());
    }
    all.push_back(out.known_good_.get());
  }
  if (options.exact_side) {
    out.exact_ = std::make_unique<ExactWriter>(exact_side_of(output), ram_bytes, options.access);
    all.push_back(out.exact_.get());
  }
  if (!all.empty()) out.observers_.emplace(keys, std::move(all));
  return out;
}

Result<void> BuildExtras::add_exceptions(FilterDraft& draft) {
  if (!known_good_) return {};
  const auto pages = DraftPages::map(draft);
  if (!pages) return unexpected(pages.error());
  const auto found = known_good_->exceptions(pages->views());
  if (!found) return unexpected(found.error());
  draft.plan().exceptions = serialise_exceptions(*found);
  notes_.push_back(fmt::format("known good: {} lines, {} keys; {} of them tested positive and are exceptions now",
                               format_count(known_good_->lines()), format_count(known_good_->keys()),
                               format_count(found->size())));
  notes_.insert(notes_.end(), known_good_->notes().begin(), known_good_->notes().end());
  return {};
}

Result<void> BuildExtras::write_exact_side(FilterDraft& draft) {
  if (!exact_) return {};
  Header& own = draft.plan().header;
  const auto header = exact_->write(own.file_id);
  if (!header) return unexpected(header.error());
  own.exact_root = header->sha_root;
  draft.commit_behind(exact_->written());
  notes_.push_back(fmt::format(
      "exact side: {} fingerprints in {}; it confirms a key that is not listed with probability {}",
      format_count(header->fingerprints), format_bytes(header->file_bytes), format_rate(residual_error(*header))));
  return {};
}

std::filesystem::path BuildExtras::exact_side() const {
  return exact_ ? exact_->written().path() : std::filesystem::path();
}

namespace {

// Whether strangers, or everything of an owner, may be below it. A last label alone counts for no host but itself
// (Policy::judge_host).
bool is_wide(std::string_view host) {
  const std::size_t dot = host.find('.');
  if (dot == std::string_view::npos) return false;
  return is_public_suffix(host.substr(dot + 1)) || is_public_suffix(host);
}

}  // namespace

void MarkReport::expect_workers(unsigned workers) {
  if (parts_.size() < workers) parts_.resize(workers);
}

void MarkReport::seen(unsigned worker, const Entry& entry) {
  if (!is_path_kind(entry.kind) || entry.host_kind != HostKind::name) return;
  Part& part = parts_[worker];
  if (const auto known = part.entries.find(entry.host); known != part.entries.end()) {
    ++known->second;
    return;
  }
  if (!is_wide(entry.host)) return;
  if (part.entries.size() < kMostDomains) {
    part.entries.emplace(entry.host, 1);
  } else {
    ++part.not_listed;
  }
}

std::string MarkReport::text(const std::string& name) const {
  std::map<std::string_view, std::uint64_t> all;
  std::uint64_t not_listed = 0;
  for (const Part& part : parts_) {
    for (const auto& [domain, count] : part.entries) all[domain] += count;
    not_listed += part.not_listed;
  }
  std::string out = fmt::format(
      "# Whole domains that {} marks: with tls_inspection.mode urls every host below them is decrypted.\n", name);
  for (const auto& [domain, count] : all) {
    fmt::format_to(std::back_inserter(out), "{}  # {} URL entr{}{}\n", domain, count, count == 1 ? "y" : "ies",
                   is_public_suffix(domain) ? ", a public suffix" : "");
  }
  if (not_listed > 0) {
    fmt::format_to(std::back_inserter(out), "# and further domains, with {} URL entries, that found no room here\n",
                   not_listed);
  }
  return out;
}

namespace {

constexpr std::size_t kJoinedAtOnce = std::size_t{1} << 18;

}  // namespace

tl::unexpected<Error> RangeCollector::too_many() const {
  return unexpected(
      Error{Errc::limit,
            {},
            fmt::format("more than {} ranges of addresses, joined where they touch; a filter holds no more",
                        format_count(most_))});
}

void RangeCollector::expect_workers(unsigned workers) {
  if (parts_.size() < workers) parts_.resize(workers);
}

void RangeCollector::seen(unsigned worker, const AddressRange& range) {
  Part& part = parts_[worker];
  if (part.joined.size() > most_) return;  // check() says so
  part.fresh.push_back(range);
  if (part.fresh.size() >= kJoinedAtOnce) join(part);
}

void RangeCollector::join(Part& part) {
  part.joined = united(part.joined, RangeSet(part.fresh));
  part.fresh.clear();
  if (part.joined.size() > most_) too_many_.store(true, std::memory_order_relaxed);
}

Result<void> RangeCollector::check() const {
  if (too_many_.load(std::memory_order_relaxed)) return too_many();
  return {};
}

Result<RangeSet> RangeCollector::networks() const {
  RangeSet all;
  for (const Part& part : parts_) {
    if (!part.joined.empty()) all = united(all, part.joined);
    if (!part.fresh.empty()) all = united(all, RangeSet(part.fresh));
    if (all.size() > most_) return too_many();
  }
  return all;
}

void RangeCollector::clear() {
  parts_.clear();
  too_many_ = false;
}

}  // namespace bloomwall::filter
