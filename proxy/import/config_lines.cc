// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/config_lines.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/handles.h"
#include "base/text.h"

namespace bloomwall::proxy::foreign {
namespace {

struct IncludeReader {
  ConfigLines out = {};
  std::size_t files = 0;

  void read(std::string_view text, const std::filesystem::path& file, std::size_t depth);
  void include(const ConfigLine& line, const std::filesystem::path& file, std::size_t depth);
};

void IncludeReader::read(std::string_view text, const std::filesystem::path& file, std::size_t depth) {
  LineWalk walk(text);
  std::string joined;
  std::uint64_t first = 0;
  while (walk.next()) {
    std::string_view part = walk.line();
    while (!part.empty() && is_blank(part.front())) part.remove_prefix(1);
    if (part.starts_with('#')) continue;
    if (first == 0) first = walk.number();
    const bool continues = part.ends_with('\\');
    if (continues) part.remove_suffix(1);
    joined.append(part);
    if (continues) continue;
    const std::string_view whole = without_comment(joined);
    if (!whole.empty()) {
      const ConfigLine line{file.string(), first, std::string(whole)};
      std::string_view rest = whole;
      if (equals_ignoring_case(next_word(rest), "include")) {
        include(line, file, depth);
      } else {
        out.lines.push_back(line);
      }
    }
    joined.clear();
    first = 0;
  }
  if (const auto whole = without_comment(joined); !whole.empty()) {
    out.lines.push_back({file.string(), first, std::string(whole)});
  }
}

void IncludeReader::include(const ConfigLine& line, const std::filesystem::path& file, std::size_t depth) {
  const auto refuse = [&](const std::string& why) {
    out.unread.push_back({line.file, line.number, line.text + ": " + why});
  };
  if (depth == kMostDepth) return refuse("files include each other too deeply");
  std::vector<std::string> words = words_of(line.text);
  words.erase(words.begin());
  for (const std::string& word : words) {
    const std::string pattern = word.starts_with('/') ? word : (file.parent_path() / word).string();
    ::glob_t found{};
    const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<std::string> paths;
    for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (paths.empty() && word.find_first_of("*?[") == std::string::npos) refuse("there is no such file");
    for (const std::string& path : paths) {
      if (++files > kMostFiles) return refuse("too many files");
      const auto text = read_text(path, kMostConfigBytes);
      if (text) {
        read(*text, path, depth + 1);
      } else {
        refuse(text.error());
      }
    }
  }
}

}  // namespace

tl::expected<std::string, std::string> read_text(const std::filesystem::path& path, std::size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return tl::unexpected(std::string(std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return tl::unexpected(std::string("is not a regular file"));
  std::string text;
  while (text.size() <= most) {
    const std::size_t before = text.size();
    text.resize(before + (std::size_t{64} << 10));
    const ssize_t got = ::read(file.get(), text.data() + before, text.size() - before);
    if (got < 0) return tl::unexpected(std::string(std::strerror(errno)));
    text.resize(before + static_cast<std::size_t>(got));
    if (got == 0) return text;
  }
  return tl::unexpected("is over " + std::to_string(most >> 20) + " MiB");
}

bool has_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!without_comment(line).empty()) return true;
  }
  return false;
}

std::vector<Word> marked_words_of(std::string_view line) {
  std::vector<Word> words;
  Word word;
  bool begun = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == '\\' && i + 1 < line.size()) {
        word.text += line[++i];
      } else if (c == quote) {
        quote = 0;
      } else {
        word.text += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      word.is_quoted = word.is_quoted || !begun;
      begun = true;
    } else if (is_blank(c)) {
      if (begun) words.push_back(std::exchange(word, {}));
      begun = false;
    } else {
      word.text += c;
      begun = true;
    }
  }
  if (begun) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (Word& word : marked_words_of(line)) words.push_back(std::move(word.text));
  return words;
}

ConfigLines squid_lines(const std::string& text, const std::filesystem::path& file) {
  IncludeReader reader;
  reader.read(text, file, 0);
  return std::move(reader.out);
}

}  // namespace bloomwall::proxy::foreign
