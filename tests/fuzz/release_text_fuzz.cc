// Hostile bytes as a ring, a release and the signatures behind them: what is accepted is octet for octet what is
// written again, and the names of its files stay below the filter's folder.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter/policy/delta_signature.h"
#include "filter/release/release_text.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::filter;
using bloomwall::fuzz::require;

bool stays_below(std::string_view path) {
  return !path.starts_with('/') && !path.starts_with('.') && path.find("..") != 0 &&
         path.find("/.") == std::string_view::npos && path.find_first_of(":%\\?#@ ") == std::string_view::npos;
}

void check(std::string_view text) {
  if (const auto ring = parse_ring(text, "ring")) {
    require(text_of(*ring) == text && ring->valid_until > ring->created);
  } else {
    require(ring.error().where.starts_with("ring") && !ring.error().what.empty());
  }
  if (const auto release = parse_release(text, "release")) {
    require(text_of(*release) == text && stays_below(release->base.file));
    require(!release->exact || stays_below(release->exact->file));
    require(!release->delta || stays_below(release->delta->file));
  } else {
    require(release.error().where.starts_with("release") && !release.error().what.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  if (const auto parts = split_signatures(text, "text")) check(parts->text);
  return 0;
}
