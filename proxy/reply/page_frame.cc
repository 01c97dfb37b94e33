// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/page_frame.h"

#include <fmt/format.h>

#include "proxy/http/escape.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--ground:#eef1f5;--card:#fff;--ink:#18202c;--soft:#556072;--line:#dde2ea;--well:#f4f6f9;
--accent:#b3261e;--button:#18202c;--button-ink:#fff;--shadow:0 1px 2px rgb(20 30 50/.06),0 12px 40px rgb(20 30 50/.1)}
@media(prefers-color-scheme:dark){:root{--ground:#0f1319;--card:#181d26;--ink:#e9edf3;--soft:#9aa6b8;--line:#2a3240;
--well:#11161d;--accent:#ff8a80;--button:#e9edf3;--button-ink:#12161d;
--shadow:0 1px 2px rgb(0 0 0/.4),0 12px 40px rgb(0 0 0/.45)}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;padding:1.5rem;display:grid;place-items:center;background:var(--ground);
color:var(--ink);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
-webkit-text-size-adjust:100%}
main{width:100%;min-width:0;max-width:40rem;background:var(--card);border:1px solid var(--line);border-radius:16px;
box-shadow:var(--shadow);overflow:hidden}
main.wide{max-width:56rem}
.inner{padding:2.25rem}
h1{margin:0 0 .35rem;font-size:1.6rem;line-height:1.25;letter-spacing:-.01em;text-wrap:balance;overflow-wrap:anywhere}
h2{margin:2rem 0 .6rem;font-size:1.15rem;line-height:1.3}
p,th{overflow-wrap:anywhere}p{margin:.6rem 0}.lead{margin:0;color:var(--soft);overflow-wrap:anywhere}
a{color:inherit;text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
blockquote{margin:1rem 0;padding-block:.4rem;padding-inline:1rem;border-inline-start:3px solid var(--line);
overflow-wrap:anywhere}
code,.address{font:.9rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.address{padding:.6rem .9rem;background:var(--well);border:1px solid var(--line);border-radius:10px;max-height:7rem;
overflow-y:auto}
.item .lead{margin-bottom:.5rem}.item{margin-top:1.25rem;padding-top:1.25rem;border-top:1px solid var(--line)}
dl{margin:.8rem 0 0;display:grid;grid-template-columns:8rem minmax(0,1fr);gap:.3rem 1rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.facts{grid-template-columns:max-content minmax(0,1fr) max-content minmax(0,1fr)}.wide dl{grid-template-columns:max-content minmax(0,1fr)}
.links{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.75rem}
.links a{padding:.55rem 1rem;border:1px solid var(--line);border-radius:10px;text-decoration:none;font-weight:600}
.links a:hover{border-color:var(--soft)}
.report{margin-top:.8rem}.report summary{cursor:pointer;font-weight:600}
.report form{display:grid;gap:.35rem;margin-top:.75rem}.report label{display:grid;gap:.35rem;color:var(--soft)}
.report textarea,.report input{width:100%;padding:.5rem .7rem;border:1px solid var(--line);border-radius:10px;
background:var(--well);color:var(--ink);font:inherit}
.report button{justify-self:start;margin-top:.5rem;padding:.55rem 1.1rem;border:1px solid var(--button);
border-radius:10px;background:var(--button);color:var(--button-ink);font:inherit;font-weight:600;cursor:pointer}
table{border-collapse:collapse;width:100%}th,td{text-align:start;vertical-align:top;padding-block:.55rem;
border-top:1px solid var(--line)}th{font-weight:600;width:11rem;padding-inline-end:1rem}
td p{margin:0;color:var(--soft)}td code{display:block;white-space:pre-wrap;margin:.25rem 0 .5rem;padding:.4rem .7rem;
background:var(--well);border:1px solid var(--line);border-radius:8px}
footer{padding:.9rem 2.25rem;border-top:1px solid var(--line);color:var(--soft);font-size:.85rem;
overflow-wrap:anywhere}
@media(max-width:38rem){body{padding:0;place-items:stretch}main,main.wide{border:0;border-radius:0;max-width:none}
.inner{padding:1.5rem 1.25rem}footer{padding:.9rem 1.25rem}dl,.wide dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}
.facts{grid-template-columns:max-content minmax(0,1fr);gap:.1rem 1rem}.facts dd{margin:0}
table,tbody,tr,th,td{display:block;width:auto}td{border-top:0;padding-top:0}th{padding-bottom:.15rem}}
@media print{body{background:none}main{box-shadow:none}.report,.links{display:none}}
)";

constexpr std::string_view kFrame = R"(<!doctype html>
<html lang="{lang}" dir="{dir}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex"><title>{title}</title>
<style>{style}</style></head><body><main{wide}><div class="inner"><h1>{title}</h1>
{body}</div>{footer}</main></body></html>
)";

constexpr std::string_view kReportForm = R"(<details class="report"><summary>{open}</summary>
<form method="post" action="{action}"><input type="hidden" name="ticket" value="{ticket}">
<label>{why}<textarea name="comment" maxlength="500" rows="3"></textarea></label>
<label>{name}<input name="name" maxlength="64" autocomplete="name"></label>
<button type="submit">{send}</button></form></details>
)";

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  append_html(out, text);
  return out;
}

std::string html_text(PageText text, Language language, PageTextValues values) {
  return html_escaped(filled(page_text(text, language), values));
}

std::string framed(const PageFrame& page) {
  const std::string footer = page.footer.empty() ? "" : fmt::format("<footer>{}</footer>", page.footer);
  return fmt::format(fmt::runtime(kFrame), fmt::arg("lang", tag_of(page.language)),
                     fmt::arg("dir", direction_of(page.language)), fmt::arg("title", html_escaped(page.title)),
                     fmt::arg("style", kStyle), fmt::arg("wide", page.is_wide ? " class=\"wide\"" : ""),
                     fmt::arg("body", page.body), fmt::arg("footer", footer));
}

std::string report_form_html(std::string_view action, std::string_view ticket, Language language) {
  return fmt::format(fmt::runtime(kReportForm), fmt::arg("open", html_text(PageText::report_open, language)),
                     fmt::arg("action", html_escaped(action)), fmt::arg("ticket", html_escaped(ticket)),
                     fmt::arg("why", html_text(PageText::report_why, language)),
                     fmt::arg("name", html_text(PageText::report_name, language)),
                     fmt::arg("send", html_text(PageText::report_send, language)));
}

}  // namespace bloomwall::proxy
