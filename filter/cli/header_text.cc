// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/header_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/encoding.h"
#include "base/figures.h"
#include "base/terminal.h"
#include "base/units.h"
#include "filter/builder/build_checks.h"
#include "filter/builder/builder.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {
namespace {

constexpr std::array<std::pair<std::uint32_t, const char*>, 13> kOptions{{{kOptionExact, "--exact"},
                                                                          {kOptionHostsAsSuffix, "--hosts-as-suffix"},
                                                                          {kOptionStrictWildcard, "--strict-wildcard"},
                                                                          {kOptionAllowTld, "--allow-tld"},
                                                                          {kOptionAggressive, "--aggressive"},
                                                                          {kOptionRaw, "--raw"},
                                                                          {kOptionWhiteAsBlock, "--white block"},
                                                                          {kOptionWideRanges, "--allow-wide-ranges"},
                                                                          {kOptionCsvColumn, "--csv-column"},
                                                                          {kOptionPathInfo, "--path-info"},
                                                                          {kOptionIndexFiles, "--index-files"},
                                                                          {kOptionUrlKeys, "--urls"},
                                                                          {kOptionHostKeys, "keys of hosts"}}};

// Collects "name   value" lines.
class Lines {
 public:
  void add(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{:<18}{}\n", name, value);
  }
  void add(std::string line) {
    line.resize(line.find_last_not_of(' ') + 1);
    text_ += std::move(line) + '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string unicode_text(std::uint32_t version) {
  if (version == 0) return "not recorded";
  return fmt::format("{}.{}.{}", version >> 16, (version >> 8) & 0xFF, version & 0xFF);
}

void add_kinds(const Header& h, Lines& out) {
  out.add(fmt::format("\n{:<6}{:<22}{:>16}{:>16}", "kind", "", "with repeats", "entries"));
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const KindCounts& k = h.kinds[i];
    if (k.entries == 0 && k.keys == 0) continue;
    out.add(fmt::format("{:<6}{:<22}{:>16}{:>16}", static_cast<char>(kKinds[i]), kind_meaning(kKinds[i]),
                        format_count(k.entries), format_count(k.keys)));
  }
}

double sets_of(const Header& h, const SectionEntry& s) {
  if (s.type == SectionType::hosts) return host_load(h, s.geometry).sets;
  if (s.type == SectionType::paths) return path_load(h, s.geometry).sets;
  return raw_load(h, s.geometry).sets;
}

void add_sections(const Header& h, Lines& out) {
  out.add(fmt::format("\n{:<10}{:>16}{:>18}{:>8}{:>12}{:>10}", "section", "offset", "bytes", "layout", "pages",
                      "bits/key"));
  for (const SectionEntry& s : h.sections) {
    const Geometry& g = s.geometry;
    const double sets = has_pages(s.type) ? sets_of(h, s) : 0;
    const std::string bits = sets > 0 ? fmt::format("{:.2f}", static_cast<double>(g.bytes()) * 8 / sets) : "";
    const std::string shape =
        has_pages(s.type) ? fmt::format("{:>8}{:>12}", layout_name(g.layout), g.pages) : std::string(20, ' ');
    out.add(fmt::format("{:<10}{:>16}{:>18}{}{:>10}", to_string(s.type), format_count(s.offset), format_count(s.length),
                        shape, bits));
  }
  for (const SectionEntry& s : h.sections)
    out.add(fmt::format("{:<10} SHA-256 {}", to_string(s.type), to_hex(s.sha_root)));
}

void add_class(const char* name, const ClassError& c, Lines& out, std::string_view more = {}) {
  out.add(fmt::format("  {:<16}{} on average, {:.1f} questions; {} at p99, {:.1f} questions{}", name, one_in(c.mean),
                      c.mean_questions, one_in(c.p99), c.p99_questions, more));
}

}  // namespace

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::sectors_2x8:
      return "2x8";
    case Layout::lines_4x4:
      return "4x4";
  }
  return "unknown";
}

std::vector<std::string> option_names(std::uint32_t options) {
  std::vector<std::string> out;
  for (const auto& [bit, name] : kOptions) {
    if ((options & bit) != 0) out.emplace_back(name);
    options &= ~bit;
  }
  if (options != 0) out.push_back(fmt::format("{:#x}", options));
  return out;
}

