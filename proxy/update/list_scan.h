// Reads a list that was fetched, before anything is made of it: how many entries it has, how much of it cannot be used,
// and whether it names a host that must pass. Nothing of it is kept.
// A file, or an archive (tar or zip), of which no more than most_bytes are unpacked. Memory: that of reading one list.
// Time: that of reading it.
// Threads: any; one call is one thread's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "filter/lists/list_reader.h"
#include "proxy/update/unpacked_archives.h"

namespace bloomwall::proxy {

struct ScanOptions {
  filter::ReadOptions read = {};
  std::uint64_t most_bytes = 0;             // of text, after decompression
  std::vector<std::string> must_pass = {};  // hosts or URLs
  // Where an archive is looked for, and kept once it is unpacked; null: nowhere. `is_shared`: for other filters, too.
  UnpackedArchives* archives = nullptr;
  bool is_shared = false;
  const std::atomic<bool>* stop = nullptr;
};

// A line that names a host of must_pass, or a domain above one, which the list does not except again.
struct CanaryLine {
  std::string canary = {};
  std::uint64_t line = 0;
  std::string text = {};  // of the entry, cut at 200 octets
};

struct ListScan {
  std::uint64_t entries = 0;
  std::uint64_t rules = 0;     // lines that are neither blank nor comments
  std::uint64_t unusable = 0;  // of these
  double unusable_share = 0;
  std::string loss = {};  // loss_text() of the file that lost most; empty: all of it is taken
  // Of what the list says of itself, where something is missing; of several files of the one that misses most.
  struct Stated {
    std::uint64_t count = 0, missing = 0;
    std::uint64_t line = 0;
  } stated = {};
  std::uint64_t bytes = 0;  // of text
  // Where the file is text as it is stored: the number of its last line if that has no line end; else 0.
  std::uint64_t open_line = 0;
  std::string sha256 = {};   // of the file, hexadecimal
  std::int64_t expires = 0;  // seconds, as the list says in its head; 0: it does not
  std::optional<CanaryLine> canary = {};
  std::string worst = {};  // of lines that cannot be used, the most frequent reason and an example
};

struct ScanFailure {
  enum class Kind : std::uint8_t { no_list, too_large, stopped } kind = Kind::no_list;
  std::string what = {};
};

tl::expected<ListScan, ScanFailure> scan_list(const std::filesystem::path& file, const ScanOptions& options);

}  // namespace bloomwall::proxy
