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
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::filter;

using bloomwall::fuzz::require;

// Folders that have several names are looked through once.
void walk(const ListTree& tree, const std::string& folder, std::set<std::string>& seen) {
  const auto real = tree.real(folder);
  if (!real || !seen.insert(*real).second) return;
  const auto contents = tree.contents_of(folder);
  if (!contents) return;
  for (const std::string& file : contents->files) {
    const std::string path = below(folder, file);
    require(tree.is_file(path) && tree.shown(path).starts_with("list:"));
    auto input = tree.open(path);
    require(input.has_value());
    while (true) {
      const auto chunk = input->next();
      if (!chunk) break;
      if (!chunk->empty()) continue;
      require(input->stored_bytes() == input->stored_total());
      break;
    }
  }
  for (const std::string& name : contents->folders) walk(tree, below(folder, name), seen);
}

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
  walk(**tree, {}, seen);
  return 0;
}
