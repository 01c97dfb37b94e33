// bw_policy: what it is made of, and its reload.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "include/bloomwall.h"
#include "library/failure.h"
#include "library/handles.h"

namespace bloomwall::library {
namespace {

using filter::FilterAction;
using filter::FilterSpec;
using filter::OnFilterError;
using filter::Otherwise;

template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};
constexpr std::array kActions{
    Named<FilterAction>{"block", FilterAction::block}, Named<FilterAction>{"monitor", FilterAction::monitor},
    Named<FilterAction>{"allow", FilterAction::allow}, Named<FilterAction>{"off", FilterAction::off}};
constexpr std::array kOnError{Named<OnFilterError>{"block", OnFilterError::block},
                              Named<OnFilterError>{"allow", OnFilterError::allow}};
constexpr std::array kOtherwise{Named<Otherwise>{"allow", Otherwise::allow}, Named<Otherwise>{"deny", Otherwise::deny}};
constexpr std::array kChecks{Named<bool>{"load", false}, Named<bool>{"read", true}};

template <typename Choices, typename Value>
int choose(std::string_view key, std::string_view wanted, const Choices& choices, Value& value) {
  std::string known;
  for (const auto& choice : choices) {
    if (choice.name == wanted) {
      value = choice.value;
      return 0;
    }
    known.append(known.empty() ? "" : ", ").append(choice.name);
  }
  return fail({filter::Errc::usage, std::string(key), "\"" + std::string(wanted) + "\" is none of " + known});
}

// Nothing: it has no such key.
std::optional<int> set_of_policy(bw_policy& policy, std::string_view key, std::string_view value) {
  if (key == "otherwise") return choose(key, value, kOtherwise, policy.spec.otherwise);
  if (key == "check") return choose(key, value, kChecks, policy.checks_reads);
  return std::nullopt;
}

std::optional<int> set_of_filter(FilterSpec& filter, std::string_view key, std::string_view value) {
  constexpr std::array kFiles{Named<std::filesystem::path FilterSpec::*>{"delta", &FilterSpec::delta},
                              Named<std::filesystem::path FilterSpec::*>{"exact", &FilterSpec::exact},
                              Named<std::filesystem::path FilterSpec::*>{"public_key", &FilterSpec::public_key}};
  for (const auto& file : kFiles) {
    if (file.name != key) continue;
    filter.*file.value = value;
    return 0;
  }
  if (key == "action") return choose(key, value, kActions, filter.action);
  if (key == "on_error") return choose(key, value, kOnError, filter.on_error);
  return std::nullopt;
}

int set(bw_policy& policy, std::string_view key, std::string_view value) {
  if (const auto done = set_of_policy(policy, key, value)) return *done;
  FilterSpec none;
  FilterSpec& filter = policy.spec.filters.empty() ? none : policy.spec.filters.back();
  const auto done = set_of_filter(filter, key, value);
  if (!done) {
    return fail({filter::Errc::usage, std::string(key),
                 "is none of delta, exact, public_key, action, on_error, otherwise, check"});
  }
  if (&filter != &none) return *done;
  return fail({filter::Errc::usage, std::string(key), "is set of a filter: add one before"});
}

int reload(bw_policy& policy) {
  filter::Policy::LoadOptions options;
  options.verify = !policy.checks_reads;
  auto loaded = policy.store.load(policy.spec, options);
  if (!loaded) return fail(loaded.error());
  auto edition = std::make_unique<Edition>();
  edition->checks_reads = policy.checks_reads;
  edition->policy = *std::move(loaded);
  policy.editions.replace(std::move(edition));
  return 0;
}

int fail_null(const char* call) { return fail({filter::Errc::usage, call, "an argument is NULL that must not be"}); }

}  // namespace
}  // namespace bloomwall::library

using bloomwall::library::fail_null;
using bloomwall::library::guarded;

extern "C" {

const char* bw_version(void) { return BLOOMWALL_VERSION; }

bw_policy* bw_new(void) {
  return guarded([] { return new bw_policy; }, [](int) { return static_cast<bw_policy*>(nullptr); });
}

void bw_free(bw_policy* policy) { delete policy; }

int bw_add_filter(bw_policy* policy, const char* name, const char* file) {
  return guarded([&] {
    if (policy == nullptr || file == nullptr) return fail_null("bw_add_filter");
    const std::filesystem::path path(file);
    bloomwall::filter::FilterSpec filter{
        .name = name != nullptr ? name : path.stem().string(), .file = path, .delta = {}};
    const std::scoped_lock lock(policy->mutex);
    policy->spec.filters.push_back(std::move(filter));
    return 0;
  });
}

int bw_add_allow_list(bw_policy* policy, const char* file) {
  return guarded([&] {
    if (policy == nullptr || file == nullptr) return fail_null("bw_add_allow_list");
    const std::scoped_lock lock(policy->mutex);
    policy->spec.allow_lists.emplace_back(file);
    return 0;
  });
}

int bw_set(bw_policy* policy, const char* key, const char* value) {
  return guarded([&] {
    if (policy == nullptr || key == nullptr || value == nullptr) return fail_null("bw_set");
    const std::scoped_lock lock(policy->mutex);
    return bloomwall::library::set(*policy, key, value);
  });
}

int bw_reload(bw_policy* policy) {
  return guarded([&] {
    if (policy == nullptr) return fail_null("bw_reload");
    const std::scoped_lock lock(policy->mutex);
    return bloomwall::library::reload(*policy);
  });
}

bw_policy* bw_open(const char* file) {
  bw_policy* const policy = bw_new();
  if (policy == nullptr || (bw_add_filter(policy, nullptr, file) == 0 && bw_reload(policy) == 0)) return policy;
  bw_free(policy);
  return nullptr;
}
}
