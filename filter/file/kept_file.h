// A second place for what is served, so that it can be served again when the file that it came from is gone or damaged.
// A private copy that is a file (ServedFrom::file_copy) gets a name: no octet is written and no room is taken. One in
// memory, and one that the file system gives no name, is written where it has at most kSmallFile octets. Larger ones,
// for which there was no room, and what is served from the original are not kept.
// A file with a name can be opened by this user and by root; it is read-only for both.
// Errors: io. Blocking: what is kept has been synced. Threads: any, one for a target.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "filter/file/mapped_file.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {

// Replaces `target` at once, or leaves it as it was. False: it is not kept, and nothing was done. Where `target` is
// what is served already, nothing is written. `is_same`: a file that is there should have these bytes, by its name.
Result<bool> keep_served(const MappedFile& map, const std::filesystem::path& target, bool is_same = false);

// Copies a file, whole as it was when it had this version, or not at all. Errors: io, also where it has another version
// by now. `access`: of the copy.
Result<void> keep_copy(const std::filesystem::path& from, const std::optional<FileVersion>& version,
                       const std::filesystem::path& target, const FileAccess& access = {.mode = 0400});

}  // namespace bloomwall::filter
