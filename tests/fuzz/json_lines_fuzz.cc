// Everything that reads a list of JSON lines, on hostile bytes: the first octet is the size of chunks, the second says
// which field is asked for; the rest is the list. Beyond memory safety: every line is in exactly one count, and what is
// handed over is counted.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter/lists/list_reader.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::filter;

struct Counted final : ListSink {
  void entry(const Entry& entry, std::uint64_t line) override {
    ++entries;
    bloomwall::fuzz::require(!entry.host.empty() && line > 0);
  }
  void allow(std::string_view /*text*/, std::uint64_t /*line*/) override { bloomwall::fuzz::require(false); }
  bool takes_ranges() const override { return true; }
  void range(const AddressRange& range, std::uint64_t /*line*/) override {
    ++entries;
    bloomwall::fuzz::require(range.first <= range.last);
  }
  std::uint64_t entries = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  ReadOptions options;
  options.format = Format::json_lines;
  options.csv_column = (data[1] & 1U) == 0 ? "" : "host";
  const std::size_t step = data[0] == 0 ? kInputChunkBytes : data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  Counted sink;
  const auto report = read_list(ListInput::of_memory(bytes, "list", step), {}, options, sink);
  if (!report) {
    bloomwall::fuzz::require(!report.error().what.empty());
    return 0;
  }
  bloomwall::fuzz::require(report->lines == report->blank + report->comments + report->boilerplate + report->taken +
                                                report->allowed + report->cancelled + report->unusable);
  bloomwall::fuzz::require(report->entry_count() == sink.entries);
  return 0;
}
