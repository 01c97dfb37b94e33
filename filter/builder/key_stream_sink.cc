// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_stream_sink.h"

#include <fmt/format.h>

namespace bloomwall::filter {
namespace {

Error unannounced(std::string_view what) {
  return {Errc::usage, {}, fmt::format("there are {}, for which no room was planned (see --kinds)", what)};
}

}  // namespace

KeyStream::Sink::Sink(State& shared)
    : SketchingSink(shared.keys), shared_(shared), stage_(shared.pool, shared.partitions.size()) {}

void KeyStream::Sink::take_host(const Hash128& host, Variant variant) {
  if (!shared_.hosts_section) return shared_.fail(unannounced("entries with a host"));
  const SectionView view = shared_.hosts_section->view();
  const Place place = view.place(host);
  view.prefetch_all(place);
  waiting_[waiting_count_++] = {.place = place, .variant = variant};
  if (waiting_count_ == waiting_.size()) set_host_bits();
}

void KeyStream::Sink::set_host_bits() {
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    shared_.hosts_section->insert(waiting_[i].place, waiting_[i].variant);
  }
  waiting_count_ = 0;
}

void KeyStream::Sink::take_key(Kind kind, const Hash128& key) {
  const std::optional<State::Target>& target = kind == Kind::raw ? shared_.raw : shared_.paths;
  if (!target) {
    return shared_.fail(unannounced(fmt::format("entries of kind {}", static_cast<char>(kind))));
  }
  const Place place = place_of(target->geometry, kind == Kind::raw ? SectionKind::raw : SectionKind::paths, key);
  const unsigned bits = shared_.partitions.page_bits();
  const std::uint64_t in_partition = place.page & ((std::uint64_t{1} << bits) - 1);
  const std::size_t partition = target->first_partition + (place.page >> bits);
  if (stage_.add(partition, {.page = in_partition, .fingerprint = place.fingerprint})) return;
  shared_.make_room(stage_, partition);
}

void KeyStream::Sink::flush() {
  if (waiting_count_ > 0) set_host_bits();
}

}  // namespace bloomwall::filter
