// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/sketching_sink.h"

#include <algorithm>

#include "filter/keys/entry_keys.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kKnownHosts = 1024;

unsigned labels_of(const Entry& entry) {
  if (entry.host_kind != HostKind::name) return 0;
  return static_cast<unsigned>(std::count(entry.host.begin(), entry.host.end(), '.')) + 1;
}

}  // namespace

SketchingSink::SketchingSink(const KeyMaker& keys) : keys_(keys), known_(kKnownHosts) {}

const Hash128& SketchingSink::hash_of_host(const Entry& entry) {
  if (entry.host == last_host_ && !last_host_.empty()) return last_hash_;
  last_host_ = entry.host;
  last_hash_ = keys_.host(entry.host);
  sketches_.add_labels(labels_of(entry));
  return last_hash_;
}

void SketchingSink::add(const Entry& entry) {
  if (entry.kind == Kind::raw) {
    const Hash128 key = keys_.raw(entry.path);
    sketches_.add_key(Kind::raw, key, 0);
    return take_key(Kind::raw, key);
  }
  const Hash128& host = hash_of_host(entry);
  const EntryKeys keys = keys_of(keys_, entry, host);
  add_host(host, keys.host_variant);
  if (!is_path_kind(entry.kind)) return;
  sketches_.add_key(entry.kind, keys.key, keys.depth);
  take_key(entry.kind, keys.key);
}

void SketchingSink::add_host(const Hash128& host, Variant variant) {
  KnownHost& known = known_[host.lo % kKnownHosts];
  const std::uint32_t bit = std::uint32_t{1} << variant;
  if (known.key != host) known = {.key = host};
  if ((known.variants & bit) != 0) return;
  known.variants |= bit;
  sketches_.add_host(host, variant);
  take_host(host, variant);
}

KeySink& KeyEstimator::sink(unsigned worker) {
  while (sinks_.size() <= worker) sinks_.push_back(std::make_unique<SketchingSink>(keys_));
  return *sinks_[worker];
}

KeySummary KeyEstimator::summary() const {
  EntrySketches all;
  for (const auto& sink : sinks_) all.merge(sink->sketches());
  return all.summary();
}

}  // namespace bloomwall::filter
