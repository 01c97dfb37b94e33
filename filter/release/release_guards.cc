// SPDX-License-Identifier: Apache-2.0
#include "filter/release/release_guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "filter/file/filter_file.h"
#include "filter/policy/delta.h"
#include "filter/policy/entry_text.h"
#include "filter/url/canonical_url.h"

namespace bloomwall::filter {
namespace {

constexpr const char* kName = "filter";

class Canaries {
 public:
  explicit Canaries(const Policy& policy)
      : policy_(policy), has_raw_(policy.raw_keys_of(kName) == Policy::RawKeys::held) {}

  // The expression that stops it. Errors: usage.
  Result<std::optional<std::string>> stopped_by(std::string_view text, const std::string& where) {
    if (has_raw_) {
      const Verdict verdict = policy_.judge_raw(text);
      if (verdict.decision == Decision::blocked) return "R " + verdict.expression;
    }
    const CanonicalUrl& url = canonicaliser_.url(text);
    if (!url.has_canonical) {
      if (has_raw_) return std::nullopt;
      return unexpected(Error{Errc::usage, where, "is neither a URL nor a host"});
    }
    for (const Verdict& verdict : {policy_.judge(url), policy_.judge_host(url)}) {
      if (verdict.decision != Decision::blocked) continue;
      return fmt::format("{} {}", static_cast<char>(verdict.kind), verdict.expression);
    }
    return std::nullopt;
  }

 private:
  const Policy& policy_;
  bool has_raw_;
  Canonicaliser canonicaliser_;
};

using Refusal = Result<std::optional<GuardRefusal>>;

Refusal ask_list(Canaries& canaries, const std::filesystem::path& list, bool is_to_pass) {
  const auto text = read_entry_text(list);
  if (!text) return unexpected(text.error());
  for (LineWalk lines(*text); lines.next();) {
    const std::string_view line = without_comment(lines.line());
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", list.string(), lines.number());
    const auto by = canaries.stopped_by(line, where);
    if (!by) return unexpected(by.error());
    if (is_to_pass && *by) {
      return GuardRefusal{"must_pass", fmt::format("{}: it stops {}, which must pass: {}", where, line, **by)};
    }
    if (!is_to_pass && !*by) {
      return GuardRefusal{"must_block", fmt::format("{}: it does not stop {}, which it must", where, line)};
    }
  }
  return std::nullopt;
}

Refusal ask_sizes(const ReleaseGuards& guards, const FilterFiles& next, const FilterFiles& last) {
  const auto now = entries_of(next), before = entries_of(last);
  if (!now) return unexpected(now.error());
  if (!before) return unexpected(before.error());
  const auto counts = static_cast<double>(*now), counted = static_cast<double>(*before);
  const auto refuse = [&](const char* guard, double share, const char* way) -> Refusal {
    return GuardRefusal{guard, fmt::format("{} entries, more than {:.6g} % {} the {} that all gateways have",
                                           format_count(*now), share * 100, way, format_count(*before))};
  };
  if (counts < counted * (1 - guards.max_shrink)) return refuse("max_shrink", guards.max_shrink, "below");
  if (counts > counted * (1 + guards.max_growth)) return refuse("max_growth", guards.max_growth, "above");
  return std::nullopt;
}

}  // namespace

Result<std::uint64_t> entries_of(const FilterFiles& files) {
  const auto file = FilterFile::open(files.file);
  if (!file) return unexpected(file.error());
  std::uint64_t entries = distinct_entries((*file)->header()), removed = 0;
  const auto count = [&](DeltaAnswer answer) { ++(answer == DeltaAnswer::removed ? removed : entries); };
  if (!files.delta.empty()) {
    const DeltaReading reading{.on_change = [&](const Entry&, DeltaAnswer answer) { count(answer); },
                               .on_range = [&](const AddressRange&, DeltaAnswer answer) { count(answer); }};
    const auto delta = Delta::load(files.delta, (*file)->keys(), content_id((*file)->header()), reading);
    if (!delta) return unexpected(delta.error().front());
  }
  return entries - std::min(entries, removed);
}

Refusal refusal_of(const ReleaseGuards& guards, const FilterFiles& next, const FilterFiles* last) {
  if (last != nullptr) {
    if (auto refusal = ask_sizes(guards, next, *last); !refusal || *refusal) return refusal;
  }
  PolicySpec spec;
  // What its lists except is not part of a release: nobody signs it.
  spec.filters.push_back(
      {.name = kName, .file = next.file, .delta = next.delta, .exact = next.exact, .exceptions = ""});
  const auto policy = Policy::load(spec, {.verify = false, .progress = {}});
  if (!policy) return unexpected(policy.error().front());
  if (const double error = (*policy)->predicted_error().unlisted_host; error > guards.most_error) {
    return GuardRefusal{"most_error",
                        fmt::format("a request to a host that is not listed meets an error at {}, more than {}",
                                    format_rate(error), format_rate(guards.most_error))};
  }
  Canaries canaries(**policy);
  for (const auto& list : guards.must_pass) {
    if (auto refusal = ask_list(canaries, list, true); !refusal || *refusal) return refusal;
  }
  for (const auto& list : guards.must_block) {
    if (auto refusal = ask_list(canaries, list, false); !refusal || *refusal) return refusal;
  }
  if (const auto damage = (*policy)->damage(); !damage.empty()) return unexpected(damage.front());
  return std::nullopt;
}

}  // namespace bloomwall::filter
