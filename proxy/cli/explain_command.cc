// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/figures.h"
#include "base/terminal.h"
#include "filter/policy/explain.h"
#include "proxy/cli/commands.h"
#include "proxy/decision/passage.h"
#include "proxy/explain/client_view.h"
#include "proxy/explain/policy_of_files.h"
#include "proxy/explain/tls_explanation.h"
#include "proxy/explain/under_name.h"
#include "proxy/explain/verdict_end.h"

namespace bloomwall::proxy {
namespace {

using filter::Decision;
using filter::StoryFields;

constexpr const char* kTooLong = "over 64 KiB";
constexpr const char* kAmbiguous = "ambiguous_path";  // as in the log: access.strict_path
constexpr const char* kDialled =
    "not asked here: the networks in filters, of the address that is dialled for this name\n";

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

nlohmann::ordered_json tunnel_json(const Passage& passage) {
  if (!passage.is_tunnel) return {};
  const filter::Verdict& verdict = passage.verdict;
  const bool refused = passage.status != 0;
  return {{"target", passage.target},
          {"verdict", refused ? "refused" : to_string(verdict.decision)},
          {"filter", text_or_null(verdict.filter == nullptr ? "" : verdict.filter->name)},
          {"expression", text_or_null(verdict.expression)},
          {"reason", refused ? passage.error : to_string(verdict.reason)}};
}

nlohmann::ordered_json tls_json(const std::optional<TlsAnswer>& tls) {
  if (!tls) return {};
  return {{"action", to_string(tls->decision.action)},
          {"reason", to_string(tls->decision.reason)},
          {"source", tls->source}};
}

nlohmann::ordered_json under_json(const UnderName& other) {
  return {{"url", other.url},
          {"verdict", to_string(other.verdict.decision)},
          {"filter", text_or_null(other.verdict.filter == nullptr ? "" : other.verdict.filter->name)},
          {"expression", text_or_null(other.verdict.expression)},
          {"reason", to_string(other.verdict.reason)}};
}

nlohmann::ordered_json access_json(const Passage* passage, const ClientView& view) {
  if (passage == nullptr) return {};
  if (view.is_client_denied()) return to_string(ErrorKind::client_denied);
  return passage->status == 0 ? "allowed" : passage->error;
}

// `passage`: null where the URL has no canonical form.
void print_fields(std::ostream& out, std::string_view url, const StoryFields& f, std::uint64_t exception,
                  const Passage* passage, const std::optional<TlsAnswer>& tls, const ClientView& view,
                  std::string_view dialled, const std::string& valid_until, nlohmann::ordered_json under) {
  nlohmann::ordered_json json{
      {"url", url},
      {"action", f.action},
      {"canonical", text_or_null(f.canonical)},
      {"alternatives", f.alternatives},
      {"expressions", f.expressions},
      {"verdict", f.verdict},
      {"filter", text_or_null(f.filter)},
      {"expression", text_or_null(f.expression)},
      {"reason", f.reason},
      {"exception", exception == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(exception)},
      {"access", access_json(passage, view)},
      {"tunnel", passage == nullptr ? nlohmann::ordered_json() : tunnel_json(*passage)},
      {"tls", tls_json(tls)},
      {"dialled_as", text_or_null(std::string(dialled))},
      {"user", view.user_json()},
      {"group", view.json()},
      {"valid_until", text_or_null(valid_until)},
      {"under", std::move(under)}};
  view.add_group(json);
  print_json(out, json);
}

// Answers one URL after the other; each answer says whether it counts for exit status 1.
class Explainer {
 public:
  // `under`: other names of the connection.
  Explainer(ClientView view, PassageJudge passages, TlsExplainer tls, const std::vector<std::string>& under,
            bool strict_path, std::ostream& out)
      : view_(std::move(view)),
        passages_(std::move(passages)),
        tls_(std::move(tls)),
        under_(under),
        strict_path_(strict_path),
        out_(out) {}

  bool whole_story(std::string_view raw) {
    const auto& url = canonicaliser_.url(raw);
    ask_about(url);
    const filter::Story story = policy_->explain(url, view_.asker());
    std::optional<Passage> passage = passage_of(raw, url);
    const std::optional<TlsAnswer> tls = tls_of(passage, url);
    const bool is_left_to_urls = passage && note_tls(*passage, tls);
    if (passage && passage->is_tunnel && passage->is_stopped() && story.verdict.decision < Decision::blocked) {
      out_ << "stopped     as a host: the proxy is asked for a tunnel to it, and never sees this URL; what follows is "
              "said of the URL alone\n";
    }
    out_ << view_.text() << filter::explain_text(url, story) << leak_text(story.verdict);
    if (is_refused(url)) {
      out_ << "refused all the same: access.strict_path is true, and origins read this path in " << url.forms.size()
           << " ways\n";
    }
    if (passage) out_ << passage_text(*passage);
    if (is_left_to_urls) out_ << "the host itself is blocked: of its URLs those that are allowed pass\n";
    if (const SafeSearch::Found found = view_.safe_search(url.host);
        found && !is_stopped(story.verdict.decision, passage)) {
      out_ << fmt::format("dialled     {}: safe search of {}\n", found.dialled, found.engine);
    }
    out_ << end_text(raw, url);
    if (tls && tls_.is_on()) out_ << decryption_text(*tls);
    bool stopped = view_.is_client_denied() || is_refused(url) || is_stopped(story.verdict.decision, passage);
    if (!stopped && url.host_kind == filter::HostKind::name && policy_->has_networks()) out_ << kDialled;
    for (const std::string& name : under_) stopped |= story_under(raw, name);
    return stopped;
  }

