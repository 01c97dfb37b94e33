// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/list_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "filter/lists/list_archive.h"
#include "filter/lists/list_folder.h"
#include "filter/lists/list_input.h"
#include "filter/lists/list_reader.h"
#include "filter/lists/list_report.h"
#include "filter/policy/allow_list.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/list_exceptions.h"
#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"
#include "proxy/update/due.h"
#include "proxy/update/source_reading.h"

namespace bloomwall::proxy {
namespace {

using filter::Kind;

constexpr std::size_t kHeadBytes = 4096;  // of a list, in which "Expires" is looked for
constexpr std::size_t kMostShown = 200;

// Every domain that a canary's host lies in, and the host itself.
class Canaries {
 public:
  explicit Canaries(const std::vector<std::string>& must_pass) : is_empty_(must_pass.empty()) {
    filter::Canonicaliser canonicaliser;
    for (const std::string& canary : must_pass) {
      const filter::CanonicalUrl& url = canonicaliser.url(canary);
      if (!url.has_canonical) continue;
      std::string_view rest = url.host;
      bool is_whole = true;
      while (!rest.empty()) {
        Named& named = domains_.try_emplace(std::string(rest), Named{.canary = canary}).first->second;
        (is_whole ? named.is_host : named.is_above) = true;
        is_whole = false;
        if (url.host_kind != filter::HostKind::name) break;
        next_part(rest, '.');
      }
    }
  }
  bool is_empty() const { return is_empty_; }
  // The canary that an entry stops; nullptr: none. Entries for URLs are left to the check of the file that is built.
  const std::string* stopped_by(const filter::Entry& entry) const {
    if (!filter::is_host_kind(entry.kind)) return nullptr;
    const auto at = domains_.find(entry.host);
    if (at == domains_.end()) return nullptr;
    const Named& named = at->second;
    const bool is_stopped =
        (named.is_host && entry.kind != Kind::subdomains) || (named.is_above && entry.kind != Kind::exact_host);
    return is_stopped ? &named.canary : nullptr;
  }

 private:
  struct Named {
    std::string canary;
    bool is_host = false, is_above = false;  // of some canary
  };
  bool is_empty_;
  std::map<std::string, Named, std::less<>> domains_;
};

// Whether exceptions free a whole host, as a host of requests and of tunnels.
bool free_host(const filter::AllowLists& lists, std::string_view canary) {
  filter::Canonicaliser canonicaliser;
  const filter::CanonicalUrl& url = canonicaliser.url(canary);
  const auto has = [&](Kind kind, std::string_view host) {
    return lists.entries().find({.kind = kind, .host_kind = url.host_kind, .host = host}) != 0;
  };
  if (has(Kind::exact_host, url.host)) return true;
  for (std::string_view rest = url.host; !rest.empty();) {
    const bool is_above = rest.size() < url.host.size();
    if (has(Kind::suffix, rest) || (is_above && has(Kind::subdomains, rest))) return true;
    if (url.host_kind != filter::HostKind::name) return false;
    next_part(rest, '.');
  }
  return false;
}

// Notes what stops a canary, and what frees it again.
class ScanSink final : public filter::ListSink {
 public:
  explicit ScanSink(const Canaries& canaries) : canaries_(canaries) {}
  void entry(const filter::Entry& entry, std::uint64_t line) override {
    const std::string* const canary = canaries_.stopped_by(entry);
    if (canary == nullptr || is_known(*canary)) return;
    stopped_.push_back(CanaryLine{*canary, line, filter::text_of(entry).substr(0, kMostShown)});
  }
  void allow(std::string_view text, std::uint64_t) override {
    if (!canaries_.is_empty() && carried_.rules.size() < filter::kMaxExactEntries) carried_.rules.emplace_back(text);
  }
  void important(const filter::Entry& entry) override {
    if (!canaries_.is_empty()) carried_.important.add(entry.host);
  }
  bool takes_ranges() const override { return true; }

  // The first line that stops a canary which no exception of the list frees.
  std::optional<CanaryLine> stopped() const {
    if (stopped_.empty()) return std::nullopt;
    filter::AllowLists allowed(filter::KeyMaker(filter::SeriesKey{}), {});
    for (const std::string& rule : filter::fit_exceptions(carried_.rules, carried_.important).rules) {
      allowed.parse(rule, {});
    }
    const auto at =
        std::ranges::find_if(stopped_, [&](const CanaryLine& line) { return !free_host(allowed, line.canary); });
    return at == stopped_.end() ? std::nullopt : std::optional(*at);
  }

 private:
  bool is_known(const std::string& canary) const {
    return std::ranges::find(stopped_, canary, &CanaryLine::canary) != stopped_.end();
  }

  const Canaries& canaries_;
  std::vector<CanaryLine> stopped_;  // one a canary
  filter::CarriedRules carried_;
};

class Scan {
 public:
  explicit Scan(const ScanOptions& options) : options_(options), canaries_(options.must_pass), sink_(canaries_) {}

  tl::expected<ListScan, ScanFailure> run(const std::filesystem::path& file) {
    path_ = file.string();
    const auto archive = unpacked(file);
    if (!archive) return tl::unexpected(archive.error());
    const auto files = filter::expand_list(file.string(), options_.read.categories, *archive);
    if (!files) return no_list(files.error());
    for (const filter::ListFile& each : *files) {
      if (*archive != nullptr) {
        if (auto ok = check_unpacked(each.open(), true); !ok) return tl::unexpected(ok.error());
      }
      if (auto ok = read(each); !ok) return tl::unexpected(ok.error());
    }
    out_.canary = sink_.stopped();
    out_.unusable_share = filter::worst_unusable_share(reports_).share;
    return std::move(out_);
  }

