// The reader as the builder uses it: two passes and held blocks for $badfilter, blocks parsed apart and in any order,
// refusals, and what finish() adds.
// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/filter/lists/compress.h"
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

// A list of `rules` adblock rules, of which the first is taken back at the very end.
std::string cancelled_at_the_end(int rules) {
  std::string text = "[Adblock Plus 2.0]\n";
  for (int i = 0; i < rules; ++i) text += fmt::format("||host-{}.example^\n", i);
  return text + "||host-0.example^$badfilter\n";
}

// Reads `text` through a pipe, which cannot be read twice.
Reading read_pipe(const std::string& text, const ReadOptions& options) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t n = write(ends[1], rest.data(), rest.size());
      if (n <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    close(ends[1]);
  });
  ListFile file;
  file.path = fmt::format("/dev/fd/{}", ends[0]);
  Reading reading;
  auto report = read_list(file, options, reading.sink);
  if (report) {
    reading.report = *report;
  } else {
    reading.error = report.error().text();
  }
  writer.join();
  close(ends[0]);
  return reading;
}

TEST(ListReader, BadFilterAtTheEndReachesTheFirstRule) {
  const std::string text = cancelled_at_the_end(100'000);
  ASSERT_GT(text.size(), kSampleBytes);
  const Reading memory = read_text(text, ReadOptions{});
  EXPECT_EQ(memory.report.cancelled, 2U);
  EXPECT_EQ(memory.sink.entries.size(), 99'999U);
  EXPECT_EQ(memory.sink.entries.front(), "S host-1.example");
  const Reading pipe = read_pipe(text, {});
  EXPECT_EQ(pipe.report.cancelled, 2U);
  EXPECT_EQ(pipe.sink.entries, memory.sink.entries);
  EXPECT_EQ(pipe.report.digest, memory.report.digest);
  EXPECT_EQ(pipe.report.text_bytes, text.size());
}

TEST(ListReader, BadFilterBeyondWhatAPipeCanHoldBackIsReported) {
  const std::string text = cancelled_at_the_end(100'000);
  ReadOptions options;
  options.hold_back_bytes = 0;  // the sample alone is held
  const Reading reading = read_pipe(text, options);
  EXPECT_EQ(reading.report.cancelled, 0U);
  EXPECT_EQ(reading.report.unsupported.count("$badfilter that could not be applied"), 1U);
  EXPECT_EQ(reading.sink.entries.size(), 100'000U);
}

TEST(ListReader, MoreBadFiltersThanAnyListHasAreBoundedAndReported) {
  std::string text = "||a.example^\n";
  for (int i = 0; i < 400; ++i) text += fmt::format("||b.example/{}{}^$badfilter\n", std::string(60'000, 'x'), i);
  const Reading reading = read_text(text, Format::adblock);
  const std::uint64_t left = reading.report.unsupported.count("$badfilter that could not be applied");
  EXPECT_GT(left, 100U);
  EXPECT_EQ(reading.report.cancelled + left, 400U);
  EXPECT_EQ(reading.sink.entries, std::vector<std::string>{"S a.example"});
}

TEST(ListReader, CompressedListsAreDetectedAndCounted) {
  const std::string text = "0.0.0.0 a.example\n0.0.0.0 b.example\n";
  for (const Compression how : {Compression::none, Compression::gzip, Compression::xz, Compression::zstd,
                                Compression::bzip2, Compression::lz4}) {
    const std::string stored = compress(how, text);
    const Reading reading = read_text(stored, ReadOptions{});
    EXPECT_EQ(reading.report.format, Format::hosts);
    EXPECT_TRUE(reading.report.detected);
    EXPECT_EQ(reading.report.compression, how);
    EXPECT_EQ(reading.report.text_bytes, text.size());
    EXPECT_EQ(reading.sink.entries, (std::vector<std::string>{"X a.example", "X b.example"}));
  }
}

TEST(ListReader, ATruncatedListIsAnErrorEvenAfterEntries) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += fmt::format("host-{}.example\n", i);
  std::string stored = gzip(text);
  stored.resize(stored.size() - 100);
  const Reading reading = read_text(stored, ReadOptions{});
  EXPECT_NE(reading.error.find("damaged gzip data"), std::string::npos);
  EXPECT_FALSE(reading.sink.entries.empty());
}

TEST(ListReader, AGivenFormatIsNotSecondGuessed) {
  ReadOptions options;
  options.format = Format::hosts;
  const Reading reading = read_text("a.example\nb.example\n", options);
  EXPECT_EQ(reading.error, "");
  EXPECT_FALSE(reading.report.detected);
  EXPECT_EQ(reading.report.unusable, 2U);
  EXPECT_EQ(reading.report.unusable_share(), 1.0);
}

TEST(ListReader, AFolderKnowsItsFormatsBetterThanTheOption) {
  ListFile file;
  file.path = "cat/domains";
  file.format = Format::squidguard_domains;
  ReadOptions options;
  options.format = Format::hosts;
  EXPECT_EQ(describe(read_text("a.example\n", options, file)), "S a.example");
}

TEST(ListReader, HtmlIsRefusedWhateverTheFormat) {
  for (const Format format : kFormats) {
    ReadOptions options;
    options.format = format;
    const Reading reading = read_text("<html>\n<body>a.example</body>\n", options);
    EXPECT_NE(reading.error.find("HTML"), std::string::npos) << to_string(format);
    EXPECT_TRUE(reading.sink.entries.empty());
  }
}

// What joins lines or files by mistake, put into the middle of a name: in no format do the pieces become one entry.
TEST(ListReader, AReturnOrAByteOrderMarkInsideALineIsNoPartOfAnEntryInAnyFormat) {
  struct Case {
    Format format;
    std::string head, before, after;
  };
  for (const Case& c :
       {Case{Format::domains, "", "a.exa", "mple"}, Case{Format::wildcard, "", "*.a.exa", "mple"},
        Case{Format::hosts, "", "0.0.0.0 a.exa", "mple"}, Case{Format::adblock, "", "||a.exa", "mple^"},
        Case{Format::dnsmasq, "", "address=/a.exa", "mple/#"},
        Case{Format::unbound, "", "local-zone: \"a.exa", "mple\" always_null"},
        Case{Format::rpz, "", "a.exa", "mple CNAME ."}, Case{Format::urls, "", "http://a.exa", "mple/x"},
        Case{Format::urls, "", "http://a.example/x", "y"}, Case{Format::urls, "", "a.exa", "mple"},
        Case{Format::squidguard_domains, "", "a.exa", "mple"}, Case{Format::squidguard_urls, "", "a.example/x", "y"},
        Case{Format::csv, "id,url\n", "1,http://a.example/x", "y"},
        Case{Format::privoxy, "{+block}\n", ".a.exa", "mple"}, Case{Format::mixed, "", "a.exa", "mple"},
        Case{Format::mixed, "", "||a.exa", "mple^"}, Case{Format::networks, "", "192.0.2", ".0/24"}}) {
    for (const std::string& inside : {std::string("\r"), std::string(kByteOrderMark)}) {
      SCOPED_TRACE(std::string(to_string(c.format)) + " " + c.before + (inside == "\r" ? " CR" : " mark"));
      const Reading reading = read_text(c.head + c.before + inside + c.after + "\n", c.format);
      EXPECT_EQ(reading.error, "");
      EXPECT_TRUE(reading.sink.entries.empty()) << describe(reading);
      EXPECT_EQ(reading.report.unusable, 1U) << describe(reading);
      if (inside == "\r") {
        EXPECT_EQ(reading.report.malformed.count("carriage return inside the line"), 1U);
      }
      const Reading whole = read_text(c.head + c.before + c.after + "\r\n", c.format);
      EXPECT_FALSE(whole.sink.entries.empty()) << "the line itself is good: " << describe(whole);
    }
  }
}

TEST(ListReader, AMissingFileIsAnError) {
  ListFile file;
  file.path = "/nonexistent/list";
  Collected sink;
  const auto report = read_list(file, {}, sink);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::io);
}

// The pipeline: one reader, several parsers on threads, reports merged.
TEST(ListReader, BlocksParsedApartGiveTheSameEntriesAndCounts) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) {
    text += i % 10 == 0 ? "# comment\n" : i % 7 == 0 ? "192.0.2.0/24\n" : fmt::format("host-{}.example.com\n", i);
  }
  const Reading whole = read_text(text, ReadOptions{});
  auto reader = ListReader::open(ListInput::of_memory(text, "list"), ListFile{}, {});
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->order_free());
  std::vector<LineBlock> blocks;
  LineBlock block;
  while (reader->next(block).value_or(false)) blocks.push_back(std::exchange(block, {}));
  ASSERT_GT(blocks.size(), 3U);
  constexpr std::size_t kThreads = 3;
  std::array<Collected, kThreads> sinks;
  std::array<FileReport, kThreads> reports;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      BlockParser parser = reader->parser();
      for (std::size_t i = t; i < blocks.size(); i += kThreads) parser.parse(blocks[i], sinks[t], reports[t]);
      parser.finish(sinks[t], reports[t]);
    });
  }
  for (auto& thread : threads) thread.join();
  FileReport sum;
  std::vector<std::string> entries;
  for (std::size_t t = 0; t < kThreads; ++t) {
    sum.merge_counts(reports[t]);
    entries.insert(entries.end(), sinks[t].entries.begin(), sinks[t].entries.end());
  }
  reader->finish(sum);
  std::vector<std::string> expected = whole.sink.entries;
  std::sort(expected.begin(), expected.end());
  std::sort(entries.begin(), entries.end());
  EXPECT_EQ(entries, expected);
  EXPECT_EQ(text_of(sum), text_of(whole.report)) << "examples too are those of the lowest lines";
  EXPECT_EQ(sum.digest, whole.report.digest);
}

TEST(ListReader, OnlyFormatsWithoutMemoryAreOrderFree) {
  for (const Format format : kFormats) {
    const bool has_memory =
        format == Format::rpz || format == Format::csv || format == Format::privoxy || format == Format::unbound;
    EXPECT_EQ(is_order_free(format), !has_memory) << to_string(format);
  }
}

}  // namespace
}  // namespace bloomwall::filter::test
