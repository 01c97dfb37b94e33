// Reads one list: detects its format, splits it into lines, makes entries of each line and reports its outcome.
// On one thread:
//   auto report = read_list(file, options, sink);
// On many threads: open() once; next() from one thread at a time gives blocks of whole lines; every thread has a
// BlockParser, a sink and a FileReport of its own. Where order_free() is false one thread parses all blocks in order.
// Reports are merged with merge_counts, and finish() adds what only the reader knows (bytes, digest).
// The first lines of the parsers (*_parser.cc) describe each format, line by line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filter/lists/list_folder.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_input.h"
#include "filter/lists/list_report.h"
#include "filter/result.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

enum class WhiteUse : std::uint8_t { refuse, allow, block };

struct ReadOptions {
  Format format = Format::auto_detect;  // --format; what a category folder says about its files comes first
  bool exact = false;                   // --exact: names of plain domain lists stand for themselves alone (X)
  bool hosts_as_suffix = false;         // --hosts-as-suffix: names of hosts files stand for their subdomains too (S)
  bool strict_wildcard = false;         // --strict-wildcard: *.example.com leaves out example.com (W)
  bool allow_tld = false;               // --allow-tld: take "zip" and "*.zip" instead of skipping them
  bool aggressive = false;              // --aggressive: adblock rules for third-party requests alone stop every request
  bool allow_wide_ranges = false;       // --allow-wide-ranges: take ranges beyond kWidestIpv4 and kWidestIpv6
  bool path_info = false;               // --path-info: "/a.php" also stands for what is under "/a.php/" (D)
  bool index_files = false;             // --index-files: "/a/index.html" also stands for "/a/" (U)
  // --csv-column: the column of tables that holds the URLs, a number from 1 or a name in the header; lists are tables
  // then.
  std::string csv_column = {};
  // --categories: of a folder or an archive of categories these alone (expand_list); empty: all.
  std::vector<std::string> categories = {};
  // What the archive holds, where it was unpacked before (expand_list); null: it is opened.
  std::shared_ptr<const ListTree> unpacked = nullptr;
  // A category whose usage is "white" alone: refused with a message, read as allow rules, or read as a block list.
  WhiteUse white_categories = WhiteUse::refuse;
  // What a list excepts from being stopped, "@@||example.com^", are its entries: for a filter that allows.
  bool exceptions_as_entries = false;
  // An adblock list that cannot be read twice (a pipe) is held back up to here to see its $badfilter rules first.
  std::size_t hold_back_bytes = std::size_t{64} << 20;
};

// The widest range that a line may name: a /8 of IPv4, a /16 of IPv6. Wider ones are unusable unless allow_wide_ranges;
// ranges of every address always are.
inline constexpr unsigned kWidestIpv4 = 24;  // bits that may differ within a range: 2^24 addresses
inline constexpr unsigned kWidestIpv6 = 112;

// Where entries go. Called by the thread that parses; must not throw.
class ListSink {
 public:
  virtual ~ListSink() = default;
  // Views are valid during the call only.
  virtual void entry(const Entry& entry, std::uint64_t line) = 0;
  // An allow rule in the text form of an allow list: "example.com", "example.com/path", "@@|example.com^".
  virtual void allow(std::string_view text, std::uint64_t line) = 0;
  // Of an entry that comes next: no exception of its list frees it ($important).
  virtual void important(const Entry& /*entry*/) {}
  // A range of addresses ("1.10.16.0/20"); of one address alone in a list of networks. Only where takes_ranges(); else
  // such a line is unsupported.
  virtual bool takes_ranges() const { return false; }
  virtual void range(const AddressRange& /*range*/, std::uint64_t /*line*/) {}
};

struct ParsePlan;  // line_parser.h

// Parses blocks of one file. One per thread; sink and report may be different ones at every call.
class BlockParser {
 public:
  explicit BlockParser(std::shared_ptr<const ParsePlan> plan);
  BlockParser(BlockParser&&) noexcept;
  BlockParser& operator=(BlockParser&&) noexcept;
  ~BlockParser();
  void parse(const LineBlock& block, ListSink& sink, FileReport& report);
  // After the last block: passes on what was held back (the second half of an RPZ pair, an open CSV record).
  void finish(ListSink& sink, FileReport& report);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Movable; next() from one thread at a time.
class ListReader {
 public:
  static Result<ListReader> open(const ListFile& file, const ReadOptions& options);
  static Result<ListReader> open(ListInput input, const ListFile& file, const ReadOptions& options);
  ListReader(ListReader&&) noexcept;
  ListReader& operator=(ListReader&&) noexcept;
  ~ListReader();

  Format format() const;
  bool order_free() const;
  const ListInput& input() const;       // for progress
  Result<bool> next(LineBlock& block);  // false at the end
  BlockParser parser() const;
  void finish(FileReport& report) const;  // path, list, category, format, compression, bytes, digest

 private:
  struct State;
  explicit ListReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The whole of one file on this thread. On an error (a corrupt stream, a refused file) entries may have reached the
// sink.
Result<FileReport> read_list(const ListFile& file, const ReadOptions& options, ListSink& sink);
Result<FileReport> read_list(ListInput input, const ListFile& file, const ReadOptions& options, ListSink& sink);

}  // namespace bloomwall::filter
