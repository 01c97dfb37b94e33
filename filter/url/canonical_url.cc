// The rules, step by step. Steps 1 to 6 are split_url() below, 7 to 11 stand in host.cc, 12 to 15 in forms.cc.
//  1  Bytes 0x00-0x20 at both ends go; TAB, CR and LF inside go and reject.
//  2  Cut at the first '#'.
//  3  Scheme http, https, ws, wss or ftp in any case, then "//" ('\' counts as '/' and rejects). None: http. "host:80"
//     is a host. Anything else has no canonical form.
//  4  The authority ends at the first '/', '?' or '\'; '\' rejects.
//  5  User info, up to the last '@', goes and rejects.
//  6  Port: digits up to 65535, or none. It is no part of the canonical text.
//  7  Host: decoded to the fixpoint (a change rejects); a separator then: no form. Bytes >= 0x80: UTS 46, or reject.
//  8  Lower case; empty labels go, and reject but for one dot at the end. Nothing left: no form.
//  9  A host that ends in a number is an IPv4 address, written dotted, or has no form.
// 10  IPv6: RFC 5952; v4-mapped and NAT64 addresses as IPv4; no zone.
// 11  Octets that no host name has reject and are escaped; so do 253 octets, or 63 in a label, exceeded.
// 12  Path and query are decoded to the fixpoint and split at the first '?'; in the path '\' is '/', "//" is '/', then
// dots.
// 13  Bytes <= 0x20, >= 0x7F, '#' and '%' are escaped, once, in upper case.
// 14  An empty query keeps its '?'.
// 15  What other origins read in the path gives further forms. "%uXXXX" in the path rejects, and so do too many forms.
// Sources: the Safe Browsing rules, made strict where browsers, curl, nginx and Apache differ from them.
// SPDX-License-Identifier: Apache-2.0

#include "filter/url/canonical_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "filter/url/fast_path.h"
#include "filter/url/forms.h"
#include "filter/url/host.h"
#include "filter/url/odd_escapes.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

constexpr std::string_view kRoot = UrlForm{}.path;

// `end` and `from` as cut_if_canonical() gives them: they lie in `text`.
std::string_view between(std::string_view text, std::size_t from, std::size_t end) {
  return {text.data() + from, end - from};
}

void put_form(std::string_view url, const UrlCut& cut, UrlForm& form) {
  const bool has_query_mark = cut.query != std::string_view::npos;
  const std::size_t path_end = has_query_mark ? cut.query : url.size();
  form.path = path_end == cut.path_begin() ? kRoot : between(url, cut.path_begin(), path_end);
  form.query = has_query_mark ? between(url, path_end + 1, url.size()) : std::string_view{};
  form.has_query_mark = has_query_mark;
}

}  // namespace

struct Canonicaliser::Scratch {
  std::string cleaned;
  std::string host;
  std::string decoded;
  std::string path, query;
  FormReader forms;
};

Canonicaliser::Canonicaliser() = default;
Canonicaliser::~Canonicaliser() = default;
Canonicaliser::Canonicaliser(Canonicaliser&&) noexcept = default;
Canonicaliser& Canonicaliser::operator=(Canonicaliser&&) noexcept = default;

Canonicaliser::Scratch& Canonicaliser::scratch() {
  if (!scratch_) scratch_ = std::make_unique<Scratch>();
  return *scratch_;
}

// Field by field, and so is the form, where it lies: what is put together elsewhere and copied is read in larger pieces
// than it was written in, which a processor can't forward (20 ns, half of the fast path).
UrlForm& Canonicaliser::accept(std::string_view scheme, std::string_view host) {
  result_.action = UrlAction::lookup;
  result_.reason = UrlReason::none;
  result_.has_canonical = true;
  result_.host_kind = HostKind::name;
  result_.port = 0;
  result_.scheme = scheme;
  result_.host = host;
  result_.forms = std::span(forms_).first(1);
  result_.literal_forms = result_.bare_forms = result_.handed_on_forms = 0;
  return forms_[0];
}

const CanonicalUrl& Canonicaliser::url(std::string_view raw) {
  const UrlCut cut = cut_if_canonical(raw);
  if (cut.host_begin == 0) return url_the_long_way(raw, Paths::taken_where_canonical);
  put_form(raw, cut, accept({raw.data(), cut.host_begin - 3U}, between(raw, cut.host_begin, cut.host_end)));
  result_.port = cut.port;
  return result_;
}

const CanonicalUrl& Canonicaliser::host(std::string_view raw) {
  if (!is_canonical_name(raw)) return host_the_long_way(raw);
  accept("http", raw) = UrlForm{};
  return result_;
}

