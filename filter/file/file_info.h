// What a filter file says about its making: the `info` section. Text for people and `info --json`; no look-up reads it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter/file/header.h"

namespace bloomwall::filter {

struct SourceInfo {
  std::string name;  // as given on the command line
  std::string format;
  std::uint64_t bytes = 0;  // as read, after decompression
  std::uint64_t entries = 0;
  Sha256 sha256{};  // of the file as stored, compressed or not: what sha256sum prints
};

// What a set that grows was made for; zeros: nobody has said.
struct MadeFor {
  std::uint64_t keys = 0;  // distinct ones
  double error = 0;        // chance that a new key is taken for seen once they are in; in (0, 1) where keys are said
  friend bool operator==(const MadeFor&, const MadeFor&) = default;
};

struct FileInfo {
  std::string category;
  std::string builder;  // program and version
  std::vector<SourceInfo> sources;
  std::vector<std::string> provenance;  // one line for each file merged into this one
  MadeFor made_for = {};                // of the state of a set that grows (filter/seen)
};

// Hostile bytes are bounded by these; errors: bad_section. Texts are as they stand in the file: escape them for a
// terminal.
inline constexpr std::size_t kMaxInfoBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxInfoRecords = 100'000;
std::vector<std::byte> serialise_info(const FileInfo& info);
Result<FileInfo> parse_info(std::span<const std::byte> bytes);

}  // namespace bloomwall::filter
