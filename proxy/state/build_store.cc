// Exceptions that hold until a build.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "proxy/state/item_table.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

StateResult<std::size_t> StateStore::note_builds(const std::vector<BuildFinding>& findings) {
  State next = *state_;
  std::size_t cured = 0;
  const auto apply_all = [&]() -> tl::expected<void, std::string> {
    for (const BuildFinding& finding : findings) {
      const std::size_t before = next.exceptions.size();
      if (auto applied = apply(finding, next); !applied) return applied;
      cured += before - next.exceptions.size();
    }
    return {};
  };
  if (const auto done = commit_after(apply_all, next); !done) return tl::unexpected(done.error());
  write_exports();
  return cured;
}

// One that is no longer there says nothing.
tl::expected<void, std::string> StateStore::apply(const BuildFinding& finding, State& next) {
  const auto id_of = [](const ExceptionItem& item) { return item.exception.id; };
  const auto at = std::ranges::find(next.exceptions, finding.id, id_of);
  if (at == next.exceptions.end()) return {};
  if (finding.is_listed) {
    at->builds += finding.is_new_build ? 1U : 0U;
    at->seen = finding.seen;
    ++next.exceptions_version;
    export_lines_.forget(finding.id);
    return update_item(*database_, *at);
  }
  const ExceptionItem item = std::move(*at);
  if (auto removed = erase_item(*database_, item); !removed) return removed;
  next.exceptions.erase(at);
  ++next.exceptions_version;
  if (auto cured = cure_reports(finding.id, next); !cured) return cured;
  return write(row_of_gone("exception.cured", {.who = "bloomwall", .via = "itself"}, item,
                           "the filters do not list it any more"));
}

}  // namespace bloomwall::proxy
