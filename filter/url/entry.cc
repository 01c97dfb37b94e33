// SPDX-License-Identifier: Apache-2.0
#include "filter/url/entry.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "filter/url/address.h"
#include "filter/url/host.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

constexpr auto kNone = std::string_view::npos;

bool is_bare_ipv6(std::string_view text) { return text.find(':') != kNone && IpAddress::parse(text).has_value(); }

// "10.0.0.0/8", "2001:db8::/32": a range of addresses, which would pass for an address and a path.
bool is_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == kNone) return false;
  const std::string_view address = text.substr(0, slash);
  const std::string_view bits = text.substr(slash + 1);
  if (bits.empty() || bits.size() > 3 || bits.find_first_not_of("0123456789") != kNone) return false;
  return IpAddress::parse_host(address).has_value();
}

// A number that is written down as a host is an address in four decimal parts, or a version, a date, a count: "85285",
// "10.1", "010.0.0.1". Browsers read these as addresses; behind a scheme they are what was seen there.
bool is_address_in_full(std::string_view host) {
  if (host.starts_with('[')) return true;
  if (host.ends_with('.')) host.remove_suffix(1);
  return host.find(':') == kNone && IpAddress::parse(host).has_value();
}

// The host of a URL as it is spelt; empty where a scheme stands before it, or slashes do.
std::string_view host_without_scheme(std::string_view text) {
  const std::size_t end = text.find_first_of("/?\\#");
  if (end != kNone && end > 0 && text[end - 1] == ':' && text[end] != '?' && text[end] != '#') return {};
  const std::string_view authority = text.substr(0, end);
  const std::string_view host = authority.substr(authority.rfind('@') + 1);  // npos + 1 is 0
  return host.starts_with('[') ? host : host.substr(0, host.find(':'));
}

constexpr std::array<std::string_view, 5> kSchemesLongestFirst{"https", "http", "wss", "ws",
                                                               "ftp"};  // the longest first

bool is_scheme_name(std::string_view host) {
  return host.size() <= kSchemesLongestFirst[0].size() &&
         std::find(kSchemesLongestFirst.begin(), kSchemesLongestFirst.end(), host) != kSchemesLongestFirst.end();
}

// "1http://example.com", "\u200Bhttp://example.com": what stands before "://" is no scheme, and would be taken for a
// host.
bool has_text_before_scheme(std::string_view text) {
  const std::size_t end = text.find_first_of("/?\\#");
  if (end == kNone || end == 0 || text[end - 1] != ':' || !text.substr(end).starts_with("//")) return false;
  const std::string_view scheme = text.substr(0, end - 1);
  return std::none_of(kSchemesLongestFirst.begin(), kSchemesLongestFirst.end(), [&](std::string_view known) {
    return std::equal(known.begin(), known.end(), scheme.begin(), scheme.end(),
                      [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + ('a' - 'A') : b); });
  });
}

std::string_view without_trailing_slash(std::string_view path) {
  return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

// Paths and queries as forms.h writes them: an escape stands only for an octet that is always escaped, or in a path for
// a separator that is data.
bool is_canonical_text(std::string_view text, bool is_path) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '%') {
      if (is_escaped_always(c) || (is_path && (c == '\\' || c == '?'))) return false;
      if (is_path && c == '/' && at + 1 < text.size() && text[at + 1] == '/') return false;
      continue;
    }
    const int octet = escape_at(text, at);
    if (octet < 0) return false;
    const bool upper = text.substr(at + 1, 2).find_first_of("abcdef") == kNone;
    const bool is_data = is_path && (octet == '/' || octet == '\\' || octet == '?');
    if (!upper || !(is_data || is_escaped_always(static_cast<char>(octet)))) return false;
    at += 2;
  }
  return true;
}

// What entry_of() makes of a form.
bool fits_kind(Kind kind, std::string_view path, bool has_query, std::string_view query) {
  const bool ends_in_slash = path.ends_with('/');
  switch (kind) {
    case Kind::url:
      return !has_query && (path == "/" || !ends_in_slash);
    case Kind::url_query:
      return has_query && !query.empty() && (path == "/" || !ends_in_slash);
    case Kind::directory:
      return !has_query && ends_in_slash && path != "/";
    case Kind::suffix:
    case Kind::exact_host:
    case Kind::subdomains:
    case Kind::raw:
    case Kind::network:
      return false;
  }
  return false;
}

Entry entry_of(const CanonicalUrl& url, const UrlForm& form) {
  Entry entry{.host_kind = url.host_kind, .host = url.host};
  if (!form.query.empty()) {
    entry.kind = Kind::url_query;
    entry.path = without_trailing_slash(form.path);
    entry.query = form.query;
  } else if (form.path != "/") {
    entry.kind = form.path.ends_with('/') ? Kind::directory : Kind::url;
    entry.path = form.path;
  } else if (url.forms.size() > 1) {
    entry.kind = Kind::url;
    entry.path = form.path;
  } else {
    entry.kind = url.host_kind == HostKind::name ? Kind::suffix : Kind::exact_host;
  }
  return entry;
}

}  // namespace

std::string text_of(const Entry& entry) {
  if (entry.kind == Kind::raw) return std::string(entry.path);
  if (is_host_kind(entry.kind)) return std::string(entry.host);
  const bool queried = entry.kind == Kind::url_query;
  return fmt::format("{}{}{}{}", entry.host, entry.path, queried ? "?" : "", queried ? entry.query : "");
}

bool can_be_asked_for(const Entry& entry) {
  constexpr std::string_view kOctets = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
  if (entry.kind == Kind::raw || entry.host_kind != HostKind::name) return true;
  if (entry.host.size() > kMaxHost || entry.host.find_first_not_of(kOctets) != kNone) return false;
  for (std::size_t begin = 0; begin <= entry.host.size();) {
    const std::size_t end = std::min(entry.host.find('.', begin), entry.host.size());
    if (end - begin > kMaxLabel) return false;
    begin = end + 1;
  }
  return true;
}

