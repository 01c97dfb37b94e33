// What the filters say of one URL, host or address, and why.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "filter/kind.h"

namespace bloomwall::filter {

struct FilterSpec;  // policy.h

enum class Decision : std::uint8_t { allowed, monitored, blocked, rejected };  // in order of severity
const char* to_string(Decision decision);

// Why. For a log, a metric label and the page.
enum class VerdictReason : std::uint8_t {
  unlisted,      // no filter holds it
  allow_list,    // an allow entry overrules every filter that could have held it
  excepted,      // an exception allows it
  allow_filter,  // a filter with the action allow holds it
  listed,        // a key of the filter's bits
  confirmed,     // likewise, and the exact side holds it, too
  delta,         // an exact entry of the filter's delta
  exception,     // the bits hold it, but it is known to be good: passes
  refuted,       // the bits hold it, but the exact side does not: passes
  filter_lost,   // the filter's file failed under us and on_error is block
  denied,        // an exception denies it
  default_deny,  // nothing holds it that lets it pass, and Otherwise is deny
  bad_url,       // the URL was rejected
};
const char* to_string(VerdictReason reason);

struct Verdict {
  Decision decision = Decision::allowed;
  VerdictReason reason = VerdictReason::unlisted;
  Kind kind = Kind::suffix;  // of the match; meaningless where nothing matched
  // The filter that matched; lives as long as the policy. Of what an exception or Otherwise denies a static one, whose
  // name says so.
  const FilterSpec* filter = nullptr;
  std::string expression;  // canonical expression that matched, or the allow entry; empty where none
  // The filter of Decision::monitored that was overtaken by this one, which blocks: it would have blocked as well.
  // Empty: none.
  std::string overtaken = {};
  std::uint8_t form = 0;        // which form of the URL decided
  std::uint64_t exception = 0;  // Override::id, where one decided; else 0
  // judge_host only. URL entries of filters that block or monitor, or URLs that overrides deny, exist on this host and
  // could not be asked; those of filters that block, and of overrides, alone; a filter with the action no_decrypt lists
  // it.
  bool host_has_marks = false, host_has_blocking_marks = false, no_decrypt = false;
  // judge_host only, of a blocked host: what may let some URLs on it pass, which can be told only by who sees them:
  // excepted, allow_filter or allow_list. unlisted: nothing.
  VerdictReason allowed_urls = VerdictReason::unlisted;
  std::uint32_t questions = 0;  // put to filters' bits, for metrics; those of all forms and filters asked
};

inline bool is_blocked(const Verdict& verdict) { return verdict.decision == Decision::blocked; }

// Before another filter that `blocks` becomes the one of this verdict.
void overtake(Verdict& verdict, bool blocks);

// What is said of a blocked host where allowed_urls are going to be told from the others: it may be reached.
inline void leave_to_urls(Verdict& verdict) {
  verdict.decision = Decision::allowed;
  verdict.reason = verdict.allowed_urls;
  verdict.allowed_urls = VerdictReason::unlisted;
  verdict.filter = nullptr;
  verdict.expression.clear();
  verdict.overtaken.clear();
  verdict.exception = 0;
}

}  // namespace bloomwall::filter
