// bw_answer, and the questions.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "filter/url/address.h"
#include "include/bloomwall.h"
#include "library/failure.h"
#include "library/handles.h"
#include "library/lines.h"

namespace bloomwall::library {
namespace {

using filter::Decision;

static_assert(static_cast<int>(Decision::allowed) == BW_ALLOWED &&
              static_cast<int>(Decision::monitored) == BW_MONITORED &&
              static_cast<int>(Decision::blocked) == BW_BLOCKED && static_cast<int>(Decision::rejected) == BW_REJECTED);

int fail_usage(const char* call, const char* what) { return fail({filter::Errc::usage, call, what}); }

// For questions without an answer of their own.
bw_answer& answer_of_thread() {
  thread_local bw_answer answer;
  return answer;
}

// Calls ask(edition) with the edition that is served now.
template <typename Ask>
int with_edition(const bw_policy* policy, int kind, const char* call, const Ask& ask) {
  if (policy == nullptr) return fail_usage(call, "the policy is NULL");
  if (kind < BW_URL || kind > BW_RAW)
    return fail_usage(call, "the kind is none of BW_URL, BW_HOST, BW_ADDRESS, BW_RAW");
  const Editions::Use use(policy->editions);
  if (use.edition() == nullptr) return fail(BW_ERROR_NOT_LOADED, "the policy is not loaded: call bw_reload() before");
  return ask(*use.edition());
}

int ask_one(const Edition& edition, int kind, std::string_view text, bw_answer& answer) {
  const Decision decision = answer.ask(*edition.policy, kind, text);
  if (edition.checks_reads) {
    if (const auto damage = edition.policy->damage(); !damage.empty()) return fail(damage);
  }
  return static_cast<int>(decision);
}

int ask_many(const Edition& edition, int kind, std::size_t count, const char* const* texts, const std::size_t* lengths,
             unsigned char* verdicts) {
  for (std::size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) return fail_usage("bw_ask_many", "a text is NULL");
    const std::size_t length = lengths != nullptr ? lengths[i] : std::strlen(texts[i]);
    const int outcome = ask_one(edition, kind, {texts[i], length}, answer_of_thread());
    if (outcome < 0) return outcome;
    verdicts[i] = static_cast<unsigned char>(outcome);
  }
  return 0;
}

}  // namespace
}  // namespace bloomwall::library

using bloomwall::filter::Decision;
using bloomwall::filter::Policy;
using bloomwall::filter::Verdict;
using bloomwall::library::Edition;
using bloomwall::library::guarded;

Verdict bw_answer::judge_host(const Policy& policy, std::string_view host) {
  const auto& canonical = canonicaliser_.host(host);
  reason = to_string(canonical.reason);
  return policy.judge_host(canonical);
}

Verdict bw_answer::judge_address(const Policy& policy, std::string_view text) {
  if (!bloomwall::filter::read_address(text)) {
    reason = "not an address";
    Verdict verdict;
    verdict.decision = Decision::rejected;
    return verdict;
  }
  if (text.starts_with('[') || text.find(':') == std::string_view::npos) return judge_host(policy, text);
  bracketed_.assign("[").append(text).append("]");
  return judge_host(policy, bracketed_);
}

Verdict bw_answer::judge(const Policy& policy, int kind, std::string_view text) {
  if (kind == BW_HOST) return judge_host(policy, text);
  if (kind == BW_ADDRESS) return judge_address(policy, text);
  if (kind == BW_RAW) return policy.judge_raw(text);
  const auto& canonical = canonicaliser_.url(text);
  reason = to_string(canonical.reason);
  return policy.judge(canonical);
}

Decision bw_answer::ask(const Policy& policy, int kind, std::string_view text) {
  const Verdict verdict = judge(policy, kind, text);
  filter.assign(verdict.filter != nullptr ? std::string_view(verdict.filter->name) : std::string_view());
  expression.assign(verdict.expression);
  if (verdict.decision != Decision::rejected) reason = to_string(verdict.reason);
  return verdict.decision;
}

extern "C" {

bw_answer* bw_answer_new(void) {
  return guarded([] { return new bw_answer; }, [](int) { return static_cast<bw_answer*>(nullptr); });
}

void bw_answer_free(bw_answer* answer) { delete answer; }

const char* bw_answer_filter(const bw_answer* answer) { return answer == nullptr ? "" : answer->filter.c_str(); }

const char* bw_answer_expression(const bw_answer* answer, size_t* length) {
  if (length != nullptr) *length = answer == nullptr ? 0 : answer->expression.size();
  return answer == nullptr ? "" : answer->expression.c_str();
}

const char* bw_answer_reason(const bw_answer* answer) { return answer == nullptr ? "" : answer->reason; }

int bw_ask(const bw_policy* policy, int kind, const char* text, size_t length, bw_answer* answer) {
  return guarded([&] {
    if (text == nullptr && length != 0) return bloomwall::library::fail_usage("bw_ask", "the text is NULL");
    const std::string_view asked = text == nullptr ? std::string_view() : std::string_view(text, length);
    return bloomwall::library::with_edition(policy, kind, "bw_ask", [&](const Edition& edition) {
      bw_answer& own = answer != nullptr ? *answer : bloomwall::library::answer_of_thread();
      return bloomwall::library::ask_one(edition, kind, asked, own);
    });
  });
}

int bw_ask_many(const bw_policy* policy, int kind, size_t count, const char* const* texts, const size_t* lengths,
                unsigned char* verdicts) {
  return guarded([&] {
    if (count != 0 && (texts == nullptr || verdicts == nullptr)) {
      return bloomwall::library::fail_usage("bw_ask_many", "texts and verdicts must not be NULL");
    }
    return bloomwall::library::with_edition(policy, kind, "bw_ask_many", [&](const Edition& edition) {
      return bloomwall::library::ask_many(edition, kind, count, texts, lengths, verdicts);
    });
  });
}

int bw_ask_lines(const bw_policy* policy, int kind, const char* text, size_t length, unsigned char* verdicts,
                 size_t capacity, size_t* lines) {
  return guarded([&] {
    if (lines == nullptr || (text == nullptr && length != 0)) {
      return bloomwall::library::fail_usage("bw_ask_lines", "text and lines must not be NULL");
    }
    const std::string_view asked = text == nullptr ? std::string_view() : std::string_view(text, length);
    const std::size_t counted = bloomwall::library::count_lines(asked);
    *lines = counted;
    if (counted > capacity || (verdicts == nullptr && counted != 0)) {
      return bloomwall::library::fail_usage("bw_ask_lines", "there is less room for verdicts than there are lines");
    }
    return bloomwall::library::with_edition(policy, kind, "bw_ask_lines", [&](const Edition& edition) {
      bw_answer& own = bloomwall::library::answer_of_thread();
      return bloomwall::library::ask_lines(asked, kind != BW_RAW, {verdicts, counted}, [&](std::string_view line) {
        return bloomwall::library::ask_one(edition, kind, line, own);
      });
    });
  });
}
}
