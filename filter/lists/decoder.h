// Decompression of gzip, bzip2, xz, zstd and lz4 in steps of bounded size. Pure: no files, no names. Why not by
// libarchive: list_archive.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "filter/lists/list_input.h"

namespace bloomwall::filter {

// The octets that identify the compression of a stream.
inline constexpr std::size_t kMagicBytes = 6;
Compression compression_of(std::string_view first_bytes);

struct DecodeStep {
  std::size_t consumed = 0;  // of the input
  std::size_t produced = 0;  // of the output
};

// One stream, which may consist of several members or frames. Not thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Decodes until the input is used up or the output is full. `last` says that nothing comes after `in`. The error is a
  // few words ("checksum mismatch"); the stream cannot be used after one.
  virtual tl::expected<DecodeStep, std::string> step(std::string_view in, std::span<char> out, bool last) = 0;
  // The stream may end here: no member is open.
  virtual bool at_end() const = 0;
};
std::unique_ptr<Decoder> make_decoder(Compression compression);  // null for none, or where memory is short

// Streams that ask for more are refused: no list needs a larger window, and a hostile one would use up memory.
inline constexpr int kMaxZstdWindowLog = 27;
inline constexpr std::size_t kMaxXzMemory = std::size_t{256} << 20;

}  // namespace bloomwall::filter
