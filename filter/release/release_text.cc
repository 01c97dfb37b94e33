// SPDX-License-Identifier: Apache-2.0
#include "filter/release/release_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "base/units.h"
#include "filter/policy/entry_text.h"

namespace bloomwall::filter {
namespace {

constexpr std::string_view kRing = "bloomwall-ring";
constexpr std::string_view kRelease = "bloomwall-release";

// Takes the words of one line in their order. Blanks and spellings are not judged here: the whole text is written again
// and compared.
class Words {
 public:
  Words(std::string_view line, std::uint64_t number, const std::string& name)
      : rest_(line), where_(fmt::format("{}:{}", name, number)) {}

  bool failed() const { return error_.has_value(); }
  Error error() const { return *error_; }
  void fail(Errc code, std::string what) {
    if (!error_) error_ = Error{code, where_, std::move(what)};
  }

  std::string_view word() { return next_word(rest_); }
  // The value behind "KEY=".
  std::string_view value(std::string_view key) {
    const std::string_view word = next_word(rest_);
    if (!word.starts_with(key) || !word.substr(key.size()).starts_with('=')) {
      fail(Errc::bad_syntax, fmt::format("expected '{}=' and its value", key));
      return {};
    }
    return word.substr(key.size() + 1);
  }
  std::uint64_t number(std::string_view key, std::uint64_t least, std::uint64_t most) {
    const auto read = parse_integer(value(key));
    if (!read) fail(Errc::bad_syntax, fmt::format("{}: expected a number", key));
    if (read && (*read < least || *read > most))
      fail(Errc::limit, fmt::format("{}: not from {} to {}", key, least, most));
    return read.value_or(0);
  }
  template <std::size_t kBytes>
  std::array<std::uint8_t, kBytes> digits(std::string_view key) {
    const auto read = parse_hex<kBytes>(value(key));
    if (!read) fail(Errc::bad_syntax, fmt::format("{}: expected {} hex digits", key, 2 * kBytes));
    return read.value_or(std::array<std::uint8_t, kBytes>{});
  }
  std::string named(std::string_view key) {
    const std::string_view read = value(key);
    if (!is_release_name(read)) {
      fail(Errc::bad_syntax,
           fmt::format("{}: expected a name of at most {} letters, digits, '.', '-' and '_'", key, kMostReleaseName));
    }
    return std::string(read);
  }
  std::string path(std::string_view key) {
    const std::string_view read = value(key);
    if (!is_part_name(read)) {
      fail(Errc::bad_syntax,
           fmt::format("{}: expected a path below the filter's folder, of at most {} letters, digits, "
                       "'.', '-', '_' and '/'",
                       key, kMostPartName));
    }
    return std::string(read);
  }
  void first(std::string_view wanted) {
    if (word() != wanted) fail(Errc::bad_syntax, fmt::format("does not begin with '{}'", wanted));
    if (const std::string_view version = word(); version != "1") {
      fail(version.empty() || parse_integer(version) == std::nullopt ? Errc::bad_syntax : Errc::unsupported,
           "expected version 1; a later one needs a later bloomwall");
    }
  }
  void end() {
    if (!rest_.empty()) fail(Errc::unsupported, "a word too many, which a later version may know");
  }

 private:
  std::string_view rest_;
  std::string where_;
  std::optional<Error> error_;
};

FilePart file_part(Words& words) {
  FilePart part;
  part.file = words.path("file");
  part.content = words.digits<sizeof(FileId)>("content");
  part.size = words.number("size", kHeaderBytes, kMostPartBytes);
  part.header = words.digits<sizeof(Sha256)>("header");
  words.end();
  return part;
}

DeltaPart delta_part(Words& words) {
  DeltaPart part;
  part.file = words.path("file");
  part.from = words.number("from", 0, kMostReleases);
  part.to = words.number("to", 1, kMostReleases);
  part.size = words.number("size", 1, kMaxEntryText);
  part.sha256 = words.digits<sizeof(Sha256)>("sha256");
  part.changes = words.number("changes", 0, kMaxExactEntries);
  words.end();
  if (part.from != 0) words.fail(Errc::unsupported, "from: a delta on top of another needs a later bloomwall");
  return part;
}

// Each part at most once; their order is that of text_of(), which is compared.
void read_part(Words& words, ReleaseText& out, bool& has_base) {
  const std::string_view kind = words.word();
  if (kind == "base" && !std::exchange(has_base, true)) {
    out.base = file_part(words);
  } else if (kind == "exact" && !out.exact) {
    out.exact = file_part(words);
  } else if (kind == "delta" && !out.delta) {
    out.delta = delta_part(words);
  } else {
    words.fail(Errc::unsupported, "expected one base, at most one exact and one delta; a later version may know more");
  }
}

Result<void> check_spelling(std::string_view text, const std::string& written, const std::string& name) {
  if (text == written) return {};
  const auto differs = std::mismatch(text.begin(), text.end(), written.begin(), written.end()).first;
  return unexpected(Error{Errc::bad_syntax, fmt::format("{}:{}", name, 1 + std::count(text.begin(), differs, '\n')),
                          "is not spelt as it is written: one blank between words, no leading zeros, lower case, the "
                          "lines in their order, a line feed at the end"});
}

Result<void> check_size(std::string_view text, const std::string& name) {
  if (text.size() <= kMostReleaseText) return {};
  return unexpected(Error{Errc::limit, name, fmt::format("over {} bytes", kMostReleaseText)});
}

std::string text_of(std::string_view kind, const FilePart& part) {
  return fmt::format("{} file={} content={} size={} header={}\n", kind, part.file, to_hex(part.content), part.size,
                     to_hex(part.header));
}

}  // namespace

bool is_release_name(std::string_view name) {
  const auto is_plain = [](char c) { return is_alpha(c) || is_digit(c); };
  return !name.empty() && name.size() <= kMostReleaseName && is_plain(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_plain(c) || c == '.' || c == '-' || c == '_'; });
}

