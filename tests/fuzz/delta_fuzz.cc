// Texts of people and of `update`: deltas and allow lists. Besides not crashing: what a delta accepts it answers for,
// and what an allow list takes is never empty; a URL made of any line can be asked of both.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "filter/policy/allow_list.h"
#include "filter/policy/delta.h"
#include "filter/policy/entry_text.h"
#include "filter/update/delta_text.h"
#include "filter/update/written_lines.h"
#include "filter/url/address_range.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::filter;

using bloomwall::fuzz::require;

void ask(const ExactSet& entries, const CanonicalUrl& url) {
  if (!url.has_canonical) return;
  UrlParts parts(url);
  UrlHashes hashes(entries.keys(), parts);
  for (const UrlForm& form : url.forms) {
    parts.use_form(form);
    hashes.forget_form();
    ExactMatches matches;
    entries.find_matches(hashes, Scope::url, matches);
    for (const ExactMatch& match : matches) {
      require(match.suffix < parts.suffixes() && match.depth <= parts.depth() && match.value != 0);
    }
  }
  entries.path_mark(hashes);
}

void ask_every_line(const ExactSet& entries, std::string_view text) {
  Canonicaliser canonicaliser;
  std::size_t asked = 0;
  for (bloomwall::LineWalk lines(text); lines.next() && asked < 16; ++asked) {
    const std::string_view line = lines.line();
    ask(entries, canonicaliser.url(line.substr(line.empty() ? 0 : 1)));
  }
}

// No address is both added and removed, and the ranges written as a delta say the same.
void check_networks(const Delta& delta, const KeyMaker& keys, const FileId& base) {
  const RangeSet& added = delta.added_networks();
  const RangeSet& removed = delta.removed_networks();
  require(without(added, removed) == added && without(removed, added) == removed);
  // What begins or ends among the IPv4 addresses inside IPv6 may read as IPv4.
  const auto is_odd = [](const AddressRange& range) {
    return !range.is_v4() && (range.first.destination().is_v4() || range.last.destination().is_v4());
  };
  for (const RangeSet* set : {&added, &removed}) {
    const auto ranges = set->ranges();
    if (std::any_of(ranges.begin(), ranges.end(), is_odd)) return;
  }
  std::string text = Delta::first_line(base) + "\n";
  for (const AddressRange& range : added.ranges()) text += "+N " + text_of(range) + "\n";
  for (const AddressRange& range : removed.ranges()) text += "-N " + text_of(range) + "\n";
  const auto again = Delta::parse(text, "again", keys, base);
  require(again && again->added_networks() == added && again->removed_networks() == removed);
}

void check_delta(const std::string& text, const KeyMaker& keys, const FileId& base) {
  const auto delta = Delta::parse(text, "delta", keys, base);
  if (!delta) {
    require(!delta.error().empty());
    for (const Error& error : delta.error()) require(error.where.starts_with("delta") && !error.what.empty());
    return;
  }
  check_networks(*delta, keys, base);
  // An accepted change without a kind names an entry that the delta must know.
  EntryParser parser;
  bloomwall::LineWalk lines(text);
  for (lines.next(); lines.next();) {
    const std::string_view line = bloomwall::trim(lines.line());
    if (line.empty() || line.front() == '#') continue;
    const std::string_view rest = bloomwall::without_comment(line.substr(1));
    if (read_address_range(rest).outcome != RangeReading::Outcome::no_range) continue;
    // The text of any entry is that entry again, octet for octet, whatever readings it has as a URL.
    for (const Entry& entry : parser.any(rest).entries) {
      const std::string canonical = text_of(entry);
      EntryParser again;
      const auto same = again.canonical(entry.kind, canonical);
      require(same && *same == entry);
    }
    if (rest.find_first_of(" \t") != std::string_view::npos) continue;
    for (const Entry& entry : parser.any(rest).entries) require(delta->answer(entry) != DeltaAnswer::nothing);
  }
  ask_every_line(delta->entries(), text);
}

// What is left as text when a delta is changed is what a reader takes, line by line, as the same entries.
void check_written_lines(const std::string& text, const KeyMaker& keys, const FileId& base) {
  const auto lines = WrittenLines::of(text, keys);
  if (!lines) return;
  const auto parsed = DeltaText::read(Delta::first_line(base) + "\n" + text, "delta", keys, base);
  require(parsed.has_value());
  const std::uint64_t count = lines->added() + lines->removed();
  require(parsed->text() == Delta::first_line(base, 0, count) + "\n" + text);
}

void check_allow_list(std::string_view text, const KeyMaker& keys) {
  AllowLists lists(keys, {"ads", "malware"});
  for (const Error& error : lists.parse(text, "allow"))
    require(error.where.starts_with("allow") && !error.what.empty());
  ask_every_line(lists.entries(), text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const KeyMaker keys{SeriesKey{}};
  FileId base;
  base.fill(1);
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_delta(text, keys, base);
  check_delta(Delta::first_line(base) + "\n" + text, keys, base);
  check_written_lines(text, keys, base);
  check_written_lines(text, keys.with(QueryReading::by_parameters), base);
  check_allow_list(text, keys);
  return 0;
}
