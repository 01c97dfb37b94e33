// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/loading.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "base/figures.h"
#include "base/names.h"
#include "base/terminal.h"
#include "proxy/access/group_rules.h"
#include "proxy/check/readable.h"
#include "proxy/reload/last_good.h"
#include "proxy/reload/refusal_reason.h"

namespace bloomwall::proxy {
namespace {

constexpr std::uintmax_t kMostAllowList = std::uintmax_t{1} << 30U;  // bytes; its entries are kept in memory

filter::OnFilterError on_error_of(conf::Filter::OnError on_error) {
  switch (on_error) {
    case conf::Filter::OnError::block:
      return filter::OnFilterError::block;
    case conf::Filter::OnError::allow:
      return filter::OnFilterError::allow;
  }
  return filter::OnFilterError::block;
}

filter::MemoryUse memory_of(conf::Filter::Memory memory) {
  switch (memory) {
    case conf::Filter::Memory::automatic:
      return filter::MemoryUse::automatic;
    case conf::Filter::Memory::paged:
      return filter::MemoryUse::paged;
    case conf::Filter::Memory::locked:
      return filter::MemoryUse::locked;
    case conf::Filter::Memory::copied:
      return filter::MemoryUse::copied;
  }
  return filter::MemoryUse::automatic;
}

const char* served_from(filter::ServedFrom from) {
  static constexpr auto kWords = name_table<filter::ServedFrom>(
      {{filter::ServedFrom::original, ", served from the file itself: a write to it makes it lost"},
       {filter::ServedFrom::file_copy, ", served from a copy in state_dir"},
       {filter::ServedFrom::memory_copy, ", served from a copy in memory"}});
  return kWords.text(from);
}

// What the clock and the rollback protection say of valid files that are served all the same.
void warn(const filter::Policy& policy, const PolicyLoading& loading) {
  Findings findings = findings_of(policy, std::chrono::system_clock::now());
  if (loading.accepted != nullptr) loading.accepted->check(policy, findings);
  if (loading.warnings != nullptr) {
    loading.warnings->insert(loading.warnings->end(), findings.warnings.begin(), findings.warnings.end());
  }
}

const char* name_of(std::filesystem::file_type type) {
  switch (type) {
    case std::filesystem::file_type::fifo:
      return "a pipe";
    case std::filesystem::file_type::character:
    case std::filesystem::file_type::block:
      return "a device";
    case std::filesystem::file_type::socket:
      return "a socket";
    default:  // the code that reads them reports folders, missing files and those that stat() fails for
      return nullptr;
  }
}

// What is wrong with a file of a filter, behind the name of that; and what makes a file that is missing.
std::string text_of(const filter::Error& error, const conf::Config& settings) {
  const std::filesystem::path file = error.where;
  const auto owns = [&file](const conf::Filter& filter) {
    const auto& files = {filter.file, filter.delta, filter.exact, filter.public_key};
    return std::ranges::find(files, file) != files.end();
  };
  const auto owner = std::ranges::find_if(settings.filters, owns);
  if (owner == settings.filters.end() || file.empty()) return error.text();
  std::string text = fmt::format("filter {}: {}", owner->name, error.text());
  std::error_code failed;
  if (file != owner->file || std::filesystem::exists(file, failed) || failed) return text;
  return text + (owner->sources.empty()
                     ? fmt::format("; `bloomwall-filter build -o {} LIST...` makes it", file.string())
                     : "; `bloomwall update` makes it of the filter's lists");
}

// Wrong bytes stay wrong; a missing or locked file may become readable.
LoadFailure failure_of(std::span<const filter::Error> errors, const conf::Config& settings) {
  LoadFailure failure{.status = kExitRefused, .lines = {}};
  for (const filter::Error& error : errors) {
    if (error.code == filter::Errc::io) failure.status = kExitError;
    if (error.code == filter::Errc::bad_digest) failure.damaged.emplace_back(error.where);
    failure.lines.push_back(text_of(error, settings));
    const RefusalReason reason = reason_of(error.code);
    if (std::ranges::find(failure.reasons, reason) == failure.reasons.end()) failure.reasons.push_back(reason);
  }
  return failure;
}

std::vector<filter::Error> refusals_of(const filter::Policy::FilterState& state, const PolicyLoading& loading) {
  Findings findings;
  if (loading.accepted != nullptr) loading.accepted->check(state, findings);
  return std::move(findings.refusals);
}

// open() of a FIFO blocks until there is a writer, and a FIFO is empty at the next reload; a device may never end.
// Lists that are read into memory must fit there.
std::vector<std::string> unfit_files(const conf::Config& settings) {
  std::vector<std::string> lines;
  std::error_code ignored;
  for (const auto& file : named_files(settings)) {
    const char* const what = name_of(std::filesystem::status(file, ignored).type());
    if (what == nullptr) continue;
    lines.push_back(fmt::format("{}: is {}, not a file that each reload can read", file.string(), what));
  }
  std::vector<std::filesystem::path> lists = settings.allow_lists;
  for (const conf::Group& group : settings.groups) {
    lists.insert(lists.end(), group.allow_lists.begin(), group.allow_lists.end());
  }
  for (const auto& file : lists) {
    std::error_code failed;
    const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
    if (failed || bytes <= kMostAllowList) continue;
    lines.push_back(fmt::format("{}: {}, and an allow list may have {}", file.string(), size_text(bytes),
                                size_text(kMostAllowList)));
  }
  return lines;
}

}  // namespace

void print_lines(std::ostream& err, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) err << "bloomwall: " << printable(line) << '\n';
  err.flush();
}