 private:
  static tl::unexpected<ScanFailure> no_list(const filter::Error& error) {
    return tl::unexpected(ScanFailure{.what = in_keys_of_sources(error.what)});
  }

  // What the archive holds, as it was unpacked before or now; null: it is none.
  tl::expected<std::shared_ptr<const filter::ListTree>, ScanFailure> unpacked(const std::filesystem::path& file) {
    out_.sha256 = digest_of_file(file);
    if (options_.archives != nullptr) {
      if (const auto known = options_.archives->find(out_.sha256); known.tree != nullptr) {
        if (auto ok = check_limits(known.bytes); !ok) return tl::unexpected(ok.error());
        return known.tree;
      }
    }
    bool is_passed = false;
    std::uint64_t bytes = 0;
    const std::uint64_t most = std::min(options_.most_bytes, filter::kMaxArchiveBytes);
    auto tree = filter::open_archive(
        file.string(), {.most_bytes = most, .is_passed = &is_passed, .counted = &bytes, .stop = options_.stop});
    if (is_stopped()) return interrupted();
    if (!tree && is_passed) return too_large();
    if (!tree) return no_list(tree.error());
    if (*tree == nullptr) {
      if (auto ok = check_unpacked(filter::ListInput::open(file.string())); !ok) return tl::unexpected(ok.error());
      return nullptr;
    }
    if (options_.archives != nullptr) {
      bytes = std::max(bytes, (*tree)->unpacked_bytes());
      options_.archives->keep(out_.sha256, {.tree = *tree, .bytes = bytes, .is_shared = options_.is_shared});
    }
    return *tree;
  }

  // A parser may read a list twice before the first line comes: all of it is read through once before, which can be
  // interrupted. `is_of_archive`: only if it is compressed there once more, since its octets are counted already.
  tl::expected<void, ScanFailure> check_unpacked(filter::Result<filter::ListInput> input,
                                                 bool is_of_archive = false) const {
    if (!input) return no_list(input.error());
    for (;;) {
      const auto piece = input->next();
      if (!piece) return no_list(piece.error());
      if (piece->empty() || (is_of_archive && input->compression() == filter::Compression::none)) return {};
      if (auto ok = check_limits(input->text_bytes()); !ok) return ok;
    }
  }

  tl::expected<void, ScanFailure> read(const filter::ListFile& file) {
    auto reader = filter::ListReader::open(file, options_.read);
    if (!reader) return no_list(reader.error());
    filter::FileReport report;
    filter::BlockParser parser = reader->parser();
    filter::LineBlock block;
    for (;;) {
      const auto more = reader->next(block);
      if (!more) return no_list(more.error());
      if (!*more) break;
      if (block.first_line == 1) read_head(block.text);
      parser.parse(block, sink_, report);
      if (auto ok = check_limits(reader->input().text_bytes()); !ok) return ok;
    }
    parser.finish(sink_, report);
    reader->finish(report);
    const bool is_whole_file = file.path == path_ && report.compression == filter::Compression::none;
    if (is_whole_file) out_.open_line = report.open_line;
    add(report);
    return {};
  }

  tl::expected<void, ScanFailure> check_limits(std::uint64_t bytes) const {
    if (is_stopped()) return interrupted();
    if (out_.bytes + bytes <= options_.most_bytes) return {};
    return too_large();
  }
  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
  static tl::unexpected<ScanFailure> interrupted() {
    return tl::unexpected(ScanFailure{ScanFailure::Kind::stopped, "interrupted"});
  }
  tl::unexpected<ScanFailure> too_large() const {
    return tl::unexpected(
        ScanFailure{ScanFailure::Kind::too_large,
                    fmt::format("unpacks to more than guards.most_bytes ({})", format_size(options_.most_bytes))});
  }

  void read_head(std::string_view text) {
    for (LineWalk walk(text.substr(0, kHeadBytes)); walk.next();) {
      if (const auto expires = expiry_of_line(walk.line())) out_.expires = std::max(out_.expires, *expires);
    }
  }

  void add(const filter::FileReport& report) {
    out_.bytes += report.text_bytes;
    out_.entries += report.entry_count();
    out_.rules += report.content_lines();
    out_.unusable += report.unusable;
    if (out_.worst.empty()) out_.worst = worst_of(report);
    const std::uint64_t lost = report.unusable + report.skipped_names.total();
    if (lost > most_lost_) {
      most_lost_ = lost;
      out_.loss = in_keys_of_sources(loss_text(report));
    }
    const std::uint64_t missing = report.missing_of_stated();
    if (missing > out_.stated.missing) out_.stated = {report.stated.count, missing, report.stated.line};
    reports_.push_back(report);
  }
  static std::string worst_of(const filter::FileReport& report) {
    for (const filter::ReasonTally* const tally : {&report.malformed, &report.unsupported}) {
      const auto reasons = tally->by_count();
      if (reasons.empty() || reasons.front().examples.empty()) continue;
      const filter::Example& example = reasons.front().examples.front();
      return fmt::format("{} (line {}: {})", in_keys_of_sources(reasons.front().reason), example.line, example.text);
    }
    return {};
  }

  const ScanOptions& options_;
  const Canaries canaries_;
  ScanSink sink_;
  ListScan out_;
  std::string path_;
  std::vector<filter::FileReport> reports_;
  std::uint64_t most_lost_ = 0;  // of one file
};

}  // namespace

tl::expected<ListScan, ScanFailure> scan_list(const std::filesystem::path& file, const ScanOptions& options) {
  return Scan(options).run(file);
}

}  // namespace bloomwall::proxy
