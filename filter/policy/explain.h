// A story (Policy::explain) for people and for programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "filter/policy/policy.h"

namespace bloomwall::filter {

// Several lines, each ended by a line feed: canonical form, other forms, verdict, expressions, questions with answers.
std::string explain_text(const CanonicalUrl& url, const Story& story);

// The fields of one object of `--json`, under their names there. Absent texts are empty.
struct StoryFields {
  std::string action;     // lookup, reject
  std::string canonical;  // empty where there is none
  std::vector<std::string> alternatives;
  std::vector<std::string> expressions;
  std::string verdict;     // allowed, blocked, monitored, rejected
  std::string filter;      // name
  std::string expression;  // that matched, or the allow entry
  std::string reason;      // to_string(VerdictReason); of a rejected URL to_string(UrlReason)
};
StoryFields story_fields(const CanonicalUrl& url, const Story& story);

}  // namespace bloomwall::filter