namespace {

Loaded<conf::Config> settings_of(tl::expected<conf::Config, conf::ConfigErrors> loaded) {
  if (loaded) return *std::move(loaded);
  LoadFailure failure{.status = kExitConfiguration, .lines = {}, .reasons = {RefusalReason::configuration}};
  for (const auto& error : loaded.error()) failure.lines.push_back(error.text());
  return tl::unexpected(std::move(failure));
}

}  // namespace

Loaded<conf::Config> load_settings(const std::filesystem::path& named) { return settings_of(conf::load(named)); }

Loaded<conf::Config> load_settings_in_place(const std::filesystem::path& file, const std::filesystem::path& place,
                                            const std::filesystem::path& main) {
  return settings_of(conf::load_in_place(file, place, main));
}

std::optional<std::string> built_in_defaults(const std::filesystem::path& named) {
  std::error_code failed;
  if (!named.empty() || std::filesystem::exists(conf::kDefaultConfigFile, failed) || failed) return std::nullopt;
  return fmt::format("there is no {}: the built-in defaults are used (--config names another file)",
                     conf::kDefaultConfigFile);
}

std::filesystem::path configuration_file(const std::filesystem::path& named) {
  const std::filesystem::path file = named.empty() ? std::filesystem::path(conf::kDefaultConfigFile) : named;
  std::error_code failed;
  auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(file, failed), failed);
  return failed ? file : whole;
}

Loaded<RollbackProtection> load_sequences(const conf::Config& settings, std::vector<std::string>& warnings) {
  auto known = RollbackProtection::load(state_folder(settings));
  if (known) return *std::move(known);
  if (any_public_key(settings)) {
    return tl::unexpected(
        LoadFailure{.status = kExitRefused, .lines = {known.error()}, .reasons = {RefusalReason::disk}});
  }
  warnings.push_back(known.error());
  return RollbackProtection{};
}

filter::PolicySpec policy_spec(const conf::Config& settings) {
  filter::PolicySpec spec;
  for (const conf::Filter& filter : settings.filters) {
    spec.filters.push_back({.name = filter.name,
                            .file = filter.file,
                            .delta = filter.delta,
                            .exact = filter.exact,
                            .action = action_of(filter.action),
                            .on_error = on_error_of(filter.on_error),
                            .memory = memory_of(filter.memory),
                            .status = filter.status,
                            .takes_overrides = filter.takes_exceptions,
                            .public_key = filter.public_key,
                            .rebuild_at = filter.rebuild_at / 100.0});
  }
  spec.allow_lists = settings.allow_lists;
  spec.otherwise = otherwise_of(settings.otherwise);
  spec.more_allow_lists = allow_lists_of_groups(settings);
  return spec;
}