bool is_part_name(std::string_view name) {
  if (name.empty() || name.size() > kMostPartName || name.back() == '/') return false;
  while (!name.empty()) {
    if (!is_release_name(next_part(name, '/'))) return false;
  }
  return true;
}

std::string text_of(const RingText& ring) {
  return fmt::format("{} 1 filter={} ring={} release={} sequence={} created={} valid_until={}\n", kRing, ring.filter,
                     ring.ring, ring.release, ring.sequence, ring.created, ring.valid_until);
}

std::string text_of(const ReleaseText& release) {
  std::string out = fmt::format("{} 1 filter={} series={} release={} created={}\n", kRelease, release.filter,
                                to_hex(release.series), release.release, release.created);
  out += text_of("base", release.base);
  if (release.exact) out += text_of("exact", *release.exact);
  if (const auto& delta = release.delta) {
    out += fmt::format("delta file={} from={} to={} size={} sha256={} changes={}\n", delta->file, delta->from,
                       delta->to, delta->size, to_hex(delta->sha256), delta->changes);
  }
  return out;
}

Result<RingText> parse_ring(std::string_view text, const std::string& name) {
  if (auto ok = check_size(text, name); !ok) return unexpected(ok.error());
  RingText out;
  std::string_view rest = text;
  Words words(next_part(rest, '\n'), 1, name);
  words.first(kRing);
  out.filter = words.named("filter");
  out.ring = words.named("ring");
  out.release = words.number("release", 1, kMostReleases);
  out.sequence = words.number("sequence", 1, kMostReleases);
  out.created = words.number("created", 0, kLastSecond);
  out.valid_until = words.number("valid_until", 1, kLastSecond);
  words.end();
  if (out.valid_until <= out.created) words.fail(Errc::bad_syntax, "valid_until: not after created");
  if (!rest.empty()) words.fail(Errc::unsupported, "a line too many, which a later version may know");
  if (words.failed()) return unexpected(words.error());
  if (auto ok = check_spelling(text, text_of(out), name); !ok) return unexpected(ok.error());
  return out;
}

Result<ReleaseText> parse_release(std::string_view text, const std::string& name) {
  if (auto ok = check_size(text, name); !ok) return unexpected(ok.error());
  ReleaseText out;
  std::string_view rest = text;
  Words first(next_part(rest, '\n'), 1, name);
  first.first(kRelease);
  out.filter = first.named("filter");
  out.series = first.digits<sizeof(FileId)>("series");
  out.release = first.number("release", 1, kMostReleases);
  out.created = first.number("created", 0, kLastSecond);
  first.end();
  if (first.failed()) return unexpected(first.error());
  bool has_base = false;
  for (std::uint64_t number = 2; !rest.empty(); ++number) {
    Words words(next_part(rest, '\n'), number, name);
    read_part(words, out, has_base);
    if (out.delta && out.delta->to > out.release) words.fail(Errc::bad_syntax, "to: of a later release");
    if (out.exact && out.exact->content != out.base.content) {
      words.fail(Errc::bad_syntax, "the exact side is not that of the base");
    }
    if (words.failed()) return unexpected(words.error());
  }
  if (!has_base) return unexpected(Error{Errc::bad_syntax, name, "names no base"});
  if (auto ok = check_spelling(text, text_of(out), name); !ok) return unexpected(ok.error());
  return out;
}

std::string release_file(std::uint64_t release) { return fmt::format("releases/{:010}", release); }
std::string ring_file(std::string_view ring) { return fmt::format("rings/{}", ring); }

}  // namespace bloomwall::filter