const CanonicalUrl& Canonicaliser::url_the_long_way(std::string_view raw, Paths paths) {
  Scratch& mine = scratch();
  const SplitUrl split = split_url(raw, mine.cleaned);
  result_ = {.reason = split.reason};
  if (!split.usable) return result_;
  const UrlReason reason = split.reason;
  host_the_long_way(split.host);
  if (reason != UrlReason::none) {
    result_.reason = reason;
    result_.action = UrlAction::reject;
  }
  if (!result_.has_canonical) return result_;
  result_.scheme = split.scheme;
  result_.port = split.port;
  if (paths == Paths::taken_where_canonical && take_canonical_path(split.path_and_query)) return result_;
  result_.forms = std::span(forms_).first(mine.forms.read(split.rest, forms_));
  result_.literal_forms = mine.forms.literal_forms();
  result_.bare_forms = mine.forms.bare_forms();
  result_.handed_on_forms = mine.forms.handed_on_forms();
  if (mine.forms.has_odd_escape()) reject(UrlReason::odd_escape);
  if (mine.forms.has_too_many()) reject(UrlReason::many_readings);
  return result_;
}

// The first reason is kept.
void Canonicaliser::reject(UrlReason reason) {
  if (result_.reason == UrlReason::none) result_.reason = reason;
  result_.action = UrlAction::reject;
}

// A path that is canonical, but for the case of digits in its escapes, has one form; where it is canonical it stays
// where it lies. What decoding finds in the query stays in the query then, for no escape spans the '?' before it.
// False: the path is to be read in full.
bool Canonicaliser::take_canonical_path(std::string_view path_and_query) {
  Scratch& mine = scratch();
  const std::size_t mark = std::min(path_and_query.find('?'), path_and_query.size());
  std::string_view path = path_and_query.substr(0, mark);
  if (!is_canonical(UrlPart::path, path)) {
    if (path.find('%') == std::string_view::npos) return false;
    mine.path.clear();
    append_escapes_in_upper_case(path, mine.path);
    if (!is_canonical(UrlPart::path, mine.path)) return false;
    path = mine.path;
  }
  UrlForm form{.path = path.empty() ? kRoot : path, .has_query_mark = mark != path_and_query.size()};
  if (form.has_query_mark) form.query = path_and_query.substr(mark + 1);
  if (!is_canonical(UrlPart::query, form.query)) {
    mine.decoded.clear();
    append_decoded_fully(form.query, mine.decoded);
    mine.query.clear();
    append_escaped(mine.decoded, Separators::plain, mine.query);
    form.query = mine.query;
    const bool has_odd_escape = mine.query.find("%25u") != std::string::npos ||
                                mine.query.find("%25U") != std::string::npos || holds_loose_escape(mine.decoded);
    if (has_odd_escape) return false;
  }
  forms_[0] = form;
  return true;
}

const CanonicalUrl& Canonicaliser::host_the_long_way(std::string_view raw) {
  Scratch& mine = scratch();
  const HostReading reading = read_host(raw, mine.host, mine.decoded);
  result_ = {.reason = reading.reason};
  if (!reading.has_canonical) return result_;
  accept("http", mine.host) = UrlForm{};
  result_.action = reading.reason == UrlReason::none ? UrlAction::lookup : UrlAction::reject;
  result_.reason = reading.reason;
  result_.host_kind = reading.kind;
  return result_;
}

std::string CanonicalUrl::text(std::size_t form) const {
  return has_canonical ? fmt::format("{}://{}", scheme, expression(form)) : "!";
}

std::string CanonicalUrl::expression(std::size_t form) const {
  if (!has_canonical) return "!";
  const UrlForm& f = asked()[form];
  return fmt::format("{}{}{}{}", host, f.path, f.has_query_mark ? "?" : "", f.query);
}

const char* to_string(UrlReason reason) {
  static constexpr auto kWords = name_table<UrlReason>(
      {{UrlReason::none, "none"},
       {UrlReason::empty, "empty"},
       {UrlReason::control_octet, "TAB, CR or LF inside"},
       {UrlReason::unknown_scheme, "unknown scheme, or no \"//\" after it"},
       {UrlReason::backslash, "backslash in scheme or authority"},
       {UrlReason::userinfo, "user info before the host"},
       {UrlReason::bad_port, "port is not a number up to 65535"},
       {UrlReason::empty_host, "empty host"},
       {UrlReason::escaped_host, "percent-escape in the host"},
       {UrlReason::separator_in_host, "separator in the host"},
       {UrlReason::bad_idn, "host is not UTF-8 or not allowed by UTS 46"},
       {UrlReason::odd_dots, "leading or doubled dots in the host"},
       {UrlReason::bad_ipv4, "host ends in a number but is not an IPv4 address"},
       {UrlReason::bad_ipv6, "malformed IPv6 address"},
       {UrlReason::bad_host_octet, "octet that no host name has"},
       {UrlReason::host_too_long, "host over 253 octets, or a label over 63"},
       {UrlReason::odd_escape, "an escape in the path that is none by RFC 3986, and that some servers decode"},
       {UrlReason::many_readings, "servers read the path in too many ways"}});
  return kWords.text(reason);
}