Loaded<std::shared_ptr<const filter::Policy>> load_policy(const conf::Config& settings, const PolicyLoading& loading) {
  if (auto unfit = unfit_files(settings); !unfit.empty()) {
    return tl::unexpected(
        LoadFailure{.status = kExitRefused, .lines = std::move(unfit), .reasons = {RefusalReason::disk}});
  }
  filter::FilterStore own;
  filter::FilterStore& store = loading.store == nullptr ? own : *loading.store;
  filter::PolicySpec spec = policy_spec(settings);
  for (std::size_t i = 0; loading.last_good != nullptr && i < spec.filters.size(); ++i) {
    if (const auto found = loading.last_good->find(settings.filters[i])) spec.filters[i].instead = found->files;
  }
  auto policy = store.load(spec, {.verify = loading.verify,
                                  .make_resident = loading.make_resident,
                                  .own_copies = loading.own_copies,
                                  .copies_folder = state_folder(settings),
                                  .progress = loading.progress,
                                  .refuses = [&loading](const auto& state) { return refusals_of(state, loading); }});
  if (!policy) return tl::unexpected(failure_of(policy.error(), settings));
  warn(**policy, loading);
  return *std::move(policy);
}

LoadFailure fallbacks_of(const filter::Policy& policy, const conf::Config& settings, const LastGood& last_good) {
  LoadFailure all{.status = kExitDone, .lines = {}};
  for (const auto& state : policy.filters()) {
    if (state.refused.empty()) continue;
    LoadFailure own = failure_of(state.refused, settings);
    const auto named = std::ranges::find(settings.filters, state.spec.name, &conf::Filter::name);
    const auto found = named == settings.filters.end() ? std::nullopt : last_good.find(*named);
    const std::int64_t since = found ? found->since : 0;
    own.lines.push_back(fmt::format(
        "filter {}: a start serves its last good files in their place, those of {:%Y-%m-%d %H:%M:%S}Z (sequence {}, "
        "delta {}), and a reload is refused: mend its files, then bloomwall reload",
        state.spec.name, fmt::gmtime(static_cast<std::time_t>(since)), state.file->header().sequence,
        state.delta_sequence));
    all.status = std::max(all.status, own.status);
    std::ranges::move(own.lines, std::back_inserter(all.lines));
    for (const RefusalReason reason : own.reasons) {
      if (std::ranges::find(all.reasons, reason) == all.reasons.end()) all.reasons.push_back(reason);
    }
  }
  return all;
}

std::string names_of_fallbacks(const filter::Policy& policy) {
  std::vector<std::string> names;
  for (const auto& state : policy.filters()) {
    if (!state.refused.empty()) names.push_back(state.spec.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Loaded<Edition> load_edition(const conf::Config& settings, const PolicyLoading& loading, std::uint64_t generation) {
  auto policy = load_policy(settings, loading);
  if (!policy) return tl::unexpected(std::move(policy).error());
  auto snapshot = make_snapshot(settings, generation, loading.running.get());
  if (snapshot) return Edition{*std::move(snapshot), *std::move(policy)};
  return tl::unexpected(LoadFailure{
      .status = kExitConfiguration, .lines = std::move(snapshot).error(), .reasons = {RefusalReason::configuration}});
}

std::uint64_t entries_of(const filter::Policy::FilterState& state) {
  return filter::distinct_entries(state.file->header());
}

std::vector<std::string> describe_memory(const filter::Policy& policy) {
  std::vector<std::string> lines;
  for (const auto& state : policy.filters()) {
    std::string line = fmt::format("filter {}: {}, {}", state.spec.name, size_text(state.file->header().file_bytes),
                                   filter::to_string(state.file->residence()));
    if (state.file->residence() == filter::Residence::paged) {
      line += state.file->hosts_locked() ? ", its host section locked in memory"
                                         : ", its host section in memory but not locked (LimitMEMLOCK=)";
    }
    line += served_from(state.file->served_from());
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string describe(const filter::Policy& policy) {
  std::uint64_t entries = 0;
  const auto filters = policy.filters();
  for (const auto& state : filters) entries += entries_of(state);
  return fmt::format("{} ({}), {}", count_text(filters.size(), "filter", "filters"),
                     count_text(entries, "entry", "entries"),
                     count_text(policy.allow_entries(), "allow entry", "allow entries"));
}

}  // namespace bloomwall::proxy