  bool one_line(std::string_view raw, bool too_long) {
    const auto& url = canonicaliser_.url(raw);
    if (too_long) return invalid(raw, kTooLong);
    if (url.action == filter::UrlAction::reject) return invalid(raw, to_string(url.reason));
    if (is_refused(url)) return invalid(raw, kAmbiguous);
    if (view_.is_client_denied()) return answer("refused", raw, to_string(ErrorKind::client_denied));
    ask_about(url);
    const filter::Verdict verdict = policy_->judge(url, view_.asker());
    if (verdict.reason == filter::VerdictReason::default_deny) return answer("refused", raw, to_string(verdict.reason));
    if (is_listed(verdict)) return answer("listed", raw, verdict.expression);
    std::optional<Passage> passage = passage_of(raw, url);
    if (passage && passage->is_stopped()) note_tls(*passage, tls_of(passage, url));
    if (passage && passage->status != 0) return answer("refused", raw, passage->error);
    if (passage && passage->verdict.reason == filter::VerdictReason::default_deny) {
      return answer("refused", raw, to_string(passage->verdict.reason));
    }
    if (passage && is_listed(passage->verdict)) return answer("listed", raw, passage->verdict.expression);
    for (const std::string& name : under_) {
      const UnderName other = judge_under(canonicaliser_, view_, raw, name);
      if (is_listed(other.verdict)) return answer("listed", raw, other.verdict.expression);
      if (other.is_stopped()) return answer("refused", raw, to_string(other.verdict.reason));
    }
    out_ << "clear\t" << printable(raw) << '\n';
    return false;
  }

  bool one_object(std::string_view raw, bool too_long) {
    bool stopped = view_.is_client_denied();
    nlohmann::ordered_json under = nlohmann::ordered_json::array();
    // First, since what the view says is about the URL that it was asked for last.
    for (const std::string& name : under_) {
      if (too_long) break;
      const UnderName other = judge_under(canonicaliser_, view_, raw, name);
      stopped |= other.is_stopped();
      under.push_back(under_json(other));
    }
    const auto& url = canonicaliser_.url(raw);
    ask_about(url);
    StoryFields fields;
    Decision decision = Decision::rejected;
    std::optional<Passage> passage;
    std::optional<TlsAnswer> tls;
    std::uint64_t exception = 0;
    if (!too_long) {
      const filter::Story story = policy_->explain(url, view_.asker());
      fields = story_fields(url, story);
      decision = story.verdict.decision;
      exception = story.verdict.exception;
      passage = passage_of(raw, url);
      tls = tls_of(passage, url);
      if (passage) note_tls(*passage, tls);
    }
    if (too_long || is_refused(url)) {
      fields.action = "reject";
      fields.verdict = to_string(Decision::rejected);
      fields.reason = too_long ? kTooLong : kAmbiguous;
      decision = Decision::rejected;
    }
    std::string until;
    if (!too_long && url.has_canonical) {
      const ClientView::End end = verdict_end(view_, passages_, tls_, raw, url);
      if (!end.then.empty()) until = utc_text(end.at);
    }
    const std::string dialled(view_.safe_search(url.host).dialled);
    print_fields(out_, raw, fields, exception, passage ? &*passage : nullptr, tls, view_, dialled, until,
                 std::move(under));
    return stopped || is_stopped(decision, passage);
  }

