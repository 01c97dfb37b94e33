// How a file's format is told. The lines of a sample vote by their shape, in an order in which what is rare elsewhere
// comes first; then the format chosen must really read the sample, or its lines are of several formats. What may be a
// table is never taken for URLs: the user is asked.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "filter/lists/csv_layout.h"
#include "filter/lists/csv_parser.h"
#include "filter/lists/foreign_rules.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/list_reader.h"

namespace bloomwall::filter {
namespace {

struct Votes {
  std::array<std::size_t, static_cast<std::size_t>(LineShape::other) + 1> of{};
  std::size_t content = 0;
  std::string_view sampled;            // the part of the sample that was looked at
  LineShape first = LineShape::empty;  // of content
  bool bracket_title = false;          // "[Adblock Plus 2.0]"
  bool pattern = false;                // "http://a.example/ad*", which is one among adblock rules

  std::size_t operator[](LineShape shape) const { return of[static_cast<std::size_t>(shape)]; }
  bool most(std::size_t count) const { return count * 2 > content; }
};

Votes count_votes(std::string_view sample) {
  Votes votes;
  LineWalk lines(sample);
  while (votes.content < kSampleLines && lines.next()) {
    const bool is_extra = (lines.number() == 1 && separator_line(lines.line())) || is_empty_row(lines.line());
    const LineShape shape = is_extra ? LineShape::empty : shape_of(lines.line());
    ++votes.of[static_cast<std::size_t>(shape)];
    votes.pattern = votes.pattern || may_be_pattern(shape, lines.line());
    votes.bracket_title =
        votes.bracket_title || (shape == LineShape::adblock_title && trim(lines.line()).starts_with('['));
    if (shape != LineShape::empty && shape != LineShape::adblock_title && shape != LineShape::csv_header) {
      if (votes.content == 0) votes.first = shape;
      ++votes.content;
    }
    votes.sampled =
        sample.substr(0, static_cast<std::size_t>(lines.line().data() + lines.line().size() - sample.data()));
  }
  return votes;
}

std::string_view file_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".xz", ".zst", ".bz2", ".lz4"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return name;
}

// What a name says that squidGuard gives counts only where the lines do not say something else. Without the name paths
// without a scheme are URLs: read as squidGuard's they would stop more than they name.
Format by_name(std::string_view path, Format voted) {
  const std::string_view name = file_name(path);
  const bool names = voted == Format::domains || voted == Format::wildcard;
  if (name == "domains" && (names || voted == Format::urls)) return Format::squidguard_domains;
  if (name == "urls" && (names || voted == Format::squidguard_urls)) return Format::squidguard_urls;
  if (name == "expressions") return Format::squidguard_expressions;
  return voted == Format::squidguard_urls ? Format::urls : voted;
}

Format by_votes(const Votes& votes, bool is_table) {
  const std::size_t rules = votes[LineShape::adblock] + votes[LineShape::adblock_host];
  // A title in a comment is a habit of other lists, too.
  if (votes.bracket_title || (votes[LineShape::adblock_title] > 0 && rules > 0) || votes.most(rules))
    return Format::adblock;
  // A pattern before any section means nothing, and neither does most of what stands before a zone's head: one such
  // line somewhere in a list of something else, as whoever adds lines to it may write, does not make it another one.
  if (votes.first == LineShape::privoxy) return Format::privoxy;
  const bool begins_as_zone = votes.first == LineShape::zone_head || votes.first == LineShape::zone_record;
  if ((votes[LineShape::zone_head] > 0 && begins_as_zone) || votes.most(votes[LineShape::zone_record]))
    return Format::rpz;
  if (votes.most(votes[LineShape::unbound])) return Format::unbound;
  if (votes.most(votes[LineShape::dnsmasq])) return Format::dnsmasq;
  if (votes.most(votes[LineShape::hosts])) return Format::hosts;
  if (votes.most(votes[LineShape::csv]) || is_table) return Format::csv;
  if (votes.most(votes[LineShape::url])) return Format::urls;
  if (votes.most(votes[LineShape::url_no_scheme])) return Format::squidguard_urls;
  if (votes.most(votes[LineShape::wildcard])) return Format::wildcard;
  // What people write by hand mixes domains and URLs. A list of URLs may hold bare domains, not the other way round.
  return votes[LineShape::url] > 0 ? Format::urls : Format::domains;
}

class NoSink final : public ListSink {
 public:
  void entry(const Entry& /*entry*/, std::uint64_t /*line*/) override {}
  void allow(std::string_view /*text*/, std::uint64_t /*line*/) override {}
  bool takes_ranges() const override { return true; }
};

FileReport try_format(Format format, std::string_view sample, const CsvLayout& csv = {}) {
  ParsePlan plan;
  plan.format = format;
  plan.options.allow_wide_ranges = true;  // a range all the same
  plan.csv = csv;
  learn_lines(sample, plan);
  BlockParser parser(std::make_shared<const ParsePlan>(plan));
  NoSink sink;
  FileReport report;
  parser.parse(LineBlock{1, std::string(sample)}, sink, report);
  return report;
}

std::string examples(const FileReport& report) {
  std::string text;
  for (const ReasonCount& reason : report.malformed.by_count()) {
    for (const Example& example : reason.examples) {
      if (text.size() > 300) return text;
      text += fmt::format("; line {}: {} ({})", example.line, example.text, reason.reason);
    }
  }
  return text;
}

// Of content lines, whether they have the columns that a header promises: all but a few, some, or hardly any.
enum class TableFit : std::uint8_t { none, some, most };
TableFit fits_header(std::string_view sample) {
  std::size_t wanted = 0;
  std::size_t lines = 0;
  std::size_t fitting = 0;
  char separator = ',';
  for (LineWalk walk(sample); walk.next();) {
    std::string_view text = trim(walk.line());
    if ((walk.number() == 1 && separator_line(walk.line())) || is_empty_row(text)) continue;
    const LineShape shape = shape_of(text);
    if (shape == LineShape::csv_header) {
      while (text.starts_with('#')) text.remove_prefix(1);
      for (const char candidate : kCsvSeparators) {
        if (csv_header_column(text, candidate) != kNoColumn) separator = candidate;
      }
      wanted = csv_columns(text, separator);
    } else if (shape != LineShape::empty) {
      ++lines;
      // A ';' that separates columns begins no comment.
      if (!text.starts_with('"')) text = without_comment(text, separator == ';' ? "#!/" : kListMarks);
      if (wanted > 1 && csv_columns(text, separator) == wanted) ++fitting;
    }
  }
  if (wanted < 2 || fitting * 10 < lines) return TableFit::none;
  return fitting * 10 >= lines * 9 ? TableFit::most : TableFit::some;
}

// How often a line may be cut into a URL and columns behind it. A ';' that a '/' follows is in the path. A separator
// behind a '/' begins a segment of the path as often as a column, which a few lines don't tell.
std::size_t separators_of(std::string_view line, char separator, bool of_few_lines) {
  if (separator == ';' && line.find('/', std::min(line.find(';'), line.size())) != std::string_view::npos) return 0;
  std::size_t count = 0;
  for (std::size_t at = line.find(separator); at != std::string_view::npos; at = line.find(separator, at + 1)) {
    if (!of_few_lines || at == 0 || line[at - 1] != '/') ++count;
  }
  return count;
}

constexpr std::size_t kFewLines = 3;  // fewer prove nothing about octets that paths are full of

std::size_t content_lines(std::string_view sample) {
  std::size_t content = 0;
  for (LineWalk lines(sample); content < kSampleLines && lines.next();) {
    content += without_comment(lines.line(), "#;!").empty() ? 0U : 1U;
  }
  return content;
}

// The separator that most lines hold equally often, and how often; 0 where there is none.
std::pair<char, std::size_t> common_separator(std::string_view sample) {
  constexpr std::size_t kMostColumns = 32;
  std::array<std::array<std::size_t, kMostColumns + 1>, kCsvSeparators.size()> counts{};
  const std::size_t content = content_lines(sample);
  std::size_t seen = 0;
  LineWalk lines(sample);
  while (seen < content && lines.next()) {
    const std::string_view text = without_comment(lines.line(), "#;!");
    if (text.empty()) continue;
    ++seen;
    const LineShape shape = shape_of(text);
    if (shape != LineShape::url && shape != LineShape::url_no_scheme && shape != LineShape::csv) continue;
    for (std::size_t i = 0; i < kCsvSeparators.size(); ++i) {
      ++counts[i][std::min(separators_of(text, kCsvSeparators[i], content < kFewLines), kMostColumns)];
    }
  }
  for (std::size_t i = 0; i < kCsvSeparators.size(); ++i) {
    if (kCsvSeparators[i] != ',' && content < kFewLines) continue;
    for (std::size_t often = 1; often <= kMostColumns; ++often) {
      if (counts[i][often] * 2 > content) return {kCsvSeparators[i], often};
    }
  }
  return {'\0', 0};
}

Error may_be_table(std::string_view path, std::string_view why) {
  return Error{Errc::usage, std::string(path),
               fmt::format("cannot tell the format: {}; say --format csv if these are columns, --format urls if they "
                           "are parts of the URLs",
                           why)};
}

std::string name_of(char separator) { return separator == '\t' ? "TAB" : fmt::format("'{}'", separator); }

// Formats whose lines may be read one by one, so that lines of others among them can be, too.
bool may_be_mixed(Format format, const Votes& votes) {
  switch (format) {
    case Format::domains:
    case Format::wildcard:
    case Format::hosts:
    case Format::urls:
    case Format::dnsmasq:
      return true;         // not so unbound: which view a zone is in other lines say
    case Format::adblock:  // pieces of URLs would pass for hosts where the list is an adblock list
      return votes[LineShape::adblock] == 0 && !votes.bracket_title && votes[LineShape::adblock_title] == 0 &&
             !votes.pattern;
    default:
      return false;
  }
}

// What is known and not read is named.
Error named_rules(std::string_view path, std::string_view what) {
  return Error{Errc::usage, std::string(path), fmt::format("is not a list that can be read: it looks like {}", what)};
}

Error no_format(std::string_view path, Format format, const FileReport& report) {
  return Error{
      Errc::usage, std::string(path),
      fmt::format("cannot tell the format: as \"{}\" it would have {} unreadable lines among the first "
                  "{}; say --format if you know it, or --raw if these are keys, each line as it stands, such as "
                  "mail addresses{}",
                  to_string(format), report.malformed.total(), report.content_lines(), examples(report))};
}

bool is_list_of_names(Format format) {
  return format == Format::domains || format == Format::wildcard || format == Format::squidguard_domains ||
         format == Format::urls || format == Format::squidguard_urls || format == Format::mixed ||
         format == Format::hosts;
}

// How many addresses, other than sinks, lines of hosts begin with. One for all of them is the publisher's own sink.
std::size_t distinct_addresses(std::string_view sample) {
  std::set<std::string_view> addresses;
  std::size_t lines = 0;
  for (LineWalk walk(sample); walk.next();) {
    std::string_view text = walk.line();
    if (shape_of(text) != LineShape::hosts) continue;
    const std::string_view address = next_word(text);
    if (is_sink(address)) continue;
    addresses.insert(address);
    ++lines;
  }
  return addresses.size() == 1 && lines > 1 ? 0 : addresses.size();
}

// Lists of addresses with columns behind them, which would pass for hosts files ("192.0.2.7 host7.isp.example").
Result<void> refuse_addresses(const Votes& votes, std::string_view path, Format format) {
  if (!is_list_of_names(format)) return {};
  if (votes[LineShape::columns] * 10 > votes.content) {
    return unexpected(Error{Errc::usage, std::string(path),
                            fmt::format("cannot tell the format: {} of the first {} lines have text behind an address "
                                        "or a range, and nothing says what it means; keep the first column alone to "
                                        "stop the addresses, or say --format",
                                        votes[LineShape::columns], votes.content)});
  }
  const std::size_t distinct = format == Format::hosts ? distinct_addresses(votes.sampled) : 0;
  if (distinct * 10 <= votes[LineShape::hosts]) return {};
  return unexpected(Error{Errc::usage, std::string(path),
                          fmt::format("cannot tell the format: {} lines of an address and a name have {} addresses "
                                      "that are not sinks; say --format hosts if the names are to be stopped, keep the "
                                      "first column alone if the addresses are",
                                      votes[LineShape::hosts], distinct)});
}

// "Forbidden", "AS1001", "5d41402abc4b2a76b9719d911017c592": error pages, numbers of networks, sums of files.
Result<void> refuse_words(const FileReport& report, std::string_view path, Format format) {
  if (!is_list_of_names(format) || report.single_label * 2 <= report.entry_count()) return {};
  const std::string lost = report.unusable > 0 ? fmt::format(" and {} can't be used", report.unusable) : std::string{};
  return unexpected(
      Error{Errc::usage, std::string(path),
            fmt::format("cannot tell the format: of the first {} lines {} are single words{}; say "
                        "--format domains if these are hosts of the local network, --raw if they are keys",
                        report.content_lines(), report.single_label, lost)});
}

bool mostly_malformed(const FileReport& report) { return report.malformed.total() * 10 > report.content_lines(); }

// A few lines of a short list are no tenth of it and say nothing of the others. Whether the list is taken without them
// is for the share of unusable lines that the build allows.
bool is_readable(const FileReport& report) {
  constexpr std::uint64_t kMostOfShort = 4;
  if (!mostly_malformed(report)) return true;
  return report.malformed.total() <= kMostOfShort && report.malformed.total() * 3 <= report.content_lines();
}

// Every line that is used is an address or a range of addresses, one at least a range of several.
bool is_of_addresses(const FileReport& report) {
  const std::uint64_t ranges = report.entries[index_of(Kind::network)];
  return is_readable(report) && ranges > 0 && report.entry_count() == report.addresses + ranges;
}

}  // namespace

