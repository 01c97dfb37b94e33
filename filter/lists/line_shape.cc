// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/line_shape.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "filter/lists/adblock_rule.h"
#include "filter/lists/csv_layout.h"
#include "filter/lists/word_shape.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {
namespace {

bool is_csv_header(std::string_view text) {
  while (text.starts_with('#')) text.remove_prefix(1);
  return std::any_of(kCsvSeparators.begin(), kCsvSeparators.end(),
                     [text](char separator) { return csv_header_column(text, separator) != kNoColumn; });
}

LineShape comment_shape(std::string_view text) {
  if (text.front() == '!') return text.starts_with("! Title:") ? LineShape::adblock_title : LineShape::empty;
  if (text.front() == '#') {
    if (adblock_line(text) == AdblockLine::cosmetic) return LineShape::adblock;
    return is_csv_header(text) ? LineShape::csv_header : LineShape::empty;
  }
  return text.front() == ';' || text.starts_with("//") ? LineShape::empty : LineShape::other;
}

bool is_adblock(std::string_view text) {
  return text.starts_with("||") || text.starts_with("@@") || text.find("##") != std::string_view::npos ||
         text.find("#@#") != std::string_view::npos;
}

bool is_adblock_host(std::string_view text) {
  if (!text.starts_with("||")) return false;
  if (text.ends_with('^')) text.remove_suffix(1);
  return text.substr(2).find_first_of("$*^|# ") == std::string_view::npos;
}

bool is_adblock_title(std::string_view text) {
  return starts_ignoring_case(text, "[adblock") || starts_ignoring_case(text, "[ublock") ||
         starts_ignoring_case(text, "[adguard");
}

bool is_privoxy(std::string_view text) {
  if (!text.starts_with('{')) return false;
  if (text.starts_with("{{")) return true;
  const std::string_view action = trim(text.substr(1));
  return action.starts_with('+') || action.starts_with('-') || action == "\\";
}

// The words of a record, of which the first is the owner.
LineShape zone_shape(std::string_view text) {
  if (text.starts_with("$TTL") || text.starts_with("$ORIGIN")) return LineShape::zone_head;
  std::string_view rest = text;
  next_word(rest);
  for (int i = 0; i < 3; ++i) {
    const std::string_view word = next_word(rest);
    if (equals_ignoring_case(word, "SOA")) return LineShape::zone_head;
    if (equals_ignoring_case(word, "CNAME")) return LineShape::zone_record;
  }
  return LineShape::other;
}

bool is_dnsmasq(std::string_view text) {
  if (text.starts_with("--")) text.remove_prefix(2);
  const std::string_view option = next_part(text, '=');
  return text.starts_with('/') && (equals_ignoring_case(option, "address") || equals_ignoring_case(option, "server") ||
                                   equals_ignoring_case(option, "local"));
}

bool is_unbound(std::string_view text) {
  std::string_view rest = text;
  const std::string_view option = trim(next_part(rest, ':'));
  if (option.size() == text.size() || rest.starts_with("//")) return false;
  if (starts_ignoring_case(option, "local-zone") || starts_ignoring_case(option, "local-data")) return true;
  return equals_ignoring_case(option, "server") && (rest.empty() || is_blank(rest.front()));
}

// "0.0.0.0 whatever", "192.0.2.53 a.example"; what else stands behind an address is no name of a host.
bool is_hosts(std::string_view text) {
  const std::string_view first = next_word(text);
  if (text.empty() || !is_address(first)) return false;
  return is_sink(first) || is_dotted_name(next_word(text));
}

// An address or a range of addresses, and columns behind it: counts, countries, dates, other addresses.
bool has_columns(std::string_view text) {
  const std::string_view first = next_word(text);
  if (text.empty() || text.find("://") != std::string_view::npos) return false;
  return is_address(first) || read_address_range(first).outcome != RangeReading::Outcome::no_range;
}

LineShape url_shape(std::string_view text) {
  if (!scheme_of(text).empty()) return LineShape::url;
  const bool listed = text.front() == '"' || text.find(',') != std::string_view::npos;
  if (listed && text.find("://") != std::string_view::npos) return LineShape::csv;
  if (is_csv_header(text)) return LineShape::csv_header;
  const std::string_view host = text.substr(0, text.find('/'));
  const bool path = host.size() < text.size() && host.find('.') != std::string_view::npos;
  return path && host.find_first_of(" \t") == std::string_view::npos ? LineShape::url_no_scheme : LineShape::other;
}

}  // namespace

LineShape shape_of(std::string_view line) {
  const bool indented = !line.empty() && is_blank(line.front());
  std::string_view text = trim(line);
  if (text.empty()) return LineShape::empty;
  if (const LineShape comment = comment_shape(text); comment != LineShape::other) return comment;
  // What a comment says of an entry is no part of its shape; within the quotes of a table there is none.
  if (text.front() != '"') text = without_comment(text, kListMarks);
  if (is_adblock_title(text)) return LineShape::adblock_title;
  if (is_privoxy(text)) return LineShape::privoxy;
  if (is_unbound(text)) return LineShape::unbound;
  if (is_dnsmasq(text)) return LineShape::dnsmasq;
  if (read_address_range(text).outcome != RangeReading::Outcome::no_range ||
      read_netblock(text).outcome == RangeReading::Outcome::range) {
    return LineShape::range;
  }
  if (is_hosts(text)) return LineShape::hosts;
  if (const LineShape zone = zone_shape(text); zone != LineShape::other && !indented) return zone;
  if (has_columns(text)) return LineShape::columns;
  if (is_adblock_host(text)) return LineShape::adblock_host;
  if (is_adblock(text) && scheme_of(text).empty() && text.front() != '"') return LineShape::adblock;
  if (const LineShape url = url_shape(text); url != LineShape::other) return url;
  return text.starts_with("*.") ? LineShape::wildcard : LineShape::other;
}

}  // namespace bloomwall::filter
