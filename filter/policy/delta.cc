// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/delta.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <system_error>
#include <utility>

#include "filter/policy/delta_signature.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/typed_entry.h"
#include "filter/text.h"
#include "filter/url/address_range.h"
#include "filter/url/range_map.h"

namespace bloomwall::filter {
namespace {

constexpr std::string_view kMagic = "bloomwall-delta";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kBase = "base=";
// An escape takes three octets for one, so a line that a list may hold is longer in canonical form.
constexpr std::size_t kMaxCanonicalLine = 4 * kMaxEntryLine;
constexpr std::string_view kSequence = "sequence=";
constexpr std::string_view kChanges = "changes=";

// Raw keys keep the blanks at their end, so only this side is trimmed before the kind is known.
std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// "X example.com" names its kind; the rest is the entry. A host never is one letter followed by a blank.
std::optional<Kind> take_kind(std::string_view& text) {
  if (text.size() < 2 || (text[1] != ' ' && text[1] != '\t')) return std::nullopt;
  const auto known = std::find(kKinds.begin(), kKinds.end(), static_cast<Kind>(text[0]));
  if (known == kKinds.end()) return std::nullopt;
  text.remove_prefix(2);
  return *known;
}

// "sequence=7": takes the word off the line. Nothing where the line goes on otherwise; what is no number spoils it.
std::optional<std::uint64_t> take_number(std::string_view& line, std::string_view name) {
  std::string_view rest = line;
  std::string_view word = next_word(rest);
  if (!word.starts_with(name)) return std::nullopt;
  word.remove_prefix(name.size());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  line = rest;
  return value;
}

// Whether the text of a URL ends in its root: "example.com/", "http://example.com/".
bool names_root(std::string_view text) {
  const std::size_t scheme = text.find("://");
  const std::size_t slash = text.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  return slash != std::string_view::npos && slash + 1 == text.size();
}

const char* shape_of(Kind kind) {
  switch (kind) {
    case Kind::suffix:
    case Kind::exact_host:
    case Kind::subdomains:
      return "a host";
    case Kind::url:
      return "a URL whose path does not end in '/', without a query";
    case Kind::url_query:
      return "a URL with a query";
    case Kind::directory:
      return "a URL whose path ends in '/'";
    case Kind::raw:
      return "raw bytes";
    case Kind::network:
      return "an address or a range of addresses";
  }
  return "an entry";
}

}  // namespace

class DeltaParser {
 public:
  DeltaParser(const std::string& name, const KeyMaker& keys, const std::optional<FileId>& base,
              const DeltaReading& reading)
      : base_(base), reading_(reading), name_(name), errors_(name), delta_(keys) {}

  Delta::Loaded parse(std::string_view text) {
    if (auto checked = check_signatures(text); !checked) {
      return tl::unexpected(std::vector<Error>{std::move(checked).error()});
    }
    LineWalk lines(text);
    if (!lines.next() || !first_line(lines.line())) {
      if (errors_.empty()) bad_first_line();
      return tl::unexpected(errors_.take());
    }
    if (text.find('\n') == std::string_view::npos) fail(Errc::bad_syntax, "is cut: the first line has no line end");
    while (lines.next()) {
      number_ = lines.number();
      if (!change(lines.line())) break;
    }
    check_count(text);
    if (!errors_.empty()) return tl::unexpected(errors_.take());
    delta_.added_ = networks_.of(static_cast<std::uint32_t>(DeltaAnswer::added));
    delta_.removed_ = networks_.of(static_cast<std::uint32_t>(DeltaAnswer::removed));
    return std::move(delta_);
  }

 private:
  // Cuts them off. What nobody trusts is not looked at further.
  Result<void> check_signatures(std::string_view& text) const {
    const auto parts = split_signatures(text, name_);
    if (!parts) return unexpected(parts.error());
    text = parts->text;
    if (reading_.trusted == nullptr) return {};
    auto signer = reading_.trusted->check(parts->signatures, signed_message(text));
    if (signer) return {};
    signer.error().where = name_;
    return unexpected(std::move(signer).error());
  }

  void fail(Errc code, std::string what) { errors_.add(number_, code, std::move(what)); }

  void bad_first_line() {
    fail(Errc::bad_syntax,
         fmt::format("the first line must be '{} {} {}' and the 32 hex digits of the filter's content id", kMagic,
                     kVersion, kBase));
  }

  bool first_line(std::string_view line) {
    if (next_word(line) != kMagic) return false;
    const std::string_view version = next_word(line);
    if (version != kVersion) {
      fail(Errc::unsupported,
           fmt::format("deltas of version {} are not known here, only {}", in_quotes(version), kVersion));
      return false;
    }
    const std::string_view base = next_word(line);
    if (!base.starts_with(kBase)) return false;
    const auto sequence = take_number(line, kSequence);
    count_ = take_number(line, kChanges);
    if (!line.empty() || sequence == 0) return false;
    delta_.sequence_ = sequence.value_or(0);
    const std::optional<FileId> id = parse_file_id(base.substr(kBase.size()));
    if (!id) return false;
    if (!base_ || *id == *base_) return true;
    fail(Errc::wrong_base, fmt::format("made for {}, but the filter is {}, another one or another build of it",
                                       to_hex(*id), to_hex(*base_)));
    return false;
  }

