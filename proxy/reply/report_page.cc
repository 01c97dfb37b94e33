// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/report_page.h"

#include <fmt/format.h>

#include <array>

#include "proxy/http/escape.h"
#include "proxy/reply/page_frame.h"
#include "proxy/reply/reply_message.h"

namespace bloomwall::proxy {
namespace {

using Says = ReportPage::Says;

struct PageRow {
  Says says;
  int status;
  const char* state;
  PageText title, message;
};
constexpr std::array<PageRow, 17> kPageRows{{
    {Says::nothing, 200, "none", PageText::report_nothing_title, PageText::report_nothing},
    {Says::taken, 201, "open", PageText::report_taken_title, PageText::report_taken},
    {Says::open, 200, "open", PageText::report_open_title, PageText::report_open_state},
    {Says::accepted, 200, "accepted", PageText::report_accepted_title, PageText::report_accepted},
    {Says::ended, 200, "ended", PageText::report_ended_title, PageText::report_ended},
    {Says::rejected, 200, "rejected", PageText::report_rejected_title, PageText::report_rejected},
    {Says::cured, 200, "cured", PageText::report_cured_title, PageText::report_cured},
    {Says::no_page, 404, "unknown", PageText::report_unknown_title, PageText::report_no_page},
    {Says::unknown, 404, "unknown", PageText::report_unknown_title, PageText::report_unknown},
    {Says::not_a_form, 400, "refused", PageText::report_not_understood_title, PageText::report_not_understood},
    {Says::other_type, 415, "refused", PageText::report_not_understood_title, PageText::report_not_understood},
    {Says::refused, 403, "refused", PageText::report_refused_title, PageText::report_refused},
    {Says::late, 403, "refused", PageText::report_refused_title, PageText::report_late},
    {Says::often, 429, "refused", PageText::report_often_title, PageText::report_later},
    {Says::full, 503, "refused", PageText::report_full_title, PageText::report_full},
    {Says::unavailable, 503, "refused", PageText::report_unavailable_title, PageText::report_later},
    {Says::wrong_method, 405, "refused", PageText::report_not_understood_title, PageText::report_not_understood},
}};

const PageRow& row_of(Says says) {
  for (const PageRow& row : kPageRows) {
    if (row.says == says) return row;
  }
  return kPageRows.front();
}

std::string message_of(const PageRow& row, const ReportPage& page, Language language) {
  std::string message(page_text(row.message, language));
  if (page.until.empty()) return message;
  return message.append(" ").append(filled(page_text(PageText::report_until, language), {{"until", page.until}}));
}

std::string html_of(const PageRow& row, const ReportPage& page, std::string_view proxy_name, Language language) {
  std::string body = fmt::format("<p class=\"lead\">{}</p>", html_escaped(message_of(row, page, language)));
  if (!page.words.empty()) body += fmt::format("<blockquote dir=\"auto\">{}</blockquote>", html_escaped(page.words));
  if (!page.link.empty() && page.says == Says::taken) {
    body += fmt::format("<p class=\"links\"><a href=\"{}\">{}</a></p>", html_escaped(safe_link(page.link)),
                        html_text(PageText::report_link, language));
  }
  std::string footer = html_escaped(proxy_name);
  if (page.report != 0) {
    const std::string number = std::to_string(page.report);
    footer = html_text(PageText::report_number, language, {{"number", number}}) + " &middot; " + footer;
  }
  return framed({.language = language, .title = page_text(row.title, language), .body = body, .footer = footer});
}

// Text that is UTF-8 already (plain_text()) and stays it.
void append_json_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet < 0x80) {
      append_json(out, std::string_view(&c, 1));
    } else {
      out.push_back(c);
    }
  }
}

std::string json_of(const PageRow& row, const ReportPage& page) {
  std::string out =
      fmt::format(R"({{"report":{},"state":"{}")", page.report == 0 ? "null" : std::to_string(page.report), row.state);
  const auto member = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out.append(",\"").append(key).append("\":\"");
    append_json_text(out, value);
    out.push_back('"');
  };
  member("title", page_text(row.title, Language::en));
  member("message", message_of(row, page, Language::en));
  member("words", page.words);
  member("link", page.link);
  return out.append("}\n");
}

std::string text_of(const PageRow& row, const ReportPage& page) {
  std::string out = fmt::format("{}\n{}\n", page_text(row.title, Language::en), message_of(row, page, Language::en));
  if (!page.words.empty()) out.append(page.words).push_back('\n');
  if (page.report != 0) out.append(fmt::format("Report {}\n", page.report));
  if (!page.link.empty()) out.append(page.link).push_back('\n');
  return out;
}

std::string body_of(MediaType type, Language language, const PageRow& row, const ReportPage& page,
                    std::string_view proxy_name) {
  switch (type) {
    case MediaType::html:
      return html_of(row, page, proxy_name, language);
    case MediaType::json:
      return json_of(row, page);
    case MediaType::text:
      break;
  }
  return text_of(row, page);
}

}  // namespace

int status_of(Says says) { return row_of(says).status; }

void write_report_page(std::string& out, const ReportPage& page, const ReplyContext& context) {
  const PageRow& row = row_of(page.says);
  const MediaType type = choose_media(context.accept);
  const Language language = type == MediaType::html ? choose_language(context.accept_language) : Language::en;
  const std::string body = body_of(type, language, row, page, context.proxy_name);
  std::string more;
  if (page.again_in > 0) more = fmt::format("Retry-After: {}\r\n", page.again_in);
  if (page.says == Says::wrong_method) more = fmt::format("Allow: GET, HEAD{}\r\n", page.takes_forms ? ", POST" : "");
  write_reply_message(out,
                      {.status = row.status,
                       .content_type = content_type(type),
                       .body = body,
                       .language = tag_of(language),
                       .more_fields = more,
                       .is_page = type == MediaType::html},
                      context);
}

}  // namespace bloomwall::proxy
