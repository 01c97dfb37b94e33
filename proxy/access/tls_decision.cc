// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/tls_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/names.h"

namespace bloomwall::proxy {
namespace {

TlsDecision decided(TlsAction action, TlsReason reason) { return {.action = action, .reason = reason}; }

bool is_blocked_request(const TlsRequest& request) {
  return request.authority.is_blocked || request.destination.is_blocked || (request.sni && request.sni->is_blocked);
}

// A step that would let octets pass unread. No exemption from decryption reaches a blocked host.
TlsDecision tunnel_unless_blocked(const TlsRequest& request, TlsReason reason) {
  return decided(is_blocked_request(request) ? TlsAction::refuse : TlsAction::tunnel, reason);
}

bool is_browser(std::string_view user_agent) { return user_agent.starts_with("Mozilla/"); }

tl::expected<CidrSet, std::string> networks_of(const char* key, const std::vector<std::string>& networks) {
  auto built = CidrSet::build(networks);
  if (built) return built;
  return tl::unexpected(fmt::format("tls_inspection.{}: not a network: {}", key, built.error()));
}

const char* name_of(InspectionRules::Mode mode) {
  static constexpr auto kWords = name_table<InspectionRules::Mode>({{InspectionRules::Mode::off, "off"},
                                                                    {InspectionRules::Mode::blocked, "blocked"},
                                                                    {InspectionRules::Mode::urls, "urls"},
                                                                    {InspectionRules::Mode::all, "all"}});
  return kWords.text(mode);
}

}  // namespace

const char* to_string(TlsAction action) {
  static constexpr auto kWords = name_table<TlsAction>({{TlsAction::tunnel, "tunnelled"},
                                                        {TlsAction::intercept, "intercepted"},
                                                        {TlsAction::page, "page"},
                                                        {TlsAction::refuse, "refused"}});
  return kWords.text(action);
}

const char* to_string(TlsReason reason) {
  static constexpr auto kWords = name_table<TlsReason>({{TlsReason::mark, "mark"},
                                                        {TlsReason::all, "all"},
                                                        {TlsReason::blocked, "blocked"},
                                                        {TlsReason::never, "never"},
                                                        {TlsReason::no_decrypt, "no_decrypt"},
                                                        {TlsReason::client, "client"},
                                                        {TlsReason::port, "port"},
                                                        {TlsReason::auto_pass, "auto_pass"},
                                                        {TlsReason::client_cert, "client_cert"},
                                                        {TlsReason::handshake, "handshake"},
                                                        {TlsReason::alpn, "alpn"},
                                                        {TlsReason::ech, "ech"},
                                                        {TlsReason::opaque, "opaque"},
                                                        {TlsReason::mode, "mode"},
                                                        {TlsReason::self, "self"}});
  return kWords.text(reason);
}

std::string TlsDecision::source() const {
  switch (reason) {
    case TlsReason::mark:
    case TlsReason::all:
    case TlsReason::blocked:
    case TlsReason::mode:
    case TlsReason::self:
      return fmt::format("mode {}{}", name_of(mode), is_mode_of_group ? " of the group" : "");
    case TlsReason::never:
      return entry == nullptr ? "tls_inspection.never" : fmt::format("{} {}", entry->place(), entry->host);
    case TlsReason::no_decrypt:
      return "a filter with action: no_decrypt";
    case TlsReason::client:
      return "tls_inspection.clients, .never_clients";
    case TlsReason::port:
      return "tls_inspection.ports";
    case TlsReason::auto_pass:
      return "tls_inspection.auto_pass: the client refuses our certificates";
    case TlsReason::client_cert:
      return "the origin wants a client certificate";
    case TlsReason::handshake:
      return "tls_inspection.on_failed_handshake";
    case TlsReason::alpn:
      return "ALPN without an HTTP version that is served inside";
    case TlsReason::ech:
      return "tls_inspection.ech";
    case TlsReason::opaque:
      return "access.opaque_tunnels";
  }
  return {};
}

tl::expected<InspectionRules, std::vector<std::string>> InspectionRules::compile(const conf::Config& settings) {
  InspectionRules rules;
  rules.settings_ = settings.tls_inspection;
  rules.greatest_ = conf::greatest_inspection_mode(settings);
  rules.refuses_opaque_ = settings.access.opaque_tunnels == conf::Access::OpaqueTunnels::deny;
  if (!rules.is_on()) return rules;
  std::vector<std::string> errors;
  const auto take = [&errors](auto built, auto& into) {
    if (built) {
      into = *std::move(built);
    } else {
      errors.push_back(std::move(built).error());
    }
  };
  take(networks_of("clients", rules.settings_.clients), rules.clients_);
  take(networks_of("never_clients", rules.settings_.never_clients), rules.never_clients_);
  rules.ports_ = rules.settings_.ports;
  std::ranges::sort(rules.ports_);
  const auto take_list = [&errors](const char* key, const std::vector<std::filesystem::path>& files, NeverList& into) {
    auto list = NeverList::load(files);
    if (list) {
      into = *std::move(list);
    } else {
      for (const std::string& line : list.error()) errors.push_back(fmt::format("{}: {}", key, line));
    }
  };
  take_list("tls_inspection.never", rules.settings_.never, rules.never_);
  take_list("tls_inspection.ech_public_names", rules.settings_.ech_public_names, rules.ech_names_);
  for (const conf::Group& group : settings.groups) {
    GroupRule& rule = rules.groups_.emplace_back();
    rule.name = group.name;
    rule.mode = conf::inspection_mode(settings.tls_inspection, group.tls_inspection);
    rule.has_mode = group.tls_inspection.mode != conf::GroupTls::Mode::common;
    take_list("groups[].tls_inspection.never", group.tls_inspection.never, rule.never);
  }
  const auto differs = [](const conf::Group& group) { return group.tls_inspection != conf::GroupTls{}; };
  if (std::ranges::none_of(settings.groups, differs)) rules.groups_.clear();
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return rules;
}

std::size_t InspectionRules::group_named(std::string_view name) const {
  const auto found = std::ranges::find(groups_, name, &GroupRule::name);
  return static_cast<std::size_t>(found - groups_.begin());
}

const InspectionRules::GroupRule* InspectionRules::group_of(const TlsRequest& request) const {
  return request.group < groups_.size() ? &groups_[request.group] : nullptr;
}

InspectionRules::Mode InspectionRules::mode_of(const TlsRequest& request) const {
  const GroupRule* const group = group_of(request);
  return group != nullptr ? group->mode : settings_.mode;
}

TlsDecision InspectionRules::decide(const TlsRequest& request) const {
  TlsDecision decision = choose(request);
  const bool is_ended_here = decision.action == TlsAction::intercept || decision.action == TlsAction::page;
  decision.hides_name = is_ended_here && hides_name(request);
  const GroupRule* const group = group_of(request);
  decision.mode = mode_of(request);
  decision.is_mode_of_group = group != nullptr && group->has_mode;
  return decision;
}

TlsDecision InspectionRules::choose(const TlsRequest& request) const {
  const Mode mode = mode_of(request);
  if (mode == Mode::off) return tunnel_unless_blocked(request, TlsReason::mode);
  if (request.is_opaque) {
    return refuses_opaque_ ? decided(TlsAction::refuse, TlsReason::opaque)
                           : tunnel_unless_blocked(request, TlsReason::opaque);
  }
  if (auto exemption = exempt(request)) return *exemption;
  if (request.is_self || (is_blocked_request(request) && !leaves_urls(request))) return show_page(request);
  if (mode == Mode::blocked) return decided(TlsAction::tunnel, TlsReason::mode);
  const bool is_marked = is_blocked_request(request) || has_marks(request);
  if (settings_.ech != conf::TlsInspection::Ech::pass && hides_name(request)) {
    // Where the name that matters is hidden, what we cannot serve must not pass either.
    const bool refuses = settings_.ech == conf::TlsInspection::Ech::deny || !can_serve(request);
    if (refuses) return decided(TlsAction::refuse, TlsReason::ech);
    // For the outer name; ends with a client that comes again and says which host it wants.
    return decided(TlsAction::intercept, is_marked ? TlsReason::mark : TlsReason::ech);
  }
  if (!is_marked) return decide_unmarked(request);
  return can_serve(request) ? decided(TlsAction::intercept, TlsReason::mark)
                            : decided(TlsAction::refuse, TlsReason::alpn);
}

// What stops interception of an unmarked host lets it pass: nothing would be enforced there beyond the host.
TlsDecision InspectionRules::decide_unmarked(const TlsRequest& request) const {
  if (mode_of(request) != Mode::all) return decided(TlsAction::tunnel, TlsReason::mode);
  if (!can_serve(request) || request.origin_lacks_http) return decided(TlsAction::tunnel, TlsReason::alpn);
  if (request.origin_wants_certificate) return decided(TlsAction::tunnel, TlsReason::client_cert);
  const bool auto_pass = settings_.auto_pass.hosts == conf::AutoPass::Hosts::unmarked;
  if (auto_pass && request.may_auto_pass) return decided(TlsAction::tunnel, TlsReason::auto_pass);
  return {.action = TlsAction::intercept, .reason = TlsReason::all, .may_step_back = true};
}

TlsDecision InspectionRules::show_page(const TlsRequest& request) const {
  const bool everyone = settings_.page_for == conf::TlsInspection::PageFor::everyone;
  const TlsReason reason = request.is_self ? TlsReason::self : TlsReason::blocked;
  const bool sees_page = everyone || request.is_self || request.is_transparent || is_browser(request.user_agent);
  if (!sees_page || request.page_refused) return decided(TlsAction::refuse, reason);
  if (!can_serve(request)) return decided(TlsAction::refuse, TlsReason::alpn);
  return decided(TlsAction::page, reason);
}

bool InspectionRules::is_client_exempt(const IpAddress& client) const {
  if (never_clients_.contains(client)) return true;
  return !clients_.empty() && !clients_.contains(client);
}

const NeverList::Entry* InspectionRules::never_entry(const TlsRequest& request, const TlsName& name) const {
  if (name.host.empty()) return nullptr;
  const GroupRule* const group = group_of(request);
  const NeverList::Entry* const of_group = group != nullptr ? group->never.find(name.host) : nullptr;
  return of_group != nullptr ? of_group : never_.find(name.host);
}

std::optional<TlsDecision> InspectionRules::exempt(const TlsRequest& request) const {
  if (request.client && is_client_exempt(*request.client)) return tunnel_unless_blocked(request, TlsReason::client);
  if (!ports_.empty() && !std::ranges::binary_search(ports_, request.port)) {
    return tunnel_unless_blocked(request, TlsReason::port);
  }
  if (mode_of(request) >= Mode::urls && is_marked(request.destination)) return std::nullopt;
  const NeverList::Entry* const by_authority = never_entry(request, request.authority);
  if (by_authority == nullptr && !request.authority.no_decrypt) return std::nullopt;
  const NeverList::Entry* by_sni = by_authority;
  if (request.sni && request.sni->host != request.authority.host) {
    by_sni = never_entry(request, *request.sni);
    if (by_sni == nullptr && !request.sni->no_decrypt) return std::nullopt;
  }
  const NeverList::Entry* const entry = by_sni != nullptr ? by_sni : by_authority;
  TlsDecision decision = tunnel_unless_blocked(request, entry != nullptr ? TlsReason::never : TlsReason::no_decrypt);
  decision.entry = entry;
  return decision;
}

// Browsers send the extension with every ClientHello; only another name in clear says that it hides one. On transparent
// listeners the SNI is all there is.
bool InspectionRules::hides_name(const TlsRequest& request) const {
  if (!request.hello || !request.hello->has_ech || !request.sni) return false;
  if (is_ech_public_name(request.sni->host) || ech_names_.find(request.sni->host) != nullptr) return true;
  return !request.is_transparent && request.sni->host != request.authority.host;
}

bool InspectionRules::can_serve(const TlsRequest& request) const {
  if (!request.hello || !request.hello->has_alpn) return true;
  return request.hello->offers_http1 || (settings_.http2 && request.hello->offers_http2);
}

std::string_view InspectionRules::origin_alpn(bool offers_http1, bool offers_http2) const {
  if (!offers_http2 || !settings_.http2) return "\x08http/1.1";
  return offers_http1 ? std::string_view("\x02h2\x08http/1.1") : std::string_view("\x02h2");
}

bool InspectionRules::is_marked(const TlsName& name) const {
  return settings_.urls_of_monitor ? name.has_marks : name.has_blocking_marks;
}

bool InspectionRules::has_marks(const TlsRequest& request) const {
  if (mode_of(request) < Mode::urls) return false;
  return is_marked(request.authority) || is_marked(request.destination) || (request.sni && is_marked(*request.sni));
}

// Whether each name that is blocked has URLs that are not, and the requests are going to be seen. What cannot be told
// from its ClientHello which host it wants, or cannot be served, gets the page or none.
bool InspectionRules::leaves_urls(const TlsRequest& request) const {
  if (mode_of(request) < Mode::urls || !can_serve(request)) return false;
  const auto leaves = [](const TlsName& name) { return !name.is_blocked || name.has_allowed_urls; };
  return leaves(request.authority) && leaves(request.destination) && (!request.sni || leaves(*request.sni));
}

bool is_ech_public_name(std::string_view host) {
  // Cloudflare, for the sites that it serves; its test site; the DEfO project's; draft examples that are deployed.
  constexpr std::string_view kNames[] = {"cloudflare-ech.com", "crypto.cloudflare.com", "cover.defo.ie",
                                         "public.tls-ech.dev", "public.test.defo.ie"};
  return std::ranges::find(kNames, host) != std::end(kNames);
}

}  // namespace bloomwall::proxy
