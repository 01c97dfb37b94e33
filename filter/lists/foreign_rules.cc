// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/foreign_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kRulesLookedAt = 1000;

bool begins_with_one_of(std::string_view text, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return starts_ignoring_case(text, word); });
}

// "-d ads.example", "- /banner/", "+d good.example", ": Expires=3"
bool is_tpl(std::string_view text) {
  constexpr std::array<std::string_view, 6> kRules{"-d ", "+d ", "- ", "+ ", ": Expires", "msFilterList"};
  return begins_with_one_of(text, kRules);
}

// "DOMAIN-SUFFIX,a.example,REJECT"
bool is_proxy_rule(std::string_view text) {
  constexpr std::array<std::string_view, 10> kRules{"DOMAIN,",      "DOMAIN-SUFFIX,", "DOMAIN-KEYWORD,", "HOST,",
                                                    "HOST-SUFFIX,", "HOST-KEYWORD,",  "IP-CIDR,",        "IP-CIDR6,",
                                                    "URL-REGEX,",   "USER-AGENT,"};
  return begins_with_one_of(text, kRules);
}

// "full:a.example", "regexp:^ad"
bool is_geosite(std::string_view text) {
  constexpr std::array<std::string_view, 5> kRules{"full:", "domain:", "keyword:", "regexp:", "include:"};
  return begins_with_one_of(text, kRules);
}

bool is_detection_rule(std::string_view text) {
  constexpr std::array<std::string_view, 4> kRules{"alert ", "drop ", "reject ", "pass "};
  return begins_with_one_of(text, kRules) && text.find("sid:") != std::string_view::npos;
}

bool is_regular_expression(std::string_view text) {
  return text.find("\\.") != std::string_view::npos || text.starts_with("(^") || text.starts_with("(\\") ||
         (text.starts_with('^') && text.find_first_of("[(\\") != std::string_view::npos);
}

// "ad.*", "*sex*", "=a.example", "ads[0-9]*": patterns for whole names
bool is_name_pattern(std::string_view text) {
  if (text.find_first_of("/|,;: \t") != std::string_view::npos) return false;
  const std::size_t star = text.find('*');
  const bool leads = star == 0 && text.starts_with("*.") && text.find('*', 1) == std::string_view::npos;
  return text.starts_with('=') || (star != std::string_view::npos && !leads);
}

struct Foreign {
  bool (*is_line)(std::string_view text);
  std::string_view what;
};
constexpr std::array<Foreign, 6> kForeign{{
    {is_tpl,
     "a tracking protection list of Internet Explorer (.tpl), which is not read: look for the same list as an "
     "adblock or hosts file"},
    {is_proxy_rule,
     "rules of Surge, Clash or Quantumult, which are not read as such: --format csv --csv-column 2 takes "
     "their second column, keywords too"},
    {is_geosite, "a domain list of v2fly, which is not read: look for the same list as plain domains"},
    {is_detection_rule, "rules of Snort or Suricata, which are no list of hosts"},
    {is_regular_expression, "regular expressions, as Pi-hole has them, of which no key can be made"},
    {is_name_pattern, "patterns for names, as dnscrypt-proxy has them (\"ad.*\"), of which no key can be made"},
}};

}  // namespace

std::string_view foreign_rules(std::string_view sample) {
  std::array<std::size_t, kForeign.size()> counts{};
  std::size_t content = 0;
  for (LineWalk lines(sample); content < kRulesLookedAt && lines.next();) {
    const std::string_view text = trim(lines.line());
    if (text.empty() || is_comment(text, "#;!/")) continue;
    if (content == 0 && text == "msFilterList") return kForeign.front().what;
    if (content == 0 && text == "payload:") return "a rule set of Clash in YAML, which is not read";
    ++content;
    for (std::size_t i = 0; i < kForeign.size(); ++i) counts[i] += kForeign[i].is_line(text) ? 1U : 0U;
  }
  for (std::size_t i = 0; i < kForeign.size(); ++i) {
    if (counts[i] * 2 > content) return kForeign[i].what;
  }
  return {};
}

}  // namespace bloomwall::filter
