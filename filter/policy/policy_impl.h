// What a Policy holds. For the files of this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "filter/policy/allow_list.h"
#include "filter/policy/delta.h"
#include "filter/policy/lookup.h"
#include "filter/policy/overrides.h"
#include "filter/policy/policy.h"

namespace bloomwall::filter {

struct LoadedFilter {
  LoadedFilter(FilterSpec its_spec, std::shared_ptr<const FilterFile> its_file, std::shared_ptr<const Delta> its_delta,
               std::optional<KeyId> its_signer, std::shared_ptr<const ExactSide> its_exact)
      : spec(std::move(its_spec)),
        file(std::move(its_file)),
        delta(std::move(its_delta)),
        exact(std::move(its_exact)),
        plan(*file),
        checks_reads(file->checks_reads()),
        signed_by(its_signer) {}

  LookupTarget target() const {
    return {
        .file = file.get(), .delta = delta.get(), .plan = &plan, .exact = exact.get(), .checks_reads = checks_reads};
  }

  Policy::FilterState state() const {
    return {.spec = spec,
            .file = file.get(),
            .delta_entries = delta ? delta->size() : 0,
            .delta_sequence = delta ? delta->sequence() : 0,
            .signed_by = signed_by,
            .exact = exact.get(),
            .refused = refused,
            .delta_version = delta_version};
  }

  bool exempts() const { return spec.action == FilterAction::no_decrypt; }
  bool is_off() const { return spec.action == FilterAction::off; }
  bool admits() const { return spec.action == FilterAction::allow; }

  FilterSpec spec;
  // Shared with other policies (filter_store.h).
  std::shared_ptr<const FilterFile> file;
  std::shared_ptr<const Delta> delta;      // null: none
  std::shared_ptr<const ExactSide> exact;  // null: none
  FilterPlan plan;
  bool checks_reads;
  std::optional<KeyId> signed_by;
  FilterFiles files = {};                         // that it was loaded from: those of the spec, or its `instead`
  std::vector<Error> refused = {};                // FilterState::refused
  std::optional<FileVersion> delta_version = {};  // FilterState::delta_version
  // Where a verdict keeps the hashes of its series: one place for all filters of a series, and different ones for those
  // of any PendingVerdict::kGroup filters in a row.
  std::size_t hash_place = 0;
};

// Of verdicts with the reason default_deny: "otherwise", status 403.
const FilterSpec& otherwise_spec();

// Sets hash_place. Where there are more series than places, the place least recently used is taken.
void give_hash_places(std::vector<LoadedFilter>& filters);

struct Policy::Impl {
  Impl(std::vector<LoadedFilter> its_filters, std::shared_ptr<const AllowLists> its_allow, Otherwise its_otherwise)
      : filters(std::move(its_filters)),
        allow_lists(std::move(its_allow)),
        allow(*allow_lists),
        otherwise(its_otherwise) {
    give_hash_places(filters);
    for (const LoadedFilter& filter : filters) {
      any_exempts |= filter.exempts();
      any_refuses_overrides |= !filter.spec.takes_overrides && !filter.is_off();
    }
  }
  // Likewise, with the same files.
  Impl(const Impl& other) : Impl(other.filters, other.allow_lists, other.otherwise) {
    more_allow_lists = other.more_allow_lists;
  }
  Impl& operator=(const Impl&) = delete;
  std::vector<LoadedFilter> filters;              // in the configured order; never resized, verdicts point to the specs
  std::shared_ptr<const AllowLists> allow_lists;  // shared likewise
  const AllowLists& allow;
  Otherwise otherwise;
  bool any_exempts = false;                    // some filter has the action no_decrypt: exempts() is asked only then
  bool any_refuses_overrides = false;          // FilterSpec::takes_overrides of some filter is false
  std::shared_ptr<const Overrides> overrides;  // null: none; shared with views
  // Each stands for the allow lists of PolicySpec::more_allow_lists and those of all. A view has none of them.
  std::vector<std::shared_ptr<const AllowLists>> more_allow_lists = {};
};

}  // namespace bloomwall::filter