 private:
  bool story_under(std::string_view raw, std::string_view name) {
    const UnderName other = judge_under(canonicaliser_, view_, raw, name);
    out_ << fmt::format("\nunder       {}, another name of the connection: {}\n", printable(name),
                        other.is_stopped() ? "stopped by it" : "passes")
         << other.text;
    return other.is_stopped();
  }
  void ask_about(const filter::CanonicalUrl& url) {
    policy_ = view_.policy_for(url.has_canonical ? std::string_view(url.host) : std::string_view());
  }
  // Nothing where no schedule and no exception could change it.
  std::string end_text(std::string_view raw, const filter::CanonicalUrl& url) {
    if (!url.has_canonical) return {};
    const ClientView::End end = verdict_end(view_, passages_, tls_, raw, url);
    if (end.then.empty()) return {};
    return fmt::format("holds       until {}, then {}\n", view_.time_text(end.at), end.then);
  }
  // Nothing without a canonical form, because the rules need one.
  std::optional<Passage> passage_of(std::string_view raw, const filter::CanonicalUrl& url) {
    if (!url.has_canonical) return std::nullopt;
    return passages_.judge(raw, url, {*policy_, view_.asker()}, view_.safe_search(url.host).dialled);
  }
  // Of what the access rules let into a tunnel.
  std::optional<TlsAnswer> tls_of(const std::optional<Passage>& passage, const filter::CanonicalUrl& url) {
    if (!passage || !passage->is_encrypted || passage->status != 0) return std::nullopt;
    return tls_.answer(url.host, url.port == 0 ? std::uint16_t{443} : url.port, {*policy_, view_.asker()},
                       view_.client());
  }
  // Of what a white list lets pass: how often it does so by mistake.
  std::string leak_text(const filter::Verdict& verdict) const {
    if (verdict.reason != filter::VerdictReason::allow_filter) return {};
    for (const auto& state : policy_->filters()) {
      if (state.spec.name != verdict.filter->name) continue;
      const filter::Policy::RequestError predicted = state.predicted_error();
      return fmt::format("white list  {}: of what it does not list, {} passes on unlisted hosts, {} on listed ones\n",
                         state.spec.name, one_in(predicted.unlisted_host), one_in(predicted.listed_host));
    }
    return {};
  }
  static bool is_stopped(Decision decision, const std::optional<Passage>& passage) {
    return decision >= Decision::blocked || (passage && passage->is_stopped());
  }
  static bool is_listed(const filter::Verdict& verdict) {
    return verdict.decision == Decision::blocked || verdict.decision == Decision::monitored;
  }
  bool is_refused(const filter::CanonicalUrl& url) const {
    return strict_path_ && url.has_canonical && url.forms.size() > 1;
  }
  bool answer(const char* word, std::string_view raw, std::string_view why) {
    out_ << word << '\t' << printable(raw) << '\t' << printable(why) << '\n';
    return true;
  }
  bool invalid(std::string_view raw, const char* why) {
    answer("invalid", raw, why);
    return false;
  }

  ClientView view_;
  std::shared_ptr<const filter::Policy> policy_;
  PassageJudge passages_;
  TlsExplainer tls_;
  const std::vector<std::string>& under_;
  bool strict_path_;
  std::ostream& out_;
  filter::Canonicaliser canonicaliser_;
};

}  // namespace

int run_explain(const ExplainCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  ExportedState exceptions;
  auto policy = load_policy_of_files(*settings, io.err, &exceptions);
  if (!policy) {
    print_lines(io.err, policy.error().lines);
    return policy.error().status;
  }
  auto passages = PassageJudge::compile(*settings);
  if (!passages) {
    print_lines(io.err, {passages.error()});
    return kExitConfiguration;
  }
  auto tls = TlsExplainer::compile(*settings);
  if (!tls) {
    print_lines(io.err, tls.error());
    return kExitConfiguration;
  }
  const PolicyPtr all = *policy;
  auto view = ClientView::make(*settings, *std::move(policy), exceptions, command.asker);
  if (!view) {
    print_lines(io.err, {view.error()});
    return kExitError;
  }
  std::ostringstream answer;
  if (const auto wrong = wrong_name_of(command.under)) {
    print_lines(io.err, {"--under " + *wrong});
    return kExitError;
  }
  Explainer explainer(*std::move(view), *std::move(passages), *std::move(tls), command.under,
                      settings->access.strict_path, answer);
  bool any = false;
  // False: a filter was found damaged on the way to this answer, which is not given.
  const auto give = [&](bool counts) {
    if (print_damage(*all, io.err)) return false;
    any |= counts;
    io.out << answer.str();
    answer.str({});
    return true;
  };
  if (command.urls.empty() || command.urls == std::vector<std::string>{"-"}) {
    say_reading("bloomwall", "a URL", io);
    LineSource lines(io.in, io.out);
    while (lines.next()) {
      const bool counts = command.json ? explainer.one_object(lines.line(), lines.too_long())
                                       : explainer.one_line(lines.line(), lines.too_long());
      if (!give(counts)) return kExitError;
    }
  } else {
    for (const std::string& url : command.urls) {
      if (!command.json && &url != &command.urls.front()) answer << '\n';
      const bool is_long = url.size() > kMaxQueryLine;
      if (!give(command.json ? explainer.one_object(url, is_long) : explainer.whole_story(url))) return kExitError;
    }
  }
  return any ? kExitRefused : kExitDone;
}

}  // namespace bloomwall::proxy
