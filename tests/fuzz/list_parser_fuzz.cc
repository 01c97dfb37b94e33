// Everything that reads a list, on hostile bytes: the first octet chooses format and options (or detection), the second
// the size of chunks; the rest is the list, compressed or not. Beyond memory safety it checks what no input may break:
// every line is in exactly one count, entries and counts agree, and what is handed over is well-formed.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "filter/lists/list_reader.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::filter;

using bloomwall::fuzz::require;

struct Checked final : ListSink {
  void entry(const Entry& entry, std::uint64_t line) override {
    ++entries;
    require(!entry.host.empty() && line > 0);
    require(is_host_kind(entry.kind) || is_path_kind(entry.kind));
    require(is_path_kind(entry.kind) == entry.path.starts_with('/'));
    require(entry.kind != Kind::directory || entry.path.ends_with('/'));
    require((entry.kind == Kind::url_query) == !entry.query.empty());
    require(entry.host_kind == HostKind::name || !is_host_kind(entry.kind) || entry.kind == Kind::exact_host);
  }
  void allow(std::string_view text, std::uint64_t /*line*/) override {
    ++allowed;
    require(!text.empty() && text.find('\n') == std::string_view::npos);
  }
  bool takes_ranges() const override { return true; }
  void range(const AddressRange& range, std::uint64_t line) override {
    ++ranges;
    require(line > 0 && range.first <= range.last);
    // What is shown is what was read.
    const RangeReading again = read_address_range(text_of(range));
    require(again.outcome == RangeReading::Outcome::range && again.range == range);
  }
  std::uint64_t entries = 0;
  std::uint64_t ranges = 0;
  std::uint64_t allowed = 0;
};

ReadOptions options_of(std::uint8_t choice) {
  ReadOptions options;
  options.format = kFormats[(choice & 0x0FU) % kFormats.size()];
  options.exact = options.hosts_as_suffix = (choice & 0x10U) != 0;
  options.strict_wildcard = options.aggressive = (choice & 0x20U) != 0;
  options.allow_tld = (choice & 0x40U) != 0;
  options.white_categories = (choice & 0x80U) != 0 ? WhiteUse::allow : WhiteUse::block;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ReadOptions options = options_of(data[0]);
  ListFile file;
  file.path = (data[0] & 0x0FU) == 0x0F ? "category/urls" : "list";
  file.usage = options.white_categories == WhiteUse::allow ? Usage::white : Usage::unknown;
  const std::size_t step = data[1] == 0 ? kInputChunkBytes : data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  Checked sink;
  const auto report = read_list(ListInput::of_memory(bytes, "list", step), file, options, sink);
  if (!report) {
    require(!report.error().what.empty());
    return 0;
  }
  require(report->lines == report->blank + report->comments + report->boilerplate + report->taken + report->allowed +
                               report->cancelled + report->unusable);
  require(report->unusable == report->unsupported.total() + report->malformed.total());
  require(report->entry_count() == sink.entries + sink.ranges && report->allow_rules == sink.allowed &&
          report->entries[index_of(Kind::network)] == sink.ranges);
  require(text_of(*report).ends_with('\n'));
  return 0;
}
