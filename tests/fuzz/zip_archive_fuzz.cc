// Everything that reads a zip archive of lists, on hostile bytes. Beyond memory safety: a tree ends, and every file in
// it can be read to its end.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "filter/lists/list_archive.h"
#include "tests/fuzz/list_tree.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tree = bloomwall::filter::read_zip({reinterpret_cast<const char*>(data), size}, "list");
  if (!tree) {
    bloomwall::fuzz::require(!tree.error().what.empty());
    return 0;
  }
  std::set<std::string> seen;
  bloomwall::fuzz::walk_tree(**tree, {}, seen);
  return 0;
}
