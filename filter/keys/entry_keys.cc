// SPDX-License-Identifier: Apache-2.0
#include "filter/keys/entry_keys.h"

#include "filter/keys/split.h"

namespace bloomwall::filter {
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
    out.key = keys.url_query(host, path, keys.hash(entry.query));
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
