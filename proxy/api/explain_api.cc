// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/explain_api.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "filter/url/canonical_url.h"
#include "proxy/api/api_reply.h"
#include "proxy/decision/snapshot.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/explain/client_view.h"
#include "proxy/explain/under_name.h"
#include "proxy/explain/verdict_end.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

ordered_json null_if_empty(std::string_view text) {
  return text.empty() ? ordered_json() : ordered_json(printable(text));
}

void add_verdict(ordered_json& json, const filter::Verdict& verdict) {
  json["verdict"] = to_string(verdict.decision);
  json["reason"] = to_string(verdict.reason);
  json["filter"] = verdict.filter == nullptr ? ordered_json() : ordered_json(verdict.filter->name);
  json["expression"] = verdict.expression.empty()
                           ? ordered_json()
                           : ordered_json(fmt::format("{} {}", static_cast<char>(verdict.kind), verdict.expression));
  json["exception"] = verdict.exception == 0 ? ordered_json() : ordered_json(verdict.exception);
}

HttpReply not_understood(std::string_view why) { return problem(400, "Not understood", why); }

tl::expected<TlsExplainer, std::vector<std::string>> tls_explainer_of(const Snapshot& snapshot) {
  if (snapshot.inspection == nullptr) return TlsExplainer::compile(snapshot.settings);
  return TlsExplainer::of(std::shared_ptr<const InspectionRules>(snapshot.inspection, &snapshot.inspection->rules()),
                          snapshot.settings.self_page.host);
}

// What the access rules say, whatever the filters do: "allowed", or the error that the log would name.
std::string access_of(ClientView& view, PassageJudge& passages, const std::string& raw,
                      const filter::CanonicalUrl& url) {
  if (view.is_client_denied()) return to_string(ErrorKind::client_denied);
  const filter::Policy& policy = *view.policy_for(url.host);
  const Passage passage = passages.judge(raw, url, {policy, view.asker()}, view.safe_search(url.host).dialled);
  return passage.status == 0 ? "allowed" : passage.error;
}

// The verdict on the CONNECT of an https URL.
ordered_json tunnel_of(ClientView& view, TlsExplainer& tls, const filter::CanonicalUrl& url) {
  const filter::Policy& policy = *view.policy_for(url.host);
  const std::uint16_t port = url.port == 0 ? std::uint16_t{443} : url.port;
  filter::Verdict verdict = policy.judge_host(url, view.asker());
  const bool is_blocked = verdict.decision == filter::Decision::blocked;
  if (is_blocked && tls.answer(url.host, port, {policy, view.asker()}, view.client()).is_decrypted()) {
    filter::leave_to_urls(verdict);
  }
  ordered_json tunnel = ordered_json::object();
  add_verdict(tunnel, verdict);
  return tunnel;
}

// "access", "tunnel" of an https URL, and "valid_until": when the decision ends, or null. The error: why they are not
// known.
std::string add_passage(ordered_json& json, ClientView& view, const Snapshot& snapshot, const std::string& raw,
                        const filter::CanonicalUrl& url) {
  auto passages = PassageJudge::of(snapshot.settings, snapshot.access, snapshot.hosts);
  if (!passages) return passages.error();
  auto tls = tls_explainer_of(snapshot);
  if (!tls) return tls.error().front();
  json["access"] = access_of(view, *passages, raw, url);
  if (!json["tunnel"].is_null()) json["tunnel"] = tunnel_of(view, *tls, url);
  const ClientView::End end = verdict_end(view, *passages, *tls, raw, url);
  if (!end.then.empty()) json["valid_until"] = time_text(end.at);
  return {};
}

// Under other names of the connection.
ordered_json under_json(ClientView& view, std::string_view url, const std::vector<std::string>& names) {
  filter::Canonicaliser urls;
  ordered_json out = ordered_json::array();
  for (const std::string& name : names) {
    const UnderName other = judge_under(urls, view, url, name);
    ordered_json json{{"url", printable(other.url)}};
    add_verdict(json, other.verdict);
    out.push_back(std::move(json));
  }
  return out;
}

HttpReply explained(const Edition& served, const State& state, const std::string& url,
                    const std::vector<std::string>& under, const ClientQuestion& question) {
  auto view = ClientView::of(served, state, question);
  if (!view) return not_understood(printable(view.error()));
  ordered_json others = under_json(*view, url, under);  // first: what follows is said of the host asked for last
  filter::Canonicaliser canonicaliser;
  const filter::CanonicalUrl& canonical = canonicaliser.url(url);
  const PolicyPtr policy = view->policy_for(canonical.has_canonical ? std::string_view(canonical.host) : "");
  ordered_json json{{"url", printable(url)},
                    {"canonical", canonical.has_canonical ? ordered_json(canonical.text()) : ordered_json()}};
  add_verdict(json, policy->judge(canonical, view->asker()));
  json["group"] = null_if_empty(view->asker().group);
  json["user"] = view->user_json();
  view->add_group(json);
  json["dialled_as"] = null_if_empty(view->safe_search(canonical.host).dialled);
  json["access"] = nullptr;
  json["tunnel"] = nullptr;
  json["valid_until"] = nullptr;
  json["under"] = std::move(others);
  if (!canonical.has_canonical) return json_reply(json);
  if (canonical.scheme == "https" || canonical.scheme == "wss") {
    json["tunnel"] = ordered_json::object();
  }
  const std::string failure = add_passage(json, *view, *served.snapshot, url, canonical);
  return failure.empty() ? json_reply(json) : problem(503, "Not known now", failure);
}

}  // namespace

ApiRoute ExplainApi::route() {
  return {
      .method = "GET", .path = "/api/v1/explain", .role = Role::reviewer, .handler = [this](const ApiRequest& request) {
        return answer(request);
      }};
}

HttpReply ExplainApi::answer(const ApiRequest& request) {
  const Edition& served = served_.edition();
  if (served.policy == nullptr) return problem(503, "Nothing is served", "bloomwall is starting or stopping");
  const auto argument = [&](std::string_view name) { return query_argument(request.http.head, name); };
  const std::string url = argument("url"), at = argument("at");
  if (url.empty()) return not_understood("url is needed");
  if (!at.empty() && !parse_time(at)) return not_understood("at: a time such as 2026-01-31T12:00:00Z is needed");
  std::vector<std::string> under = query_arguments(request.http.head, "under");
  if (const auto wrong = wrong_name_of(under)) return not_understood("under " + *wrong);
  const ClientQuestion question{.client = argument("client"),
                                .listener = argument("listener"),
                                .user = argument("user"),
                                .user_groups = query_arguments(request.http.head, "user_group"),
                                .certificates = query_arguments(request.http.head, "certificate"),
                                .at = at};
  const bool is_asked = thread_.post([this, asker = request.http.stream, edition = served, state = state_.shared(), url,
                                      under = std::move(under), question](const auto&) {
    loop_.post([asker, reply = explained(edition, *state, url, under, question)] { asker.reply(reply); });
  });
  if (is_asked) return {.is_later = true};
  return problem(503, "Not known now", "too many questions wait already");
}

}  // namespace bloomwall::proxy
