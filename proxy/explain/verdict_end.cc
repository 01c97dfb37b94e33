// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/verdict_end.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "filter/policy/explain.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kException = "exception ";  // in a story, before the id

// The exceptions that were asked about the URL or its host, whether they decided or not.
std::vector<std::uint64_t> exceptions_asked(const filter::Policy& policy, const filter::CanonicalUrl& url,
                                            const filter::Asker& asker) {
  std::vector<std::uint64_t> exceptions;
  for (const auto& story : {policy.explain(url, asker), policy.explain_host(url, asker)}) {
    for (const auto& asked : story.questions) {
      if (!asked.filter.starts_with(kException)) continue;
      if (const auto id = parse_integer(asked.filter.substr(kException.size()))) exceptions.push_back(*id);
    }
  }
  return exceptions;
}

}  // namespace

ClientView::End verdict_end(ClientView& view, PassageJudge& passages, TlsExplainer& tls, std::string_view raw,
                            const filter::CanonicalUrl& url) {
  const filter::Policy& now = *view.policy_for(url.host);
  // The verdict on its CONNECT, where it needs one, and, where the proxy sees it, on the URL.
  const auto outcome = [&](const filter::Policy& policy) {
    Passage passage = passages.judge(raw, url, {policy, view.asker()}, view.safe_search(url.host).dialled);
    const filter::Verdict own = policy.judge(url, view.asker());
    const auto port = url.port == 0 ? std::uint16_t{443} : url.port;
    if (passage.is_encrypted) note_tls(passage, tls.answer(url.host, port, {policy, view.asker()}, view.client()));
    const bool sees_url = !passage.is_encrypted || passage.is_decrypted;
    const bool by_tunnel = passage.is_tunnel && (!sees_url || passage.verdict.decision >= own.decision);
    const filter::Verdict& verdict = by_tunnel ? passage.verdict : own;
    return fmt::format("{} ({}){}", to_string(verdict.decision), to_string(verdict.reason),
                       verdict.reason == filter::VerdictReason::default_deny || verdict.filter == nullptr
                           ? ""
                           : " by filter " + verdict.filter->name);
  };
  return view.holds_until(outcome, exceptions_asked(now, url, view.asker()));
}

}  // namespace bloomwall::proxy
