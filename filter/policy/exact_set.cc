// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/exact_set.h"

#include <algorithm>

namespace bloomwall::filter {
namespace {

std::string_view without_last_slash(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// Index of the record that `same` accepts among those of this hash, or -1.
template <typename Record, typename Same>
std::uint32_t probe(const std::vector<std::uint32_t>& slots, const std::vector<Record>& records, std::uint64_t hash,
                    Same&& same) {
  if (slots.empty()) return ~std::uint32_t{0};
  const std::size_t mask = slots.size() - 1;
  for (std::size_t at = hash & mask; slots[at] != 0; at = (at + 1) & mask) {
    const std::uint32_t index = slots[at] - 1;
    if (records[index].hash == hash && same(records[index])) return index;
  }
  return ~std::uint32_t{0};
}

void occupy(std::vector<std::uint32_t>& slots, std::uint64_t hash, std::uint32_t index) {
  const std::size_t mask = slots.size() - 1;
  std::size_t at = hash & mask;
  while (slots[at] != 0) at = (at + 1) & mask;
  slots[at] = index + 1;
}

// Enters the last record, which was just appended.
template <typename Record>
void enter_last(std::vector<std::uint32_t>& slots, const std::vector<Record>& records) {
  if (2 * records.size() <= slots.size()) {
    occupy(slots, records.back().hash, static_cast<std::uint32_t>(records.size() - 1));
    return;
  }
  slots.assign(std::max<std::size_t>(16, 2 * slots.size()), 0);
  for (std::size_t i = 0; i < records.size(); ++i) occupy(slots, records[i].hash, static_cast<std::uint32_t>(i));
}

std::size_t host_value_index(Kind kind) { return kind == Kind::suffix ? 0 : kind == Kind::exact_host ? 1 : 2; }

}  // namespace

// The filter's key of a path or raw entry, and how deep its path is.
struct ExactSet::EntryKey {
  Hash128 host, key;
  std::size_t depth = 0;
};

ExactSet::EntryKey ExactSet::key_of(const Entry& entry) const {
  EntryKey result;
  if (entry.kind == Kind::raw) {
    result.key = keys_.raw(entry.path);
    return result;
  }
  result.host = keys_.host(entry.host);
  if (is_host_kind(entry.kind)) return result;
  const UrlForm form{.path = entry.path, .query = entry.query};
  CanonicalUrl url;
  url.host = entry.host;
  url.host_kind = entry.host_kind;
  UrlParts parts(url);
  parts.use_form(form);
  UrlHashes hashes(keys_, parts);
  result.depth = parts.depth();
  const Hash128& path = hashes.path(result.depth);
  result.key = entry.kind == Kind::directory   ? keys_.directory(result.host, path)
               : entry.kind == Kind::url_query ? keys_.url_query(result.host, path, hashes.query())
                                               : keys_.url(result.host, path);
  return result;
}

std::uint64_t ExactSet::store(std::string_view text) {
  text_.append(text);
  return text_.size() - text.size();
}

std::uint32_t ExactSet::find_host(const Hash128& hash, std::string_view wanted) const {
  return probe(host_slots_, hosts_, hash.lo, [&](const Host& h) { return text(h.text, h.length) == wanted; });
}

std::uint32_t ExactSet::find_path(const Hash128& key, const PathText& wanted) const {
  return probe(path_slots_, paths_, key.lo, [&](const Path& p) {
    return p.kind == wanted.kind && p.host == wanted.host && text(p.text, p.path_length) == wanted.path &&
           text(p.text + p.path_length, p.query_length) == wanted.query;
  });
}

std::uint32_t ExactSet::add_host(const Hash128& hash, const Entry& entry) {
  const std::uint32_t known = find_host(hash, entry.host);
  if (known != kNone) return known;
  hosts_.push_back(Host{.hash = hash.lo,
                        .text = store(entry.host),
                        .length = static_cast<std::uint32_t>(entry.host.size()),
                        .values = {},
                        .directory_depths = 0,
                        .has_url = false,
                        .has_query = false});
  enter_last(host_slots_, hosts_);
  const bool is_name = entry.host_kind == HostKind::name;
  const auto dots = static_cast<std::size_t>(std::count(entry.host.begin(), entry.host.end(), '.'));
  label_counts_ |= std::uint64_t{1} << (is_name ? std::min<std::size_t>(dots + 1, 63) : 0);
  return static_cast<std::uint32_t>(hosts_.size() - 1);
}

std::uint32_t& ExactSet::path_value(const Hash128& key, const PathText& wanted) {
  const std::uint32_t known = find_path(key, wanted);
  if (known != kNone) return paths_[known].value;
  const std::uint64_t at = store(wanted.path);
  store(wanted.query);
  paths_.push_back(Path{.hash = key.lo,
                        .text = at,
                        .path_length = static_cast<std::uint32_t>(wanted.path.size()),
                        .query_length = static_cast<std::uint32_t>(wanted.query.size()),
                        .host = wanted.host,
                        .value = 0,
                        .kind = wanted.kind});
  enter_last(path_slots_, paths_);
  ++size_;
  return paths_.back().value;
}

void ExactSet::note_depth(std::uint32_t host, std::size_t depth) {
  if (depth == 0) return;
  hosts_[host].directory_depths |= std::uint64_t{1} << std::min<std::size_t>(depth - 1, kDeepBit);
  if (depth - 1 < kDeepBit) return;
  auto& depths = deep_[host];
  const auto at = std::lower_bound(depths.begin(), depths.end(), depth);
  if (at == depths.end() || *at != depth) depths.insert(at, static_cast<std::uint32_t>(depth));
}

std::uint32_t& ExactSet::at(const Entry& entry) {
  const EntryKey key = key_of(entry);
  if (entry.kind == Kind::raw) return path_value(key.key, {Kind::raw, kNone, entry.path, {}});
  const std::uint32_t host = add_host(key.host, entry);
  if (is_host_kind(entry.kind)) {
    std::uint32_t& value = hosts_[host].values[host_value_index(entry.kind)];
    if (value == 0) ++size_;
    return value;
  }
  if (entry.kind == Kind::url) hosts_[host].has_url = true;
  if (entry.kind == Kind::url_query) hosts_[host].has_query = true;
  if (entry.kind == Kind::directory) note_depth(host, key.depth);
  return path_value(key.key, {entry.kind, host, without_last_slash(entry.path), entry.query});
}

std::uint32_t ExactSet::find(const Entry& entry) const {
  const EntryKey key = key_of(entry);
  std::uint32_t host = kNone;
  if (entry.kind != Kind::raw) {
    host = find_host(key.host, entry.host);
    if (host == kNone) return 0;
    if (is_host_kind(entry.kind)) return hosts_[host].values[host_value_index(entry.kind)];
  }
  const std::string_view path = entry.kind == Kind::raw ? entry.path : without_last_slash(entry.path);
  const std::uint32_t found = find_path(key.key, {entry.kind, host, path, entry.query});
  return found == kNone ? 0 : paths_[found].value;
}

bool ExactSet::may_hold_labels(std::size_t labels) const {
  return ((label_counts_ >> std::min<std::size_t>(labels, 63)) & 1) != 0;
}

void ExactSet::match_host(const Host& host, std::size_t suffix, ExactMatches& matches) const {
  const auto add = [&](Kind kind) {
    const std::uint32_t value = host.values[host_value_index(kind)];
    if (value != 0) matches.push_back({kind, static_cast<std::uint16_t>(suffix), 0, value});
  };
  add(Kind::suffix);
  add(suffix == 0 ? Kind::exact_host : Kind::subdomains);
}

void ExactSet::match_directory(std::uint32_t host, std::size_t suffix, std::size_t depth, UrlHashes& url,
                               ExactMatches& matches) const {
  const Hash128 key = keys_.directory(url.host(suffix), url.path(depth));
  const std::uint32_t found = find_path(key, {Kind::directory, host, url.parts().prefix(depth), {}});
  if (found == kNone || paths_[found].value == 0) return;
  matches.push_back(
      {Kind::directory, static_cast<std::uint16_t>(suffix), static_cast<std::uint32_t>(depth), paths_[found].value});
}

void ExactSet::match_paths(std::uint32_t host, std::size_t suffix, UrlHashes& url, ExactMatches& matches) const {
  UrlParts& parts = url.parts();
  const std::size_t depth = parts.depth();
  const Host& record = hosts_[host];
  const auto add = [&](Kind kind, const Hash128& key, std::string_view query) {
    const std::uint32_t found = find_path(key, {kind, host, parts.prefix(depth), query});
    if (found == kNone || paths_[found].value == 0) return;
    matches.push_back(
        {kind, static_cast<std::uint16_t>(suffix), static_cast<std::uint32_t>(depth), paths_[found].value});
  };
  if (record.has_url) add(Kind::url, keys_.url(url.host(suffix), url.path(depth)), {});
  if (record.has_query && !parts.query().empty()) {
    add(Kind::url_query, keys_.url_query(url.host(suffix), url.path(depth), url.query()), parts.query());
  }
  for (std::size_t d = 1; d <= std::min<std::size_t>(depth, kDeepBit); ++d) {
    if (((record.directory_depths >> (d - 1)) & 1) != 0) match_directory(host, suffix, d, url, matches);
  }
  if ((record.directory_depths >> kDeepBit) == 0) return;
  for (const std::uint32_t d : deep_.at(host)) {
    if (d > depth) break;
    match_directory(host, suffix, d, url, matches);
  }
}

void ExactSet::find_matches(UrlHashes& url, Scope scope, ExactMatches& matches) const {
  const UrlParts& parts = url.parts();
  for (std::size_t suffix = 0; suffix < parts.suffixes(); ++suffix) {
    if (!may_hold_labels(parts.labels(suffix))) continue;
    const std::uint32_t host = find_host(url.host(suffix), parts.suffix(suffix));
    if (host == kNone) continue;
    match_host(hosts_[host], suffix, matches);
    if (scope == Scope::url && hosts_[host].has_paths()) match_paths(host, suffix, url, matches);
  }
}

bool ExactSet::has_path_entries(UrlHashes& url) const {
  const UrlParts& parts = url.parts();
  for (std::size_t suffix = 0; suffix < parts.suffixes(); ++suffix) {
    if (!may_hold_labels(parts.labels(suffix))) continue;
    const std::uint32_t host = find_host(url.host(suffix), parts.suffix(suffix));
    if (host != kNone && hosts_[host].has_paths()) return true;
  }
  return false;
}

}  // namespace bloomwall::filter
