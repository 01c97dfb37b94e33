// How a file's format is told. The lines of a sample vote by their shape, in an order in which what is rare elsewhere comes
// first; then the format chosen must really read the sample.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "filter/lists/csv_layout.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/list_reader.h"

namespace bloomwall::filter {
namespace {

struct Votes {
  std::array<std::size_t, static_cast<std::size_t>(LineShape::other) + 1> of{};
  std::size_t content = 0;
  std::string_view sampled;  // the part of the sample that was looked at

  std::size_t operator[](LineShape shape) const { return of[static_cast<std::size_t>(shape)]; }
  bool most(std::size_t count) const { return count * 2 > content; }
};

Votes count_votes(std::string_view sample) {
  Votes votes;
  LineWalk lines(sample);
  while (votes.content < kSampleLines && lines.next()) {
    const LineShape shape = shape_of(lines.line());
    ++votes.of[static_cast<std::size_t>(shape)];
    if (shape != LineShape::empty && shape != LineShape::adblock_title && shape != LineShape::csv_header)
      ++votes.content;
    votes.sampled =
        sample.substr(0, static_cast<std::size_t>(lines.line().data() + lines.line().size() - sample.data()));
  }
  return votes;
}

std::string_view file_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".xz", ".zst"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return name;
}

Format by_name(std::string_view path, const Votes& votes) {
  const std::string_view name = file_name(path);
  if (name == "domains" && !votes.most(votes[LineShape::hosts])) return Format::squidguard_domains;
  if (name == "urls" && !votes.most(votes[LineShape::url])) return Format::squidguard_urls;
  return name == "expressions" ? Format::squidguard_expressions : Format::auto_detect;
}

Format by_votes(const Votes& votes) {
  if (votes[LineShape::adblock_title] > 0 || votes.most(votes[LineShape::adblock])) return Format::adblock;
  if (votes[LineShape::privoxy] > 0) return Format::privoxy;
  if (votes[LineShape::zone_head] > 0 || votes.most(votes[LineShape::zone_record])) return Format::rpz;
  if (votes.most(votes[LineShape::unbound])) return Format::unbound;
  if (votes.most(votes[LineShape::dnsmasq])) return Format::dnsmasq;
  if (votes.most(votes[LineShape::hosts])) return Format::hosts;
  const std::size_t urls = votes[LineShape::url] + votes[LineShape::csv];
  if (votes.most(votes[LineShape::csv]) || (votes[LineShape::csv_header] > 0 && votes.most(urls))) return Format::csv;
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
};

FileReport try_format(Format format, std::string_view sample) {
  ParsePlan plan;
  plan.format = format;
  if (format == Format::csv) plan.csv_url_column = csv_url_column(sample);
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

}  // namespace

Result<Format> detect_format(std::string_view sample, std::string_view path) {
  const Votes votes = count_votes(sample);
  Format format = by_name(path, votes);
  if (format == Format::auto_detect) format = by_votes(votes);
  const FileReport report = try_format(format, votes.sampled);
  const std::uint64_t bad = report.malformed.total();
  if (bad * 10 <= report.content_lines()) return format;
  return unexpected(
      Error{Errc::usage, std::string(path),
            fmt::format("cannot tell the format: as \"{}\" it would have {} unreadable lines among the first "
                        "{}; say --format if you know it{}",
                        to_string(format), bad, report.content_lines(), examples(report))});
}

}  // namespace bloomwall::filter
