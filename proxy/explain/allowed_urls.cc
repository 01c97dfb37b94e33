// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/allowed_urls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "filter/policy/entry_text.h"
#include "filter/url/canonical_url.h"
#include "proxy/access/tls_decision.h"
#include "proxy/decision/tls_inspection.h"

namespace bloomwall::proxy {
namespace {

// Whether some group, or who is in none, has the host decrypted.
bool is_decrypted_for_some(const InspectionRules& rules, const TlsName& name, std::size_t groups) {
  for (std::size_t group = 0; group <= (rules.has_groups() ? groups : 0); ++group) {
    TlsRequest request;
    request.authority = name;
    request.sni = name;
    request.group = group;
    if (rules.decide(request).action == TlsAction::intercept) return true;
  }
  return false;
}

// Why not, in words.
std::string reason_of(const InspectionRules* rules, const TlsName& name) {
  std::string mode = "tls_inspection.mode: urls would let it be seen";
  if (rules == nullptr || rules->greatest_mode() < InspectionRules::Mode::urls) return mode;
  TlsRequest request;
  request.authority = name;
  request.sni = name;
  return "it is exempt from decryption by " + rules->decide(request).source();
}

class UrlWarnings {
 public:
  UrlWarnings(const conf::Config& settings, const Edition& edition)
      : edition_(edition),
        groups_(settings.groups.size()),
        rules_(edition.snapshot->inspection == nullptr ? nullptr : &edition.snapshot->inspection->rules()) {}

  void read(const std::filesystem::path& file) {
    const auto text = filter::read_entry_text(file);
    if (!text) return;  // which the load has told
    LineWalk lines(*text);
    while (lines.next()) {
      const std::string_view line = trim(without_comment(lines.line()));
      const std::string_view word = line.substr(0, line.find_first_of(" \t"));
      if (word.find('/') == std::string_view::npos || word.starts_with("http://")) continue;
      look_at(fmt::format("{}:{}", file.string(), lines.number()), word);
    }
  }

  // A white list whose URLs lie on hosts that nothing else lets pass.
  void look_at(const filter::Policy::FilterState& state) {
    if (state.spec.action != filter::FilterAction::allow) return;
    if (edition_.policy->otherwise() != filter::Otherwise::deny || sees_urls()) return;
    const auto& kinds = state.file->header().kinds;
    const auto holds = [&](filter::Kind kind) { return kinds[filter::index_of(kind)].entries != 0; };
    constexpr std::array kKinds{filter::Kind::url, filter::Kind::url_query, filter::Kind::directory};
    if (std::ranges::none_of(kKinds, holds)) return;
    lines_.push_back(
        fmt::format("filters.{}: it allows URLs, which over https pass only on hosts that are allowed as well: "
                    "tls_inspection.mode: urls would let them be seen",
                    state.spec.name));
  }

  std::vector<std::string> take() {
    if (left_out_ > 0) lines_.push_back(fmt::format("allow_lists: {} more such entries", left_out_));
    return std::move(lines_);
  }

 private:
  bool sees_urls() const { return rules_ != nullptr && rules_->greatest_mode() >= InspectionRules::Mode::urls; }

  void look_at(const std::string& place, std::string_view word) {
    if (word.starts_with("@@")) word.remove_prefix(2);
    const filter::ParsedEntry parsed = parser_.any(word);
    if (parsed.entries.size() != 1 || !filter::is_path_kind(parsed.entries.front().kind)) return;
    const std::string host(parsed.entries.front().host);
    const filter::Verdict verdict = edition_.policy->judge_host(canonicaliser_.host(host));
    if (verdict.decision != filter::Decision::blocked) return;
    if (verdict.allowed_urls == filter::VerdictReason::unlisted) return;  // it is for filters that do not block it
    const TlsName name = TlsName::of(host, verdict);
    if (rules_ != nullptr && is_decrypted_for_some(*rules_, name, groups_)) return;
    if (count_++ >= kMostUrlWarnings) {
      ++left_out_;
      return;
    }
    lines_.push_back(fmt::format("{}: {} is blocked as a host, by {}: over https this URL passes nowhere; {}", place,
                                 host, verdict.filter->name, reason_of(rules_, name)));
  }

  const Edition& edition_;
  const std::size_t groups_;
  const InspectionRules* const rules_;
  filter::EntryParser parser_;
  filter::Canonicaliser canonicaliser_;
  std::vector<std::string> lines_;
  std::size_t count_ = 0, left_out_ = 0;
};

}  // namespace

std::vector<std::string> allowed_urls_without_effect(const conf::Config& settings, const Edition& edition) {
  UrlWarnings warnings(settings, edition);
  for (const std::filesystem::path& file : settings.allow_lists) warnings.read(file);
  for (const auto& state : edition.policy->filters()) warnings.look_at(state);
  return warnings.take();
}

}  // namespace bloomwall::proxy