namespace {

constexpr std::array<std::string_view, 5> kSchemes{"http", "https", "ws", "wss", "ftp"};

bool is_slash(char c) { return c == '/' || c == '\\'; }

void note(UrlReason reason, SplitUrl& split) {
  if (split.reason == UrlReason::none) split.reason = reason;
}

bool goes(char c) { return c == '\t' || c == '\r' || c == '\n'; }

// A loop without branches, which compilers turn into vector code.
bool has_any_that_goes(std::string_view text) {
  unsigned found = 0;
  for (const char c : text) {
    found |= static_cast<unsigned>(c == '\t') | static_cast<unsigned>(c == '\r') | static_cast<unsigned>(c == '\n');
  }
  return found != 0;
}

// Step 1.
std::string_view clean(std::string_view raw, std::string& cleaned, SplitUrl& split) {
  raw = trim_controls(raw);
  if (!has_any_that_goes(raw)) return raw;
  note(UrlReason::control_octet, split);
  cleaned.clear();
  std::remove_copy_if(raw.begin(), raw.end(), std::back_inserter(cleaned), goes);
  return cleaned;
}

std::string_view known_scheme(std::string_view name) {
  for (const std::string_view scheme : kSchemes) {
    if (std::equal(scheme.begin(), scheme.end(), name.begin(), name.end(),
                   [](char a, char b) { return a == to_lower(b); })) {
      return scheme;
    }
  }
  return {};
}

// "8080", "8080/x" after the colon of "host:8080", which looks like a scheme.
bool begins_with_port(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits != 0 &&
         (digits == text.size() || std::string_view("/?\\").find(text[digits]) != std::string_view::npos);
}

// Step 3. What follows the scheme and its two slashes; nothing where the URL has no meaning here.
std::optional<std::string_view> cut_scheme(std::string_view url, SplitUrl& split) {
  split.scheme = kSchemes[0];
  std::size_t end = 0;
  while (end < url.size() && (is_alpha(url[end]) || (end != 0 && (is_digit(url[end]) || url[end] == '+' ||
                                                                  url[end] == '-' || url[end] == '.')))) {
    ++end;
  }
  if (end == 0 || end == url.size() || url[end] != ':') return url;
  const std::string_view known = known_scheme(url.substr(0, end));
  const std::string_view after = url.substr(end + 1);
  if (known.empty()) {
    if (begins_with_port(after)) return url;
    return std::nullopt;
  }
  if (after.size() < 2 || !is_slash(after[0]) || !is_slash(after[1])) return std::nullopt;
  if (!after.starts_with("//")) note(UrlReason::backslash, split);
  split.scheme = known;
  return after.substr(2);
}

// Step 6. `text` follows the host: nothing, or ':' and an optional number. Any count of leading zeros is a number
// still.
bool read_port(std::string_view text, SplitUrl& split) {
  if (text.empty()) return true;
  if (text[0] != ':') return false;
  unsigned port = 0;
  for (const char c : text.substr(1)) {
    if (!is_digit(c)) return false;
    port = port * 10 + static_cast<unsigned>(c - '0');
    if (port > 65535) return false;
  }
  split.port = static_cast<std::uint16_t>(port);
  return true;
}

// Steps 5 and 6.
bool cut_authority(std::string_view authority, SplitUrl& split) {
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    note(UrlReason::userinfo, split);
    authority.remove_prefix(at + 1);
  }
  std::size_t end = 0;
  if (authority.starts_with('[')) {
    end = authority.find(']') + 1;  // npos + 1 is 0
    if (end == 0) {
      note(UrlReason::bad_ipv6, split);
      return false;
    }
  } else {
    end = std::min(authority.find(':'), authority.size());
  }
  split.host = authority.substr(0, end);
  if (read_port(authority.substr(end), split)) return true;
  note(UrlReason::bad_port, split);
  return false;
}

}  // namespace

SplitUrl split_url(std::string_view raw, std::string& cleaned) {
  SplitUrl split;
  std::string_view url = clean(raw, cleaned, split);
  url = url.substr(0, url.find('#'));  // step 2
  if (url.empty()) {
    note(UrlReason::empty, split);
    return split;
  }
  const auto after = cut_scheme(url, split);
  if (!after) {
    note(UrlReason::unknown_scheme, split);
    return split;
  }
  const auto ends_authority = [](char c) { return is_slash(c) || c == '?'; };
  const auto end = static_cast<std::size_t>(  // step 4
      std::distance(after->begin(), std::find_if(after->begin(), after->end(), ends_authority)));
  split.path_and_query = split.rest = after->substr(end);
  if (split.rest.starts_with('\\')) note(UrlReason::backslash, split);
  if (!split.rest.empty() && is_slash(split.rest[0])) split.rest.remove_prefix(1);
  split.usable = cut_authority(after->substr(0, end), split);
  return split;
}

}  // namespace bloomwall::filter
