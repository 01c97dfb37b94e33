// Everything that reads a tar archive of lists, on hostile bytes: the first octet is the size of chunks, the rest the
// archive, compressed or not. Beyond memory safety: a tree ends, whatever its links say, and every file in it can be
// read to its end.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "filter/lists/list_archive.h"
#include "tests/fuzz/list_tree.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::filter;

using bloomwall::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t step = data[0] == 0 ? kInputChunkBytes : data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto tree = read_archive(ListInput::of_memory(bytes, "list", step));
  if (!tree) {
    require(!tree.error().what.empty());
    return 0;
  }
  std::set<std::string> seen;
  bloomwall::fuzz::walk_tree(**tree, {}, seen);
  return 0;
}
