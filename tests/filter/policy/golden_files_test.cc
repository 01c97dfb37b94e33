// Frozen files of format version 1 that the program made of tests/data/golden_v1_lists.txt: a filter with its exact
// side, a counting filter, one with sketches, two signed deltas of the first, the later of which counts its changes,
// and golden_v1_hosts_2x8.bwf with nine signatures, the last in a section.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/bits/counters.h"
#include "filter/file/exact_side.h"
#include "filter/file/filter_file.h"
#include "filter/file/signature.h"
#include "filter/policy/delta.h"

namespace bloomwall::filter {
namespace {

const std::filesystem::path kData = BLOOMWALL_SOURCE_DIR "/tests/data";

struct Key {
  Kind kind;
  Hash128 hash;
};

// Of the list, by hand.
std::vector<Key> listed(const KeyMaker& keys) {
  const Hash128 host = keys.host("urls.example");
  const Hash128 deep = keys.host("deep.example");
  const Hash128 a = keys.segment("a", keys.empty_path());
  const Hash128 s = keys.segment("s", keys.empty_path());
  Hash128 depth = keys.empty_path();
  for (int d = 1; d <= 17; ++d) depth = keys.segment(std::to_string(d), depth);
  return {{Kind::suffix, keys.host("listed.example")},
          {Kind::exact_host, keys.host("192.0.2.1")},
          {Kind::url, keys.url(host, a)},
          {Kind::url, keys.url(host, keys.segment("b.html", a))},
          {Kind::url_query, keys.url_query(host, s, keys.hash("q=1&r=2"))},
          {Kind::directory, keys.directory(host, keys.segment("dir", keys.empty_path()))},
          {Kind::directory, keys.directory(deep, depth)}};
}

Variant variant_of(const Key& key) { return is_host_kind(key.kind) ? host_variant(key.kind) : 0; }

TEST(GoldenFiles, BitsAndExactSideSayTheSame) {
  const auto file = FilterFile::open(kData / "golden_v1_exact.bwf");
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  const auto exact = ExactSide::open(kData / "golden_v1_exact.bwx", (*file)->header().exact_root);
  ASSERT_TRUE(exact) << exact.error().text();
  ASSERT_TRUE((*exact)->verify(FilterFile::Depth::tampering));
  EXPECT_EQ((*exact)->header().fingerprints, 7U);
  for (const Key& key : listed((*file)->keys())) {
    const SectionView& section = is_host_kind(key.kind) ? (*file)->hosts() : (*file)->paths();
    EXPECT_TRUE(section.test(section.place(key.hash), variant_of(key)));
    EXPECT_EQ((*exact)->ask(exact_fingerprint(key.kind, key.hash)), ExactAnswer::confirmed);
  }
  const Hash128 other = (*file)->keys().host("unlisted.example");
  EXPECT_FALSE((*file)->hosts().test((*file)->hosts().place(other)));
  EXPECT_EQ((*exact)->ask(exact_fingerprint(Kind::suffix, other)), ExactAnswer::refuted);
}

TEST(GoldenFiles, ASignedDeltaSaysWhatItSaid) {
  const auto file = FilterFile::open(kData / "golden_v1_exact.bwf");
  ASSERT_TRUE(file) << file.error().text();
  const auto trusted = TrustedKeys::read(kData / "golden_v1_slot.pub");
  ASSERT_TRUE(trusted) << trusted.error().text();
  const auto delta = Delta::load(kData / "golden_v1_exact.delta", (*file)->keys(), content_id((*file)->header()),
                                 {.trusted = &*trusted});
  ASSERT_TRUE(delta) << delta.error().front().text();
  EXPECT_EQ(delta->sequence(), 1U);
  EXPECT_EQ(delta->size(), 5U);
  const auto says = [&](Kind kind, std::string_view host, std::string_view path = {}, std::string_view query = {}) {
    Entry entry;
    entry.kind = kind;
    entry.host = host;
    entry.path = path;
    entry.query = query;
    return delta->answer(entry);
  };
  EXPECT_EQ(says(Kind::suffix, "added.example"), DeltaAnswer::added);
  EXPECT_EQ(says(Kind::url, "urls.example", "/a"), DeltaAnswer::added);
  EXPECT_EQ(says(Kind::url_query, "added.example", "/c;d", "x=1"), DeltaAnswer::added);
  EXPECT_EQ(says(Kind::suffix, "listed.example"), DeltaAnswer::removed);
  EXPECT_EQ(says(Kind::url_query, "urls.example", "/s", "q=1&r=2"), DeltaAnswer::removed);
  EXPECT_EQ(says(Kind::suffix, "unlisted.example"), DeltaAnswer::nothing);
}

TEST(GoldenFiles, ADeltaThatCountsItsChangesSaysWhatItSaid) {
  const auto file = FilterFile::open(kData / "golden_v1_exact.bwf");
  ASSERT_TRUE(file) << file.error().text();
  const auto trusted = TrustedKeys::read(kData / "golden_v1_delta.pub");
  ASSERT_TRUE(trusted) << trusted.error().text();
  const auto delta = Delta::load(kData / "golden_v1_counted.delta", (*file)->keys(), content_id((*file)->header()),
                                 {.trusted = &*trusted});
  ASSERT_TRUE(delta) << delta.error().front().text();
  EXPECT_EQ(delta->sequence(), 1U);
  EXPECT_EQ(delta->size(), 3U);
  EXPECT_EQ(delta->answer({.kind = Kind::suffix, .host = "added.example"}), DeltaAnswer::added);
  EXPECT_EQ(delta->answer({.kind = Kind::suffix, .host = "listed.example"}), DeltaAnswer::removed);
  EXPECT_EQ(delta->added_networks().size(), 1U);
}

TEST(GoldenFiles, ACountingFilterHoldsTheSameKeys) {
  const auto file = FilterFile::open(kData / "golden_v1_counting.bwc", Form::counters);
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  const auto cells = [&](SectionType type) {
    const auto bytes = (*file)->section_bytes(type);
    return CounterSection((*file)->header().find(type)->geometry, const_cast<std::byte*>(bytes.data()),
                          section_kind(type));
  };
  for (const Key& key : listed((*file)->keys())) {
    const auto section = cells(is_host_kind(key.kind) ? SectionType::hosts : SectionType::paths);
    EXPECT_TRUE(section.test(section.place(key.hash), variant_of(key)));
  }
  const auto hosts = cells(SectionType::hosts);
  EXPECT_TRUE(hosts.test(hosts.place((*file)->keys().host("deep.example")), directory_mark(17)));
  EXPECT_FALSE(hosts.test(hosts.place((*file)->keys().host("deep.example")), directory_mark(1)));
}

TEST(GoldenFiles, AStreamedFilterHasSketches) {
  const auto file = FilterFile::open(kData / "golden_v1_streamed.bwf");
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  EXPECT_FALSE((*file)->section_bytes(SectionType::sketches).empty());
  EXPECT_EQ((*file)->header().compatible, kEstimatedCounts);
  EXPECT_EQ((*file)->header().kinds[index_of(Kind::directory)].keys, 2U);
  for (const Key& key : listed((*file)->keys())) {
    const SectionView& section = is_host_kind(key.kind) ? (*file)->hosts() : (*file)->paths();
    EXPECT_TRUE(section.test(section.place(key.hash), variant_of(key)));
  }
}

TEST(GoldenFiles, SignaturesInSlotsAndInTheSectionHold) {
  const auto file = FilterFile::open(kData / "golden_v1_signed.bwf");
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  EXPECT_NE((*file)->header().find(SectionType::signatures), nullptr);
  for (const char* key : {"golden_v1_slot.pub", "golden_v1_section.pub"}) {
    const auto trusted = TrustedKeys::read(kData / key);
    ASSERT_TRUE(trusted) << trusted.error().text();
    const auto signer = check_signature(**file, *trusted);
    EXPECT_TRUE(signer) << key << ": " << signer.error().text();
  }
}

}  // namespace
}  // namespace bloomwall::filter
