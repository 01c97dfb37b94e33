// Takes a file out of memory, for tests of what has to wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

namespace bloomwall::test {

// What this process has mapped of the file is not mapped any more (the mappings stay), and no page of it is in the page
// cache: the page that holds octet `offset` has been looked at. False: the file system keeps it. Throws where
// the file can't be opened.
bool drop_from_memory(const std::filesystem::path& file, std::size_t offset);

}  // namespace bloomwall::test
