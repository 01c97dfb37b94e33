// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/update_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "filter/cli/terminal.h"

namespace bloomwall::filter {
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
        "  not applied: allow rules change no filter; build --allow-out FILE writes them, name it under allow_lists\n";
  }
  return out;
}

std::string delta_text(const DeltaSize& delta, const Header& filter) {
  const double part = delta_share(delta.adds + delta.removes, filter);
  return fmt::format("{} adds and {} removes, {:.2f} % of the filter's entries: {}", format_count(delta.adds),
                     format_count(delta.removes), 100 * part,
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

std::string error_now_text(const Header& filter) {
  const PredictedErrors& p = filter.predicted;
  return fmt::format(
      "{} on unlisted hosts, {} on listed ones (a delta's entries are exact, what it removes keeps its bits)",
      format_rate(p.unlisted_host.mean), format_rate(p.listed_host.mean));
}

std::string worst_error_text(const Header& filter) {
  const PredictedErrors& p = filter.predicted;
  if (filter.find(SectionType::hosts) == nullptr) return fmt::format("error of a raw key: {}", format_rate(p.raw_fill));
  return fmt::format("error of a request at p99: {} on an unlisted host, {} on a listed one",
                     format_rate(p.unlisted_host.p99), format_rate(p.listed_host.p99));
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
