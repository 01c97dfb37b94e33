// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/setup_page.h"

#include <fmt/format.h>

#include "base/text.h"
#include "proxy/http/escape.h"
#include "proxy/reply/page_frame.h"
#include "proxy/reply/reply_message.h"

namespace bloomwall::proxy {
namespace {

std::string pac_url_of(const SetupPage& page) { return page.proxy.url() + "/proxy.pac"; }

std::string lines_html(std::string_view code) {
  std::string out = html_escaped(next_part(code, '\n'));
  while (!code.empty()) out.append("\n").append(html_escaped(next_part(code, '\n')));
  return out;
}

std::string place_html(const SetupPlace& place, Language language) {
  const std::string_view text = text_of(place, language);
  if (text.empty()) return {};
  const bool is_english = std::holds_alternative<std::string>(place);
  return fmt::format("<p{}>{}</p>", is_english ? " lang=\"en\" dir=\"ltr\"" : "", html_escaped(text));
}

std::string table_html(const std::vector<SetupLine>& lines, Language language) {
  std::string out = "<table>";
  for (const SetupLine& line : lines) {
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>", html_escaped(text_of(line.program, language)));
    for (const SetupWay& way : line.ways) {
      out += place_html(way.where, language);
      if (!way.code.empty()) out += fmt::format("<code dir=\"ltr\">{}</code>", lines_html(way.code));
    }
    out += "</td></tr>\n";
  }
  return out + "</table>\n";
}

// Of a file or a terminal, as lines below where they go.
std::string indented(std::string_view code) {
  std::string out;
  while (!code.empty()) out += fmt::format("    {}\n", next_part(code, '\n'));
  return out;
}

std::string setup_html(const SetupPage& page, std::string_view proxy_name, Language language) {
  const auto text = [language](PageText name) { return html_text(name, language); };
  std::string body = fmt::format(
      "<p class=\"lead\">{}</p>\n<dl><dt>{}</dt><dd><code dir=\"ltr\">{}</code></dd>\n"
      "<dt>{}</dt><dd><code dir=\"ltr\">{}</code></dd></dl>\n",
      text(PageText::setup_lead), text(PageText::setup_proxy), html_escaped(page.proxy.url()),
      text(PageText::setup_pac), html_escaped(pac_url_of(page)));
  if (page.asks_login) body += fmt::format("<p>{}</p>\n", text(PageText::setup_login));
  if (page.has_authority) {
    body += fmt::format("<p>{} <a href=\"/ca\">{}</a></p>\n", text(PageText::setup_authority),
                        text(PageText::link_authority));
  }
  body += fmt::format("<h2>{}</h2>\n", text(PageText::setup_systems));
  if (language != Language::en) body += fmt::format("<p>{}</p>\n", text(PageText::setup_menus));
  body += fmt::format("{}<h2>{}</h2>\n{}", table_html(setup_systems(page.proxy), language), text(PageText::setup_tools),
                      table_html(setup_tools(page.proxy, page.direct), language));
  return framed({.language = language,
                 .title = page_text(PageText::setup_title, language),
                 .body = body,
                 .footer = html_escaped(proxy_name),
                 .is_wide = true});
}

std::string setup_json(const SetupPage& page) {
  const auto quoted = [](std::string_view text) {
    std::string out = "\"";
    append_json(out, text);
    return out + "\"";
  };
  std::string environment;
  for (const auto& [name, value] : proxy_environment(page.proxy, page.direct)) {
    environment += fmt::format("{}{}:{}", environment.empty() ? "" : ",", quoted(name), quoted(value));
  }
  return fmt::format(R"({{"proxy":{},"pac":{},"environment":{{{}}},"certificate":{}}})"
                     "\n",
                     quoted(page.proxy.url()), quoted(pac_url_of(page)), environment,
                     page.has_authority ? quoted("/ca") : "null");
}

std::string setup_plain(const SetupPage& page) {
  std::string out = fmt::format("{}\n\nProxy: {}\nPAC: {}\n", page_text(PageText::setup_title, Language::en),
                                page.proxy.url(), pac_url_of(page));
  if (page.asks_login) out += fmt::format("{}\n", page_text(PageText::setup_login, Language::en));
  if (page.has_authority) out += fmt::format("{} /ca\n", page_text(PageText::setup_authority, Language::en));
  for (const auto& lines : {setup_systems(page.proxy), setup_tools(page.proxy, page.direct)}) {
    for (const SetupLine& line : lines) {
      out += fmt::format("\n{}\n", text_of(line.program, Language::en));
      for (const SetupWay& way : line.ways) {
        const std::string_view where = text_of(way.where, Language::en);
        if (!where.empty()) out += fmt::format("  {}\n", where);
        if (!way.code.empty()) out += indented(way.code);
      }
    }
  }
  return out;
}

std::string setup_text(const SetupPage& page, MediaType type, Language language, std::string_view proxy_name) {
  switch (type) {
    case MediaType::html:
      return setup_html(page, proxy_name, language);
    case MediaType::json:
      return setup_json(page);
    case MediaType::text:
      break;
  }
  return setup_plain(page);
}

}  // namespace

void write_setup_page(std::string& out, const SetupPage& page, const ReplyContext& context) {
  const MediaType type = choose_media(context.accept);
  const Language language = type == MediaType::html ? choose_language(context.accept_language) : Language::en;
  const std::string body = setup_text(page, type, language, context.proxy_name);
  write_reply_message(out,
                      {.status = 200,
                       .content_type = content_type(type),
                       .body = body,
                       .language = tag_of(language),
                       .is_page = type == MediaType::html},
                      context);
}

}  // namespace bloomwall::proxy
