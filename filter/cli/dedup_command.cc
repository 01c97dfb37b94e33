// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/terminal.h"
#include "base/units.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/header_text.h"
#include "filter/dedup/dedup.h"
#include "filter/file/identity.h"
#include "filter/file/temp_file.h"
#include "filter/seen/seen_size.h"

namespace bloomwall::filter {
namespace {

struct Summary {
  DedupCounts counts;
  std::uint64_t before = 0;  // distinct lines that the state held
  Geometry geometry;
  double predicted = 0;  // chance that the next new line is taken for seen
  double by_fill = 0;
  double lost = 0;  // new lines that were, in this run
  double seconds = 0;
  std::filesystem::path state = {};  // empty: none
  std::uint64_t sequence = 0;        // of the state, once it is saved

  std::uint64_t held() const { return before + counts.distinct(); }
};

Summary summarise(const DedupCounts& counts, const SeenSet& seen, double seconds) {
  Summary s{.counts = counts, .geometry = seen.geometry(), .seconds = seconds};
  s.before = seen.before().keys;
  const auto most = static_cast<double>(sum_of_counts(2 * s.before, counts.lines_in));
  const double offered_before = seen_offered(s.geometry, s.before, most);
  const double offered = seen_offered(s.geometry, s.held(), most);
  s.lost = std::min(std::max(0.0, offered - offered_before - static_cast<double>(counts.distinct())),
                    static_cast<double>(counts.lines_in - counts.lines_out));
  s.predicted = seen_error(s.geometry, static_cast<std::uint64_t>(offered));
  s.by_fill = seen.fill();
  return s;
}

std::string summary_text(const Summary& s) {
  const DedupCounts& c = s.counts;
  std::string out = fmt::format("{} lines in, {} out, {} dropped; {:.1f} s\n", format_count(c.lines_in),
                                format_count(c.lines_out), format_count(c.lines_in - c.lines_out), s.seconds);
  out += fmt::format("  filter: {}, layout {}", format_bytes(s.geometry.bytes()), layout_name(s.geometry.layout));
  if (s.held() > 0) {
    out += fmt::format(", {:.1f} bits a line",
                       8 * static_cast<double>(s.geometry.bytes()) / static_cast<double>(s.held()));
  }
  out += fmt::format("\n  chance that a new line is taken for seen, at the end: {} predicted, {} from the bits set\n",
                     format_rate(s.predicted), format_rate(s.by_fill));
  out += fmt::format("  new lines lost on the way: about {:.2g} expected\n", s.lost);
  if (c.no_url > 0) out += fmt::format("  no URLs, compared octet by octet: {}\n", format_count(c.no_url));
  if (s.sequence > 0) {
    out += fmt::format("  state: {}, {} distinct lines in it, {} of them new, sequence {}\n",
                       printable(s.state.string()), format_count(s.held()), format_count(c.distinct()), s.sequence);
  }
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
                             {"no_url", c.no_url},
                             {"filter_bytes", s.geometry.bytes()},
                             {"layout", layout_name(s.geometry.layout)},
                             {"error_predicted", s.predicted},
                             {"error_from_fill", s.by_fill},
                             {"expected_lost", s.lost},
                             {"seconds", s.seconds}};
  if (s.sequence > 0) {
    out["state"] = {{"file", s.state.string()}, {"lines", s.held()}, {"sequence", s.sequence}};
  }
  if (!outcome) out["error"] = to_json(outcome.error());
  return out;
}

SeenKey key_of(const DedupCommand& command) { return command.urls ? SeenKey::url : SeenKey::line; }

// Options that say otherwise than the state must not be passed over.
Result<SeenSet> load_set(const DedupCommand& command) {
  const auto misfit = [&](std::string what) {
    return unexpected(Error{Errc::usage, command.state.string(), std::move(what)});
  };
  auto seen = SeenSet::load(command.state);
  if (!seen) {
    Error error = std::move(seen).error();
    error.what +=
        "; it is no state to go on with: put a copy of it back, or name another file, in which every line is new";
    return unexpected(std::move(error));
  }
  if (seen->key() == SeenKey::host) return misfit("holds hosts: name another file");
  if (seen->key() != key_of(command)) {
    return misfit(command.urls ? "holds lines as they are: leave --urls out to go on with it, or name another file"
                               : "holds URLs: give --urls to go on with it, or name another file");
  }
  if (command.target.memory || command.target.entries) {
    const auto geometry = choose_dedup_size(command.target);
    if (!geometry) return unexpected(geometry.error());
    if (*geometry != seen->geometry()) {
      return misfit(
          fmt::format("is a set of {} in layout {}, --memory and --entries ask for {} in layout {}: leave them "
                      "out to go on with it, or name another file",
                      format_bytes(seen->geometry().bytes()), layout_name(seen->geometry().layout),
                      format_bytes(geometry->bytes()), layout_name(geometry->layout)));
    }
  }
  if (command.series_key_file.empty()) return seen;
  std::vector<std::string> warnings;
  const auto key = read_series_key(command.series_key_file, warnings);
  if (!key) return unexpected(key.error());
  if (*key != seen->series_key()) return misfit("has another series key: leave --series-key out to go on with it");
  return seen;
}

Result<SeenSet> make_set(const DedupCommand& command, const FormerFile& former) {
  if (!command.state.empty() && former.stamp) return load_set(command);
  const auto geometry = choose_dedup_size(command.target);
  if (!geometry) return unexpected(geometry.error());
  if (!command.state.empty()) {  // whether it can be saved is said now, not behind all lines
    if (const auto trial = TempFile::create(command.state); !trial) return unexpected(trial.error());
  }
  IdentityOptions who;
  who.series_key_file = command.series_key_file;
  const auto identity = choose_identity(who, std::nullopt);
  if (!identity) return unexpected(identity.error());
  return SeenSet::create({.geometry = *geometry, .series_key = identity->series_key, .key = key_of(command)});
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
  // What is saved replaces what was loaded, and nothing that another run has saved meanwhile.
  FormerFile former = FormerFile::of(command.state);
  auto seen = make_set(command, former);
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
  say_reading_if_named(files, "a text", io);
  auto outcome = dedup(files, hashing_threads(command.threads), *seen, write, counts);
  std::uint64_t sequence = 0;
  if (outcome && !command.state.empty()) {
    const auto saved = seen->save(command.state, former, "bloomwall-filter " BLOOMWALL_VERSION " dedup");
    if (saved) sequence = saved->sequence;
    if (!saved) outcome = unexpected(saved.error());
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  Summary summary = summarise(counts, *seen, time.count());
  summary.state = command.state;
  summary.sequence = sequence;
  if (command.json) {
    print_json_tall(io.err, summary_json(summary, outcome));
  } else if (!command.quiet) {
    io.err << summary_text(summary);
  }
  if (!outcome) {
    print_error(io.err, outcome.error());
    if (!command.state.empty()) {
      print_error(io.err, {outcome.error().code, command.state.string(),
                           "is as it was: the next run prints again what this one has printed"});
    }
    return kExitError;
  }
  const double most = command.target.fpr.value_or(kMostDedupError);
  if (summary.predicted <= most) return kExitDone;
  print_error(io.err,
              {Errc::unmet_target, "--fpr",
               fmt::format("more lines came than the filter holds at {}: about {:.2g} new ones are lost; give it more "
                           "--memory{}",
                           format_rate(most), summary.lost,
                           command.state.empty() ? "" : " in another --state, and let that read all lines again")});
  return kExitListed;
}

}  // namespace bloomwall::filter
