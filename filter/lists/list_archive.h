// Archives of lists: tar (ustar, pax, GNU), as UT1 (Toulouse) publishes them, compressed as any list may be; zip, as
// URLhaus publishes its list. An archive is read once, from end to end, into a file without a name in the folder for
// temporary files ($TMPDIR), from which its lists are then read in any order. No name in it becomes one on the disk.
// Where all of it is in one folder, that folder is the root.
// Refused: an archive that is cut, damaged or encrypted anywhere, names that lead out of it, more than kMaxFolderFiles
// files and folders, or kMaxArchiveBytes; a file with holes, which no list has; a zip archive that unpacks to more than
// kMaxZipRatio times its size and kMostZipBytes. An archive within an archive is not opened.
// libarchive reads the formats tar and zip and nothing else. Decompression is decoder.h: libarchive 3.6 does not verify
// the checksum of gzip, takes whatever follows a gzip, bzip2 or lz4 stream for its end, and sets no limit on the memory
// that xz asks for. The directory of a zip archive is held while it is read: at most about five times the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "filter/lists/list_folder.h"

namespace bloomwall::filter {

inline constexpr std::uint64_t kMaxArchiveBytes = std::uint64_t{8} << 30;

// Lists are a tenth to a third of their size when they are compressed.
inline constexpr std::uint64_t kMaxZipRatio = 200;
inline constexpr std::uint64_t kMostZipBytes = std::uint64_t{64} << 20;

// Counted while it is unpacked: what the files take, and of a tar archive all that its compression gives.
struct UnpackLimit {
  std::uint64_t most_bytes = kMaxArchiveBytes;  // no more than that
  bool* is_passed = nullptr;                    // set where it is, which is an error of the code `limit`
  std::uint64_t* counted = nullptr;             // set to that number once all of it is unpacked
  const std::atomic<bool>* stop = nullptr;      // an error once it is set
};

// What `path` holds; null where it is no archive, or where its first block can't be read: whoever reads it as a
// list says why then.
Result<std::shared_ptr<const ListTree>> open_archive(const std::string& path, const UnpackLimit& limit = {});

// The same of an input that is known to be a tar archive.
Result<std::shared_ptr<const ListTree>> read_archive(ListInput input, const UnpackLimit& limit = {});

// The same of a zip archive in memory; `name` stands in errors and reports.
Result<std::shared_ptr<const ListTree>> read_zip(std::string_view bytes, const std::string& name);

}  // namespace bloomwall::filter
