// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_collector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{256} << 20;

KeyMaker collector_keys() {
  SeriesKey key{};
  key[3] = 9;
  return KeyMaker(key);
}

void add_all(KeyCollector& collector, const std::vector<std::string>& texts, Kind host_kind = Kind::suffix) {
  KeyCollector::Inserter inserter(collector);
  EntryParser parser;
  for (const std::string& text : texts) {
    const bool is_url = text.find('/') != std::string::npos;
    for (const Entry& entry : (is_url ? parser.url(text) : parser.domain(text, host_kind)).entries) inserter.add(entry);
  }
}

std::uint64_t of(const KeySummary& s, Kind kind) { return s.distinct[index_of(kind)]; }

TEST(KeyCollector, CountsDistinctEntriesHostsAndMarks) {
  KeyCollector collector(collector_keys(), kPlenty);
  add_all(collector,
          {"example.com", "example.com", "www.example.com", "192.0.2.7", "http://example.com/a", "http://example.com/a",
           "http://example.com/b", "http://other.test/c?q", "http://other.test/d/", "http://other.test/d/e/f/"});
  const KeySummary s = collector.summary(1);
  EXPECT_EQ(of(s, Kind::suffix), 2U);
  EXPECT_EQ(of(s, Kind::exact_host), 1U);
  EXPECT_EQ(of(s, Kind::url), 2U);
  EXPECT_EQ(of(s, Kind::url_query), 1U);
  EXPECT_EQ(of(s, Kind::directory), 2U);
  EXPECT_EQ(s.hosts, 4U);
  EXPECT_EQ(s.marks, 4U) << "U on one host; Q, D1 and D3 on the other";
  EXPECT_EQ(s.mark_mask, (1U << kVariantMarkUrl) | (1U << kVariantMarkQuery) | (1U << directory_mark(1)) |
                             (1U << directory_mark(3)));
  EXPECT_EQ(s.min_labels, 2);
  EXPECT_EQ(s.max_labels, 3);
  EXPECT_EQ(s.max_depth, 3);
  EXPECT_EQ(s.total(), 8U);
}

TEST(KeyCollector, CountsWhatAListedParentCovers) {
  KeyCollector collector(collector_keys(), kPlenty);
  add_all(collector, {"example.com", "a.example.com", "deep.er.example.com", "notexample.com", "http://b.example.com/x",
                      "http://example.com/y", "http://free.test/z"});
  const KeySummary s = collector.summary(2);
  EXPECT_EQ(s.covered_hosts, 2U) << "a.example.com and deep.er.example.com";
  EXPECT_EQ(s.covered_paths, 2U) << "under a parent, and under their own host";
}

TEST(KeyCollector, AnExactHostCoversNobody) {
  KeyCollector collector(collector_keys(), kPlenty);
  add_all(collector, {"example.com", "a.example.com", "http://example.com/y"}, Kind::exact_host);
  EXPECT_EQ(collector.summary(1).covered_hosts, 0U);
  EXPECT_EQ(collector.summary(1).covered_paths, 0U);
}

TEST(KeyCollector, SubdomainsAloneCoverSubdomains) {
  KeyCollector collector(collector_keys(), kPlenty);
  add_all(collector, {"example.com"}, Kind::subdomains);
  add_all(collector, {"a.example.com", "http://example.com/y", "http://b.example.com/y"});
  EXPECT_EQ(collector.summary(1).covered_hosts, 1U);
  EXPECT_EQ(collector.summary(1).covered_paths, 1U);
}

// `hosts` of them, each with the marks of `paths`.
void add_marked(KeyCollector& collector, std::string_view under, int hosts, const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  for (int i = 0; i < hosts; ++i) {
    for (const std::string& path : paths) texts.push_back(fmt::format("http://h{}.{}/{}", i, under, path));
  }
  add_all(collector, texts);
}

TEST(KeyCollector, TellsWhatARequestAsksOfPAtP99) {
  KeyCollector collector(collector_keys(), kPlenty);
  EXPECT_EQ(collector.summary(1).path_questions, 0U);
  add_all(collector, {"a.test", "b.test"});
  EXPECT_EQ(collector.summary(1).path_questions, 0U) << "no host has marks";
  add_marked(collector, "few.test", 980, {"a", "b"});
  EXPECT_EQ(collector.summary(1).path_questions, 1U);
  add_marked(collector, "many.test", 9, {"a", "a?q", "a/", "a/b/", "a/b/c/"});
  EXPECT_EQ(collector.summary(1).path_questions, 2U) << "one host of a hundred, but the mean entry is of more than one";
  add_marked(collector, "more.test", 11, {"a", "a?q", "a/"});
  EXPECT_EQ(collector.summary(2).path_questions, 3U);
  add_all(collector, {"http://test/x", "http://few.test/x/"});
  EXPECT_EQ(collector.summary(2).path_questions, 4U) << "marks of parents are asked as well";
}

