// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/builder/real_lists.h"

#include <cmath>

#include "filter/policy/query.h"

namespace bloomwall::test {
namespace {

using namespace filter;

std::string key(Kind kind, std::string_view text) { return static_cast<char>(kind) + std::string(text); }

// "host", "host/a", "host/a?q", "host/a/"; U and Q as they are looked up: without a slash at the end.
std::string expression(const StoredEntry& e) {
  std::string out = e.host;
  if (!is_path_kind(e.kind)) return out;
  std::string path = e.path;
  while (path.ends_with('/')) path.pop_back();
  out += path;
  if (e.kind == Kind::directory) out += '/';
  if (e.kind == Kind::url_query) out += '?' + e.query;
  return out;
}

}  // namespace

std::filesystem::path lists_folder() {
  const std::filesystem::path folder = BLOOMWALL_SOURCE_DIR "/../shared/lists";
  return std::filesystem::is_directory(folder) ? folder : std::filesystem::path();
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> out;
  auto input = ListInput::open(path.string());
  if (!input) return out;
  LineBlocks blocks(*input);
  for (LineBlock block;;) {
    const auto more = blocks.next(block);
    if (!more || !*more) return out;
    for (LineWalk lines(block.text); lines.next();) out.emplace_back(lines.line());
  }
}

std::vector<std::string> benign_urls(bool urls, bool domains) {
  std::vector<std::string> out;
  const auto folder = lists_folder();
  if (urls) {
    for (const char* name : {"benign-urls/kasztp.txt.zst", "benign-urls/iscx-url2016-benign.txt.zst"}) {
      for (std::string& line : lines_of(folder / name)) out.push_back(std::move(line));
    }
  }
  if (!domains) return out;
  for (const std::string& line : lines_of(folder / "benign-domains/alexa-top100k-2016.txt.zst")) {
    if (!line.empty() && line[0] != '#') out.push_back("http://" + line + "/");
  }
  for (const std::string& line : lines_of(folder / "benign-domains/china-accelerated.conf.zst")) {
    const std::size_t from = line.find('/');
    const std::size_t to = line.find('/', from + 1);
    if (line.starts_with("server=/") && to != std::string::npos) {
      out.push_back("http://" + line.substr(from + 1, to - from - 1) + "/");
    }
  }
  return out;
}

Result<void> ExactEntries::read(const std::string& argument, const ReadOptions& options) {
  const auto files = expand_list(argument);
  if (!files) return unexpected(files.error());
  for (const ListFile& file : *files) {
    if (const auto report = read_list(file, options, *this); !report) return unexpected(report.error());
  }
  return {};
}

void ExactEntries::entry(const Entry& entry, std::uint64_t /*line*/) {
  const StoredEntry& e = entries_.emplace_back(StoredEntry{entry.kind, entry.host_kind, std::string(entry.host),
                                                           std::string(entry.path), std::string(entry.query)});
  set_.insert(key(e.kind, expression(e)));
  if (is_path_kind(e.kind)) marked_.insert(e.host);
}

void ExactEntries::allow(std::string_view /*text*/, std::uint64_t /*line*/) {}

bool ExactEntries::has(Kind kind, std::string_view text) const { return set_.count(key(kind, text)) != 0; }

bool ExactEntries::holds(std::string_view host, bool is_parent, const UrlForm& form) const {
  if (has(Kind::suffix, host) || has(is_parent ? Kind::subdomains : Kind::exact_host, host)) return true;
  std::string path(form.path);
  while (path.ends_with('/')) path.pop_back();
  const std::string whole = std::string(host) + path;
  if (has(Kind::url, whole)) return true;
  if (!form.query.empty() && has(Kind::url_query, whole + '?' + std::string(form.query))) return true;
  for (std::size_t end = path.find('/', 1); !path.empty(); end = path.find('/', end + 1)) {
    if (has(Kind::directory, std::string(host) + path.substr(0, end) + '/')) return true;
    if (end == std::string::npos) break;
  }
  return false;
}

bool ExactEntries::holds(const CanonicalUrl& url) const {
  for (const UrlForm& form : url.forms) {
    std::string_view host = url.host;
    while (true) {
      if (holds(host, host.size() != url.host.size(), form)) return true;
      const std::size_t dot = host.find('.');
      if (dot == std::string_view::npos || url.host_kind != HostKind::name) break;
      host.remove_prefix(dot + 1);
    }
  }
  return false;
}

bool ExactEntries::has_marks(const CanonicalUrl& url) const {
  std::string_view host = url.host;
  while (marked_.count(std::string(host)) == 0) {
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos || url.host_kind != HostKind::name) return false;
    host.remove_prefix(dot + 1);
  }
  return true;
}

Missing find_missing(const FilterFile& file, const std::vector<StoredEntry>& entries) {
  Missing out;
  const FilterQuery query(file);
  Canonicaliser canonicaliser;
  for (const StoredEntry& e : entries) {
    ++out.asked;
    std::string host = e.kind == Kind::subdomains ? "any." + e.host : e.host;
    const std::string path = e.kind == Kind::directory ? e.path + "any" : e.path.empty() ? "/" : e.path;
    const UrlForm form{.path = path, .query = e.query, .has_query_mark = !e.query.empty()};
    CanonicalUrl url;
    url.action = UrlAction::lookup;
    url.has_canonical = true;
    url.host = host;
    url.host_kind = e.host_kind;
    url.forms = {&form, 1};
    bool found = query.url(url).has_value();
    // The same as somebody would type it; forms of ambiguous paths can't be typed, odd hosts are refused.
    const std::string text = "http://" + host + path + (e.query.empty() ? "" : "?" + e.query);
    if (const CanonicalUrl& typed = canonicaliser.url(text);
        typed.action == UrlAction::lookup && typed.text() == text) {
      ++out.by_text;
      found = found && query.url(typed).has_value();
    }
    if (found) continue;
    if (++out.missing == 1) out.first = key(e.kind, text);
  }
  return out;
}

FalsePositives count_false_positives(const FilterFile& file, const ExactEntries& exact,
                                     const std::vector<std::string>& urls) {
  FalsePositives out;
  const FilterQuery query(file);
  Canonicaliser canonicaliser;
  for (const std::string& text : urls) {
    const CanonicalUrl& url = canonicaliser.url(text);
    if (url.action != UrlAction::lookup) continue;
    if (exact.holds(url)) {
      ++out.held;
      continue;
    }
    const bool hit = query.url(url).has_value();
    if (exact.has_marks(url)) {
      ++out.listed;
      out.listed_hits += hit ? 1 : 0;
    } else {
      ++out.unlisted;
      out.unlisted_hits += hit ? 1 : 0;
    }
  }
  return out;
}

double most_hits(double asked, double rate) { return asked * rate + 3 * std::sqrt(asked * rate); }

}  // namespace bloomwall::test
