// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/source_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "base/encoding.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::filter {
namespace {

constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{64} << 20;

// That a line begins with.
std::optional<Sha256> digest_of(std::string_view text) {
  return parse_hex<sizeof(Sha256)>(text.substr(0, 2 * sizeof(Sha256)));
}

// sha256sum writes '\', LF and CR of a name as two letters, and a '\' in front of the line where it did.
std::string name_of(std::string_view text, bool is_escaped) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_escaped || text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const char letter = text[++at];
    out += letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter;
  }
  return out;
}

std::string normal(const std::string& name) { return std::filesystem::path(name).lexically_normal().string(); }

// The first of each sort is shown.
struct Complaints {
  std::vector<std::string> texts;
  std::size_t altered = 0, unknown = 0, twice = 0, missing = 0;
  void add(std::size_t& count, std::string text) {
    if (count++ == 0) texts.push_back(std::move(text));
  }
  std::size_t all() const { return altered + unknown + twice + missing; }
};

}  // namespace

Result<SourceList> SourceList::read(const std::filesystem::path& file) {
  SourceList out;
  out.file_ = file.string();
  std::error_code no_size;
  const auto bytes = std::filesystem::file_size(file, no_size);
  if (!no_size && bytes > kMostFileBytes) return unexpected(Error{Errc::limit, out.file_, "over 64 MiB"});
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return unexpected(Error{Errc::io, out.file_, std::strerror(errno == 0 ? EIO : errno)});
  std::string text;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    std::string_view line = text;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const bool is_escaped = line.front() == '\\';
    if (is_escaped) line.remove_prefix(1);
    constexpr std::size_t kDigits = 2 * sizeof(Sha256);
    const auto digest = digest_of(line);
    const bool has_name =
        line.size() > kDigits + 2 && line[kDigits] == ' ' && (line[kDigits + 1] == ' ' || line[kDigits + 1] == '*');
    if (!digest || !has_name) {
      return unexpected(Error{Errc::bad_syntax, fmt::format("{}:{}", out.file_, number),
                              "not a line of sha256sum: 64 hexadecimal digits, two blanks, a name"});
    }
    out.named_.push_back({.sha256 = *digest, .name = name_of(line.substr(kDigits + 2), is_escaped)});
  }
  if (in.bad()) return unexpected(Error{Errc::io, out.file_, "can't be read"});
  if (out.named_.empty()) return unexpected(Error{Errc::usage, out.file_, "names no source"});
  return out;
}

void SourceList::order(std::vector<SourceInfo>& sources) {
  const auto key = [](const SourceInfo& s) { return std::tie(s.name, s.sha256, s.format, s.bytes, s.entries); };
  std::ranges::sort(sources, [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

Result<void> SourceList::check(const std::vector<SourceInfo>& sources, Wanted wanted, bool* is_missing) const {
  struct Count {
    std::size_t wanted = 0, came = 0;
  };
  std::map<Sha256, Count> counts;
  std::map<std::string, const Named*> by_name;  // the first that has the name
  for (const Named& n : named_) {
    ++counts[n.sha256].wanted;
    by_name.emplace(normal(n.name), &n);
  }
  Complaints found;
  std::set<std::string_view> altered;
  for (const SourceInfo& source : sources) {
    const auto known = counts.find(source.sha256);
    if (known != counts.end() && ++known->second.came <= known->second.wanted) continue;
    const std::string name = in_quotes(source.name);
    if (known != counts.end()) {
      found.add(found.twice, fmt::format("{} is given twice", name));
    } else if (const auto other = by_name.find(normal(source.name)); other != by_name.end()) {
      altered.insert(other->second->name);
      found.add(found.altered, fmt::format("{} is altered or cut: SHA-256 {} instead of {}", name,
                                           to_hex(source.sha256), to_hex(other->second->sha256)));
    } else {
      found.add(found.unknown, fmt::format("{} is not named there (SHA-256 {})", name, to_hex(source.sha256)));
    }
  }
  for (const Named& n : named_) {
    if (wanted == Wanted::any) break;
    Count& count = counts[n.sha256];
    if (count.came >= count.wanted || altered.contains(n.name)) continue;
    ++count.came;
    found.add(found.missing, fmt::format("{} is missing", in_quotes(n.name)));
  }
  if (is_missing != nullptr) *is_missing = found.missing > 0 && found.missing == found.all();
  if (found.all() == 0) return {};
  const std::size_t more = found.all() - found.texts.size();
  return unexpected(
      Error{Errc::usage, file_,
            fmt::format("the sources are not those that it names: {}{}; nothing was replaced",
                        fmt::join(found.texts, "; "), more == 0 ? "" : fmt::format("; and {} more", more))});
}

}  // namespace bloomwall::filter
