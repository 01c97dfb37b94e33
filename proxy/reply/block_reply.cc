// The answer to a blocked request (declared in replies.h).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/units.h"
#include "conf/sections.h"
#include "filter/policy/policy.h"
#include "proxy/http/escape.h"
#include "proxy/reply/replies.h"
#include "proxy/reply/reply_message.h"

namespace bloomwall::proxy {

namespace {

constexpr std::size_t kMostShown = 2000, kMostNamed = 64;  // of a URL on the page; of a name in the status line

// The facts of a block reply, for every media type. Owns the texts that it makes.
struct BlockFacts {
  struct Moment {       // empty: none is known
    std::string utc;    // "2026-11-28T05:30:00Z"
    std::string local;  // "06:30", for a person
  };
  int status = 403;
  std::string_view url, host, filter, category, group, reason_name, sentence, expression, id, contact, legal_link;
  std::string_view report_action, report_ticket;
  std::string contact_link, report, exception;
  std::string filter_title;  // "adult (hagezi-nsfw)"
  Moment time, until;        // of the request, and of the block's end
  BlockEnd end;
  Instant now = 0;
  TimeZone zone;
  filter::VerdictReason reason = filter::VerdictReason::bad_url;
  bool by_filter = false;
};

// " (bedtime)"; empty where there is nothing.
std::string in_brackets(std::string_view text) { return text.empty() ? std::string() : fmt::format(" ({})", text); }

std::string contact_link_of(std::string_view contact) {
  if (!safe_link(contact).empty()) return std::string(contact);
  if (contact.find('@') == std::string_view::npos || contact.find(' ') != std::string_view::npos) return {};
  std::string link = "mailto:";
  append_url(link, contact);
  return link;
}

BlockFacts facts_of(const BlockReply& block, const ReplyContext& context) {
  const filter::Verdict& verdict = *block.verdict;
  BlockFacts facts;
  facts.status = verdict.filter != nullptr && verdict.filter->status == 451 ? 451 : 403;
  facts.url = block.url.substr(0, kMostShown);
  facts.host = block.host;
  facts.group = block.group;
  const bool is_default = verdict.reason == filter::VerdictReason::default_deny;
  if (verdict.filter != nullptr && !is_default) {
    facts.filter = verdict.filter->name;
    facts.category = verdict.filter->category;
  }
  facts.filter_title = filter_title(facts.filter, facts.category);
  facts.by_filter = !facts.filter.empty() && verdict.reason != filter::VerdictReason::denied;
  facts.reason = verdict.reason;
  facts.reason_name = filter::to_string(verdict.reason);
  facts.end = block.end;
  facts.sentence = reason_sentence(verdict.reason, Language::en, facts.end);
  facts.expression = std::string_view(verdict.expression).substr(0, kMostShown);
  if (verdict.exception != 0) facts.exception = std::to_string(verdict.exception);
  facts.id = context.decision_id;
  facts.contact = block.page->contact;
  facts.contact_link = contact_link_of(facts.contact);
  const std::string_view reported = block.reported_url.empty() ? block.url : block.reported_url;
  facts.report = report_link(block.page->report_url, facts.id, reported.substr(0, kMostShown));
  if (facts.status == 451) facts.legal_link = safe_link(block.legal_link);
  facts.report_action = block.report.action;
  facts.report_ticket = block.report.ticket;
  append_iso8601(facts.time.utc, context.now);
  facts.zone = context.zone;
  facts.now = std::chrono::duration_cast<std::chrono::seconds>(context.now.time_since_epoch()).count();
  facts.time.local = wall_clock_with_zone(facts.now, facts.zone);
  if (facts.end.is_known()) {
    facts.until.utc = format_time(static_cast<std::uint64_t>(facts.end.at));
    facts.until.local = until_text(facts.end.at, facts.now, facts.zone);
  }
  return facts;
}

std::string title_of(const BlockFacts& facts, Language language = Language::en) {
  if (facts.status == 451) return std::string(page_text(PageText::block_title_legal, language));
  return block_title(facts.end, facts.now, facts.zone, language);
}

// The legal title says no end.
std::string reason_of(const BlockFacts& facts, Language language) {
  std::string reason(reason_sentence(facts.reason, language, facts.end));
  if (facts.status != 451 || !facts.end.is_known()) return reason;
  return fmt::format("{} {}.", reason, block_title(facts.end, facts.now, facts.zone, language));
}

// " until 06:30 (bedtime)"; empty where no end is known.
std::string until_of(const BlockFacts& facts) {
  if (!facts.end.is_known()) return {};
  return fmt::format(" until {}{}", facts.until.local, in_brackets(facts.end.schedule));
}

// The sentence around the host.
std::pair<std::string, std::string> lead_of(const BlockFacts& facts, Language language) {
  constexpr std::string_view kHost = "{host}";
  std::string text(page_text(facts.by_filter ? PageText::block_by_filter : PageText::block_by_network, language));
  const std::size_t at = text.find(kHost);
  const PageTextValues values{{"filter", facts.filter_title}};
  return {filled(text.substr(0, at), values), filled(text.substr(at + kHost.size()), values)};
}

std::string html_of(const BlockFacts& facts, const BlockTemplate& page, std::string_view proxy_name,
                    Language language) {
  const PageText stopped = facts.by_filter ? PageText::stopped_by_filter : PageText::stopped_by_network;
  const std::string stopped_by = filled(page_text(stopped, language), {{"filter", facts.filter_title}});
  const std::string reason = reason_of(facts, language), title = title_of(facts, language);
  const auto [lead_begin, lead_end] = lead_of(facts, language);
  TemplateValues values;
  const auto set = [&](TemplateVariable variable, std::string_view value) {
    values[static_cast<std::size_t>(variable)] = value;
  };
  set(TemplateVariable::url, facts.url);
  set(TemplateVariable::host, facts.host);
  set(TemplateVariable::filter, facts.filter);
  set(TemplateVariable::category, facts.category);
  set(TemplateVariable::filter_title, facts.filter_title);
  set(TemplateVariable::until, facts.until.local);
  set(TemplateVariable::schedule, facts.end.is_known() ? std::string_view(facts.end.schedule) : std::string_view());
  set(TemplateVariable::local_time, facts.time.local);
  set(TemplateVariable::stopped_by, stopped_by);
  set(TemplateVariable::group, facts.group);
  set(TemplateVariable::reason, reason);
  set(TemplateVariable::expression, facts.expression);
  set(TemplateVariable::decision_id, facts.id);
  set(TemplateVariable::time, facts.time.utc);
  set(TemplateVariable::status, facts.status == 451 ? "451" : "403");
  set(TemplateVariable::title, title);
  set(TemplateVariable::contact, facts.contact);
  set(TemplateVariable::contact_link, facts.contact_link);
  set(TemplateVariable::report_link, facts.report);
  set(TemplateVariable::legal_link, facts.legal_link);
  set(TemplateVariable::proxy_name, proxy_name);
  set(TemplateVariable::exception, facts.exception);
  set(TemplateVariable::report_action, facts.report_action);
  set(TemplateVariable::report_ticket, facts.report_ticket);
  set(TemplateVariable::lang, tag_of(language));
  set(TemplateVariable::dir, direction_of(language));
  set(TemplateVariable::lead_begin, lead_begin);
  set(TemplateVariable::lead_end, lead_end);
  std::string out;
  page.render(out, values, language);
  return out;
}

std::string json_of(const BlockFacts& facts) {
  std::string out = fmt::format(R"({{"error":"blocked","status":{})", facts.status);
  const auto member = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out.append(",\"").append(key).append("\":\"");
    append_json(out, value);
    out.push_back('"');
  };
  member("url", facts.url);
  member("host", facts.host);
  member("filter", facts.filter);
  member("category", facts.category);
  member("group", facts.group);
  member("reason", facts.reason_name);
  member("message", facts.sentence);
  member("until", facts.until.utc);
  member("schedule", facts.end.is_known() ? std::string_view(facts.end.schedule) : std::string_view());
  member("expression", facts.expression);
  member("exception", facts.exception);
  member("decision_id", facts.id);
  member("time", facts.time.utc);
  member("contact", facts.contact);
  member("report_link", facts.report);
  member("legal_link", facts.legal_link);
  return out.append("}\n");
}

std::string text_of(const BlockFacts& facts) {
  std::string out(title_of(facts));
  out.append(".\n\n");
  const auto line = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out.append(key).append(": ");
    append_log_quoted(out, value);
    out.push_back('\n');
  };
  std::string address;
  append_url(address, facts.url);
  line("Address", address);
  line("Filter", facts.filter_title);
  line("Group", facts.group);
  line("Reason", reason_of(facts, Language::en));
  line("Exception", facts.exception);
  line("Decision", facts.id);
  line("Contact", facts.contact);
  line("Report", facts.report);
  return out;
}

