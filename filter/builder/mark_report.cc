// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/mark_report.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "filter/kind.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

// Whether strangers, or everything of an owner, may be below it. A last label alone counts for no host but itself
// (Policy::judge_host).
bool is_wide(std::string_view host) {
  const std::size_t dot = host.find('.');
  if (dot == std::string_view::npos) return false;
  return is_public_suffix(host.substr(dot + 1)) || is_public_suffix(host);
}

}  // namespace

void MarkReport::expect_workers(unsigned workers) {
  if (parts_.size() < workers) parts_.resize(workers);
}

void MarkReport::seen(unsigned worker, const Entry& entry) {
  if (!is_path_kind(entry.kind) || entry.host_kind != HostKind::name) return;
  Part& part = parts_[worker];
  if (const auto known = part.entries.find(entry.host); known != part.entries.end()) {
    ++known->second;
    return;
  }
  if (!is_wide(entry.host)) return;
  if (part.entries.size() < kMostDomains) {
    part.entries.emplace(entry.host, 1);
  } else {
    ++part.not_listed;
  }
}

std::string MarkReport::text(const std::string& name) const {
  std::map<std::string_view, std::uint64_t> all;
  std::uint64_t not_listed = 0;
  for (const Part& part : parts_) {
    for (const auto& [domain, count] : part.entries) all[domain] += count;
    not_listed += part.not_listed;
  }
  std::string out = fmt::format(
      "# Whole domains that {} marks: with tls_inspection.mode urls every host below them is decrypted.\n", name);
  for (const auto& [domain, count] : all) {
    fmt::format_to(std::back_inserter(out), "{}  # {} URL entr{}{}\n", domain, count, count == 1 ? "y" : "ies",
                   is_public_suffix(domain) ? ", a public suffix" : "");
  }
  if (not_listed > 0) {
    fmt::format_to(std::back_inserter(out), "# and further domains, with {} URL entries, that found no room here\n",
                   not_listed);
  }
  return out;
}

}  // namespace bloomwall::filter