std::vector<std::string> mark_names(std::uint32_t mark_mask) {
  std::vector<std::string> out;
  const auto has = [&](Variant v) { return ((mark_mask >> v) & 1U) != 0; };
  if (has(kVariantMarkUrl)) out.emplace_back("U");
  if (has(kVariantMarkQuery)) out.emplace_back("Q");
  for (unsigned depth = 1; depth <= kDeepestMark; ++depth) {
    if (has(directory_mark(depth))) out.push_back(fmt::format("D{}{}", depth, depth == kDeepestMark ? "+" : ""));
  }
  return out;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string header_text(const Header& h, bool show_secret) {
  Lines out;
  const auto or_none = [](const std::vector<std::string>& words) { return words.empty() ? "none" : joined(words); };
  out.add("format",
          fmt::format("bloomwall {}filter {}.{}", h.form() == Form::counters ? "counting " : "", h.major, h.minor));
  out.add("size", fmt::format("{} ({} bytes)", format_bytes(h.file_bytes), format_count(h.file_bytes)));
  if (h.compatible != 0) out.add("features", fmt::format("{:#x}", h.compatible));
  out.add("file id", to_hex(h.file_id));
  out.add("content id", to_hex(content_id(h)));
  out.add("series id", to_hex(h.series_id));
  out.add("series key", show_secret ? to_hex(h.series_key) : "secret (--show-secret prints it)");
  out.add("sequence", fmt::format("{}", h.sequence));
  out.add("created", format_time(h.created));
  out.add("valid until", h.valid_until == 0 ? "no end" : format_time(h.valid_until));
  out.add("hash", fmt::format("{}, key derivation {}", h.hash_id == 1 ? "XXH3-128" : "unknown", h.key_derivation));
  out.add("canonical form", fmt::format("version {}, options {:#x}", h.canonicalisation, h.canonical_options));
  out.add("Unicode", unicode_text(h.unicode_version));
  out.add("public suffixes", h.psl_time == 0 ? "not used" : "list of " + format_time(h.psl_time));
  std::vector<std::string> options = option_names(h.converter_options);
  if ((h.canonical_options & kQueriesByParameters) != 0) options.emplace_back("--query-spellings");
  out.add("build options", or_none(options));
  out.add("hosts", format_count(h.hosts));
  out.add("marks", fmt::format("{} ({})", format_count(h.marks), or_none(mark_names(h.mark_mask))));
  out.add("labels of names", fmt::format("{} to {}", h.min_labels, h.max_labels));
  out.add("depth", fmt::format("{}", h.max_depth));
  for (const Signature& s : h.signatures) {
    if (s != Signature{}) out.add("signature", fmt::format("algorithm {}, key {}", s.algorithm, to_hex(s.key_id)));
  }
  add_kinds(h, out);
  add_sections(h, out);
  return out.take();
}

std::string errors_text(const Header& h) {
  Lines out;
  const PredictedErrors& p = h.predicted;
  const auto key = [&](SectionType type, const char* name, double predicted, double filled) {
    if (h.find(type) == nullptr) return;
    out.add(fmt::format("  {:<16}{} a question; {} as the bits are set", name, one_in(predicted), one_in(filled)));
  };
  out.add("\nerror, predicted");
  key(SectionType::hosts, "hosts", p.host_key, p.host_fill);
  key(SectionType::paths, "paths", p.path_key, p.path_fill);
  key(SectionType::raw, "raw", p.raw_key, p.raw_fill);
  if (h.find(SectionType::hosts) != nullptr) add_class("unlisted host", p.unlisted_host, out);
  if (h.find(SectionType::paths) != nullptr) {
    add_class("listed host", p.listed_host, out,
              fmt::format(", {:.0f} of URL keys", p.listed_host.p99_questions - p.unlisted_host.p99_questions));
  }
  if (h.find(SectionType::hosts) != nullptr) {
    const std::size_t marks = mark_names(h.mark_mask).size();
    out.add(
        fmt::format("  {:<16}{}{}", "worst host", worst_host_text(worst_host_of(h)),
                    marks > 0 ? fmt::format(": where one has {}", count_text(marks, "mark", "marks that occur")) : ""));
  }
  if (h.marks > 0) {
    out.add(fmt::format("  {:<16}{} of hosts of three labels: decrypted without need (tls_inspection)", "false marks",
                        one_in(false_mark_rate(h))));
  }
  out.add("error, measured");
  out.add("  " + measured_text(h));
  return out.take();
}

std::string info_text(const FileInfo& info) {
  Lines out;
  out.add("category", info.category.empty() ? "none" : printable(info.category));
  out.add("built by", printable(info.builder));
  for (const SourceInfo& s : info.sources) {
    out.add("source", fmt::format("{} ({}, {}, {} entries, SHA-256 {})", printable(s.name), printable(s.format),
                                  format_bytes(s.bytes), format_count(s.entries), to_hex(s.sha256)));
  }
  for (const std::string& line : info.provenance) out.add("made of", printable(line));
  if (info.made_for.keys != 0) {
    out.add("made for", fmt::format("{} keys at an error of {}", format_count(info.made_for.keys),
                                    format_rate(info.made_for.error)));
  }
  return out.take();
}

namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
}

}  // namespace

