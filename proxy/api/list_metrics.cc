// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/list_metrics.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/check/lists_json.h"

namespace bloomwall::proxy {
namespace {

// A list that is configured, and what is known of it.
struct Counted {
  std::string filter, number;
  SourceState source;
};

std::vector<Counted> counted(const conf::Config& settings, const ListsState& lists) {
  std::vector<Counted> out;
  for (const conf::Filter& filter : settings.filters) {
    const ListFilterState* const known = lists.find(filter.name);
    for (std::size_t i = 0; i < filter.sources.size(); ++i) {
      Counted each{.filter = filter.name, .number = std::to_string(i), .source = {}};
      if (known != nullptr) {
        const auto at = std::ranges::find(known->sources, filter.sources[i].url, &SourceState::url);
        if (at != known->sources.end()) each.source = *at;
      }
      out.push_back(std::move(each));
    }
  }
  return out;
}

// As guards.h and candidate.h name them; other: of a filter that was built, what is none of these.
constexpr std::array<std::string_view, 10> kGuardNames{"least",     "unusable", "stated",     "shrink", "grow",
                                                       "must_pass", "no_list",  "most_bytes", "sha256", "other"};

bool is_refused_by(const ListFilterState& filter, std::string_view name) {
  const auto is_named = [&](const std::string& guard) {
    return guard == name || (name == "other" && std::ranges::find(kGuardNames, guard) == kGuardNames.end());
  };
  if (filter.result == BuildResult::refused && is_named(filter.guard)) return true;
  return std::ranges::any_of(filter.sources, [&](const SourceState& source) {
    return source.result == FetchResult::refused && is_named(source.guard);
  });
}

}  // namespace

void add_list_metrics(MetricFamilies& out, const conf::Config& settings, const ListsState& lists, std::int64_t now) {
  const std::vector<Counted> all = counted(settings, lists);
  if (all.empty()) return;
  out.counter("source_fetch_total", "Requests for lists, by what became of them");
  for (const Counted& each : all) {
    for (std::size_t i = 0; i < kFetchResults.size(); ++i) {
      out.row(static_cast<double>(each.source.counts[i]),
              {{"list", each.filter}, {"source", each.number}, {"result", to_string(kFetchResults[i])}});
    }
  }
  out.gauge("source_last_success_timestamp_seconds", "When the list was fetched last, or found unchanged; 0: never");
  for (const Counted& each : all) {
    out.row(static_cast<double>(each.source.succeeded), {{"list", each.filter}, {"source", each.number}});
  }
  out.gauge("source_entries", "Entries of the copy of the list that is in use");
  for (const Counted& each : all) {
    out.row(static_cast<double>(each.source.entries), {{"list", each.filter}, {"source", each.number}});
  }
  out.gauge("update_seconds", "How long the last update of the filter took");
  for (const conf::Filter& filter : settings.filters) {
    const ListFilterState* const known = lists.find(filter.name);
    if (!filter.sources.empty()) out.row(known == nullptr ? 0 : known->seconds, {{"list", filter.name}});
  }
  out.gauge("lists_refused",
            "1 where a list of the filter, or what was built of its lists, was refused last, by guard");
  for (const conf::Filter& filter : settings.filters) {
    if (filter.sources.empty()) continue;
    const ListFilterState* const known = lists.find(filter.name);
    for (const std::string_view guard : kGuardNames) {
      out.row(known != nullptr && is_refused_by(*known, guard) ? 1 : 0, {{"list", filter.name}, {"reason", guard}});
    }
  }
  out.gauge("lists_stale", "1 where some list of the filter was not fetched for filters[].stale_after");
  for (const conf::Filter& filter : settings.filters) {
    if (!filter.sources.empty()) out.row(is_stale(filter, lists, now) ? 1 : 0, {{"list", filter.name}});
  }
}

}  // namespace bloomwall::proxy
