// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/file_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "filter/file/exact_side.h"
#include "filter/file/filter_file.h"
#include "filter/policy/policy.h"
#include "filter/url/canonical_url.h"

namespace bloomwall::proxy {
namespace {

// As a URL, and as the host of a tunnel.
std::optional<std::string> stopping_expression(const filter::Policy& policy, const std::string& canary) {
  filter::Canonicaliser canonicaliser;
  const filter::CanonicalUrl& url = canonicaliser.url(canary);
  if (!url.has_canonical) return std::nullopt;
  for (const filter::Verdict& verdict : {policy.judge(url), policy.judge_host(url)}) {
    if (verdict.decision == filter::Decision::blocked) {
      return fmt::format("{} {}", static_cast<char>(verdict.kind), verdict.expression);
    }
  }
  return std::nullopt;
}

std::optional<Refusal> canary_refusal(const filter::Policy& policy, const conf::Guards& guards) {
  for (const std::string& canary : guards.must_pass) {
    if (const auto by = stopping_expression(policy, canary)) {
      return Refusal{"must_pass", fmt::format("it stops {}, which must pass: {}", canary, *by)};
    }
  }
  for (const std::string& canary : guards.must_block) {
    if (!stopping_expression(policy, canary)) {
      return Refusal{"must_block", fmt::format("it does not stop {}, which it must", canary)};
    }
  }
  return std::nullopt;
}

}  // namespace

bool stops_requests(const conf::Filter& filter) {
  return filter.action == conf::Filter::Action::block || filter.action == conf::Filter::Action::monitor;
}

namespace {

// What is left of the error of a file that is served with the exact side that was made with it.
double left_by_exact_side(const conf::Filter& filter, const filter::Header& header) {
  if (filter.exact.empty() || header.exact_root == filter::Sha256{}) return 1;
  return std::min(filter::residual_error({.fingerprints = filter::distinct_entries(header)}), 1.0);
}

}  // namespace

double error_of(const conf::Filter& filter) {
  if (filter.action != conf::Filter::Action::block) return 0;
  const auto file = filter::FilterFile::open(filter.file);
  if (!file) return 0;
  const filter::Header& header = (*file)->header();
  return left_by_exact_side(filter, header) * header.predicted.unlisted_host.mean;
}

filter::Result<std::optional<Refusal>> check_file(const FileCheck& check, const filter::BuildOptions::Made& made) {
  filter::PolicySpec spec;
  spec.filters.push_back({.name = check.filter.name, .file = made.file, .delta = {}});
  if (!check.filter.exact.empty()) spec.filters.back().exact = made.exact_side;
  if (check.filter.public_key.empty()) spec.filters.back().exceptions = made.exceptions;
  const auto policy = filter::Policy::load(spec, {.verify = true, .progress = {}});
  if (!policy) return filter::unexpected(policy.error().front());
  if (auto refusal = canary_refusal(**policy, check.guards)) return refusal;
  if (check.filter.action != conf::Filter::Action::block) return std::nullopt;
  const double all = check.other_error + (*policy)->predicted_error().unlisted_host;
  if (all <= check.update.most_error || all <= check.other_error + error_of(check.filter)) return std::nullopt;
  return Refusal{"most_error",
                 fmt::format("a request would meet an error of some filter at {}, more than update.most_error ({})",
                             format_rate(all), format_rate(check.update.most_error))};
}

}  // namespace bloomwall::proxy