  // A copy that ran out of disk ends anywhere, at the end of a line too.
  void check_count(std::string_view text) {
    if (!count_ || (*count_ == lines_ && text.ends_with('\n'))) return;
    number_ = 1;
    const bool mid_line = *count_ == lines_;
    fail(Errc::bad_syntax,
         fmt::format(
             "is cut or was edited: the first line says {}{}, and there are {}{}; `update` writes it anew, after "
             "editing by hand take {}{} out of the first line",
             kChanges, *count_, lines_, mid_line ? ", the last of them without a line end" : "", kChanges, *count_));
  }

  // One line after the first. False: no use in reading on.
  bool change(std::string_view line) {
    const std::size_t length = line.size();
    line = without_leading_blanks(line);
    if (line.empty()) return true;
    if (line.front() == '#') {
      if (reading_.on_comment) reading_.on_comment(line);
      return true;
    }
    if (line.front() != '+' && line.front() != '-') {
      fail(Errc::bad_syntax, fmt::format("a change starts with '+' or '-', not with {}", in_quotes(line.substr(0, 1))));
      return true;
    }
    ++lines_;
    const DeltaAnswer answer = line.front() == '+' ? DeltaAnswer::added : DeltaAnswer::removed;
    line = without_leading_blanks(line.substr(1));
    const std::optional<Kind> kind = take_kind(line);
    const std::size_t longest = kind ? kMaxCanonicalLine : kMaxEntryLine;
    if (length > longest) {
      fail(Errc::limit, fmt::format("a line of {} bytes; at most {} are read", length, longest));
    } else if (kind == Kind::raw) {
      raw(line, answer);
    } else if (line = without_comment(line); !network(line, kind, answer)) {
      entry(line, kind, answer);
    }
    if (delta_.entries_.size() + networks_.pieces() <= kMaxExactEntries) return true;
    fail(Errc::limit, fmt::format("more than {} entries; build a new filter instead", kMaxExactEntries));
    return false;
  }

  void raw(std::string_view bytes, DeltaAnswer answer) {
    if (bytes.empty()) return fail(Errc::bad_syntax, "a raw key of no bytes; write it after 'R '");
    Entry entry;
    entry.kind = Kind::raw;
    entry.path = bytes;
    set(entry, answer);
  }

  // False: no network is meant.
  bool network(std::string_view text, std::optional<Kind> kind, DeltaAnswer answer) {
    if (kind && kind != Kind::network) return false;
    const RangeReading reading = read_address_range(text);
    switch (reading.outcome) {
      case RangeReading::Outcome::range:
        if (!kind && reading.range.is_one_address()) {
          one_address(reading.range.begin(), answer);
        } else {
          set(reading.range, answer);
        }
        return true;
      case RangeReading::Outcome::malformed:
      case RangeReading::Outcome::unsupported:
        fail(Errc::bad_syntax, fmt::format("{}: {}", in_quotes(text), reading.reason));
        return true;
      case RangeReading::Outcome::no_range:
        break;
    }
    if (!kind) return false;
    if (const auto address = read_address(text)) {
      set(range_of(*address), answer);
    } else {
      fail(Errc::bad_syntax, fmt::format("kind N is {}, which {} is not", shape_of(Kind::network), in_quotes(text)));
    }
    return true;
  }

  // "192.0.2.1/32" without a kind is what "192.0.2.1" is.
  void one_address(const Address& address, DeltaAnswer answer) {
    const std::string text = text_of(address);
    by_shape(parser_.domain(text).entries.front(), answer);
  }

  void entry(std::string_view text, std::optional<Kind> kind, DeltaAnswer answer) {
    if (std::any_of(text.begin(), text.end(), is_blank)) {
      return fail(Errc::bad_syntax,
                  fmt::format("{} has white space inside; one entry a line, a blank in a URL is %20", in_quotes(text)));
    }
    if (text.find(kByteOrderMark) != std::string_view::npos) {
      return fail(Errc::bad_syntax, fmt::format("{} has a byte order mark inside; one entry a line", in_quotes(text)));
    }
    if (kind) {
      if (const auto known = parser_.canonical(*kind, text)) {
        if (!can_be_asked_for(*known)) return fail(Errc::bad_syntax, no_request_text(text));
        return set(*known, answer);
      }
    }
    const ParsedEntry parsed = parser_.any(text);
    if (parsed.entries.empty()) return fail(Errc::bad_syntax, problem_text(parsed, text));
    if (std::string reason = why_not_typed(parsed, text, answer == DeltaAnswer::added && !kind); !reason.empty()) {
      return fail(Errc::bad_syntax, std::move(reason));
    }
    if (kind) return typed_with_kind(parsed.entries, *kind, answer, text);
    for (const Entry& found : parsed.entries) by_shape(found, answer);
  }

