// A policy of filters made in a temporary folder, asked by URL text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/delta.h"
#include "filter/policy/policy.h"
#include "filter/url/canonical_url.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {

inline constexpr auto kMonitor = FilterAction::monitor;

struct TestFilter {
  std::string name;
  std::vector<std::string> entries;
  FilterAction action = FilterAction::block;
  OnFilterError on_error = OnFilterError::block;
  std::string changes{};           // of a delta, without its first line
  std::uint8_t series = 0;         // 0: one of its own
  std::uint64_t claimed_keys = 0;  // see FilterRecipe
  bool takes_overrides = true;
};

class PolicyMaker {
 public:
  // Throws with the errors where the policy does not load.
  explicit PolicyMaker(const std::vector<TestFilter>& filters, std::string_view allow,
                       Otherwise otherwise = Otherwise::allow) {
    PolicySpec spec;
    spec.otherwise = otherwise;
    for (const TestFilter& filter : filters) spec.filters.push_back(make(filter));
    if (!allow.empty()) spec.allow_lists.push_back(folder.write("allow.txt", allow));
    auto loaded = Policy::load(spec, {});
    if (!loaded) throw std::runtime_error(texts_of(loaded.error()));
    policy = *std::move(loaded);
  }

  Verdict judge(std::string_view url) { return policy->judge(canonicaliser.url(url)); }
  Verdict judge_host(std::string_view host) { return policy->judge_host(canonicaliser.host(host)); }
  // "blocked listed ads S example.com", "allowed unlisted".
  std::string say(std::string_view url) { return say(judge(url)); }
  std::string say_host(std::string_view host) { return say(judge_host(host)); }
  static std::string say(const Verdict& verdict) {
    std::string out = std::string(to_string(verdict.decision)) + " " + to_string(verdict.reason);
    if (verdict.filter != nullptr) out += " " + verdict.filter->name;
    if (!verdict.expression.empty()) {
      out.append(" ").append(1, static_cast<char>(verdict.kind)).append(" ").append(verdict.expression);
    }
    return out;
  }

  std::filesystem::path file_of(std::string_view name) const { return folder / (std::string(name) + ".bwf"); }

  TempFolder folder;
  std::shared_ptr<const Policy> policy;
  Canonicaliser canonicaliser;

 private:
  FilterSpec make(const TestFilter& filter) {
    const std::uint8_t number = ++made_;
    FilterSpec spec{.name = filter.name, .file = file_of(filter.name), .delta = {}};
    make_filter(spec.file, {.entries = filter.entries,
                            .series = filter.series != 0 ? filter.series : number,
                            .file_id = number,
                            .claimed_keys = filter.claimed_keys});
    spec.action = filter.action;
    spec.on_error = filter.on_error;
    spec.takes_overrides = filter.takes_overrides;
    if (!filter.changes.empty()) {
      spec.delta =
          folder.write(filter.name + ".delta", Delta::first_line(content_of(spec.file)) + "\n" + filter.changes);
    }
    return spec;
  }
  std::uint8_t made_ = 0;
};

}  // namespace bloomwall::filter
