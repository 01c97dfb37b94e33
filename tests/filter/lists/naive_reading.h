// A second, naive reading of list formats for comparison: slow, by regular expressions and whole strings, and sharing
// no code with the parsers. A line that it does not settle gives nothing and is left out of the comparison.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace bloomwall::filter::test {

using Entries = std::vector<std::string>;
using NaiveReading = std::function<std::optional<Entries>(const std::string&)>;

inline bool naive_is_address(const std::string& host) {
  static const std::regex address(R"((0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3})");
  return std::regex_match(host, address);
}

// A host in lower case, or nothing.
inline bool naive_is_simple(const std::string& host) {
  bool simple = !host.empty() && host.front() != '.' && host.back() != '.';
  for (const char c : host)
    simple = simple && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_');
  return simple && host.find("..") == std::string::npos;
}

inline std::optional<Entries> naive_host(std::string host, char kind) {
  for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (host.ends_with('.')) host.pop_back();
  if (!naive_is_simple(host)) return std::nullopt;
  if (naive_is_address(host)) return Entries{"X " + host};
  const std::string last = host.substr(host.rfind('.') + 1);
  if (last.find_first_not_of("0123456789") == std::string::npos)
    return std::nullopt;  // perhaps an odd spelling of an address
  return Entries{std::string(1, kind) + " " + host};
}

inline bool naive_is_comment(const std::string& line) { return line.empty() || line.front() == '#'; }

inline NaiveReading naive_domains() {
  return [](const std::string& line) {
    static const std::regex refused(R"(-.*|(.*\.)?(-[^.]*|[^.]*-)\.[^.]+)");  // hyphens where no registry allows them
    return naive_is_comment(line) || std::regex_match(line, refused) ? Entries{} : naive_host(line, 'S');
  };
}

inline NaiveReading naive_hosts() {
  return [](const std::string& line) -> std::optional<Entries> {
    static const std::regex sink(R"((0\.0\.0\.0|127\.0\.0\.1)\s+(\S+)\s*(#.*)?)");
    std::smatch match;
    if (naive_is_comment(line) || !std::regex_match(line, match, sink)) return Entries{};
    const std::string name = match[2];
    const bool boilerplate =
        name.find('.') == std::string::npos || name == "localhost.localdomain" || name == "0.0.0.0";
    return boilerplate ? Entries{} : naive_host(name, 'X');
  };
}

inline NaiveReading naive_wildcard() {
  return [](const std::string& line) { return naive_is_comment(line) ? Entries{} : naive_host(line.substr(2), 'S'); };
}

inline NaiveReading naive_dnsmasq() {
  return [](const std::string& line) -> std::optional<Entries> {
    static const std::regex stops(R"((?:address=/([^/]+)/#|server=/([^/]+)/))");
    std::smatch match;
    if (!std::regex_match(line, match, stops)) return Entries{};
    return naive_host(match[1].matched ? match[1] : match[2], 'S');
  };
}

inline NaiveReading naive_unbound() {
  return [](const std::string& line) -> std::optional<Entries> {
    static const std::regex stops(R"re(local-zone: "(.*)\." always_null)re");
    std::smatch match;
    return std::regex_match(line, match, stops) ? naive_host(match[1], 'S') : Entries{};
  };
}

// Every name comes twice, first as "x" and then as "*.x".
inline NaiveReading naive_rpz() {
  return [](const std::string& line) -> std::optional<Entries> {
    static const std::regex stops(R"(([^*\s;]\S*)\.\s+CNAME\s+\.)");
    std::smatch match;
    return std::regex_match(line, match, stops) ? naive_host(match[1], 'S') : Entries{};
  };
}

// `rest` is what follows "scheme://". Left open: whatever the canonical form may spell otherwise.
inline std::optional<Entries> naive_url(const std::string& rest, bool as_prefix) {
  const std::size_t end = rest.find_first_of("/?#");
  const std::string host = rest.substr(0, end);
  if (!naive_is_simple(host)) return std::nullopt;
  std::string path = end == std::string::npos ? "/" : rest.substr(end);
  path = path.substr(0, path.find('#'));
  if (path.empty() || path.front() != '/' || path.find_first_of("%\\ \t\"") != std::string::npos) return std::nullopt;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f) return std::nullopt;
  }
  const std::size_t mark = path.find('?');
  const std::string query = mark == std::string::npos ? "" : path.substr(mark + 1);
  path = path.substr(0, mark);
  if (path.find("//") != std::string::npos || path.find("/.") != std::string::npos) return std::nullopt;
  if (query.empty() && path == "/") return naive_host(host, 'S');
  if (!naive_is_address(host) && naive_host(host, 'S').value_or(Entries{}).empty()) return std::nullopt;
  if (!query.empty()) {
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return Entries{"Q " + host + path + "?" + query};
  }
  if (path.ends_with('/')) return Entries{"D " + host + path};
  if (as_prefix) return Entries{"U " + host + path, "D " + host + path + "/"};
  return Entries{"U " + host + path};
}

// "&amp;" stands for itself and for '&'.
inline NaiveReading naive_urls() {
  return [](const std::string& line) -> std::optional<Entries> {
    const std::string lower = line.substr(0, line.find("://"));
    const bool known = lower == "http" || lower == "https";
    if (!known || line.substr(0, line.find('?')).ends_with("/*")) return std::nullopt;  // the directory
    auto entries = naive_url(line.substr(lower.size() + 3), false);
    const std::string plain = std::regex_replace(line, std::regex("&amp;"), "&");
    if (!entries || plain == line) return entries;
    const auto more = naive_url(plain.substr(lower.size() + 3), false);
    if (!more) return std::nullopt;
    entries->insert(entries->end(), more->begin(), more->end());
    return entries;
  };
}

