// The outcome of every line of a list, counted: by it a build refuses a list, and people check the result.
// Every line is in exactly one of the line counts; entries, addresses and so on count what was passed to the sink. The
// builder counts duplicates and entries that a listed parent covers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/kind.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_input.h"

namespace bloomwall::filter {

inline constexpr std::size_t kExamplesKept = 5;
inline constexpr std::size_t kExampleBytes = 120;  // longer lines are clipped, control octets shown as \xNN

struct Example {
  std::uint64_t line = 0;
  std::string text;
};
// A line as reports show it: clipped at kExampleBytes, control octets as \xNN.
std::string shown_line(std::string_view text);

struct ReasonCount {
  std::string reason;
  std::uint64_t count = 0;
  std::vector<Example> examples;  // the first kExamplesKept by line number
};

// Counts by reason, each with its first examples. Reasons are few: a fixed vocabulary, never text of the file.
class ReasonTally {
 public:
  void add(std::string_view reason, std::uint64_t line, std::string_view text);
  void merge(const ReasonTally& other);
  std::uint64_t total() const;
  std::uint64_t count(std::string_view reason) const;
  bool empty() const { return reasons_.empty(); }
  std::vector<ReasonCount> by_count() const;  // the most frequent first

 private:
  ReasonCount& slot(std::string_view reason);
  std::vector<ReasonCount> reasons_;
};

// The number of entries that a list states (stated_count.h); of several statements the largest, since others may be of
// parts. `count` 0: it states none.
struct StatedCount {
  std::uint64_t count = 0;
  std::uint64_t line = 0;
  std::string text = {};  // of that line
};

struct FileReport {
  std::string path;      // of this file
  std::string list;      // the argument it came from; a folder's files have it in common
  std::string category;  // of a category folder, else empty
  Format format = Format::auto_detect;
  bool detected = false;  // the format was not given but detected
  Compression compression = Compression::none;
  std::uint64_t text_bytes = 0;
  TextDigest digest{};
  std::vector<std::string> left_out;  // of a folder, with its first file: paths that are not read, and why
  TextDigest stored_digest{};         // of the file as stored; where it is compressed, another one

  // Lines; their sum is `lines`.
  std::uint64_t lines = 0;
  std::uint64_t blank = 0;
  std::uint64_t comments = 0;
  std::uint64_t boilerplate = 0;  // carried beside rules: localhost names, settings, CSV headers, SOA records
  std::uint64_t taken = 0;        // gave at least one entry
  std::uint64_t allowed = 0;      // gave allow rules and no entry
  std::uint64_t cancelled = 0;    // adblock rules that a $badfilter rule takes back, and those $badfilter rules
  std::uint64_t unusable = 0;     // everything else; the sum of the next two

  // Understood, but no key stands for it: cosmetic rules, modifiers, regular expressions, bare TLDs, forwarders.
  ReasonTally unsupported;
  // Not a line of this format, no host in it, over 64 KiB, NUL octets.
  ReasonTally malformed;

  // Entries handed to the sink, and what is remarkable about them.
  std::array<std::uint64_t, kKindCount> entries{};  // by index_of(kind)
  std::uint64_t allow_rules = 0;                    // handed to the sink
  std::uint64_t addresses = 0;                      // IP addresses among the entries
  std::uint64_t single_label = 0;                   // hosts like "intranet"
  std::uint64_t tlds_taken = 0;                     // bare TLDs, with --allow-tld only
  ReasonTally skipped_names;                        // left out of lines of which other names were taken
  ReasonTally warnings;                             // taken all the same; kWarn... below
  // Lines that are not of the detected format but of another one, by the name of that; `format` is mixed then.
  ReasonTally other_formats;
  Format begins_as = Format::auto_detect;  // the format that was detected, where there are such lines

  StatedCount stated;
  std::uint64_t open_line = 0;  // the last line where it has no line end, as that of a list that was cut; 0: it has one

  void note_stated(std::uint64_t count, std::uint64_t line, std::string_view text);
  // How many of the stated entries were not found; lines that could not be used were found.
  std::uint64_t missing_of_stated() const;
  std::uint64_t entry_count() const;
  std::uint64_t content_lines() const { return taken + allowed + unusable; }
  // Unusable lines and skipped names among content lines and these names, 0..1. Cosmetic and unsupported rules count;
  // blank lines, comments, boilerplate and cancelled rules do not.
  double unusable_share() const;
  // Adds what another thread counted on other blocks of the same file; path, format and digest stay.
  void merge_counts(const FileReport& other);
};

// What stands in `warnings`; programs may look for these.
inline constexpr std::string_view kWarnNarrowed = "narrowed: the rule means more than its keys";
inline constexpr std::string_view kWarnAnyQuery = "taken for any query";
inline constexpr std::string_view kWarnOdd = "odd host or URL, which requests may spell differently";
inline constexpr std::string_view kWarnPublicSuffix = "public suffix";
inline constexpr std::string_view kWarnPublicSuffixUrl = "URL of a public suffix, taken as that host alone";
inline constexpr std::string_view kWarnImportant = "$important, taken as a plain rule";
inline constexpr std::string_view kWarnThirdParty = "$third-party, taken for every request";
inline constexpr std::string_view kWarnCondition = "condition of the list's preprocessor, read as if it held";
inline constexpr std::string_view kWarnWwwStripped = "leading www. taken off";
inline constexpr std::string_view kWarnRoot = "path or query that says nothing, taken as the whole host";
inline constexpr std::string_view kWarnPort = "port taken off, taken as the whole host";
inline constexpr std::string_view kWarnHostBits =
    "range with bits set beyond its prefix, taken as the network around it";
inline constexpr std::string_view kWarnNoSink = "address that is not a sink; the name may really be there";
inline constexpr std::string_view kWarnHeader = "name of a column, left out";
inline constexpr std::string_view kWarnLocalRange = "range of the local network or of loopback, which is stopped too";
inline constexpr std::string_view kWarnEntity = "\"&amp;\" in a URL, taken as it stands and as '&'";
inline constexpr std::string_view kWarnRelativeAction = "action without its last dot, taken as a name, as BIND does";
inline constexpr std::string_view kWarnDefanged = "defanged, taken as the host or URL that is meant";
inline constexpr std::string_view kWarnFragment = "fragment cut off, taken as the whole host";

// What of the lines and names of a list is not in the filter: by reason, unsupported and malformed together, the most
// frequent first, each with its first examples. At most `most` reasons; the rest are the last one, kOtherReasons, with
// no examples.
inline constexpr std::size_t kReasonsShown = 12;
inline constexpr std::string_view kOtherReasons = "other reasons";
std::vector<ReasonCount> not_taken(const FileReport& report, std::size_t most = kReasonsShown);

// One line for a person: "80 of 2000 rules are not taken (4.0 %): 60 modifier $script (line 7: ||a.example^$script); 20
// cosmetic rule (line 9: ##.ad)". Empty where everything was taken. The three most frequent reasons, one example each.
std::string loss_text(const FileReport& report);

// The largest unusable share over the arguments of a build. Files of one argument (`list`) count together, so that one
// line in a category's "expressions" does not make the whole category unusable.
struct UnusableShare {
  std::string list;
  double share = 0;
  std::uint64_t unusable = 0, content = 0;
};
UnusableShare worst_unusable_share(std::span<const FileReport> reports);

// Several lines of text for a person; ends in LF.
std::string text_of(const FileReport& report);

}  // namespace bloomwall::filter
