// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/tls_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace bloomwall::proxy {
namespace {

using Answer = filter::AskedQuestion::Answer;

constexpr std::string_view kMarkWord = "mark ";

// "mark U example.com" of www.example.com; not of a last label alone (Policy::judge_host).
bool is_counted_mark(std::string_view expression, std::string_view host) {
  if (!expression.starts_with(kMarkWord)) return false;
  const std::string_view suffix = expression.substr(expression.rfind(' ') + 1);
  return suffix == host || suffix.find('.') != std::string_view::npos;
}

bool says_yes(Answer answer) {
  return answer == Answer::yes || answer == Answer::added_by_delta || answer == Answer::confirmed;
}

}  // namespace

const char* TlsAnswer::word() const {
  switch (decision.action) {
    case TlsAction::tunnel:
      return "tunnel";
    case TlsAction::intercept:
      return "decrypt";
    case TlsAction::page:
      return "page";
    case TlsAction::refuse:
      return "refuse";
  }
  return "unknown";
}

tl::expected<TlsExplainer, std::vector<std::string>> TlsExplainer::compile(const conf::Config& settings) {
  auto rules = InspectionRules::compile(settings);
  if (!rules) return tl::unexpected(std::move(rules).error());
  return of(std::make_shared<const InspectionRules>(*std::move(rules)), settings.self_page.host);
}

TlsAnswer TlsExplainer::answer(std::string_view host, std::uint16_t port, const filter::AskedPolicy& asked,
                               const std::optional<IpAddress>& client) {
  const filter::CanonicalUrl& canonical = canonicaliser_.host(host);
  const filter::Verdict verdict = asked.policy.judge_host(canonical, asked.asker);
  TlsRequest request;
  request.authority = TlsName::of(canonical.host, verdict);
  request.sni = request.authority;
  request.port = port;
  request.client = client;
  request.group = rules_->group_named(asked.asker.group);
  request.user_agent = "Mozilla/5.0";
  request.is_self = canonical.host == self_host_;
  TlsAnswer answer{.decision = rules_->decide(request), .source = {}};
  answer.source = answer.decision.source();
  const TlsReason reason = answer.decision.reason;
  if (reason == TlsReason::mark || reason == TlsReason::no_decrypt) {
    const bool is_left = request.authority.is_blocked && reason == TlsReason::mark;
    const std::string found = is_left ? std::string() : reason_in_filters(reason, canonical, asked.policy);
    if (!found.empty()) {
      answer.source += ": " + found;
    } else if (reason == TlsReason::mark && request.authority.is_blocked) {
      answer.source += ": URLs are allowed there, although the host is blocked";
    } else if (reason == TlsReason::mark) {
      answer.source += ": an exception denies URLs there";
    }
  } else if (reason == TlsReason::blocked && verdict.filter != nullptr) {
    answer.source += fmt::format(": blocked by {}", verdict.filter->name);
  } else if (reason == TlsReason::self) {
    answer.source += ": the pages of the proxy itself";
  } else if (reason == TlsReason::mode && answer.decision.mode == InspectionRules::Mode::urls) {
    answer.source += ": " + unenforced_urls(canonical, asked.policy);
  }
  return answer;
}

bool TlsExplainer::concerns(const filter::FilterSpec& spec, TlsReason reason) const {
  const bool exempts = spec.action == filter::FilterAction::no_decrypt;
  if (reason == TlsReason::no_decrypt) return exempts;
  const bool watches = spec.action == filter::FilterAction::monitor && rules_->settings().urls_of_monitor;
  return spec.action == filter::FilterAction::block || watches;
}

// The question that decided, and whose it was.
std::string TlsExplainer::reason_in_filters(TlsReason reason, const filter::CanonicalUrl& host,
                                            const filter::Policy& policy) const {
  const filter::Story story = policy.explain_host(host);
  const auto filters = policy.filters();
  for (const filter::AskedQuestion& asked : story.questions) {
    const auto of = std::ranges::find_if(filters, [&](const auto& state) { return state.spec.name == asked.filter; });
    if (of == filters.end() || !concerns(of->spec, reason) || !says_yes(asked.answer)) continue;
    const bool is_mark = asked.expression.starts_with(kMarkWord);
    if (reason == TlsReason::mark ? is_counted_mark(asked.expression, host.host) : !is_mark) {
      return fmt::format("{} in {}", asked.expression, asked.filter);
    }
  }
  return {};
}

// What is listed on a host that is not decrypted for its URLs: nothing, or URLs that are not blocked for this client.
// A filter that is off is asked as well, in a view of its own.
std::string TlsExplainer::unenforced_urls(const filter::CanonicalUrl& host, const filter::Policy& policy) {
  filter::PolicyView view;
  std::vector<std::string> off;
  for (const auto& state : policy.filters()) {
    const bool is_off = state.spec.action == filter::FilterAction::off;
    if (is_off) off.push_back(state.spec.name);
    view.actions.push_back(is_off ? filter::FilterAction::block : state.spec.action);
  }
  const std::shared_ptr<const filter::Policy> all = policy.view(view);
  std::string found;
  for (const filter::AskedQuestion& asked : all->explain_host(host).questions) {
    if (!says_yes(asked.answer) || !is_counted_mark(asked.expression, host.host)) continue;
    if (std::ranges::find(off, asked.filter) == off.end()) {
      return fmt::format(
          "URLs are listed on this host in {}, but are not blocked there for this client (its group, an allow list, or "
          "the action)",
          asked.filter);
    }
    if (found.empty()) found = asked.filter;
  }
  if (found.empty()) return "no URLs are listed on this host";
  return fmt::format("URLs are listed on this host in {}, which is off for this client", found);
}

bool note_tls(Passage& passage, const std::optional<TlsAnswer>& tls) {
  passage.is_decrypted = tls && tls->is_decrypted();
  if (!passage.is_decrypted || passage.verdict.decision < filter::Decision::blocked) return false;
  filter::leave_to_urls(passage.verdict);
  return true;
}

std::vector<std::string> never_entries_with_marks(const InspectionRules& rules, const filter::Policy& policy) {
  if (rules.greatest_mode() < InspectionRules::Mode::urls) return {};
  std::vector<std::string> lines;
  filter::Canonicaliser canonicaliser;
  for (const NeverList::Entry* entry : rules.never().entries()) {
    const TlsName name = TlsName::of(entry->host, policy.judge_host(canonicaliser.host(entry->host)));
    if (!(rules.settings().urls_of_monitor ? name.has_marks : name.has_blocking_marks)) continue;
    lines.push_back(fmt::format("{} {}: URLs are listed there, and not enforced", entry->place(), entry->host));
  }
  std::ranges::sort(lines);
  if (lines.size() > kMostNeverWarnings) {
    const std::size_t more = lines.size() - kMostNeverWarnings;
    lines.resize(kMostNeverWarnings);
    lines.push_back(fmt::format("tls_inspection.never: {} more entries on whose hosts URLs are listed", more));
  }
  return lines;
}

std::string decryption_text(const TlsAnswer& answer) {
  switch (answer.decision.action) {
    case TlsAction::intercept:
      return fmt::format("decrypted: yes, {}\n", answer.source);
    case TlsAction::page:
      return fmt::format("decrypted: only to show the page, {}\n", answer.source);
    case TlsAction::tunnel:
      return fmt::format("decrypted: no: {}; only the host is judged\n", answer.source);
    case TlsAction::refuse:
      return fmt::format("decrypted: no: {}; the tunnel is refused\n", answer.source);
  }
  return {};
}

}  // namespace bloomwall::proxy