TEST(KeyCollector, TellsWhatIsAskedOfPAtMost) {
  KeyCollector collector(collector_keys(), kPlenty);
  EXPECT_EQ(collector.summary(1).most_path_questions, 0U);
  add_marked(collector, "few.test", 500, {"a"});
  EXPECT_EQ(collector.summary(2).most_path_questions, 1U);
  add_marked(collector, "many.test", 1, {"a", "a?q", "a/", "a/b/"});
  EXPECT_EQ(collector.summary(2).most_path_questions, 4U);
  EXPECT_EQ(collector.summary(2).path_questions, 2U) << "the mean entry";
  add_all(collector, {"http://many.test/x"});
  EXPECT_EQ(collector.summary(2).most_path_questions, 5U) << "marks of parents are asked as well";
  std::string deep = "http://deep.test/";
  for (int i = 0; i < 20; ++i) deep += "d/";
  add_all(collector, {deep});
  EXPECT_EQ(collector.summary(2).most_path_questions, 5U) << "depths 16 to 20 share a mark";
  add_all(collector, {"http://deep.test/x"});
  EXPECT_EQ(collector.summary(2).most_path_questions, 6U);
}

TEST(KeyCollector, OfOneHostWithNearlyAllEntriesTellsItsQuestions) {
  KeyCollector collector(collector_keys(), kPlenty);
  add_marked(collector, "few.test", 200, {"a"});
  std::vector<std::string> texts;
  for (int i = 0; i < 9000; ++i)
    texts.push_back(fmt::format("http://big.test/{}{}", i, i % 3 == 0 ? "/" : i % 3 == 1 ? "?q" : ""));
  add_all(collector, texts);
  EXPECT_EQ(collector.summary(2).path_questions, 3U);
}

TEST(KeyCollector, AnEmptyOneHasNothing) {
  KeyCollector collector(collector_keys(), kPlenty);
  const KeySummary s = collector.summary(1);
  EXPECT_EQ(s.total(), 0U);
  EXPECT_EQ(s.hosts, 0U);
  EXPECT_EQ(s.min_labels, 0);
  EXPECT_EQ(s.max_labels, 0);
}

std::vector<std::string> many_entries(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string host = "h" + std::to_string(random() % 3000) + ".z" + std::to_string(random() % 50) + ".example";
    switch (random() % 4) {
      case 0:
        out.push_back(host);
        break;
      case 1:
        out.push_back("http://" + host + "/p" + std::to_string(random() % 100));
        break;
      case 2:
        out.push_back("http://" + host + "/d" + std::to_string(random() % 100) + "/");
        break;
      default:
        out.push_back("http://" + host + "/p?q=" + std::to_string(random() % 100));
        break;
    }
  }
  return out;
}

std::string summary_text(const KeySummary& s) {
  std::string out;
  for (const std::uint64_t n : s.distinct) out += std::to_string(n) + " ";
  for (const std::uint64_t n : {s.hosts, s.marks, s.covered_hosts, s.covered_paths, std::uint64_t{s.path_questions},
                                std::uint64_t{s.most_path_questions}})
    out += std::to_string(n) + " ";
  return out + std::to_string(s.mark_mask) + " " + std::to_string(s.max_labels) + " " + std::to_string(s.max_depth);
}

TEST(KeyCollector, NeitherOrderNorThreadsMatter) {
  auto texts = many_entries(11, 20'000);
  KeyCollector one(collector_keys(), kPlenty);
  add_all(one, texts);
  std::shuffle(texts.begin(), texts.end(), std::mt19937_64(12));
  KeyCollector many(collector_keys(), kPlenty);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const auto from = texts.begin() + static_cast<std::ptrdiff_t>(t * texts.size() / 4);
        const auto to = texts.begin() + static_cast<std::ptrdiff_t>((t + 1) * texts.size() / 4);
        add_all(many, {from, to});
      });
    }
  }
  EXPECT_EQ(summary_text(one.summary(1)), summary_text(many.summary(3)));
}

