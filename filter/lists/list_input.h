// Where the text of a list comes from: a file, stdin or memory, decompressed by what its first bytes say (never by its
// name), handed on in chunks of bounded size with a running SHA-256. What ".gz" promises and the bytes deny is not
// believed.
//   auto input = ListInput::open("ads.txt.zst");
//   while (true) { auto chunk = input->next(); if (!chunk || chunk->empty()) break; use(*chunk); }
// Memory: two chunks, plus the decoder's window (zstd at most 128 MiB, xz at most 256 MiB; a stream that asks for more
// is refused). Several members or frames one after the other are one text, as the command line tools have it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/handles.h"
#include "base/text.h"
#include "filter/lists/utf16.h"
#include "filter/result.h"

namespace bloomwall::filter {

enum class Compression : std::uint8_t { none, gzip, xz, zstd, bzip2, lz4 };
const char* to_string(Compression compression);

inline constexpr std::size_t kInputChunkBytes = std::size_t{256} << 10;

using TextDigest = std::array<std::uint8_t, 32>;  // SHA-256 of the text after decompression

// Owns its descriptor (but not stdin). Movable, not thread-safe.
class ListInput {
 public:
  static Result<ListInput> open(const std::string& path);  // "-" is stdin; a folder is an error (see list_folder.h)
  // Reads `bytes`, which must outlive the input; `name` stands in errors and reports. Compressed bytes are
  // decompressed.
  static ListInput of_memory(std::string_view bytes, std::string name);
  // `bytes` again, but handed out at most `step` at a time: how tests put a chunk boundary where they want it.
  static ListInput of_memory(std::string_view bytes, std::string name, std::size_t step);
  // Reads the `size` bytes of `file` from `offset` on. Several inputs may read one file, in several threads.
  static ListInput of_range(std::shared_ptr<const UniqueFd> file, std::uint64_t offset, std::uint64_t size,
                            std::string name);

  ListInput(ListInput&&) noexcept;
  ListInput& operator=(ListInput&&) noexcept;
  ~ListInput();

  // The next piece of text, valid until the next call; empty at the end. Truncated or corrupt compressed data is an
  // error that names the file and the offset in the compressed bytes; what came before it has been handed out already.
  // So is, at the end, a regular file that was written to since it was opened.
  Result<std::string_view> next();

  bool can_rewind() const;  // a regular file or memory
  // Back to the first byte; digest and counts restart. Error `usage` where can_rewind() is false.
  Result<void> rewind();

  const std::string& name() const;     // the path as given, "-" for stdin
  Compression compression() const;     // known after the first next()
  std::uint64_t text_bytes() const;    // handed out so far
  std::uint64_t stored_bytes() const;  // read so far, as stored; for progress
  std::uint64_t stored_total() const;  // size of the file, 0 where unknown
  TextDigest digest() const;           // of the text handed out so far
  TextDigest stored_digest() const;    // of the bytes read so far, as stored: at the end what sha256sum prints
  void without_digest();               // before the first next(), by callers that need no digest()

 private:
  struct State;
  explicit ListInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct LineBlock {
  std::uint64_t first_line = 1;  // number of its first line
  std::string text;              // whole lines, LF at their ends; the last line of a file may lack it
};

// Cuts the chunks of a ListInput into blocks of whole lines, which several threads can parse. Bytes are copied once,
// from the chunk into the block. Not thread-safe; one per input.
class LineBlocks {
 public:
  // A byte order mark at the start: dropped, and the text of a UTF-16 file given as UTF-8; or kept, and the octets as
  // they are.
  enum class Mark : std::uint8_t { drop, keep };
  explicit LineBlocks(ListInput& input, Mark mark = Mark::drop) : input_(input), drops_mark_(mark == Mark::drop) {}
  // Fills `block` (its capacity is reused) with at least one line, at most about kInputChunkBytes + kMaxLineBytes (of
  // UTF-16 half as much again).
  // False at the end. A line over kMaxLineBytes may be handed on cut, but has kMaxLineBytes + 1 bytes at least
  // without what LineWalk takes off.
  Result<bool> next(LineBlock& block);

 private:
  Result<std::string_view> next_text();
  Result<std::string_view> first_text();
  void keep(std::string_view unfinished);
  void hand_over(LineBlock& block, std::string_view whole_lines);
  ListInput& input_;
  std::string tail_;  // the beginning of a line that goes on in the next chunk
  std::uint64_t next_line_ = 1;
  bool drops_mark_;  // at the start, where nothing was handed over yet
  bool is_begun_ = false;
  bool is_over_ = false;
  std::optional<Utf16Decoder> utf16_;
  std::string text_;  // the first octets, or what was decoded
};

}  // namespace bloomwall::filter
