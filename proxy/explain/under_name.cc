// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/under_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/terminal.h"
#include "filter/policy/explain.h"
#include "filter/url/canonical_url.h"
#include "proxy/explain/client_view.h"

namespace bloomwall::proxy {

std::string url_under(std::string_view url, std::string_view name) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  return std::string(url.substr(0, begin)).append(name).append(url.substr(end));
}

UnderName judge_under(filter::Canonicaliser& urls, ClientView& view, std::string_view url, std::string_view name) {
  UnderName out{.url = url_under(url, name)};
  const filter::CanonicalUrl& canonical = urls.url(out.url);
  const PolicyPtr& policy = view.policy_for(canonical.has_canonical ? std::string_view(canonical.host) : "");
  const filter::Story story = policy->explain(canonical, view.asker());
  out.verdict = story.verdict;
  out.text = filter::explain_text(canonical, story);
  // An address is none of the names that a client asks for: no default denial is of it.
  if (out.verdict.reason == filter::VerdictReason::default_deny && canonical.host_kind != filter::HostKind::name) {
    out.verdict.decision = filter::Decision::allowed;
    out.verdict.reason = filter::VerdictReason::unlisted;
  }
  return out;
}

std::optional<std::string> wrong_name_of(const std::vector<std::string>& names) {
  filter::Canonicaliser urls;
  for (const std::string& name : names) {
    const auto& url = urls.url("http://" + name + "/");
    const bool is_host = url.action != filter::UrlAction::reject && name.find_first_of("/?#@") == std::string::npos;
    if (!is_host) return fmt::format("{}: expected a host or an address", printable(name));
  }
  return std::nullopt;
}

}  // namespace bloomwall::proxy
