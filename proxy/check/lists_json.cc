// SPDX-License-Identifier: Apache-2.0
#include "proxy/check/lists_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/terminal.h"
#include "proxy/state/time_text.h"
#include "proxy/update/intermediates_update.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

ordered_json shown_time(std::int64_t seconds) {
  return seconds == 0 ? ordered_json() : ordered_json(time_text(seconds));
}
ordered_json shown_text(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(printable(text));
}

ordered_json source_json(const SourceState& source, const std::filesystem::path& copies) {
  ordered_json counts;
  for (std::size_t i = 0; i < kFetchResults.size(); ++i) counts[to_string(kFetchResults[i])] = source.counts[i];
  return {{"url", printable(source.url)},
          {"result", to_string(source.result)},
          {"guard", shown_text(source.guard)},
          {"message", shown_text(source.message)},
          {"checked", shown_time(source.checked)},
          {"succeeded", shown_time(source.succeeded)},
          {"changed", shown_time(source.changed)},
          {"due", shown_time(source.due)},
          {"entries", source.entries},
          {"rules", source.rules},
          {"unusable", source.unusable},
          {"loss", shown_text(source.loss)},
          {"bytes", source.bytes},
          {"sha256", shown_text(source.sha256)},
          {"copy", source.copy.empty() ? ordered_json() : ordered_json(printable((copies / source.copy).string()))},
          {"failures", source.failures},
          {"counts", std::move(counts)}};
}

ordered_json sources_json(const std::vector<std::string>& urls, const ListFilterState& known,
                          const std::filesystem::path& copies) {
  ordered_json out = ordered_json::array();
  for (const std::string& url : urls) {
    const auto at = std::ranges::find(known.sources, url, &SourceState::url);
    out.push_back(source_json(at == known.sources.end() ? SourceState{.url = url} : *at, copies));
  }
  return out;
}

}  // namespace

bool is_stale(const conf::Filter& filter, const ListsState& state, std::int64_t now) {
  const ListFilterState* const known = state.find(filter.name);
  const auto patience = std::chrono::duration_cast<std::chrono::seconds>(filter.stale_after).count();
  return known == nullptr || std::abs(now - fresh_at(*known)) > patience;  // by a clock that was ahead it was never
}

ordered_json lists_json(const conf::Config& settings, const ListsState& state, std::int64_t now) {
  ordered_json out = ordered_json::array();
  for (const conf::Filter& filter : settings.filters) {
    if (filter.sources.empty()) continue;
    const ListFilterState* const found = state.find(filter.name);
    const ListFilterState known = found == nullptr ? ListFilterState{.filter = filter.name} : *found;
    std::vector<std::string> urls;
    for (const conf::Source& source : filter.sources) urls.push_back(source.url);
    out.push_back({{"filter", filter.name},
                   {"file", printable(filter.file.string())},
                   {"result", to_string(known.result)},
                   {"guard", shown_text(known.guard)},
                   {"message", shown_text(known.message)},
                   {"built", shown_time(known.built)},
                   {"stale", is_stale(filter, state, now)},
                   {"entries", known.entries},
                   {"exceptions", known.exceptions},
                   {"bytes", known.bytes},
                   {"sequence", known.sequence},
                   {"seconds", known.seconds},
                   {"forced", shown_time(known.forced)},
                   {"forced_by", shown_text(known.forced_by)},
                   {"sources", sources_json(urls, known, copies_of(settings.update.folder, filter.name))}});
  }
  return out;
}

ordered_json intermediates_json(const conf::Config& settings, const ListsState& state) {
  if (!wants_intermediates(settings)) return {};
  const ListFilterState& known = state.intermediates;
  return {{"file", printable(conf::kept_intermediates(settings).string())},
          {"result", to_string(known.result)},
          {"message", shown_text(known.message)},
          {"built", shown_time(known.built)},
          {"entries", known.entries},
          {"bytes", known.bytes},
          {"sources", sources_json(settings.tls_inspection.verify.intermediates, known,
                                   copies_of_intermediates(settings.update.folder))}};
}

namespace {

std::vector<std::string> filter_warnings(const conf::Config& settings, std::int64_t now) {
  const auto has_sources = [](const conf::Filter& filter) { return !filter.sources.empty(); };
  if (std::ranges::none_of(settings.filters, has_sources)) return {};
  const auto state = read_lists_state(settings.update.folder);
  if (!state) return {state.error()};
  std::vector<std::string> lines;
  for (const conf::Filter& filter : settings.filters) {
    if (!has_sources(filter) || !is_stale(filter, *state, now)) continue;
    const ListFilterState* const known = state->find(filter.name);
    const std::int64_t fresh = known == nullptr ? 0 : fresh_at(*known);
    lines.push_back(fmt::format("filters: {}: its lists were {}; is bloomwall-update.timer running?", filter.name,
                                fresh == 0 ? "never all fetched" : "all fetched last at " + time_text(fresh)));
  }
  return lines;
}

}  // namespace

std::vector<std::string> list_warnings(const conf::Config& settings, std::int64_t now) {
  std::vector<std::string> lines = filter_warnings(settings, now);
  std::error_code ignored;
  const auto intermediates = conf::kept_intermediates(settings);
  if (wants_intermediates(settings) && !std::filesystem::exists(intermediates, ignored)) {
    lines.push_back(fmt::format("tls_inspection.verify.intermediates: {} is not there yet: `bloomwall update` makes it",
                                intermediates.string()));
  }
  return lines;
}

}  // namespace bloomwall::proxy