// As naive_urls(), but in a list '*' stands for anything.
inline NaiveReading naive_url_list() {
  return [](const std::string& line) -> std::optional<Entries> {
    return line.substr(0, line.find('#')).find('*') == std::string::npos ? naive_urls()(line) : std::nullopt;
  };
}

inline NaiveReading naive_squidguard_urls() {
  return [](const std::string& line) -> std::optional<Entries> {
    static const std::regex range(R"([0-9.]+/\d{1,3})");  // of addresses, unless bits are set beyond the prefix
    if (std::regex_match(line, range)) return std::nullopt;
    return naive_is_comment(line) ? Entries{} : naive_url(line, true);
  };
}

// date,URL,description; records with quotes are left open.
inline NaiveReading naive_jpcert() {
  return [](const std::string& line) -> std::optional<Entries> {
    if (line.find('"') != std::string::npos) return std::nullopt;
    const std::size_t first = line.find(',');
    const std::size_t second = line.find(',', first + 1);
    if (first == std::string::npos || second == std::string::npos) return Entries{};
    const std::string url = line.substr(first + 1, second - first - 1);
    if (url == "URL") return Entries{};
    return naive_urls()(url);
  };
}

// Ports are taken off: two in five URLs of that feed have one.
inline NaiveReading naive_urlhaus() {
  return [](const std::string& line) -> std::optional<Entries> {
    static const std::regex record(R"re("\d+","[^"]*","https?://([^"/:]+)(:\d+)?([^"]*)",.*)re");
    std::smatch match;
    if (naive_is_comment(line)) return Entries{};
    if (!std::regex_match(line, match, record)) return std::nullopt;
    return naive_url(std::string(match[1]) + std::string(match[3]), false);
  };
}

// Rules that begin with "||" or name page content; the rest is left open.
inline NaiveReading naive_adblock() {
  return [](const std::string& line) -> std::optional<Entries> {
    static const std::regex content(R"([^|$/]*#[@?$%]{0,2}#.*)");
    static const std::regex rule(
        R"(\|\|([a-z0-9_.-]+)(\^?)(/[^*^|?$]*)?(\^|\|)?(?:\$((?:document|doc|all|popup)(?:,(?:document|doc|all|popup))*))?)");
    static const std::regex narrowed(
        R"(\|\|[^$]*\$.*(third-party|popup|script|image|domain|subdocument|xmlhttprequest|ping|media|websocket|stylesheet|object|rewrite|csp|badfilter|other).*)");
    std::smatch match;
    if (line.empty() || line.front() == '!' || line.front() == '[' || std::regex_match(line, content)) return Entries{};
    static const std::regex one_host(R"(\|([a-z0-9_-]+(?:\.[a-z0-9_-]+)+)\^)");
    if (std::regex_match(line, match, one_host)) return naive_host(match[1], 'X');
    if (!line.starts_with("||")) return line.starts_with("@@") ? std::nullopt : std::optional(Entries{});
    if (!std::regex_match(line, match, rule)) {
      // What is left: wildcards, separators in the middle, ports; or modifiers that narrow. Queries are left open.
      if (line.find('?') != std::string::npos) return std::nullopt;
      return Entries{};
    }
    const std::string modifiers = match[5];
    const bool document = modifiers.find("doc") != std::string::npos || modifiers.find("all") != std::string::npos;
    if (modifiers.find("popup") != std::string::npos && !document) return Entries{};
    const std::string host = match[1];
    const std::string path = match[3];
    const bool separator = match[2].length() > 0;
    const bool ended = match[4].length() > 0;
    if (path.empty() && !separator && (host.ends_with('.') || host.find('.') == std::string::npos)) return Entries{};
    if (separator && (!path.empty() || ended)) return Entries{};
    if (path.empty() || path == "/") return naive_host(host, 'S');
    if (ended) return std::nullopt;
    return naive_url(host + path, true);
  };
}

// Sections and joined lines are followed with the aliases that the file defines.
inline NaiveReading naive_privoxy() {
  struct State {
    std::string joined;
    char effect = '0';
    bool patterns = false;
  };
  auto state = std::make_shared<State>();
  return [state](std::string line) -> std::optional<Entries> {
    line = line.substr(0, line.find('#'));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (line.ends_with('\\')) {
      state->joined += line.substr(0, line.size() - 1);
      return Entries{};
    }
    line = state->joined + line;
    state->joined.clear();
    if (line.starts_with("{")) {
      static const std::regex blocks(R"(\+block([ {}]|-as-image).*)");
      static const std::regex unblocks(R"(([ {]-block[ }]|\{(fragile|allow-ads)\}).*)");
      state->patterns = !line.starts_with("{{");
      state->effect = std::regex_search(line, blocks, std::regex_constants::match_any)     ? '+'
                      : std::regex_search(line, unblocks, std::regex_constants::match_any) ? '-'
                                                                                           : '0';
      return Entries{};
    }
    static const std::regex host(R"((\.?)([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)/?)");
    std::smatch match;
    if (!state->patterns || state->effect == '0' || !std::regex_match(line, match, host)) return Entries{};
    auto entries = naive_host(match[2], match[1].length() > 0 ? 'S' : 'X');
    if (entries && state->effect == '-') {
      std::string& first = entries->front();
      first = first.starts_with("X ") ? "allow @@|" + first.substr(2) + "^" : "allow" + first.substr(1);
    }
    return entries;
  };
}

}  // namespace bloomwall::filter::test
