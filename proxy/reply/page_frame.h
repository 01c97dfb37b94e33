// The HTML around what the proxy's own pages say: head, style, a card and its footer, in the look of the block page,
// which is a template with a head of its own (conf/blocked.html). No script, nothing from elsewhere; light and dark,
// from 320 pixels on, for either direction of text.
// Pure; linear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "proxy/reply/page_texts.h"

namespace bloomwall::proxy {

struct PageFrame {
  Language language = Language::en;
  std::string_view title = {};   // plain text
  std::string_view body = {};    // HTML, below the heading
  std::string_view footer = {};  // HTML; empty: there is none
  bool is_wide = false;          // for tables
};
std::string framed(const PageFrame& page);

std::string html_escaped(std::string_view text);
// The text in the page's language, safe to stand in HTML. Values are plain text.
std::string html_text(PageText text, Language language, PageTextValues values = {});
// What reports a mistake: a form that opens. `action` and `ticket` as they are in ReportFormReply.
std::string report_form_html(std::string_view action, std::string_view ticket, Language language);

}  // namespace bloomwall::proxy
