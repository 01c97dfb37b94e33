// The texts of the proxy's own pages, in the reader's language: page_texts.txt, compiled in. The build fails
// where a text lacks a language, or the names there are not those of PageText in their order.
// Texts are plain: the code that puts one into HTML escapes it, with what is filled in.
// Threads: any; all of it is constant.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace bloomwall::proxy {

enum class Language : std::uint8_t { en, de, fr, es, it, nl, pl, pt };
inline constexpr std::array<std::string_view, 8> kLanguageTags{"en", "de", "fr", "es", "it", "nl", "pl", "pt"};
constexpr std::string_view tag_of(Language language) { return kLanguageTags[static_cast<std::size_t>(language)]; }
// Of an element's `dir`. Styles of pages name no left and no right, so that Arabic or Hebrew need a case here alone.
constexpr std::string_view direction_of(Language language) {
  switch (language) {
    case Language::en:
    case Language::de:
    case Language::fr:
    case Language::es:
    case Language::it:
    case Language::nl:
    case Language::pl:
    case Language::pt:
      break;
  }
  return "ltr";
}
// Of an Accept-Language value: the language of the highest quality, of equal ones the first; "de-AT" is German, "*" is
// English. English where none of them is asked for. At most 64 ranges are read.
// Source: RFC 9110 section 12.5.4, RFC 4647 section 3.4.
Language choose_language(std::string_view accept_language);

// clang-format off
enum class PageText : std::uint8_t {
  block_title, block_title_until, block_title_legal, block_by_filter, block_by_network, stopped_by_filter, stopped_by_network,
  reason_listed, reason_confirmed, reason_delta, reason_filter_lost, reason_denied, reason_default_deny,
  reason_default_deny_now, reason_other, label_address, label_host, label_filter, label_group, label_entry, label_exception, label_decision,
  label_time, label_contact, report_open, report_why, report_name, report_send, ask_for_help, legal_who,
  block_not_sent, error_title_request, error_title_denied, error_title_login, error_title_later, error_title_proxy,
  error_title_site, error_contact, error_decision, error_bad_request, error_bad_target, error_ambiguous_path,
  error_client_denied, error_port_denied, error_destination_denied, error_tunnel_denied, error_method_not_allowed,
  error_request_timeout, error_client_gone, error_client_stalled, error_body_too_large, error_uri_too_long,
  error_misdirected, error_login_required, error_login_locked, error_login_unchecked, error_too_many_requests,
  error_head_too_large, error_internal, error_not_implemented, error_dns_error, error_dns_timeout,
  error_connection_refused, error_connection_failed, error_connect_timeout, error_connection_terminated,
  error_upstream_protocol, error_upstream_head_too_large, error_response_incomplete, error_upstream_timeout,
  error_connection_limit, error_shutting_down, error_filter_late, error_dns_limit, error_loop, error_parent_tls,
  error_parent_certificate, error_parent_refused, error_parent_auth, error_origin_certificate, error_origin_tls,
  error_origin_alert, error_origin_tls_timeout, error_origin_refused, error_version_unsupported, error_http2_preface,
  certificate_expired, certificate_not_yet_valid, certificate_wrong_name, certificate_self_signed, certificate_unknown_issuer,
  certificate_incomplete_chain,
  certificate_weak, certificate_not_permitted, certificate_revoked, certificate_no_staple, certificate_own_ca,
  certificate_distrusted, certificate_malformed, certificate_too_large, certificate_not_sent, report_nothing_title, report_nothing,
  report_taken_title, report_taken, report_open_title, report_open_state, report_accepted_title, report_accepted,
  report_ended_title, report_ended, report_rejected_title, report_rejected, report_cured_title, report_cured,
  report_unknown_title, report_no_page, report_unknown,
  report_not_understood_title, report_not_understood, report_refused_title, report_refused, report_late,
  report_often_title, report_later, report_full_title, report_full, report_unavailable_title, report_until,
  report_link, report_number, self_title, self_of_user, self_of_address, self_nothing, self_off, self_hint,
  self_times, self_connection, self_again, link_setup, link_login, link_authority, setup_title, setup_lead, setup_proxy,
  setup_pac, setup_login, setup_authority, setup_systems, setup_tools, setup_menus, setup_services, setup_policy,
  setup_terminal, setup_apps, setup_of_system, setup_once, setup_environment, setup_many, setup_containers, setup_go,
  setup_java_login, setup_node,
};
// clang-format on

inline constexpr PageText kLastPageText = PageText::setup_node;

struct PageTextEntry {
  PageText text;
  std::string_view name;  // "block_title"
  std::array<std::string_view, kLanguageTags.size()> languages;
};
std::span<const PageTextEntry> page_texts();  // in the order of PageText

inline std::string_view page_text(PageText text, Language language) {
  return page_texts()[static_cast<std::size_t>(text)].languages[static_cast<std::size_t>(language)];
}
std::optional<PageText> page_text_named(std::string_view name);  // nothing: there is none
// The one so many places further down.
constexpr PageText after(PageText text, std::size_t places) {
  return static_cast<PageText>(static_cast<std::size_t>(text) + places);
}

// With each {name} replaced; those that are not given by nothing.
using PageTextValues = std::initializer_list<std::pair<std::string_view, std::string_view>>;
std::string filled(std::string_view text, PageTextValues values);

}  // namespace bloomwall::proxy