TEST(KeyCollector, SaysWhenMemoryIsOut) {
  KeyCollector collector(collector_keys(), 100'000);
  EXPECT_EQ(collector.ram_bytes(), 100'000U);
  add_all(collector, {"example.com"});
  EXPECT_FALSE(collector.out_of_memory());
  add_all(collector, many_entries(13, 20'000));
  EXPECT_TRUE(collector.out_of_memory());
}

TEST(KeyCollector, FlushMakesEntriesCount) {
  KeyCollector collector(collector_keys(), kPlenty);
  KeyCollector::Inserter inserter(collector);
  EntryParser parser;
  inserter.add(parser.domain("example.com").entries.front());
  EXPECT_EQ(collector.distinct()[index_of(Kind::suffix)], 0U);
  inserter.flush();
  EXPECT_EQ(collector.distinct()[index_of(Kind::suffix)], 1U);
  inserter.add(parser.domain("example.com").entries.front());
  inserter.add(parser.domain("example.org").entries.front());
  inserter.flush();
  EXPECT_EQ(collector.distinct()[index_of(Kind::suffix)], 2U);
}

// Into a file, with pages that shards share and pages that they do not, with one thread and with three.
TEST(KeyCollector, InsertsEverythingAndTheSameBytes) {
  const test::TempDir dir;
  const auto texts = many_entries(14, 5000);
  KeyCollector collector(collector_keys(), kPlenty);
  add_all(collector, texts);
  {
    KeyCollector::Inserter inserter(collector);
    Entry raw;
    raw.kind = Kind::raw;
    raw.path = "some bytes";
    inserter.add(raw);
  }
  for (const std::uint64_t pages : {7U, 128U}) {
    std::vector<std::vector<std::byte>> bytes;
    for (const unsigned threads : {1U, 3U}) {
      FilterWriter::Plan plan;
      plan.header.series_key[3] = 9;
      set_counts(plan.header, collector.summary(1));
      plan.hosts = plan.paths = plan.raw = Geometry{.layout = Layout::lines_4x4, .pages = pages};
      const auto path = dir.path() / "f.bwf";
      auto writer = FilterWriter::create(path, plan);
      ASSERT_TRUE(writer) << writer.error().text();
      ASSERT_TRUE(collector.insert_into(**writer, threads, {}));
      const auto section = (*writer)->hosts()->bytes();
      bytes.emplace_back(section.begin(), section.end());
      const auto keys = (*writer)->paths()->bytes();
      bytes.back().insert(bytes.back().end(), keys.begin(), keys.end());
      ASSERT_TRUE((*writer)->commit());
      const auto file = FilterFile::open(path);
      ASSERT_TRUE(file) << file.error().text();
      const FilterQuery query(**file);
      Canonicaliser canonicaliser;
      for (const std::string& text : texts) EXPECT_TRUE(query.url(canonicaliser.url(text))) << text;
      EXPECT_TRUE(query.raw("some bytes"));
      EXPECT_FALSE(query.raw("other bytes"));
    }
    EXPECT_EQ(bytes[0], bytes[1]);
  }
}

TEST(KeyCollector, StopsWhenTold) {
  const test::TempDir dir;
  KeyCollector collector(collector_keys(), kPlenty);
  add_all(collector, {"example.com"});
  FilterWriter::Plan plan;
  set_counts(plan.header, collector.summary(1));
  plan.hosts = Geometry{};
  auto writer = FilterWriter::create(dir.path() / "f.bwf", plan);
  ASSERT_TRUE(writer);
  EXPECT_FALSE(collector.insert_into(**writer, 2, [] { return true; }));
}

TEST(SetCounts, CopiesWhatAHeaderTells) {
  KeySummary s;
  s.distinct[index_of(Kind::url)] = 5;
  s.hosts = 4;
  s.marks = 3;
  s.mark_mask = 1U << kVariantMarkUrl;
  s.min_labels = 2;
  s.max_labels = 6;
  s.max_depth = 9;
  Header h;
  h.kinds[index_of(Kind::url)].entries = 8;
  set_counts(h, s);
  EXPECT_EQ(h.kinds[index_of(Kind::url)].keys, 5U);
  EXPECT_EQ(h.kinds[index_of(Kind::url)].entries, 8U);
  EXPECT_EQ(h.hosts, 4U);
  EXPECT_EQ(h.marks, 3U);
  EXPECT_EQ(h.mark_mask, s.mark_mask);
  EXPECT_EQ(h.min_labels, 2);
  EXPECT_EQ(h.max_labels, 6);
  EXPECT_EQ(h.max_depth, 9);
}

}  // namespace
}  // namespace bloomwall::filter