// Clients do not show the body of a refused CONNECT: one line, for debugging.
std::string line_of(const BlockFacts& facts) {
  const std::string until = until_of(facts);
  if (!facts.filter.empty()) {
    return fmt::format("blocked by filter {}{}, decision {}\n", facts.filter_title, until, facts.id);
  }
  return fmt::format("blocked{}, decision {}\n", until.empty() ? ": on no white list" : until, facts.id);
}

std::string body_of(MediaType type, Language language, const BlockFacts& facts, const BlockReply& block,
                    const ReplyContext& context) {
  if (context.method == Method::connect) return line_of(facts);
  switch (type) {
    case MediaType::html:
      return html_of(facts, *block.html, context.proxy_name, language);
    case MediaType::json:
      return json_of(facts);
    case MediaType::text:
      break;
  }
  return text_of(facts);
}

// For clients that show only the status line. Names of filters are letters, digits and "._-" (conf/sections.h); any
// other octet is replaced, so that none can end the line.
std::string status_phrase(const BlockFacts& facts) {
  const std::string until = until_of(facts);
  std::string phrase = !facts.filter.empty() ? "Blocked by filter "
                       : until.empty()       ? "Blocked: on no white list"
                                             : "Blocked";
  for (const char c : facts.filter.substr(0, kMostNamed)) phrase.push_back(c > ' ' && c < '\x7f' ? c : '_');
  for (const char c : std::string_view(until).substr(0, 2 * kMostNamed)) {
    phrase.push_back(c >= ' ' && c < '\x7f' ? c : '_');
  }
  if (!facts.id.empty()) phrase.append(", decision ").append(facts.id);
  return phrase;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

std::string filter_title(std::string_view name, std::string_view category) {
  if (category.empty() || category == name) return std::string(name);
  return fmt::format("{}{}", category, in_brackets(name));
}

std::string block_title(const BlockEnd& end, Instant now, const TimeZone& zone, Language language) {
  if (!end.is_known()) return std::string(page_text(PageText::block_title, language));
  const std::string time = until_text(end.at, now, zone), schedule = in_brackets(end.schedule);
  return filled(page_text(PageText::block_title_until, language), {{"time", time}, {"schedule", schedule}});
}

std::string_view reason_sentence(filter::VerdictReason reason, Language language, const BlockEnd& end) {
  switch (reason) {
    case filter::VerdictReason::listed:
      return page_text(PageText::reason_listed, language);
    case filter::VerdictReason::confirmed:
      return page_text(PageText::reason_confirmed, language);
    case filter::VerdictReason::delta:
      return page_text(PageText::reason_delta, language);
    case filter::VerdictReason::filter_lost:
      return page_text(PageText::reason_filter_lost, language);
    case filter::VerdictReason::denied:
      return page_text(PageText::reason_denied, language);
    case filter::VerdictReason::default_deny:
      return page_text(end.is_known() ? PageText::reason_default_deny_now : PageText::reason_default_deny, language);
    case filter::VerdictReason::allow_filter:
    case filter::VerdictReason::unlisted:
    case filter::VerdictReason::excepted:
    case filter::VerdictReason::exception:
    case filter::VerdictReason::refuted:
    case filter::VerdictReason::allow_list:
    case filter::VerdictReason::bad_url:
      break;
  }
  return page_text(PageText::reason_other, language);
}

std::string report_link(std::string_view report_url, std::string_view decision_id, std::string_view url) {
  std::string id, encoded;
  append_percent_encoded(id, decision_id);
  append_percent_encoded(encoded, url.substr(0, kMostShown));
  std::string link(report_url);
  replace_all(link, "{id}", id);
  replace_all(link, "{url}", encoded);
  return std::string(safe_link(link));
}

void write_block_reply(std::string& out, const BlockReply& block, const ReplyContext& context) {
  const BlockFacts facts = facts_of(block, context);
  const bool is_connect = context.method == Method::connect;
  const MediaType type = is_connect ? MediaType::text : choose_media(context.accept);
  const bool is_page = type == MediaType::html;
  const bool is_translated = is_page && block.html->has_languages();
  const Language language = is_translated ? choose_language(context.accept_language) : Language::en;
  const std::string body = body_of(type, language, facts, block, context);
  const bool is_default = block.verdict->reason == filter::VerdictReason::default_deny;
  const std::string by = facts.filter.empty() ? "" : fmt::format("filter {}: ", facts.filter);
  const bool names_group = is_default && !facts.group.empty();
  const std::string details = fmt::format("{}{}{}; decision {}", by, facts.reason_name,
                                          names_group ? fmt::format(" of group {}", facts.group) : "", facts.id);
  const std::string phrase = status_phrase(facts);
  std::string more;
  if (!facts.legal_link.empty()) more = fmt::format("Link: <{}>; rel=\"blocked-by\"\r\n", facts.legal_link);
  write_reply_message(out,
                      {.status = facts.status,
                       .reason = phrase,
                       .proxy_error = "http_request_denied",
                       .details = details,
                       .content_type = content_type(type),
                       .body = body,
                       .language = is_connect || (is_page && !is_translated) ? std::string_view() : tag_of(language),
                       .more_fields = more,
                       .is_page = is_page,
                       .form_action = block.report.form_action},
                      context);
}

}  // namespace bloomwall::proxy