  // The text is not canonical, so a person wrote it. Several forms can't all be meant by one kind and one text.
  void typed_with_kind(std::span<const Entry> found, Kind kind, DeltaAnswer answer, std::string_view text) {
    if (found.size() > 1) {
      return fail(Errc::bad_syntax, fmt::format("{} can be read in several ways; leave out the {} to mean all of them, "
                                                "or write the canonical form of one",
                                                in_quotes(text), static_cast<char>(kind)));
    }
    if (of_kind(found.front(), kind, answer, text)) return;
    fail(Errc::bad_syntax,
         fmt::format("kind {} is {}, which {} is not", static_cast<char>(kind), shape_of(kind), in_quotes(text)));
  }

  void by_shape(Entry entry, DeltaAnswer answer) {
    set(entry, answer);
    if (answer != DeltaAnswer::removed || !is_host_kind(entry.kind)) return;
    // Lists of different formats give S or X for the same name; a user who removes it means both.
    entry.kind = entry.kind == Kind::suffix ? Kind::exact_host : Kind::suffix;
    set(entry, answer);
    // Nor does a user tell an address of a list of hosts from one of a list of networks.
    if (entry.host_kind == HostKind::name) return;
    if (const auto address = read_address(entry.host)) set(range_of(*address), answer);
  }

  bool of_kind(Entry entry, Kind kind, DeltaAnswer answer, std::string_view text) {
    if (kind == Kind::url && is_host_kind(entry.kind) && names_root(text)) {
      entry.kind = Kind::url;
      entry.path = "/";
      set(entry, answer);
      return true;
    }
    if (is_host_kind(kind) != is_host_kind(entry.kind)) return false;
    if (is_path_kind(kind) && kind != entry.kind) return false;
    if (is_host_kind(kind) && entry.host_kind != HostKind::name) {
      if (kind == Kind::subdomains) return false;
      kind = Kind::exact_host;  // an address has neither subdomains nor parents
    }
    entry.kind = kind;
    set(entry, answer);
    return true;
  }

  void set(const Entry& entry, DeltaAnswer answer) {
    delta_.entries_.at(entry) = static_cast<std::uint32_t>(answer);
    if (reading_.on_change) reading_.on_change(entry, answer);
  }

  void set(const AddressRange& range, DeltaAnswer answer) {
    networks_.set(range, static_cast<std::uint32_t>(answer));
    if (reading_.on_range) reading_.on_range(range, answer);
  }

  const std::optional<FileId>& base_;
  const DeltaReading& reading_;
  const std::string& name_;
  std::size_t number_ = 1;
  std::optional<std::uint64_t> count_;  // of changes, where the first line says it
  std::uint64_t lines_ = 0;             // that are changes
  LineErrors errors_;
  EntryParser parser_;
  RangeMap networks_;
  Delta delta_;
};

std::string Delta::first_line(const FileId& base, std::uint64_t sequence, std::optional<std::uint64_t> changes) {
  std::string line = fmt::format("{} {} {}{}", kMagic, kVersion, kBase, to_hex(base));
  if (sequence != 0) line += fmt::format(" {}{}", kSequence, sequence);
  if (changes) line += fmt::format(" {}{}", kChanges, *changes);
  return line;
}

void name_remedy(std::vector<Error>& errors, const std::filesystem::path& filter, const std::filesystem::path& delta) {
  std::error_code ignored;
  const bool is_absent = !std::filesystem::exists(delta, ignored);
  for (Error& error : errors) {
    if (error.code != Errc::wrong_base && !is_absent) continue;
    error.what += fmt::format("; `bloomwall-filter update {} --delta {} --rebase` {}", filter.string(), delta.string(),
                              is_absent ? "makes an empty one" : "carries its additions over");
  }
}

double delta_share(std::uint64_t delta_entries, const Header& filter) {
  return static_cast<double>(delta_entries) / static_cast<double>(std::max<std::uint64_t>(distinct_entries(filter), 1));
}

Delta::Loaded Delta::parse(std::string_view text, const std::string& name, const KeyMaker& keys,
                           const std::optional<FileId>& base, const DeltaReading& reading) {
  return DeltaParser(name, keys, base, reading).parse(text);
}

Delta::Loaded Delta::load(const std::filesystem::path& file, const KeyMaker& keys, const std::optional<FileId>& base,
                          const DeltaReading& reading) {
  const Result<std::string> text = read_entry_text(file);
  if (!text) return tl::unexpected(std::vector<Error>{text.error()});
  return parse(*text, file.string(), keys, base, reading);
}

}  // namespace bloomwall::filter
