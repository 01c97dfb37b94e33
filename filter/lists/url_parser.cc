// Lists of URLs, and the files "urls" and "expressions" of a squidGuard category.
//   urls              http://example.com/a?q   that URL (U, Q, D or, for a bare host, S), as any list entry means it;
//                     without a scheme likewise
//   squidguard_urls   example.com/dir          a prefix at the boundary of a path segment: U and D. squidGuard compares
//                     without a leading "www.", so that of an entry is taken off where more than a public suffix is
//                     left; subdomains are covered anyhow
//   squidguard_expressions                     regular expressions: all unsupported
// In both a line that is a name alone is read as in a list of names.
// Malformed: what url_parser.h finds beside a URL: columns, markup, another URL. "&amp;" is taken as it stands and as
// '&'. '#', ';' and '!' at the start or after white space start a comment; a '#' within a URL is its fragment. A range
// of addresses ("192.0.2.0/24") is one here too, and never a host with a path.
// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/url_parser.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.h"
#include "filter/lists/adblock_rule.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/list_report.h"
#include "filter/url/host.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {
namespace {

constexpr std::string_view kSeveralUrls = "several URLs";
constexpr std::string_view kMarkup = "markup or a quote beside a URL";
constexpr std::string_view kColumns = "columns of a table behind a URL; --format csv reads tables";

// What feeds say of a URL in columns of their own.
constexpr std::array<std::string_view, 27> kFeedWords{
    "online", "offline",   "active",    "inactive", "alive",  "unknown", "phish",  "phishing", "malware",
    "scam",   "malicious", "spam",      "fraud",    "benign", "exploit", "botnet", "trojan",   "ransomware",
    "cnc",    "c2",        "botnet_cc", "verified", "yes",    "no",      "true",   "false",    "malware_download"};

// Octets without which there is nothing to look for.
constexpr std::array<bool, 256> make_suspects() {
  std::array<bool, 256> table{};
  for (const char c : {',', ';', '|', '<', '>', '"', '\'', ' ', '\t', '\n'})
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kSuspects = make_suspects();

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return kSuspects[static_cast<unsigned char>(c)]; });
}

constexpr std::array<std::string_view, 17> kFileEndings{".exe", ".dll",  ".zip", ".rar", ".7z",  ".apk",
                                                        ".jar", ".sh",   ".bin", ".php", ".asp", ".aspx",
                                                        ".htm", ".html", ".jsp", ".doc", ".pdf"};

// "2026-01-31", "2026/01/31", "31.01.2026", with a time behind it or not.
bool is_date(std::string_view cell) {
  const std::string_view day = cell.substr(0, cell.find_first_of(" T+"));
  std::size_t digits = 0;
  std::size_t longest = 0;
  std::size_t marks = 0;
  for (const char c : day) {
    if (is_digit(c)) {
      longest = std::max(longest, ++digits);
      continue;
    }
    if ((c != '-' && c != '/' && c != '.') || digits == 0) return false;
    digits = 0;
    ++marks;
  }
  return marks == 2 && longest == 4 && digits > 0 && day.size() >= 8 && day.size() <= 10;
}

bool is_quoted(std::string_view cell) {
  return cell.size() >= 2 && (cell.front() == '"' || cell.front() == '\'') && cell.back() == cell.front();
}

bool is_plain_word(std::string_view cell) {
  return !cell.empty() && is_alpha(cell.front()) && std::all_of(cell.begin(), cell.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == ' ';
  });
}

bool ends_like_a_file(std::string_view url) {
  return std::any_of(kFileEndings.begin(), kFileEndings.end(), [url](std::string_view ending) {
    return url.size() > ending.size() && equals_ignoring_case(url.substr(url.size() - ending.size()), ending);
  });
}

// What stands behind the first separator, cell by cell.
struct Cells {
  std::size_t dates = 0;
  std::size_t quoted = 0;
  std::size_t certain = 0;  // quoted text, addresses, words of feeds
  std::size_t words = 0;    // the latter and other plain words
  std::size_t count = 0;
  bool goes_on = false;  // like a path, at the end
};

Cells cells_of(std::string_view rest, char separator) {
  Cells cells;
  while (!rest.empty()) {
    const std::string_view cell = trim(next_part(rest, separator));
    ++cells.count;
    if (is_date(cell)) ++cells.dates;
    if (is_quoted(cell)) ++cells.quoted;
    if (is_quoted(cell) || is_ipv4(cell) || is_one_of(cell, kFeedWords)) ++cells.certain;
    if (is_plain_word(cell)) ++cells.words;
    if (rest.empty()) {
      cells.goes_on =
          !is_date(cell) && (cell.find_first_of("/=&%") != std::string_view::npos || ends_like_a_file(cell));
    }
  }
  return cells;
}

