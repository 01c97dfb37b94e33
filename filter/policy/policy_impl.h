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
#include "filter/policy/filter_plan.h"
#include "filter/policy/lookup.h"
#include "filter/policy/policy.h"

namespace bloomwall::filter {

struct LoadedFilter {
  LoadedFilter(FilterSpec its_spec, std::unique_ptr<FilterFile> its_file, std::optional<Delta> its_delta,
               std::optional<KeyId> its_signer = {}, std::unique_ptr<ExactSide> its_exact = nullptr)
      : spec(std::move(its_spec)),
        file(std::move(its_file)),
        delta(std::move(its_delta)),
        exact(std::move(its_exact)),
        plan(*file),
        signed_by(its_signer) {}

  LookupTarget target() const {
    return {.file = file.get(), .delta = delta ? &*delta : nullptr, .plan = &plan, .exact = exact.get()};
  }

  FilterSpec spec;
  std::unique_ptr<FilterFile> file;
  std::optional<Delta> delta;
  std::unique_ptr<ExactSide> exact;  // null: none
  FilterPlan plan;
  std::optional<KeyId> signed_by;
};

struct Policy::Impl {
  Impl(std::vector<LoadedFilter> its_filters, AllowLists its_allow)
      : filters(std::move(its_filters)), allow(std::move(its_allow)) {}
  std::vector<LoadedFilter> filters;  // in the configured order; never resized, verdicts point to the specs
  AllowLists allow;
};

}  // namespace bloomwall::filter