std::string files_text(const std::vector<IngestedFile>& files) {
  std::string out;
  for (const IngestedFile& file : files) {
    out += file.raw ? fmt::format("{}: raw keys\n  {} lines: {} taken, {} blank, {} over 64 KiB\n",
                                  printable(file.report.path), file.report.lines, file.report.taken, file.report.blank,
                                  file.report.unusable)
                    : text_of(file.report);
    if (file.report.allow_rules == 0) continue;
    out +=
        "  of the allow rules a filter that is built makes exceptions, or --allow-out a file; nothing else takes "
        "them\n";
  }
  return out;
}

std::string delta_text(const DeltaSize& delta, const Header& filter) {
  const double part = delta_share(delta.adds + delta.removes, filter);
  return fmt::format("{} and {}, {:.2f} % of the filter's entries: {}", count_text(delta.adds, "add", "adds"),
                     count_text(delta.removes, "remove", "removes"), 100 * part,
                     part > delta.rebuild_at ? fmt::format("a rebuild is due (over {:g} %)", 100 * delta.rebuild_at)
                                             : std::string("no rebuild is due"));
}

nlohmann::ordered_json delta_json(const DeltaSize& delta, const Header& filter) {
  const double part = delta_share(delta.adds + delta.removes, filter);
  return {{"adds", delta.adds},
          {"removes", delta.removes},
          {"share", part},
          {"rebuild_at", delta.rebuild_at},
          {"rebuild_due", part > delta.rebuild_at}};
}

std::string_view kind_meaning(Kind kind) {
  switch (kind) {
    case Kind::suffix:
      return "host and subdomains";
    case Kind::exact_host:
      return "host alone";
    case Kind::subdomains:
      return "subdomains alone";
    case Kind::url:
      return "URL, any query";
    case Kind::url_query:
      return "URL with query";
    case Kind::directory:
      return "directory";
    case Kind::raw:
      return "raw key";
    case Kind::network:
      return "range of addresses";
  }
  return "unknown";
}

std::string error_now_text(const Header& filter) {
  const PredictedErrors& p = filter.predicted;
  return fmt::format(
      "{} on unlisted hosts, {} on listed ones (a delta's entries are exact, what it removes keeps its bits)",
      one_in(p.unlisted_host.mean), one_in(p.listed_host.mean));
}

std::string worst_error_text(const Header& filter, std::string_view said) {
  const PredictedErrors& p = filter.predicted;
  std::string out;
  if (filter.find(SectionType::hosts) != nullptr) {
    out = fmt::format("error of a request at p99{}: {} on an unlisted host", said, one_in(p.unlisted_host.p99));
    if (filter.find(SectionType::paths) != nullptr)
      out += fmt::format(", {} on a listed one", one_in(p.listed_host.p99));
  }
  if (filter.find(SectionType::raw) == nullptr) return out;
  return fmt::format("{}{}error of a question for a raw key{}: {}", out, out.empty() ? "" : "; ", said,
                     one_in(std::max(p.raw_key, p.raw_fill)));
}

std::string worst_host_text(const WorstHost& worst) {
  std::string out = one_in(worst.error);
  if (worst.host_questions > 0) out += fmt::format(", of a request that asks {:.0f} host keys", worst.host_questions);
  if (worst.path_questions > 0) out += fmt::format(" and {} URL keys", worst.path_questions);
  return out;
}

std::string cells_text(const CellCounts& cells, bool with_marks) {
  return fmt::format("{} counters, {:.2f} % in use, {} stuck at 15 ({:.4f} %{})", format_count(cells.cells),
                     100 * share(cells.used, cells.cells), format_count(cells.stuck),
                     100 * share(cells.stuck, cells.cells), with_marks ? ", those of marks among them" : "");
}

nlohmann::ordered_json cells_json(const CellCounts& cells) {
  return {{"cells", cells.cells}, {"used", cells.used}, {"single", cells.single}, {"stuck", cells.stuck}};
}

}  // namespace bloomwall::filter