void learn_lines(std::string_view sample, ParsePlan& plan) {
  const std::size_t content = content_lines(sample);
  std::array<std::size_t, kCsvSeparators.size()> holding{};
  bool added = false, removed = false, head = false;
  std::size_t seen = 0;
  LineWalk lines(sample);
  while (seen < content && lines.next()) {
    const std::string_view line = lines.line();
    const bool is_head = line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("@@ -");
    head = head || is_head;
    added = added || line.starts_with('+');
    removed = removed || (line.starts_with('-') && !is_head);
    const std::string_view text = without_comment(line, "#;!");
    if (text.empty()) continue;
    ++seen;
    for (std::size_t i = 0; i < kCsvSeparators.size(); ++i) {
      if (separators_of(text, kCsvSeparators[i], content < kFewLines) > 0) ++holding[i];
    }
  }
  plan.borders.clear();
  for (std::size_t i = 0; i < kCsvSeparators.size(); ++i) {
    if (holding[i] * 2 > content) plan.borders.push_back(kCsvSeparators[i]);
  }
  plan.is_diff = removed && (added || head);
}

Result<void> refuse_columns(std::string_view sample, std::string_view path, Format format) {
  if (format != Format::urls && format != Format::squidguard_urls && format != Format::mixed) return {};
  const auto [separator, often] = common_separator(sample);
  if (often > 0) {
    return unexpected(may_be_table(
        path, fmt::format("most lines hold {} {}, as the lines of a table do", often, name_of(separator))));
  }
  const bool named = file_name(path).ends_with(".csv");
  if (named && sample.find(',') != std::string_view::npos) {
    return unexpected(may_be_table(path, "its name says CSV, its lines do not"));
  }
  return {};
}

