// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/guards.h"

#include <fmt/format.h>

#include "base/figures.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

// "60.0 % fewer"
double percent_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::optional<Refusal> size_refusal(double now, double before, const conf::Guards& guards) {
  const auto counts = [&] {
    return fmt::format("{} after {}", count_text(static_cast<std::uint64_t>(now), "entry", "entries"),
                       format_count(static_cast<std::uint64_t>(before)));
  };
  const double lost = percent_of(before - now, before), won = percent_of(now - before, before);
  if (lost > guards.shrink) {
    return Refusal{"shrink",
                   fmt::format("{}, {:.1f} % fewer; guards.shrink allows {} %", counts(), lost, guards.shrink)};
  }
  if (won > guards.grow) {
    return Refusal{"grow", fmt::format("{}, {:.1f} % more; guards.grow allows {} %", counts(), won, guards.grow)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refusal_of(const ListScan& scan, const SourceState& last, const conf::Guards& guards) {
  if (scan.entries < guards.least) {
    return Refusal{"least", fmt::format("{}; guards.least asks for {}{}", count_text(scan.entries, "entry", "entries"),
                                        format_count(guards.least), scan.worst.empty() ? "" : "; " + scan.worst)};
  }
  if (100 * scan.unusable_share > guards.unusable) {
    return Refusal{"unusable", fmt::format("{:.1f} % of its rules cannot be used; guards.unusable allows {} %; {}",
                                           100 * scan.unusable_share, guards.unusable, scan.worst)};
  }
  const auto& stated = scan.stated;
  const double missing = percent_of(static_cast<double>(stated.missing), static_cast<double>(stated.count));
  if (missing > guards.stated) {
    return Refusal{"stated",
                   fmt::format("line {} says that it has {}, and {} of them are missing, {:.1f} %; guards.stated "
                               "allows {} %; was it cut?",
                               stated.line, count_text(stated.count, "entry", "entries"), format_count(stated.missing),
                               missing, guards.stated)};
  }
  if (scan.canary) {
    return Refusal{"must_pass", fmt::format("line {} stops {}, which must pass: {}", scan.canary->line,
                                            scan.canary->canary, scan.canary->text)};
  }
  if (last.entries == 0) return std::nullopt;
  return size_refusal(static_cast<double>(scan.entries), static_cast<double>(last.entries), guards);
}

}  // namespace bloomwall::proxy
