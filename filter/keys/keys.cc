// SPDX-License-Identifier: Apache-2.0

#include "filter/keys/keys.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "filter/url/plain_query.h"

namespace bloomwall::filter {

UrlParts::UrlParts(const CanonicalUrl& url) : url_(url), host_(url.host), is_address_(url.host_kind != HostKind::name) {
  if (host_.empty()) return;
  starts_.push_back(0);
  if (!is_address_) cut_host();
}

// Looks for dots in eight octets at a time: every verdict begins here, and a search from dot to dot cost a fifth of it.
// Canonical hosts that may be looked up have at most 253 octets, hence the 8-bit starts and the bound on suffixes.
void UrlParts::cut_host() {
  constexpr std::uint64_t kDots = 0x2e2e2e2e2e2e2e2eU, kLowBits = 0x7f7f7f7f7f7f7f7fU;
  const std::size_t size = std::min<std::size_t>(host_.size(), std::numeric_limits<std::uint8_t>::max());
  const auto begin_suffix = [this](std::size_t start) {
    if (starts_.size() < kMaxSuffixes) starts_.push_back(static_cast<std::uint8_t>(start));
  };
  std::size_t at = 0;
  for (; at + sizeof(kDots) <= size; at += sizeof(kDots)) {
    std::uint64_t octets;
    std::memcpy(&octets, host_.data() + at, sizeof(octets));
    octets ^= kDots;
    // The high bit of each octet that is 0, and no other bit: the sum of low bits never carries into the next octet.
    std::uint64_t dots = ~(((octets & kLowBits) + kLowBits) | octets | kLowBits);
    for (; dots != 0; dots &= dots - 1) begin_suffix(at + static_cast<std::size_t>(std::countr_zero(dots)) / 8 + 1);
  }
  for (; at < size; ++at) {
    if (host_[at] == '.') begin_suffix(at + 1);
  }
}

const IpAddress* UrlParts::address() {
  if (!is_address_) return nullptr;
  if (!std::exchange(is_address_read_, true)) {
    if (const auto address = address_of(url_)) address_.emplace(*address);
  }
  return address_ ? &*address_ : nullptr;
}

void UrlParts::use_form(const UrlForm& form) {
  form_ = form;
  is_cut_ = false;
  cuts_.clear();
}

void UrlParts::cut_path() {
  is_cut_ = true;
  for (const PathSegment& segment : PathPrefixes(form_.path)) {
    const std::size_t end = segment.prefix.size() - (segment.is_directory ? 1 : 0);
    cuts_.push_back({static_cast<std::uint32_t>(end - segment.text.size()), static_cast<std::uint32_t>(end)});
  }
}

std::size_t UrlParts::depth() {
  if (!is_cut_) cut_path();
  return cuts_.size();
}

std::string_view UrlParts::segment(std::size_t d) {
  if (!is_cut_) cut_path();
  const Cut& cut = cuts_[d - 1];
  return form_.path.substr(cut.begin, cut.end - cut.begin);
}

std::string_view UrlParts::prefix(std::size_t d) {
  if (d == 0) return {};
  if (!is_cut_) cut_path();
  return form_.path.substr(0, cuts_[d - 1].end);
}

UrlHashes::UrlHashes(const KeyMaker& keys, UrlParts& parts) : keys_(&keys), parts_(&parts) {
  hosts_.resize_unset(parts.suffixes());
}

const Hash128& UrlHashes::host(std::size_t suffix) {
  std::uint64_t& known = known_hosts_[suffix / 64];
  const std::uint64_t bit = std::uint64_t{1} << (suffix % 64);
  if ((known & bit) == 0) {
    hosts_[suffix] = keys_->host(parts_->suffix(suffix));
    known |= bit;
  }
  return hosts_[suffix];
}

const Hash128& UrlHashes::path(std::size_t depth) {
  if (paths_.empty()) paths_.push_back(keys_->empty_path());
  while (paths_.size() <= depth) {
    const std::size_t d = paths_.size();
    paths_.push_back(keys_->segment(parts_->segment(d), paths_[d - 1]));
  }
  return paths_[depth];
}

const Hash128& UrlHashes::query(QueryReading reading) {
  Query& query = queries_[static_cast<std::size_t>(reading)];
  if (!query.is_known) query = {.is_known = true, .hash = hash_of_query(*keys_, parts_->query(), reading)};
  return query.hash;
}

Hash128 UrlHashes::key(Kind kind, std::size_t suffix, std::size_t depth, QueryReading reading) {
  if (kind == Kind::url) return keys_->url(host(suffix), path(depth));
  if (kind == Kind::directory) return keys_->directory(host(suffix), path(depth));
  return keys_->url_query(host(suffix), path(depth), query(reading));
}

void UrlHashes::forget_form() {
  paths_.clear();
  queries_ = {};
}

Hash128 hash_of_query(const KeyMaker& keys, std::string_view query, QueryReading reading) {
  if (reading == QueryReading::as_spelt) return keys.hash(query);
  std::string plain;
  set_plain_query(query, plain);
  return keys.hash(plain);
}

namespace {

EntryKeys path_keys(const KeyMaker& keys, const Entry& entry, const Hash128& host) {
  Hash128 path = keys.empty_path();
  std::uint32_t depth = 0;
  for (const PathSegment& segment : PathPrefixes(entry.path)) {
    path = keys.segment(segment.text, path);
    ++depth;
  }
  EntryKeys out{.kind = entry.kind, .host = host};
  if (entry.kind == Kind::url) {
    out.host_variant = kVariantMarkUrl;
    out.key = keys.url(host, path);
  } else if (entry.kind == Kind::url_query) {
    out.host_variant = kVariantMarkQuery;
    out.key = keys.url_query(host, path, hash_of_query(keys, entry.query, keys.queries()));
  } else {
    out.host_variant = directory_mark(depth);
    out.key = keys.directory(host, path);
    out.depth = depth;
  }
  return out;
}

}  // namespace

CanonicalUrl host_of(const Entry& entry) {
  CanonicalUrl url;
  url.action = UrlAction::lookup;
  url.reason = UrlReason::none;
  url.has_canonical = true;
  url.host = entry.host;
  url.host_kind = entry.host_kind;
  return url;
}

EntryKeys keys_of(const KeyMaker& keys, const Entry& entry, const Hash128& host) {
  if (is_path_kind(entry.kind)) return path_keys(keys, entry, host);
  if (is_host_kind(entry.kind)) return {.kind = entry.kind, .host = host, .host_variant = host_variant(entry.kind)};
  return {.kind = Kind::raw, .key = keys.raw(entry.path)};
}

}  // namespace bloomwall::filter