bool has_columns(std::string_view text, char separator, bool is_border) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos || at + 1 == text.size()) return false;
  const std::string_view url = text.substr(0, at);
  const Cells cells = cells_of(text.substr(at + 1), separator);
  if (cells.goes_on) return false;
  if (url.ends_with('/') && !is_border) return cells.dates > 0 || cells.quoted > 0;
  if (url.find('?') != std::string_view::npos) return cells.dates > 0 && cells.certain > 0;
  if (cells.dates > 0 || cells.certain > 0) return true;
  if (cells.words < cells.count) return false;
  return separator == '|' || url.ends_with('/') || ends_like_a_file(url);
}

// Another "http://" that a separator leads in. A list of URLs as the value of a parameter is one URL.
bool has_several(std::string_view text, std::string_view separators) {
  const std::size_t query = text.find('?');
  bool in_value = false;
  for (std::size_t at = text.find("://", 1); at != std::string_view::npos; at = text.find("://", at + 3)) {
    std::size_t start = at;
    while (start > 0 && is_alpha(text[start - 1])) --start;
    const std::string_view scheme = text.substr(start, at - start);
    const bool web = equals_ignoring_case(scheme, "http") || equals_ignoring_case(scheme, "https") ||
                     equals_ignoring_case(scheme, "ftp");
    if (!web || start == 0) continue;
    if (separators.find(text[start - 1]) != std::string_view::npos && !in_value) return true;
    in_value = in_value || start > query;
  }
  return false;
}

bool has_markup(std::string_view text) {
  if (text.find_first_of("<>") != std::string_view::npos) return true;
  return text.front() == '"' || text.back() == '"' || text.front() == '\'';
}

using Block [[gnu::vector_size(16)]] = signed char;  // so that each comparison is one of sixteen octets

// An octet that is negative is beyond ASCII.
Block not_bare(Block octets) {
  return (octets <= ' ') | (octets == 0x7f) | (octets == '"') | (octets == '#') | (octets == '\'') | (octets == '*') |
         (octets == ',') | (octets == ';') | (octets == '<') | (octets == '>') | (octets == '|');
}

Block load_block(const char* at) {
  Block octets;
  std::memcpy(&octets, at, sizeof octets);
  return octets;
}

constexpr std::string_view kAmpersandEntity = "&amp;";

std::string without_entities(std::string_view url) {
  std::string plain;
  while (!url.empty()) {
    const std::size_t at = url.find(kAmpersandEntity);
    plain.append(url.substr(0, at));
    if (at == std::string_view::npos) break;
    plain.push_back('&');
    url.remove_prefix(at + kAmpersandEntity.size());
  }
  return plain;
}

}  // namespace

bool is_bare_url(std::string_view line) {
  const std::size_t scheme = line.starts_with("https://") ? 8 : 7;
  if (!line.starts_with("http") || !line.substr(0, scheme).ends_with("://") || line.size() == scheme) return false;
  std::array<char, sizeof(Block)> padded;
  if (line.size() < sizeof(Block)) {
    padded.fill('x');
    line.copy(padded.data(), line.size());
    line = {padded.data(), padded.size()};
  }
  // The last block overlaps the one before: octet by octet the rest would take as long as they.
  Block other = not_bare(load_block(line.data() + line.size() - sizeof(Block)));
  for (std::size_t at = 0; at + sizeof(Block) < line.size(); at += sizeof(Block)) {
    other |= not_bare(load_block(line.data() + at));
  }
  std::array<std::uint64_t, 2> halves;
  std::memcpy(halves.data(), &other, sizeof other);
  return (halves[0] | halves[1]) == 0;
}

std::string_view error_in_url_line(std::string_view text, std::string_view borders) {
  if (is_plain(text)) return {};
  if (has_several(text, ",;|")) return kSeveralUrls;
  const std::string_view sent = text.substr(0, text.find('#'));  // what stands in the fragment is no part of the entry
  for (const char separator : {',', ';', '|'}) {
    const bool is_border = borders.find(separator) != std::string_view::npos;
    if (has_columns(sent, separator, is_border)) return kColumns;
  }
  return has_markup(text) ? kMarkup : std::string_view{};
}

std::string_view error_in_field(std::string_view text) {
  if (is_plain(text)) return {};
  if (has_several(text, ",;| \t\n")) return kSeveralUrls;
  return has_markup(text) ? kMarkup : std::string_view{};
}

LineOutcome take_url(std::string_view url, UrlPlace place, EntryGate& gate) {
  const auto take = [&](std::string_view text) {
    return place == UrlPlace::line ? gate.url(text) : gate.url_field(text);
  };
  const LineOutcome outcome = take(url);
  if (outcome.used() && url.find(kAmpersandEntity) != std::string_view::npos) {
    gate.warn(kWarnEntity);
    take(without_entities(url));
  }
  return outcome;
}