Result<Format> detect_format(std::string_view sample, std::string_view path) {
  const Votes votes = count_votes(sample);
  const TableFit table = votes[LineShape::csv_header] > 0 ? fits_header(votes.sampled) : TableFit::none;
  Format format = by_name(path, by_votes(votes, table == TableFit::most));
  if (table == TableFit::some && (format == Format::urls || format == Format::squidguard_urls)) {
    return unexpected(may_be_table(path, "it has the header of a table, but not all lines have its columns"));
  }
  CsvLayout csv;
  if (format == Format::csv) {
    auto layout = csv_layout(votes.sampled, path);
    if (!layout) return unexpected(layout.error());
    csv = std::move(*layout);
  }
  FileReport report = try_format(format, votes.sampled, csv);
  if (report.unusable > 0 && (may_be_mixed(format, votes) || mostly_malformed(report))) {
    FileReport mixed = try_format(Format::mixed, votes.sampled);
    if (mixed.unusable < report.unusable && is_readable(mixed)) {
      format = Format::mixed;
      report = std::move(mixed);
    }
  }
  if (auto ok = refuse_addresses(votes, path, format); !ok) return unexpected(ok.error());
  const auto words = refuse_words(report, path, format);
  if (!words || mostly_malformed(report) || report.unusable * 2 > report.content_lines()) {
    const std::string_view foreign = foreign_rules(votes.sampled);
    if (!foreign.empty()) return unexpected(named_rules(path, foreign));
  }
  if (!words) return unexpected(words.error());
  if (format == Format::domains && is_of_addresses(report)) return Format::networks;
  if (auto ok = refuse_columns(votes.sampled, path, format); !ok) return unexpected(ok.error());
  if (!is_readable(report)) {
    if (auto asked = ask_for_column(votes.sampled, path)) return unexpected(*std::move(asked));
    return unexpected(no_format(path, format, report));
  }
  return format;
}

}  // namespace bloomwall::filter
