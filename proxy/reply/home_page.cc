// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/home_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/units.h"
#include "proxy/http/escape.h"
#include "proxy/http/serialise.h"
#include "proxy/reply/page_frame.h"
#include "proxy/reply/reply_message.h"
#include "proxy/reply/self_path.h"

namespace bloomwall::proxy {
namespace {

std::string time_of(const RecentDenial& denial) {
  std::string text;
  append_iso8601(text, denial.at);
  return text;
}

Instant instant_of(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

// When it ends, where that is known and still to come.
BlockEnd end_to_come(const RecentDenial& denial, const ReplyContext& context) {
  return denial.end.at > instant_of(context.now) ? denial.end : BlockEnd{};
}

// "Its address is on this filter's list. This page is blocked until 06:30 (bedtime)."
std::string reason_text(const RecentDenial& denial, const ReplyContext& context, Language language) {
  const BlockEnd end = end_to_come(denial, context);
  std::string text(reason_sentence(denial.reason, language, denial.end));
  if (!end.is_known()) return text;
  return fmt::format("{} {}.", text, block_title(end, instant_of(context.now), context.zone, language));
}

std::string lead_text(const HomePage& page, Language language) {
  if (!page.is_shown) return std::string(page_text(PageText::self_off, language));
  const bool is_of_user = !page.user.empty();
  const PageText text = is_of_user ? PageText::self_of_user : PageText::self_of_address;
  return filled(page_text(text, language), {{"who", is_of_user ? page.user : page.client}});
}

void add_fact(std::string& out, PageText label, std::string_view html, Language language) {
  if (!html.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(label, language), html);
}

std::string as_code(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("<code dir=\"ltr\">{}</code>", html_escaped(text));
}

std::string item_html(const RecentDenial& denial, std::string_view ticket, const HomePage& page, Language language,
                      const ReplyContext& context) {
  const ReportFacts& facts = denial.facts;
  std::string rows, remark;
  if (denial.is_connection) remark = " (" + html_text(PageText::self_connection, language) + ")";
  if (denial.count > 1) {
    const std::string count = std::to_string(denial.count);
    remark += " (" + html_text(PageText::self_times, language, {{"count", count}}) + ")";
  }
  const std::string_view expression = facts.expression;  // "S shop.test", of which the letter is for reviewers
  add_fact(rows, PageText::label_filter, html_escaped(filter_title(facts.filter, denial.category)), language);
  add_fact(rows, PageText::label_entry, as_code(expression.substr(std::min<std::size_t>(2, expression.size()))),
           language);
  add_fact(rows, PageText::label_group, html_escaped(facts.group), language);
  add_fact(rows, PageText::label_decision, as_code(facts.decision_id), language);
  std::string form;
  if (!ticket.empty()) form = report_form_html(page.report.action, ticket, language);
  return fmt::format(
      "<section class=\"item\"><p class=\"lead\"><time datetime=\"{}\"><bdi>{}</bdi></time>{}</p>\n"
      "<div class=\"address\" dir=\"ltr\">{}</div>\n<p>{}</p>\n<dl class=\"facts\">{}</dl>{}</section>\n",
      time_of(denial), html_escaped(wall_clock_with_zone(instant_of(denial.at), context.zone)), remark,
      html_escaped(facts.url), html_escaped(reason_text(denial, context, language)), rows, form);
}

std::string page_html(const HomePage& page, const ReplyContext& context, Language language) {
  std::string body = fmt::format("<p class=\"lead\">{}</p>\n", html_escaped(lead_text(page, language)));
  if (page.is_shown && page.recent.empty()) {
    body += fmt::format("<p><strong>{}</strong></p>\n", html_text(PageText::self_nothing, language));
  }
  for (std::size_t i = 0; i < page.recent.size(); ++i) {
    body +=
        item_html(page.recent[i], i < page.tickets.size() ? page.tickets[i] : std::string(), page, language, context);
  }
  if (page.is_shown) body += fmt::format("<p class=\"item\">{}</p>\n", html_text(PageText::self_hint, language));
  body += fmt::format("<nav class=\"links\"><a href=\"/\">{}</a><a href=\"/setup\">{}</a>",
                      html_text(PageText::self_again, language), html_text(PageText::link_setup, language));
  if (page.is_shown && page.may_log_in) {
    body += fmt::format("<a href=\"{}\">{}</a>", kHomeWithLogin, html_text(PageText::link_login, language));
  }
  if (page.has_authority) body += fmt::format("<a href=\"/ca\">{}</a>", html_text(PageText::link_authority, language));
  body += "</nav>\n";
  return framed({.language = language,
                 .title = page_text(PageText::self_title, language),
                 .body = body,
                 .footer = html_escaped(context.proxy_name)});
}

std::string page_json(const HomePage& page, const ReplyContext& context) {
  std::string out = "{";
  const auto member = [&out](std::string_view key, std::string_view value) {
    if (out.back() != '{') out.push_back(',');
    out.append("\"").append(key).append("\":");
    if (value.empty()) {
      out.append("null");
      return;
    }
    out.push_back('"');
    append_json(out, value);
    out.push_back('"');
  };
  member("user", page.user);
  member("client", page.client);
  out.append(",\"recent\":");
  if (!page.is_shown) return out.append("null}\n");
  out.push_back('[');
  for (const RecentDenial& denial : page.recent) {
    out.append(out.back() == '[' ? "{" : ",{");
    member("time", time_of(denial));
    member("url", denial.facts.url);
    member("host", denial.facts.host);
    member("filter", denial.facts.filter);
    member("category", denial.category);
    member("group", denial.facts.group);
    member("reason", denial.facts.reason);
    const BlockEnd end = end_to_come(denial, context);
    member("until", end.is_known() ? format_time(static_cast<std::uint64_t>(end.at)) : std::string());
    member("schedule", end.is_known() ? std::string_view(end.schedule) : std::string_view());
    member("expression", denial.facts.expression);
    member("decision_id", denial.facts.decision_id);
    out.append(fmt::format(",\"count\":{}}}", denial.count));
  }
  return out.append("]}\n");
}

std::string page_plain(const HomePage& page, const ReplyContext& context) {
  std::string out = fmt::format("{}\n", page_text(PageText::self_title, Language::en));
  append_log_quoted(out, lead_text(page, Language::en));
  out.append("\n\n");
  if (page.is_shown && page.recent.empty()) {
    out.append(page_text(PageText::self_nothing, Language::en)).push_back('\n');
  }
  for (const RecentDenial& denial : page.recent) {
    const std::string filter = filter_title(denial.facts.filter, denial.category);
    std::string line =
        fmt::format("{}  {}  {}  {}  decision {}", wall_clock_with_zone(instant_of(denial.at), context.zone),
                    denial.facts.url, filter.empty() ? "-" : filter, denial.facts.reason, denial.facts.decision_id);
    if (const BlockEnd end = end_to_come(denial, context); end.is_known()) {
      line += fmt::format("  blocked until {}", until_text(end.at, instant_of(context.now), context.zone));
      if (!end.schedule.empty()) line += fmt::format(" ({})", end.schedule);
    }
    if (denial.count > 1) line += fmt::format("  {} times", denial.count);
    append_log_quoted(out, line);
    out.push_back('\n');
  }
  return out;
}

std::string page_of(const HomePage& page, MediaType type, Language language, const ReplyContext& context) {
  switch (type) {
    case MediaType::html:
      return page_html(page, context, language);
    case MediaType::json:
      return page_json(page, context);
    case MediaType::text:
      break;
  }
  return page_plain(page, context);
}

}  // namespace

void write_home_page(std::string& out, const HomePage& page, const ReplyContext& context) {
  const MediaType type = choose_media(context.accept);
  const Language language = type == MediaType::html ? choose_language(context.accept_language) : Language::en;
  const std::string body = page_of(page, type, language, context);
  write_reply_message(out,
                      {.status = 200,
                       .content_type = content_type(type),
                       .body = body,
                       .language = tag_of(language),
                       .is_page = type == MediaType::html,
                       .form_action = page.report.form_action},
                      context);
}

}  // namespace bloomwall::proxy
