// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/list_search.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "filter/kind.h"
#include "filter/lists/list_reader.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"
#include "filter/url/plain_query.h"

namespace bloomwall::filter {
namespace {

using Wanted = std::set<std::string, std::less<>>;

RangeSet addresses_of(const Wanted& wanted) {
  std::vector<AddressRange> out;
  for (const std::string& text : wanted) {
    if (const auto address = read_address(text)) out.push_back(range_of(*address));
  }
  return RangeSet(out);
}

// The text of an entry with its query, if it has one, by its parameters.
std::string with_plain_query(const std::string& text) {
  const std::size_t mark = text.find('?');
  if (mark == std::string::npos) return text;
  std::string plain;
  set_plain_query(std::string_view(text).substr(mark + 1), plain);
  return text.substr(0, mark + 1) + plain;
}

Wanted in_reading(const Wanted& wanted, QueryReading queries) {
  if (queries == QueryReading::as_spelt) return wanted;
  Wanted out;
  for (const std::string& text : wanted) out.insert(with_plain_query(text));
  return out;
}

// Notes on which lines of a block something wanted stands.
class SearchSink final : public ListSink {
 public:
  SearchSink(const Wanted& wanted, QueryReading queries)
      : wanted_(in_reading(wanted, queries)), queries_(queries), addresses_(addresses_of(wanted)) {}
  void entry(const Entry& entry, std::uint64_t line) override {
    const std::string text = text_of(entry);
    const bool by_parameters = entry.kind == Kind::url_query && queries_ == QueryReading::by_parameters;
    if (wanted_.contains(by_parameters ? with_plain_query(text) : text)) note(line);
  }
  void allow(std::string_view text, std::uint64_t line) override {
    if (wanted_.contains(without_rule(text))) note(line);
  }
  bool takes_ranges() const override { return true; }
  void range(const AddressRange& range, std::uint64_t line) override {
    if (addresses_.overlaps(range) || wanted_.contains(text_of(range))) note(line);
  }
  std::vector<std::uint64_t> take() { return std::exchange(lines_, {}); }

 private:
  // "@@|example.com^", "@@||*.example.com^": as they stand for a name.
  static std::string_view without_rule(std::string_view text) {
    for (const std::string_view start : {"@@||*.", "@@|"}) {
      if (text.starts_with(start)) return text.substr(start.size(), text.size() - start.size() - 1);
    }
    return text;
  }
  void note(std::uint64_t line) {
    if (lines_.empty() || lines_.back() != line) lines_.push_back(line);
  }
  const Wanted wanted_;
  const QueryReading queries_;
  const RangeSet addresses_;          // that are wanted
  std::vector<std::uint64_t> lines_;  // in order
};

// Of lines that a block does not have, as of pairs of a zone that begin before it, the number alone is known.
void add_lines(const LineBlock& block, std::vector<std::uint64_t> numbers, SearchedList& out) {
  std::ranges::sort(numbers);
  auto next = numbers.begin();
  const auto add = [&](std::uint64_t number, std::string_view text) {
    if (out.lines.size() < kMaxFoundLines)
      out.lines.push_back({number, std::string(text.substr(0, kMaxFoundLineBytes))});
  };
  for (; next != numbers.end() && *next < block.first_line; ++next) add(*next, {});
  for (LineWalk walk(block.text, block.first_line); next != numbers.end() && walk.next();) {
    for (; next != numbers.end() && *next == walk.number(); ++next) add(*next, walk.line());
  }
  for (; next != numbers.end(); ++next) add(*next, {});
}

// Reads the list once more for the texts of lines of which the number alone is known, and puts all in order.
Result<void> add_texts(const ListFile& list, const ReadOptions& read, std::vector<FoundLine>& found) {
  std::ranges::sort(found, {}, &FoundLine::line);
  const auto lacks_text = [](const FoundLine& line) { return line.text.empty(); };
  auto next = std::ranges::find_if(found, lacks_text);
  if (next == found.end()) return {};
  auto reader = ListReader::open(list, read);
  if (!reader) return unexpected(reader.error());
  LineBlock block;
  while (next != found.end()) {
    const auto more = reader->next(block);
    if (!more) return unexpected(more.error());
    if (!*more) break;
    for (LineWalk walk(block.text, block.first_line); next != found.end() && walk.next();) {
      for (; next != found.end() && next->line == walk.number(); next = std::find_if(next + 1, found.end(), lacks_text))
        next->text = walk.line().substr(0, kMaxFoundLineBytes);
    }
  }
  return {};
}

}  // namespace

Result<SearchedList> search_list(const ListFile& list, const Wanted& wanted, const std::function<bool()>& stop,
                                 ReadOptions read, QueryReading queries) {
  read.allow_tld = read.allow_wide_ranges = true;
  if (read.white_categories == WhiteUse::refuse) read.white_categories = WhiteUse::allow;
  auto reader = ListReader::open(list, read);
  if (!reader) return unexpected(reader.error());
  SearchedList out{.path = list.path, .lines = {}};
  SearchSink sink(wanted, queries);
  FileReport report;
  BlockParser parser = reader->parser();
  LineBlock block;
  for (;;) {
    if (stop && stop()) return unexpected(Error{Errc::io, list.path, "the search was stopped"});
    const auto more = reader->next(block);
    if (!more) return unexpected(more.error());
    if (!*more) break;
    parser.parse(block, sink, report);
    add_lines(block, sink.take(), out);
  }
  parser.finish(sink, report);
  add_lines({}, sink.take(), out);
  reader->finish(report);
  if (auto ok = add_texts(list, read, out.lines); !ok) return unexpected(std::move(ok).error());
  out.digest = report.stored_digest;
  out.loss = loss_text(report);
  return out;
}

Result<std::vector<std::string>> lists_of_folder(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    if (out.size() == kMaxListsOfFolder) return unexpected(Error{Errc::limit, folder.string(), "over 1000 lists"});
    out.push_back(at->path().string());
  }
  if (error) return unexpected(Error{Errc::io, folder.string(), error.message()});
  std::ranges::sort(out);
  return out;
}

}  // namespace bloomwall::filter
