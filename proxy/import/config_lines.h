// The lines of another proxy's configuration: files within limits, and words with quotation marks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace bloomwall::proxy::foreign {

inline constexpr std::size_t kMostConfigBytes = std::size_t{16} << 20;  // of one file
inline constexpr std::size_t kMostListBytes = std::size_t{256} << 20;   // of a list that a configuration names
inline constexpr std::size_t kMostFiles = 256;                          // included by one configuration
inline constexpr std::size_t kMostDepth = 16;                           // of includes and blocks

// The whole of a regular file. Error: why it cannot be read.
tl::expected<std::string, std::string> read_text(const std::filesystem::path& path, std::size_t most);
// Whether a file has a line that is neither blank nor a comment.
bool has_lines(const std::filesystem::path& path);

// Words between blanks; "..." and '...' hold blanks, and \ escapes the next octet inside them.
struct Word {
  std::string text;        // without quotation marks
  bool is_quoted = false;  // it began with one
};
std::vector<Word> marked_words_of(std::string_view line);
std::vector<std::string> words_of(std::string_view line);

struct ConfigLine {
  std::string file;
  std::uint64_t number = 0;  // of its first line
  std::string text;          // trimmed, continuations joined, without comments; not empty
};
// The lines of squid.conf: a \ at the end of a line continues it with what the next one has behind its blanks (lines
// that are comments are passed over meanwhile), # begins a comment at the start of a line or behind a blank,
// `include PATH...` (with * and ?) stands for the lines of those files. Errors: of files that cannot be read,
// as "file: line: why"; their lines are left out.
struct ConfigLines {
  std::vector<ConfigLine> lines;
  std::vector<ConfigLine> unread;  // `text`: the include that failed, and why
};
ConfigLines squid_lines(const std::string& text, const std::filesystem::path& file);

}  // namespace bloomwall::proxy::foreign