ParsedEntry EntryParser::domain(std::string_view text, Kind kind) {
  text = trim_controls(text);
  if (text.empty()) return {.problem = EntryProblem::empty};
  if (is_bare_ipv6(text)) {
    bracketed_.assign(1, '[').append(text).append(1, ']');
    text = bracketed_;
  } else if (text.find_first_of("*/^|?@\\") != kNone) {
    return {.problem = EntryProblem::pattern};
  }
  const CanonicalUrl& host = canonicaliser_.host(text);
  if (!host.has_canonical) return {.problem = EntryProblem::no_host, .url_reason = host.reason};
  if (host.host_kind == HostKind::ipv4 && !is_address_in_full(text)) {
    return {.problem = EntryProblem::no_host, .url_reason = UrlReason::bad_ipv4};
  }
  const bool is_name = host.host_kind == HostKind::name;
  entries_.assign(1, {.kind = is_name ? kind : Kind::exact_host, .host_kind = host.host_kind, .host = host.host});
  return finish(host);
}

ParsedEntry EntryParser::url(std::string_view text) {
  text = trim_controls(text);
  if (text.empty()) return {.problem = EntryProblem::empty};
  if (text.starts_with("http://") || text.starts_with("https://")) return from(canonicaliser_.url(text));
  if (has_text_before_scheme(text)) {
    return {.problem = EntryProblem::no_host, .url_reason = UrlReason::unknown_scheme};
  }
  const CanonicalUrl& url = canonicaliser_.url(text);
  const std::string_view spelt = host_without_scheme(text);
  if (url.has_canonical && url.host_kind == HostKind::ipv4 && !spelt.empty() && !is_address_in_full(spelt)) {
    return {.problem = EntryProblem::no_host, .url_reason = UrlReason::bad_ipv4};
  }
  return from(url);
}

ParsedEntry EntryParser::any(std::string_view text) {
  text = trim_controls(text);
  if (text.starts_with("||")) {
    if (!text.ends_with('^')) return {.problem = EntryProblem::pattern};
    text = text.substr(2, text.size() - 3);
    return text.starts_with("*.") ? domain(text.substr(2), Kind::subdomains) : domain(text);
  }
  if (text.starts_with('|')) {
    if (!text.ends_with('^')) return {.problem = EntryProblem::pattern};
    return domain(text.substr(1, text.size() - 2), Kind::exact_host);
  }
  if (text.starts_with("*.")) return domain(text.substr(2));
  if (text.starts_with('.')) return domain(text.substr(1));
  if (text.find("://") != kNone) return url(text);
  const std::size_t separator = text.find_first_of("@/?\\");
  if (is_range(text) || (separator != kNone && text[separator] == '@')) return {.problem = EntryProblem::pattern};
  const bool is_url = text.find_first_of("/?\\") != kNone || (text.find(':') != kNone && !is_bare_ipv6(text));
  return is_url ? url(text) : domain(text);
}

std::optional<Entry> EntryParser::canonical(Kind kind, std::string_view text) {
  if (kind == Kind::raw) return text.empty() ? std::nullopt : std::optional(Entry{.kind = kind, .path = text});
  const std::size_t slash = is_host_kind(kind) ? text.size() : std::min(text.find('/'), text.size());
  const std::string_view host = text.substr(0, slash);
  const CanonicalUrl& found = canonicaliser_.host(host);
  if (!found.has_canonical || found.host != host || host.find('*') != kNone) return std::nullopt;
  Entry entry{.kind = kind, .host_kind = found.host_kind, .host = host};
  if (is_host_kind(kind)) {
    if (found.host_kind == HostKind::name) return entry;
    if (kind == Kind::subdomains) return std::nullopt;
    entry.kind = Kind::exact_host;  // an address has neither subdomains nor parents
    return entry;
  }
  const std::size_t mark = std::min(text.find('?', slash), text.size());
  entry.path = text.substr(slash, mark - slash);
  entry.query = text.substr(std::min(mark + 1, text.size()));
  const bool fits = entry.path.starts_with('/') && fits_kind(kind, entry.path, mark != text.size(), entry.query);
  if (!fits || !is_canonical_text(entry.path, true) || !is_canonical_text(entry.query, false)) return std::nullopt;
  return entry;
}

ParsedEntry EntryParser::from(const CanonicalUrl& url) {
  if (!url.has_canonical) return {.problem = EntryProblem::no_host, .url_reason = url.reason};
  // "http//example.com", "http://https://example.com": nobody has a host of that name.
  if (is_scheme_name(url.host)) {
    return {.problem = EntryProblem::no_host, .url_reason = UrlReason::unknown_scheme};
  }
  if (url.host.find('*') != kNone) return {.problem = EntryProblem::pattern};
  entries_.clear();
  for (const UrlForm& form : url.forms) {
    const Entry entry = entry_of(url, form);
    if (std::find(entries_.begin(), entries_.end(), entry) == entries_.end()) entries_.push_back(entry);
  }
  return finish(url);
}

ParsedEntry EntryParser::finish(const CanonicalUrl& url) const {
  const Entry& first = entries_.front();
  const bool single = is_host_kind(first.kind) && first.host_kind == HostKind::name && first.host.find('.') == kNone;
  const EntryProblem problem = url.action == UrlAction::reject ? EntryProblem::odd
                               : single                        ? EntryProblem::single_label
                                                               : EntryProblem::none;
  return {.problem = problem, .url_reason = url.reason, .entries = entries_};
}

}  // namespace bloomwall::filter
