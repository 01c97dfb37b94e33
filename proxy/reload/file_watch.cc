// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/file_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "filter/file/exact_side.h"

namespace bloomwall::proxy {
namespace {

using Served = filter::Policy::FilterState;

const char* consequence(const Served& state) {
  if (state.spec.action == filter::FilterAction::no_decrypt) return "it exempts no host from decryption";
  if (state.spec.on_error == filter::OnFilterError::allow) return "its on_error lets everything pass";
  return state.spec.action == filter::FilterAction::monitor ? "its on_error monitors everything"
                                                            : "its on_error blocks everything";
}

// Whether the file at this path is served itself, and not from a copy.
template <typename File>
bool is_served_itself(const File& file, const std::filesystem::path& name) {
  if (file.served_from() != filter::ServedFrom::original) return false;
  const auto now = filter::stamp_of(name);
  return now && now->same_file(file.stamp());
}

using Paths = std::vector<std::filesystem::path>;

template <typename File>
void lose_if_damaged(const File& file, const std::filesystem::path& name, const Paths& damaged) {
  if (std::ranges::find(damaged, name) != damaged.end() && is_served_itself(file, name)) file.mark_lost();
  file.notice_change();
}

}  // namespace

FileWatch::Seen FileWatch::look(const filter::Policy& policy, std::uint64_t generation) {
  if (generation != generation_) lost_.clear();
  generation_ = generation;
  Seen out;
  for (const Served& state : policy.filters()) {
    state.file->notice_change();
    if (state.file->lost()) {
      if (!lost_.contains(state.spec.file)) {
        out.errors.push_back(
            fmt::format("filter {}: {} changed or failed while it was served, and is lost: {} until a whole file is "
                        "loaded (replace it by rename, never in place)",
                        state.spec.name, state.spec.file.string(), consequence(state)));
      }
      note(state.spec.file, out);
    }
    if (state.exact == nullptr) continue;
    state.exact->notice_change();
    if (!state.exact->lost()) continue;
    if (!lost_.contains(state.spec.exact)) {
      out.errors.push_back(
          fmt::format("filter {}: {} changed or failed while it was served, and is lost: what the filter's bits say "
                      "stands unconfirmed until a whole file is loaded",
                      state.spec.name, state.spec.exact.string()));
    }
    note(state.spec.exact, out);
  }
  return out;
}

// A file that is still being written would be refused: a reload is tried once, when nothing has changed since the last
// call.
void FileWatch::note(const std::filesystem::path& file, Seen& out) {
  Lost& lost = lost_[file];
  const auto now = filter::stamp_of(file);
  if (now && now == lost.seen && now != lost.tried) {
    lost.tried = now;
    out.reload_wanted = true;
  }
  lost.seen = now;
}

std::string lost_and_blocking(const filter::Policy& policy, const GroupPolicies* groups) {
  std::vector<std::string> names;
  const auto add = [&](const filter::Policy& of) {
    for (const Served& state : of.filters()) {
      const bool decides =
          state.spec.action == filter::FilterAction::block || state.spec.action == filter::FilterAction::allow;
      if (!decides || !state.file->lost() || state.spec.on_error != filter::OnFilterError::block) continue;
      if (std::ranges::find(names, state.spec.name) == names.end()) names.push_back(state.spec.name);
    }
  };
  if (groups == nullptr) add(policy);
  for (std::size_t group = 0; groups != nullptr && group < groups->size(); ++group) add(*groups->of(group));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> served_on(const filter::Policy& policy, std::uint64_t generation, const Paths& damaged) {
  std::vector<std::string> lines;
  std::size_t lost = 0, copies = 0;
  const auto filters = policy.filters();
  for (const Served& state : filters) {
    lose_if_damaged(*state.file, state.spec.file, damaged);
    if (state.exact != nullptr) lose_if_damaged(*state.exact, state.spec.exact, damaged);
    if (state.file->served_from() != filter::ServedFrom::original) ++copies;
    if (!state.file->lost()) continue;
    ++lost;
    lines.push_back(fmt::format("filter {} is lost: its data no longer match what was verified; {}", state.spec.name,
                                consequence(state)));
  }
  if (lost == 0) {
    lines.push_back(fmt::format("generation {} stays in use{}", generation,
                                copies == filters.size() && copies != 0 ? ", from unchanged copies" : ""));
  } else {
    lines.push_back(fmt::format("generation {} stays, with {} of {} filters lost", generation, lost, filters.size()));
  }
  return lines;
}

}  // namespace bloomwall::proxy
