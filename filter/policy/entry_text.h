// What deltas and allow lists have in common as files of text: whole-file reading with a limit, and the wording of
// errors. Lines, words and comments: base/text.h. Every byte is hostile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "filter/result.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxEntryLine = std::size_t{64} << 10;
inline constexpr std::size_t kMaxEntryText = std::size_t{1} << 30;  // bytes of one delta or allow list
inline constexpr std::size_t kMaxExactEntries = 10'000'000;         // of one delta, or of all allow lists
inline constexpr std::size_t kMaxReportedErrors = 200;              // of one file; the others are counted

Result<std::string> read_entry_text(const std::filesystem::path& path);
// Error `limit` where it would not be read: to be asked before it is written.
Result<void> check_entry_text_size(std::uintmax_t bytes, const std::filesystem::path& path);

// For a message: quoted, control and non-ASCII octets as \xNN, shortened.
std::string in_quotes(std::string_view text);
// Why an entry was not taken and what to write instead.
std::string problem_text(const ParsedEntry& parsed, std::string_view text);

// Errors of one text file, each with "file:line", bounded in number.
class LineErrors {
 public:
  explicit LineErrors(std::string file) : file_(std::move(file)) {}
  void add(std::size_t line, Errc code, std::string what);
  bool empty() const { return errors_.empty(); }
  std::vector<Error> take();

 private:
  std::string file_;
  std::vector<Error> errors_;
  std::uint64_t left_out_ = 0;
};

}  // namespace bloomwall::filter