namespace {

constexpr std::string_view kMarks = "#;!";  // of comments at the start of a line; "//" there may be a URL's

// "// why": a comment, while "//a.example/" is a URL without its scheme.
bool is_url_comment(std::string_view text) {
  return is_comment(text, kMarks) || (text.starts_with("//") && (text.size() == 2 || is_blank(text[2])));
}

// A line without its comment, and without the slashes of a URL that has lost its scheme. Behind a scheme a '#' begins a
// fragment; without one, and behind a name alone, a comment.
std::string_view without_url_comment(std::string_view text) {
  const bool has_slashes = text.starts_with("//");
  text = without_comment(text, has_slashes ? kMarks : kListMarks);
  // A number may be that of a range ("192.0.2.0/24"), which has no slashes in front.
  if (has_slashes && text.size() > 2 && is_alpha(text[2])) text.remove_prefix(2);
  return scheme_of(text).empty() ? without_glued_comment(text) : text;
}

bool is_bare_name(std::string_view text) {
  return scheme_of(text).empty() && text.find_first_of("/?") == std::string_view::npos;
}

constexpr std::string_view kCosmetic = "cosmetic rule";  // "a.example#%#//scriptlet(...)": its '#' begins no fragment
constexpr std::string_view kOtherScheme = "scheme other than http, https, ftp, ws";

bool is_known_scheme(std::string_view scheme) {
  constexpr std::array<std::string_view, 5> kKnown{"http", "https", "ftp", "ws", "wss"};
  return is_one_of(scheme, kKnown);
}

class UrlParser final : public LineParser {
 public:
  explicit UrlParser(const ParsePlan& plan) : names_(make_domain_parser(plan)), borders_(plan.borders) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    if (is_bare_url(text)) return gate.bare_url(text);
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_url_comment(text)) return {LineClass::comment};
    text = without_url_comment(text);
    const std::string_view scheme = scheme_of(text);
    if (!scheme.empty() && !is_known_scheme(scheme)) return unsupported(kOtherScheme);
    if (scheme.empty() && adblock_line(text) == AdblockLine::cosmetic) return unsupported(kCosmetic);
    if (is_bare_name(text)) return names_->line(text, gate);
    if (const std::string_view error = error_in_url_line(text, borders_); !error.empty()) return malformed(error);
    return take_url(text, UrlPlace::line, gate);
  }

 private:
  std::unique_ptr<LineParser> names_;
  std::string borders_;
};

std::string_view without_www(std::string_view url) {
  constexpr std::string_view kWww = "www.";
  if (!starts_ignoring_case(url, kWww)) return url;
  const std::string_view rest = url.substr(kWww.size());
  const std::string_view host = rest.substr(0, rest.find_first_of("/:?"));
  const bool enough = host.find('.') != std::string_view::npos && !is_public_suffix(host);
  return enough ? rest : url;
}

class SquidguardUrlParser final : public LineParser {
 public:
  explicit SquidguardUrlParser(const ParsePlan& plan) : names_(make_domain_parser(plan)), borders_(plan.borders) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_url_comment(text)) return {LineClass::comment};
    text = without_url_comment(text);
    const std::string_view scheme = scheme_of(text);
    if (!scheme.empty() && !is_known_scheme(scheme)) return unsupported(kOtherScheme);
    if (scheme.empty() && adblock_line(text) == AdblockLine::cosmetic) return unsupported(kCosmetic);
    if (is_bare_name(text) && without_www(text).size() == text.size()) return names_->line(text, gate);
    if (const std::string_view error = error_in_url_line(text, borders_); !error.empty()) return malformed(error);
    // "http://192.0.2.1/24" is a URL, "192.0.2.1/24" is a range: the scheme goes with the "www." only.
    const std::string_view bare = scheme.empty() ? text : text.substr(scheme.size() + 3);
    const std::string_view url = without_www(bare);
    const bool stripped = url.size() != bare.size();
    const LineOutcome outcome = gate.url_prefix(stripped ? url : text);
    if (outcome.used() && stripped) gate.warn(kWarnWwwStripped);
    return outcome;
  }

 private:
  std::unique_ptr<LineParser> names_;
  std::string borders_;
};

class ExpressionParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& /*gate*/) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') return {LineClass::comment};
    return unsupported("regular expression");
  }
};

}  // namespace

std::unique_ptr<LineParser> make_url_parser(const ParsePlan& plan) {
  if (plan.format == Format::squidguard_urls) return std::make_unique<SquidguardUrlParser>(plan);
  if (plan.format == Format::squidguard_expressions) return std::make_unique<ExpressionParser>();
  return std::make_unique<UrlParser>(plan);
}

}  // namespace bloomwall::filter
