// Tar archives of lists (ustar, pax, GNU), as UT1 (Toulouse) publishes them, compressed as any list may be. An archive
// is read once, from end to end, into a file without a name in the folder for temporary files ($TMPDIR), from which
// its lists are then read in any order. No name in it becomes one on the disk. Where all of it is in one folder, that
// folder is the root.
// Refused: an archive that is cut or damaged anywhere, names that lead out of it, more than kMaxFolderFiles files and
// folders, or kMaxArchiveBytes.
// libarchive reads the tar format and nothing else. Decompression is decoder.h: libarchive 3.6 does not verify
// the checksum of gzip, takes whatever follows a gzip, bzip2 or lz4 stream for its end, and sets no limit on the memory
// that xz asks for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "filter/lists/list_folder.h"

namespace bloomwall::filter {

inline constexpr std::uint64_t kMaxArchiveBytes = std::uint64_t{8} << 30;

// What `path` holds; null where it is no tar archive, or where its first block can't be read: whoever reads it as a
// list says why then.
Result<std::shared_ptr<const ListTree>> open_archive(const std::string& path);

// The same of an input that is known to be an archive.
Result<std::shared_ptr<const ListTree>> read_archive(ListInput input);

}  // namespace bloomwall::filter
