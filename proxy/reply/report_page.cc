// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/report_page.h"

#include <fmt/format.h>

#include <array>

#include "proxy/http/escape.h"
#include "proxy/reply/reply_message.h"

namespace bloomwall::proxy {
namespace {

using Says = ReportPage::Says;

constexpr std::string_view kReportHtml = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex"><title>{title}</title><style>
:root{{color-scheme:light dark;--ground:#eef1f5;--ink:#18202c;--soft:#556072;--line:#dde2ea}}
@media(prefers-color-scheme:dark){{:root{{--ground:#0f1319;--ink:#e9edf3;--soft:#9aa6b8;--line:#2a3240}}}}
body{{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--ground);color:var(--ink);
font:1rem/1.6 system-ui,sans-serif}}main{{max-width:36rem;padding:2rem}}h1{{font-size:1.6rem;margin:0 0 .4rem}}
p{{margin:.6rem 0}}small{{color:var(--soft)}}a{{color:inherit}}
blockquote{{margin:1rem 0;padding:.4rem 1rem;border-left:3px solid var(--line);overflow-wrap:anywhere}}
</style></head><body><main><h1>{title}</h1>
<p>{message}</p>{words}{link}<p><small>{footer}</small></p></main></body></html>
)";

struct PageRow {
  Says says;
  int status;
  const char* state;
  const char* title;
  const char* message;
};
constexpr std::array<PageRow, 14> kPageRows{{
    {Says::nothing, 200, "none", "This is your network's web filter",
     "Pages that it stops show what stopped them, and how to report a mistake."},
    {Says::taken, 201, "open", "Thank you, your report was taken", "Somebody will look at it."},
    {Says::open, 200, "open", "Your report waits", "Nobody has decided on it yet."},
    {Says::accepted, 200, "accepted", "The page was opened", "You can try it again now."},
    {Says::rejected, 200, "rejected", "The page stays blocked", "Somebody has looked at your report."},
    {Says::cured, 200, "cured", "The list was corrected", "The page is not on the list any more."},
    {Says::unknown, 404, "unknown", "There is no such page", "Reports are kept for 90 days after they were decided."},
    {Says::not_a_form, 400, "refused", "The report was not understood", "Go back to the blocked page and try again."},
    {Says::refused, 403, "refused", "The report was not taken",
     "It does not come from a page that was blocked for you."},
    {Says::late, 403, "refused", "The report was not taken",
     "The blocked page is older than a day. Open it again, and report it from there."},
    {Says::often, 429, "refused", "Too many reports", "Try again later."},
    {Says::full, 503, "refused", "Too many reports wait", "Ask whoever runs this network."},
    {Says::unavailable, 503, "refused", "The report could not be kept", "Try again later."},
    {Says::wrong_method, 405, "refused", "The report was not understood", "Go back to the blocked page and try again."},
}};

const PageRow& row_of(Says says) {
  for (const PageRow& row : kPageRows) {
    if (row.says == says) return row;
  }
  return kPageRows.front();
}

std::string message_of(const PageRow& row, const ReportPage& page) {
  return page.until.empty() ? row.message : fmt::format("{} It stays open until {}.", row.message, page.until);
}

std::string html_escaped(std::string_view text) {
  std::string out;
  append_html(out, text);
  return out;
}

std::string html_of(const PageRow& row, const ReportPage& page, std::string_view proxy_name) {
  std::string words, link;
  if (!page.words.empty()) words = fmt::format("<blockquote>{}</blockquote>", html_escaped(page.words));
  if (!page.link.empty() && page.says == Says::taken) {
    link = fmt::format("<p><a href=\"{}\">What has become of it</a></p>", html_escaped(safe_link(page.link)));
  }
  const std::string footer = page.report == 0
                                 ? html_escaped(proxy_name)
                                 : fmt::format("Report {} &middot; {}", page.report, html_escaped(proxy_name));
  return fmt::format(fmt::runtime(kReportHtml), fmt::arg("title", row.title),
                     fmt::arg("message", html_escaped(message_of(row, page))), fmt::arg("words", words),
                     fmt::arg("link", link), fmt::arg("footer", footer));
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
  member("title", row.title);
  member("message", message_of(row, page));
  member("words", page.words);
  member("link", page.link);
  return out.append("}\n");
}

std::string text_of(const PageRow& row, const ReportPage& page) {
  std::string out = fmt::format("{}\n{}\n", row.title, message_of(row, page));
  if (!page.words.empty()) out.append(page.words).push_back('\n');
  if (page.report != 0) out.append(fmt::format("Report {}\n", page.report));
  if (!page.link.empty()) out.append(page.link).push_back('\n');
  return out;
}

std::string body_of(MediaType type, const PageRow& row, const ReportPage& page, std::string_view proxy_name) {
  switch (type) {
    case MediaType::html:
      return html_of(row, page, proxy_name);
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
  const std::string body = body_of(type, row, page, context.proxy_name);
  std::string more;
  if (page.again_in > 0) more = fmt::format("Retry-After: {}\r\n", page.again_in);
  if (page.says == Says::wrong_method) more = "Allow: GET, HEAD, POST\r\n";
  write_reply_message(out,
                      {.status = row.status,
                       .content_type = content_type(type),
                       .body = body,
                       .more_fields = more,
                       .is_page = type == MediaType::html},
                      context);
}

}  // namespace bloomwall::proxy
