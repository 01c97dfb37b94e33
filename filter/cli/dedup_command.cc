// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/units.h"
#include "filter/builder/identity.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/cli/terminal.h"
#include "filter/dedup/dedup.h"

namespace bloomwall::filter {
namespace {

struct Summary {
  DedupCounts counts;
  Geometry geometry;
  double predicted = 0;  // chance that the next new line is taken for seen
  double by_fill = 0;
  double lost = 0;  // new lines that were
  double seconds = 0;
};

Summary summarise(const DedupCounts& counts, const SeenLines& seen, double seconds) {
  Summary s{.counts = counts, .geometry = seen.geometry(), .seconds = seconds};
  s.lost = dedup_losses(s.geometry, counts.distinct());
  // All bits of a line that was lost were set already: the filter is as full as if it had been taken.
  s.predicted = dedup_error(s.geometry, counts.distinct() + static_cast<std::uint64_t>(s.lost));
  s.by_fill = seen.fill();
  return s;
}

std::string summary_text(const Summary& s) {
  const DedupCounts& c = s.counts;
  std::string out = fmt::format("{} lines in, {} out, {} dropped; {:.1f} s\n", format_count(c.lines_in),
                                format_count(c.lines_out), format_count(c.lines_in - c.lines_out), s.seconds);
  out += fmt::format("  filter: {}, layout {}", format_bytes(s.geometry.bytes()), layout_name(s.geometry.layout));
  if (c.distinct() > 0) {
    out += fmt::format(", {:.1f} bits a line",
                       8 * static_cast<double>(s.geometry.bytes()) / static_cast<double>(c.distinct()));
  }
  out += fmt::format("\n  chance that a new line is taken for seen, at the end: {} predicted, {} from the bits set\n",
                     format_rate(s.predicted), format_rate(s.by_fill));
  out += fmt::format("  new lines lost on the way: about {:.2g} expected\n", s.lost);
  if (c.too_long > 0) out += fmt::format("  lines over 1 MiB, not compared: {}\n", format_count(c.too_long));
  return out;
}

nlohmann::ordered_json summary_json(const Summary& s, const Result<void>& outcome) {
  const DedupCounts& c = s.counts;
  nlohmann::ordered_json out{{"lines_in", c.lines_in},
                             {"lines_out", c.lines_out},
                             {"bytes_in", c.bytes_in},
                             {"bytes_out", c.bytes_out},
                             {"not_compared", c.too_long},
                             {"filter_bytes", s.geometry.bytes()},
                             {"layout", layout_name(s.geometry.layout)},
                             {"error_predicted", s.predicted},
                             {"error_from_fill", s.by_fill},
                             {"expected_lost", s.lost},
                             {"seconds", s.seconds}};
  if (!outcome) out["error"] = to_json(outcome.error());
  return out;
}

Result<SeenLines> make_set(const DedupCommand& command) {
  const auto geometry = choose_dedup_size(command.target);
  if (!geometry) return unexpected(geometry.error());
  IdentityOptions who;
  who.series_key_file = command.series_key_file;
  const auto identity = choose_identity(who, std::nullopt);
  if (!identity) return unexpected(identity.error());
  return SeenLines::create(*geometry, identity->series_key);
}

unsigned hashing_threads(unsigned wanted) {
  if (wanted != 0) return wanted;
  const unsigned processors = std::thread::hardware_concurrency();
  return processors > 1 ? processors - 1 : 1;
}

}  // namespace

int run_dedup(const DedupCommand& command, const Streams& io) {
  if (std::count(command.files.begin(), command.files.end(), "-") > 1) {
    print_error(io.err, {Errc::usage, "-", "standard input can be read once only"});
    return kExitError;
  }
  auto seen = make_set(command);
  if (!seen) {
    print_error(io.err, seen.error());
    return seen.error().code == Errc::unmet_target ? kExitListed : kExitError;
  }
  const auto write = [&io](std::string_view lines) {
    io.out.write(lines.data(), static_cast<std::streamsize>(lines.size())).flush();
    return io.out.good();
  };
  DedupCounts counts;
  const auto files = command.files.empty() ? std::vector<std::string>{"-"} : command.files;
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = dedup(files, hashing_threads(command.threads), *seen, write, counts);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  const Summary summary = summarise(counts, *seen, time.count());
  if (command.json) {
    print_json_tall(io.err, summary_json(summary, outcome));
  } else if (!command.quiet) {
    io.err << summary_text(summary);
  }
  if (!outcome) print_error(io.err, outcome.error());
  if (!outcome) return kExitError;
  if (!command.target.fpr || summary.predicted <= *command.target.fpr) return kExitDone;
  print_error(io.err, {Errc::unmet_target, "--fpr",
                       fmt::format("more lines came than the filter holds at {}; give it more --memory",
                                   format_rate(*command.target.fpr))});
  return kExitListed;
}

}  // namespace bloomwall::filter
