// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/exact_set.h"

#include <algorithm>
#include <bit>

#include "filter/url/plain_query.h"

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
               : entry.kind == Kind::url_query ? keys_.url_query(result.host, path, hashes.query(keys_.queries()))
                                               : keys_.url(result.host, path);
  return result;
}

std::uint64_t ExactSet::store(std::string_view text) {
  text_.append(text);
  return text_.size() - text.size();
}

bool ExactSet::is_same_query(std::string_view stored, std::string_view asked) const {
  if (stored == asked || keys_.queries() == QueryReading::as_spelt) return stored == asked;
  std::string a, b;
  set_plain_query(stored, a);
  set_plain_query(asked, b);
  return a == b;
}

std::uint32_t ExactSet::find_host(const Hash128& hash, std::string_view wanted) const {
  return probe(host_slots_, hosts_, hash.lo, [&](const Host& h) { return text(h.text, h.length) == wanted; });
}

std::uint32_t ExactSet::find_path(const Hash128& key, const PathText& wanted) const {
  return probe(path_slots_, paths_, key.lo, [&](const Path& p) {
    return p.kind == wanted.kind && p.host == wanted.host && text(p.text, p.path_length) == wanted.path &&
           is_same_query(text(p.text + p.path_length, p.query_length), wanted.query);
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
  std::uint32_t& value = own_value(entry);
  if (value != 0) return value;
  if (base_ != nullptr) value = base_->find(entry);
  if (value == 0) ++size_;
  return value;
}

std::uint32_t& ExactSet::own_value(const Entry& entry) {
  const EntryKey key = key_of(entry);
  if (entry.kind == Kind::raw) return path_value(key.key, {Kind::raw, kNone, entry.path, {}});
  const std::uint32_t host = add_host(key.host, entry);
  if (is_host_kind(entry.kind)) return hosts_[host].values[host_value_index(entry.kind)];
  if (entry.kind == Kind::url) hosts_[host].has_url = true;
  if (entry.kind == Kind::url_query) hosts_[host].has_query = true;
  if (entry.kind == Kind::directory) note_depth(host, key.depth);
  return path_value(key.key, {entry.kind, host, without_last_slash(entry.path), entry.query});
}

std::uint32_t ExactSet::find(const Entry& entry) const {
  const EntryKey key = key_of(entry);
  std::uint32_t host = kNone, value = 0;
  if (entry.kind != Kind::raw) host = find_host(key.host, entry.host);
  if (is_host_kind(entry.kind)) {
    value = host == kNone ? 0 : hosts_[host].values[host_value_index(entry.kind)];
  } else if (host != kNone || entry.kind == Kind::raw) {
    const std::string_view path = entry.kind == Kind::raw ? entry.path : without_last_slash(entry.path);
    const std::uint32_t found = find_path(key.key, {entry.kind, host, path, entry.query});
    value = found == kNone ? 0 : paths_[found].value;
  }
  return value != 0 || base_ == nullptr ? value : base_->find(entry);
}

bool ExactSet::may_hold_labels(std::size_t labels) const {
  const std::uint64_t counts = label_counts_ | (base_ == nullptr ? 0 : base_->label_counts_);
  return ((counts >> std::min<std::size_t>(labels, 63)) & 1) != 0;
}

const ExactSet::Host* ExactSet::host_of(UrlHashes& url, std::size_t suffix) const {
  const UrlParts& parts = url.parts();
  if (((label_counts_ >> std::min<std::size_t>(parts.labels(suffix), 63)) & 1) == 0) return nullptr;
  const std::uint32_t host = find_host(url.host(suffix), parts.suffix(suffix));
  return host == kNone ? nullptr : &hosts_[host];
}

ExactSet::Layers ExactSet::layers_of(UrlHashes& url, std::size_t suffix) const {
  return {.own = host_of(url, suffix), .base = base_ == nullptr ? nullptr : base_->host_of(url, suffix)};
}

// Of a path entry on a host of this very set; 0: there is none.
std::uint32_t ExactSet::value_of(const Host* host, Kind kind, const Hash128& key, std::string_view path,
                                 std::string_view query) const {
  if (host == nullptr) return 0;
  const std::uint32_t found = find_path(key, {kind, static_cast<std::uint32_t>(host - hosts_.data()), path, query});
  return found == kNone ? 0 : paths_[found].value;
}

// Depths from 64 on at which this set has directories on the host.
std::span<const std::uint32_t> ExactSet::deep_of(const Host* host) const {
  if (host == nullptr || (host->directory_depths >> kDeepBit) == 0) return {};
  return deep_.at(static_cast<std::uint32_t>(host - hosts_.data()));
}

void ExactSet::match_host(const Layers& host, std::size_t suffix, ExactMatches& matches) {
  for (const Kind kind : {Kind::suffix, suffix == 0 ? Kind::exact_host : Kind::subdomains}) {
    std::uint32_t value = host.own == nullptr ? 0 : host.own->values[host_value_index(kind)];
    if (value == 0 && host.base != nullptr) value = host.base->values[host_value_index(kind)];
    if (value != 0) matches.push_back({kind, static_cast<std::uint16_t>(suffix), 0, value});
  }
}

void ExactSet::match_paths(const Layers& host, std::size_t suffix, UrlHashes& url, ExactMatches& matches) const {
  UrlParts& parts = url.parts();
  const std::size_t depth = parts.depth();
  const auto add = [&](Kind kind, std::size_t at_depth, const Hash128& key, std::string_view query) {
    std::uint32_t value = value_of(host.own, kind, key, parts.prefix(at_depth), query);
    if (value == 0 && host.base != nullptr)
      value = base_->value_of(host.base, kind, key, parts.prefix(at_depth), query);
    if (value == 0) return;
    matches.push_back({kind, static_cast<std::uint16_t>(suffix), static_cast<std::uint32_t>(at_depth), value});
  };
  const auto add_directory = [&](std::size_t d) {
    add(Kind::directory, d, keys_.directory(url.host(suffix), url.path(d)), {});
  };
  const auto has = [&](bool Host::* any) {
    return (host.own != nullptr && host.own->*any) || (host.base != nullptr && host.base->*any);
  };
  if (has(&Host::has_url)) add(Kind::url, depth, keys_.url(url.host(suffix), url.path(depth)), {});
  if (has(&Host::has_query) && !parts.query().empty()) {
    add(Kind::url_query, depth, keys_.url_query(url.host(suffix), url.path(depth), url.query(keys_.queries())),
        parts.query());
  }
  const std::uint64_t depths =
      (host.own == nullptr ? 0 : host.own->directory_depths) | (host.base == nullptr ? 0 : host.base->directory_depths);
  for (std::size_t d = 1; d <= std::min<std::size_t>(depth, kDeepBit); ++d) {
    if (((depths >> (d - 1)) & 1) != 0) add_directory(d);
  }
  if ((depths >> kDeepBit) == 0) return;
  auto own = deep_of(host.own), base = host.base == nullptr ? own.last(0) : base_->deep_of(host.base);
  while (!own.empty() || !base.empty()) {
    const std::uint32_t d = base.empty() || (!own.empty() && own.front() < base.front()) ? own.front() : base.front();
    if (d > depth) break;
    if (!own.empty() && own.front() == d) own = own.subspan(1);
    if (!base.empty() && base.front() == d) base = base.subspan(1);
    add_directory(d);
  }
}

void ExactSet::find_matches(UrlHashes& url, Scope scope, ExactMatches& matches) const {
  const std::size_t suffixes = url.parts().suffixes();
  for (std::size_t suffix = 0; suffix < suffixes; ++suffix) {
    const Layers host = layers_of(url, suffix);
    if (host.empty()) continue;
    match_host(host, suffix, matches);
    if (scope == Scope::url && host.has_paths()) match_paths(host, suffix, url, matches);
  }
}

std::optional<ExactSet::PathMark> ExactSet::path_mark(UrlHashes& url) const {
  const std::size_t suffixes = url.parts().suffixes();
  for (std::size_t i = 0; i < suffixes; ++i) {
    const Layers host = layers_of(url, i);
    if (!host.has_paths()) continue;
    const auto suffix = static_cast<std::uint16_t>(i);
    const auto has = [&](bool Host::* any) {
      return (host.own != nullptr && host.own->*any) || (host.base != nullptr && host.base->*any);
    };
    if (has(&Host::has_url)) return PathMark{suffix, Kind::url, 0};
    if (has(&Host::has_query)) return PathMark{suffix, Kind::url_query, 0};
    const std::uint64_t depths = (host.own == nullptr ? 0 : host.own->directory_depths) |
                                 (host.base == nullptr ? 0 : host.base->directory_depths);
    const auto least = static_cast<std::uint32_t>(std::countr_zero(depths)) + 1;
    return PathMark{suffix, Kind::directory, std::min<std::uint32_t>(least, kDeepestMark)};
  }
  return std::nullopt;
}

}  // namespace bloomwall::filter
